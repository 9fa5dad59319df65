"""The state that a run of an agent starts with; `RunState` says what stands in it."""

from collections.abc import Mapping
from typing import Any

from .._definition._budget import Spent
from .._definition._request import Brief
from .._definition._spoken import is_spoken, spoken
from .._delegation._state import ENDED, Changes, RunState
from ._history import repaired


def asked(brief: Brief, payload: object) -> Changes:
    """That of a run that is asked for the first time.

    Raises:
        InvalidRequest: It is not what the agent takes.
    """
    message, fields = brief.read(payload)
    state: Changes = {"messages": [message], "calls": 0, "spent": Spent()}
    if fields is not None:
        state["fields"] = fields
    return state


def asked_again(brief: Brief, given: Mapping[str, Any], payload: object, root: str | None) -> Changes:
    """That of a run that goes on where another one has ended, with all that was said until then.

    Raises:
        InvalidRequest: It is not what the agent takes.
    """
    before = RunState(given)
    known = before.fields
    message, fields = (spoken(brief.agent, payload), known) if known and is_spoken(payload) else brief.read(payload)
    state: Changes = {
        "messages": [*repaired(before.messages), message],
        "calls": 0,
        "spent": Spent(),
        "turn": before.turn,
        **before.kept_talks(),
    }
    if root is not None:
        state["root"] = root
    if fields is not None:
        state["fields"] = fields
    return state


def over() -> Changes:
    """That of a run that asks nothing, and only says that a conversation has ended."""
    return {"messages": [], "calls": 0, "spent": Spent(), ENDED: True}
