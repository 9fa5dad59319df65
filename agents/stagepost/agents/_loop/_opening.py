"""The state that a run of an agent starts with; `_loop` says what stands in it."""

from collections.abc import Mapping
from typing import Any, Final

from .._definition._budget import Spent
from .._definition._request import Brief
from .._definition._spoken import is_spoken, spoken
from ._history import repaired

ENDED: Final = "ended"


def asked(brief: Brief, payload: object) -> Mapping[str, object]:
    """That of a run that is asked for the first time.

    Raises:
        InvalidRequest: It is not what the agent takes.
    """
    message, fields = brief.read(payload)
    state = {"messages": [message], "calls": 0, "spent": Spent()}
    return state if fields is None else {**state, "fields": fields}


def asked_again(brief: Brief, before: Mapping[str, Any], payload: object, root: str | None) -> Mapping[str, object]:
    """That of a run that goes on where another one has ended, with all that was said until then.

    Raises:
        InvalidRequest: It is not what the agent takes.
    """
    known = before.get("fields")
    message, fields = (spoken(brief.agent, payload), known) if known and is_spoken(payload) else brief.read(payload)
    kept = {"conversations": before.get("conversations"), "root": root, "fields": fields}
    return {
        "messages": [*repaired(before["messages"]), message],
        "calls": 0,
        "spent": Spent(),
        "turn": before.get("turn", 0) + before["spent"].turns,
        **{key: value for key, value in kept.items() if value is not None},
    }


def over() -> Mapping[str, object]:
    """That of a run that asks nothing, and only says that a conversation has ended."""
    return {"messages": [], "calls": 0, "spent": Spent(), ENDED: True}
