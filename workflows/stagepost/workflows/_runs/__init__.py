"""What is pure about runs: how they begin, which workflow they belong to, and whether they fit it.

A run begins as `_starting` says, under one of the `_ids`. `_registry` finds the workflow of a stored run, and
`_fitness` says whether the run can go on in it: `_compatibility` compares the two, `_standing` tells where the run
stands, and `_migration` brings it to a newer version. `_continuing` reads what a list of another run has, if the run
begins with it.
"""
