"""Reads the text of programs."""
