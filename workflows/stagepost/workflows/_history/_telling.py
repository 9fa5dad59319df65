"""What is stored of a run's history as entries, decided without reading anything."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_core import from_json

from stagepost.checkpoint import (
    AttemptOutcome,
    ChildRun,
    Happened,
    HappeningKind,
    Happenings,
    UnderWay,
    WaitKind,
    read_frozen,
    split_values,
)

from .._ids import asked_wait_id, split_place
from ._entries import AttemptEntry, FrameEntry, HistoryEntry, ItemsEntry, RunEntry, RunHistory, WaitEntry
from ._parts import AskedArrow, DecisionEntry, RetryEntry
from ._values import RecordedValue, changes_between, changes_to

_NONE: Final[Mapping[str, Any]] = {}


def history_of(found: Happenings) -> RunHistory:
    """A page of the history of a run that keeps it."""
    run, children = found.run, defaultdict[str, list[ChildRun]](list)
    for child in found.children:
        children[child.place].append(child)
    return RunHistory(
        run_id=run.run_id,
        workflow=run.workflow,
        version=run.version,
        status=run.status,
        is_complete=True,
        items=tuple(_entry(run.run_id, each, children) for each in found.items),
        under_way=() if found.next else tuple(_under_way(each, children) for each in found.under_way),
        next=found.next,
    )


def _entry(run_id: str, happened: Happened, children: Mapping[str, Sequence[ChildRun]]) -> HistoryEntry:
    match happened.kind:
        case HappeningKind.RUN:
            return RunEntry(**_head(happened), what=happened.outcome or "", error=happened.error, **_changes(happened))
        case HappeningKind.ITEMS:
            return ItemsEntry(**_head(happened), **_at(happened.place), count=_detail(happened)["items"])
        case HappeningKind.WAIT:
            return _wait(run_id, happened)
        case HappeningKind.FRAME:
            following = None if happened.frame is None else happened.frame.next
            return FrameEntry(**_head(happened), path=happened.place, next=following, **_changes(happened))
        case _:
            return _attempt(happened, children.get(happened.place, ()))


def _attempt(happened: Happened, children: Sequence[ChildRun]) -> AttemptEntry:
    detail, value = _detail(happened), happened.value
    is_item = happened.kind is HappeningKind.ITEM and happened.frame is None
    changes = changes_to(split_values(value)) if value is not None and not is_item else None
    return AttemptEntry(
        **_head(happened),
        **_at(happened.place),
        kind=happened.kind,
        attempt=happened.attempt,
        begun=happened.begun,
        ended=happened.ended,
        outcome=None if happened.outcome is None else AttemptOutcome(happened.outcome),
        error=happened.error,
        **(_changes(happened) if changes is None else {"changes": changes}),
        value=RecordedValue(value) if value is not None and is_item else None,
        size=detail.get("size"),
        decisions=tuple(map(_decision, detail.get("decisions", ()))),
        retries=tuple(map(_retry, detail.get("retries", ()))),
        children=tuple(children),
    )


def _under_way(found: UnderWay, children: Mapping[str, Sequence[ChildRun]]) -> AttemptEntry:
    return AttemptEntry(
        number=None,
        saved_at=found.begun,
        **_at(found.place),
        kind=found.kind,
        attempt=found.attempt,
        begun=found.begun,
        ended=None,
        outcome=None,
        children=tuple(children.get(found.place, ())),
    )


def _wait(run_id: str, happened: Happened) -> WaitEntry:
    detail = _detail(happened)
    kind, name, due_at = WaitKind(detail["kind"]), detail["name"], detail["due_at"]
    value = None if happened.value is None else read_frozen(happened.value)
    is_open = happened.outcome == "open"
    return WaitEntry(
        **_head(happened),
        **_at(happened.place),
        wait_id=asked_wait_id(run_id, happened.place, kind, name),
        kind=kind,
        name=name,
        status=happened.outcome or "",
        asked=happened.begun,
        ended=happened.ended,
        due_at=None if due_at is None else datetime.fromisoformat(due_at),
        by=detail["by"],
        shown=value if is_open else None,
        answer=None if is_open else value,
        error=happened.error,
    )


def _decision(found: Mapping[str, Any]) -> DecisionEntry:
    return DecisionEntry(
        path=found["path"],
        to=found.get("to"),
        route=found.get("route"),
        routes=tuple(found.get("routes", ())),
        asked=tuple(AskedArrow(*each) for each in found.get("asked", ())),
        failed=found.get("failed", False),
    )


def _retry(found: Mapping[str, Any]) -> RetryEntry:
    at = datetime.fromtimestamp(found["at"], UTC)
    return RetryEntry(attempt=found["attempt"], at=at, error=found["error"], seconds=found["seconds"])


def _changes(happened: Happened) -> dict[str, Any]:
    return {} if happened.frame is None else {"changes": changes_between(happened.before, happened.frame)}


def _head(happened: Happened) -> dict[str, Any]:
    return {"number": happened.number, "saved_at": happened.saved_at}


def _at(place: str) -> dict[str, Any]:
    path, visits = split_place(place)
    return {"path": path, "visits": visits}


def _detail(happened: Happened) -> Mapping[str, Any]:
    return _NONE if happened.detail is None else from_json(happened.detail)
