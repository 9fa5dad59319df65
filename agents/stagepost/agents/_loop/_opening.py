"""Initial states of an agent's runs; see `RunState`."""

from collections.abc import Mapping
from typing import Any

from .._definition._budget import Spent
from .._definition._request import Brief
from .._definition._spoken import is_spoken, spoken
from .._delegation._state import ENDED, Changes, RunState
from ._history import repaired


def asked(brief: Brief, payload: object) -> Changes:
    """The initial state of a new run.

    Raises:
        InvalidRequest: It is not what the agent takes.
    """
    message, fields = brief.read(payload)
    state: Changes = {"messages": [message], "calls": 0, "spent": Spent()}
    if fields is not None:
        state["fields"] = fields
    return state


def asked_again(brief: Brief, given: Mapping[str, Any], payload: object, root: str | None) -> Changes:
    """The initial state of a run that continues another one, with its transcript.

    Raises:
        InvalidRequest: It is not what the agent takes.
    """
    before = RunState(given)
    known = before.fields
    message, fields = (spoken(brief.agent, payload), known) if known and is_spoken(payload) else brief.read(payload)
    said = repaired(before.messages)
    state: Changes = {
        "messages": [*said, message],
        "view": before.view.for_request(len(said)),
        "calls": 0,
        "spent": Spent(),
        "turn": before.turn,
        **before.kept_talks(),
    }
    if before.read:
        state["read"] = before.read
    if root is not None:
        state["root"] = root
    if fields is not None:
        state["fields"] = fields
    return state


def over() -> Changes:
    """The initial state of a run that asks nothing, and only records the end of a conversation."""
    return {"messages": [], "calls": 0, "spent": Spent(), ENDED: True}
