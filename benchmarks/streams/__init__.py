"""What listening to runs costs, against the least one can do: ``python -m benchmarks.streams``.

`reading` measures a numbered part, `hearing` how soon something is heard, `crowd` many runs that are all listened to;
each measures its floor in the same round. `report` makes the table. `instructions` counts, with valgrind, what a turn
takes that nobody listens to; `turns` is the program that it counts.
"""
