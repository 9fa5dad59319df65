"""The command line: commands with their options. What they do is imported when they are called."""
