"""Runs of agents as a service sees them: tasks, and conversations with somebody outside."""
