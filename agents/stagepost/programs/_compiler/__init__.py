"""Checks a whole program and turns it into Python functions, each of which evaluates one form; nothing is run here."""
