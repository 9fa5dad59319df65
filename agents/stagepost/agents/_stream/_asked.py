"""What the calls of a run ask people, as parts.

A wait takes the place of the one before it at the same step, of which then only the answer is known: the step has noted
that among its effects. So each question is told from its wait, from the effect, or from both.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json

from stagepost.checkpoint import Effect, EffectStatus, StoredWait, WaitStatus

from .._definition._approvals import APPROVE, expired
from .._models._messages import ToolCall
from .._tools._outside import ASKED
from ._part import StreamPart
from ._stored import StoredRun
from ._wait_parts import (
    ApprovalAsked,
    ApprovalDecided,
    DoubtRaised,
    DoubtSettled,
    QuestionAnswered,
    QuestionAsked,
)

_CALL = "call-"  # how the keys of effects of calls begin


class Asked(NamedTuple):
    """A part of what a call asks.

    Attributes:
        kind: The type of the part.
        at: When it was committed.
        number: Which of several questions of the call it belongs to, from 0.
        fields: Its own fields.
    """

    kind: type[StreamPart]
    at: datetime
    number: int
    fields: Mapping[str, Any]


class _Given(NamedTuple):
    """A question and what is known of its answer."""

    wait_id: str
    shown: Mapping[str, Any]
    opened_at: datetime
    ended_at: datetime | None
    value: Any
    by: str | None
    is_expired: bool


Made: TypeAlias = Iterator[Asked]


def approvals(run: StoredRun, call: ToolCall, number: str) -> Made:
    """The approval of a call: asked, decided.

    Args:
        run: The run.
        call: The call.
        number: Its number.
    """
    given = _given(run, f"{APPROVE}{number}")
    if given is None:
        return
    shown = given.shown or {"tool": call.name, "arguments": arguments_of(call), "rule": ""}
    told = {"tool": shown["tool"], "arguments": shown["arguments"], "reason": shown["rule"]}
    yield Asked(ApprovalAsked, given.opened_at, 0, {"approval_id": given.wait_id, **told})
    if given.ended_at is not None:
        yield Asked(ApprovalDecided, given.ended_at, 0, {"approval_id": given.wait_id, **_decision(given, call)})


def questions(run: StoredRun, call: ToolCall, number: str) -> Made:
    """The questions of a call, one after the other: asked, answered; as `approvals`."""
    index = 0
    while (given := _given(run, f"{ASKED}{number}-{index}")) is not None:
        shown = given.shown or {"tool": call.name, "arguments": arguments_of(call), "schema": {}}
        known = [name for name in ("tool", "arguments", "schema", "message", "server", "url") if name in shown]
        told = {"question_id": given.wait_id, "reason": shown.get("refused"), **{name: shown[name] for name in known}}
        yield Asked(QuestionAsked, given.opened_at, index, told)
        if given.ended_at is not None:
            yield Asked(QuestionAnswered, given.ended_at, index, {"question_id": given.wait_id, **_answer(given)})
        index += 1


def doubts(run: StoredRun, number: str) -> Made:
    """The doubts of a call: raised, settled; as `approvals`."""
    key = f"{_CALL}{number}"
    for wait in run.doubts:
        if wait.name != key and not wait.name.startswith(f"{key}-"):
            continue
        part = int(wait.name[len(key) + 1 :] or 0)
        shown = _json(wait.prompt) or {}
        told = {"tool": shown.get("tool", ""), "arguments": shown.get("arguments")}
        doubt_id = f"{run.info.run_id}/{wait.place}"
        yield Asked(DoubtRaised, wait.opened_at, part, {"doubt_id": doubt_id, **told})
        if wait.status is WaitStatus.ANSWERED:
            yield Asked(DoubtSettled, _ended_at(wait), part, {"doubt_id": doubt_id, "by": wait.by})


def arguments_of(call: ToolCall) -> Any:
    """The arguments of a call as JSON values; the text that the model wrote if that is no JSON."""
    try:
        return from_json(call.arguments)
    except ValueError:
        return call.arguments


def _given(run: StoredRun, key: str) -> _Given | None:
    """A question; None if it was not asked."""
    wait, effect = run.waits.get(key), run.effects.get(key)
    if wait is None:
        return None if effect is None else _noted(run, effect)
    wait_id = f"{run.info.run_id}/{wait.place}:{key}"
    shown = _json(wait.prompt) or {}
    is_taken = effect is not None and effect.status is EffectStatus.DONE
    is_ended = wait.status is WaitStatus.EXPIRED or (wait.status is WaitStatus.ANSWERED and (wait.checked or is_taken))
    if not is_ended:  # nobody has checked an answer that was sent: it may be dropped
        return _Given(wait_id, shown, wait.opened_at, None, None, None, is_expired=False)
    is_expired = wait.status is WaitStatus.EXPIRED
    return _Given(wait_id, shown, wait.opened_at, _ended_at(wait), _json(wait.value), wait.by, is_expired)


def _noted(run: StoredRun, effect: Effect) -> _Given:
    """A question that another one at the same step has taken the place of."""
    value = _json(effect.value)
    wait_id = f"{run.info.run_id}/{effect.place}:{effect.key}"
    return _Given(wait_id, {}, run.saved_at, run.saved_at, value, None, is_expired=value is None)


def _decision(given: _Given, call: ToolCall) -> Mapping[str, Any]:
    if given.is_expired:
        return {"allowed": False, "by": None, "reason": expired(call).reason}
    allowed = given.value["kind"] == "allow"
    return {"allowed": allowed, "by": given.by, "reason": None if allowed else given.value.get("reason") or None}


def _answer(given: _Given) -> Mapping[str, Any]:
    if given.is_expired or given.value is None:
        return {"answer": "expired"}
    kind = given.value["kind"]
    return {
        "answer": kind,
        "value": given.value.get("value"),
        "by": given.by,
        "reason": given.value.get("reason") or None,
    }


def _ended_at(wait: StoredWait) -> datetime:
    return wait.opened_at if wait.ended_at is None else wait.ended_at


def _json(data: bytes | None) -> Any:
    return None if data is None else from_json(data)
