"""Listening to a run: what its steps tell meanwhile, and a ring whenever something more of it may be stored.

Those who listen to one run share a `_room`; each has a `_listening` with a bounded `_buffer`. What is stored they read
from a `_source`, and those that read the same share one read; runs that are executed here are `_followed` in memory.
"""
