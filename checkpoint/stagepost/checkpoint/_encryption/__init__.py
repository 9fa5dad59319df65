"""Stores that see nothing of what they keep: what users have made is encrypted before it gets there."""
