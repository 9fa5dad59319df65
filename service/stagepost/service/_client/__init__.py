"""The client of the routes of runs: what the command line uses with ``--url``."""
