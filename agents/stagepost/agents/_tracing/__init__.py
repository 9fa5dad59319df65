"""Tracing of runs: what a provider of traces has to do, and what tells it of runs, turns, questions and calls."""
