"""How a program is run: its counters, its surroundings, on the event loop or without one."""
