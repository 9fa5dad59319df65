"""What the branches of one run share while a process works on it.

`_execution` is all of it in one place: the `_journal` that the run is saved in and pauses by, the `_ledger` of its
waits and effects, the `_items` of its fan-outs under way, its `_signal_box`, the `_children` that it starts. `_sizes`
are seen to before a commit; `_signals` are what the engine raises to itself.
"""
