"""Working on many runs at once: in line, at work, or at rest until something ends their waits.

`_desk` knows who works on which run: each stands in `_line` for a slot, and the `_shift` executes it with the
`_means` of its runner, once `_claims` have made that its owner; `_endings` are committed over its head. `_lookout`,
with its `_timers`, ends waits that end by themselves; `_telling` knows which ends nobody here has been told of yet, and
`_patience` tries to save again for as long as the store refuses.
"""
