"""Asking other agents: in conversations, by tools, each question as a run below the run that asks."""
