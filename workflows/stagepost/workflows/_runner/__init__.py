"""What may be asked of a runner.

`_runner` is what users see, and may be made from a `_config`. `_reception` starts runs and attaches to them,
`_recovering` takes up what a process before has left open, `_cancelling` ends runs for good, and `_inspecting` looks at
one. `_correspondence` is what goes by the ids of runs: looking at them, and through the `_inbox` sending to them.
`_hints` says what somebody may have meant, `_checks` refuses what a runner cannot work with. `_serving` puts workflows
on a hub, `_stored_children` starts the runs that steps want, `_retention` deletes what has been kept long enough.
"""
