"""What may be asked of a runner.

`_runner` is what users see, and may be made from a `_config`. Behind it `_reception` starts runs and attaches to
them, `_recovering` takes up what a process before has left open, `_cancelling` ends runs for good, and `_inspecting`
looks at one. Its `_correspondence` with somebody outside goes through the `_inbox`. `_serving` puts workflows on a hub,
`_stored_children` starts the runs that steps want, `_retention` deletes what has been kept long enough.
"""
