"""Output types, and schemas that every provider accepts."""
