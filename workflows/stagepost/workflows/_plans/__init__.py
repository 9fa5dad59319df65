"""Workflows compiled: a flat table of places, and pure functions over it.

`_plan` is the table, `_within` what encloses each of its places. `_places` finds what a stored path belongs to, and
`_shape` says what the table is made of, for the store. `_passage` is what lies between two places, `_dominators` what
surely lies before one. `_diagram` draws a workflow, and `_run_diagram` a run of it.
"""
