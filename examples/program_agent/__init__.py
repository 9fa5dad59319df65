"""A table of thousands of rows: analysed by programs, by a tool loop for comparison, and by a compiled program."""
