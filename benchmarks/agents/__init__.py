"""What agents cost, against the least one can do and against peers: ``python -m benchmarks.agents``.

Every figure is measured in a process of its own: `worker` takes a side and a measure and prints figures. A side is a
module in `sides`: bare (awaits, and httpx), ours, litellm, and the peers; what they do is in `task`, and how it is
measured in `measure`, `crowd` and `imports`. `provider` is a language model on this machine, in another process.
`compare` lets the sides take turns, `report` makes the tables.
"""
