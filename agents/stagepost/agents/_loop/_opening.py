"""Initial states of an agent's runs; see `RunState`."""

from collections.abc import Mapping
from typing import Any

from .._definition._budget import Spent
from .._definition._request import Brief
from .._definition._spoken import is_spoken, spoken
from .._delegation._records import Changes
from .._delegation._state import ENDED, RunState
from ._history import MESSAGES, continued, next_place


def asked(brief: Brief, payload: object) -> Changes:
    """The initial state of a new run.

    Raises:
        InvalidRequest: It is not what the agent takes.
    """
    message, fields = brief.read(payload)
    state: Changes = {"messages": [message], "calls": 0, "spent": Spent()}
    if fields is not None:
        state["fields"] = fields
    if message.parts:
        state["parts"] = True
    return state


def asked_again(
    brief: Brief, given: Mapping[str, Any], payload: object, *, root: str | None, run_id: str | None
) -> Mapping[str, object]:
    """The initial state of a run that continues another one, with its transcript.

    Args:
        brief: Reads the request.
        given: The state of the other run.
        payload: What the agent is asked now.
        root: The run at the root, if there is one above it.
        run_id: Id of the other run; None if it is not stored.

    Raises:
        InvalidRequest: It is not what the agent takes.
    """
    before = RunState(given)
    known = before.fields
    message, fields = (spoken(brief.agent, payload), known) if known and is_spoken(payload) else brief.read(payload)
    state: Changes = {
        "view": before.view.for_request(next_place(before.messages)),
        "calls": 0,
        "spent": Spent(),
        "turn": before.turn,
        **before.kept(),
    }
    if before.read:
        state["read"] = before.read
    if root is not None:
        state["root"] = root
    if fields is not None:
        state["fields"] = fields
    if before.has_parts or message.parts:
        state["parts"] = True
    return {**state, MESSAGES: continued(given, [message], run_id)}


def over(given: Mapping[str, Any] | None, run_id: str | None) -> Mapping[str, object]:
    """The initial state of a run that asks nothing, and only records the end of a conversation.

    It has the transcript, which so is kept as long as the end is.

    Args:
        given: State of the last run before it; None if there is none.
        run_id: Id of that.
    """
    state: Changes = {"calls": 0, "spent": Spent(), ENDED: True}
    if given is None:
        return {**state, MESSAGES: []}
    if RunState(given).has_parts:
        state["parts"] = True
    return {**state, MESSAGES: continued(given, [], run_id)}
