"""Ids of tool calls: the model's own, if they are distinct within an answer."""

from collections.abc import Sequence

from .._models._messages import ToolCall


def distinct(calls: Sequence[ToolCall], turn: int) -> tuple[ToolCall, ...]:
    """The calls of an answer with distinct ids.

    Providers match results to calls by id; some models leave it out, or give all calls the same.

    Args:
        calls: The calls as the model has made them.
        turn: Which turn of the conversation this is.
    """
    if len(calls) == 1 and calls[0].id:
        return tuple(calls)
    ids = {call.id for call in calls}
    if len(ids) == len(calls) and "" not in ids:
        return tuple(calls)
    taken: set[str] = set()
    return tuple(_renamed(call, f"call-{turn}-{index}", taken) for index, call in enumerate(calls))


def _renamed(call: ToolCall, name: str, taken: set[str]) -> ToolCall:
    """The call; with another id if its own is taken."""
    own = call.id if call.id and call.id not in taken else name
    while own in taken:
        own += "-"
    taken.add(own)
    return call if own == call.id else call.model_copy(update={"id": own})
