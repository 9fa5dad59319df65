"""The stream of an agent's run: its parts, and how they are read from what is stored of the run."""
