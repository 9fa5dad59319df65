"""What a new kind of pattern is made with: for compositions that `Chain`, `Graph` and the others do not make.

Derive from `Pattern`, say what its `children` are, and add them with a `Builder` in `Pattern.compile`: one after the
other (`Builder.child`), by a choice (`Builder.choice`), in a loop (`Builder.loop`), or at once (`Builder.branches`).
Running, checkpoints, diagrams and the version of the definition then work as for any other pattern. What a function
can return as a composition of the patterns that there are needs none of this.
"""

from ._pattern_errors import describe
from ._patterns._arrows import Arrow, Next
from ._patterns._builder import Builder, Join, Updates
from ._patterns._pattern import Node, NodeLike, Pattern
from ._patterns._told import BeginTold
from ._plans._plan import Done, Target, View

__all__ = [
    "Arrow",
    "BeginTold",
    "Builder",
    "Done",
    "Join",
    "Next",
    "Node",
    "NodeLike",
    "Pattern",
    "Target",
    "Updates",
    "View",
    "describe",
]
