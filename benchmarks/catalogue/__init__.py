"""What it costs to find and count runs in a store of a million: ``python -m benchmarks.catalogue``.

`filling` makes the store, `asking` has the questions with what raw `sqlite3` needs for the same, `recovering` takes the
open runs up in a process of its own, and `report` makes the table.
"""
