"""Signatures: what a program is given, and what it has to return."""
