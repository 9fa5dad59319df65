"""A long text in few words, without a model: what its paragraphs begin with."""

from typing import Final

from ._boundaries import Boundaries
from ._flow import Flow
from ._splitting import beginning

_COLONS: Final = frozenset(":\N{FULLWIDTH COLON}")


def summary(flow: Flow, room: int) -> str:
    """The first sentences of the paragraphs of a text, as many as there is room for; at least the first one.

    Args:
        flow: The text.
        room: The most characters.
    """
    firsts = [_first(block.strip()) for block in flow.text.split("\n\n") if block.strip()]
    made = beginning(Flow(firsts[0]), room)
    for first in firsts[1:]:
        if len(made) + 1 + len(first) > room:
            break
        made = f"{made}\n{first}"
    return made


def _first(block: str) -> str:
    """The first sentence of a paragraph; a colon announces what is said after it, and ends none."""
    cuts = Boundaries(Flow(block)).all("sentence")
    return next((block[: cut.end] for cut in cuts if block[cut.end - 1] not in _COLONS), block)
