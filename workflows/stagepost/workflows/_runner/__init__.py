"""The runner: it starts runs, goes on with them, and hears what others write for them.

`_runner` is what users see, and may be made from a `_config`; what they ask of one is in `_requests`. Where a run is
says its record in `_presence`, and nothing else; a `_run` is the handle of one. The `_dispatcher` attaches to runs and
takes them up; new ones are stored by the `_starter`, and `_cancelling` ends them. `_recovery` takes up those that no
living owner has. The `_scheduler` gives them slots, the `_executor` takes each to its end or until it rests, with what
`_claims` has made this runner the owner of. The `_watcher` is told by the store what was written for them, and
`_timers` end what waits for the time. What is written goes through the `_inbox`, of this process or of another;
`_views` shows runs, and `_hints` says what somebody may have meant. `_serving` puts workflows on a hub, `_children` are
the runs that steps start, and `_retention` deletes what has been kept long enough.
"""
