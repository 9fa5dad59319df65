"""A memory in the store, as tools for a model and for people."""
