"""Prompts of a registry: fetched by name and label, kept for a while, with local texts for when there are none."""
