"""A module for each that is measured: its ``MEASURES`` take a number of things to do and return a figure for each."""
