"""Runs that a store keeps: how they begin, what their starters hold, and which workflow they belong to.

A run begins as its `_orders` say (`_starting`, `_ids`). Whoever holds a `_run` waits for its outcome, one of
`_outcomes`; `_handles` makes a handle of what is stored. `_registry` finds the workflow of a stored run, `_fitness`
says whether the run can go on in it or what it is `_blocked` by, `_compatibility` compares the two, and `_migration`
brings the run to a newer version. `_recovery` is what `recover` reports.
"""
