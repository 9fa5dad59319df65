"""What users compose: steps in patterns, and patterns in patterns.

`_pattern` is what all have in common: they can be compiled and run. They are `_chain`, `_parallel` (with its
`_joins`), `_conditional`, `_fold` and `_graph` (with `_predicates` for its edges); `_over` is where items come from.
"""
