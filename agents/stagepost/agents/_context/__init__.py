"""What a model sees of a run: limits for results of tools, and compaction of what was said."""
