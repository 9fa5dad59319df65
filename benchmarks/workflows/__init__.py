"""What workflows cost, against the least one can do and against peers: ``python -m benchmarks.workflows``.

Every figure is measured in a process of its own: `worker` takes a side and a measure and prints a number. A side is a
module in `sides`: bare (awaits, and raw sqlite3), ours, and the peers; `killed` has a program for each that `restart`
kills and starts again. `compare` lets the sides take turns, `report` makes the tables, `shim` fixes the cost of fsync.
"""
