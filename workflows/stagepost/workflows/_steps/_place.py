"""How a step at one visit is named."""

from collections.abc import Sequence


def place_of(path: str, visits: Sequence[int]) -> str:
    """A step's path with its visits, if there are any.

    Args:
        path: The path from the run's root.
        visits: Which visits of the fan-outs around it, outermost first, and which of its graph node; 0 outside of
            graphs.
    """
    return path + (f"#{'.'.join(map(str, visits))}" if any(visits) else "")
