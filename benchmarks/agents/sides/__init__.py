"""A module for each that is measured: its ``MEASURES`` take a scale, more or less of the same, and return figures."""
