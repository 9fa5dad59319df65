"""What the hub costs, against an `asyncio.Queue` with a worker task, and against a peer.

Run ``python -m benchmarks.hub``; with ``--write`` the tables go into docs/benchmarks.md. The sides take turns within
each round, every message is a fresh pydantic value on all of them, and a ratio is the median of the rounds' ratios, so
that a busy machine disturbs them less than it disturbs the times. The hub is as users get it: metrics on, no observer.

`sides` are what is compared, `scenarios` what is timed, `figures` what is no message; `report` makes the tables.
"""
