"""Audit the distributions installed in a Python environment: licences, integrity, size, typing."""
