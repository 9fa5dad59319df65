"""Bringing stored runs to a newer version of their workflow.

A migration is a function of the user's from JSON to JSON::

    {"frames": {"": {"next": "review/check", "visits": {}, "width": null, "state": {"topic": "tides"}}},
     "items": [{"path": "fan", "visit": 0, "idx": 0, "status": "ok", "input": 1, "value": 2, "error": null}]}

Frames are found by their path, "" being the run itself. A migration may rename steps in ``next``, ``visits`` and
paths, and change states, inputs and values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

from pydantic_core import from_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import PLAIN, Frame, Item, ItemStatus, Migrated, Snapshot, StoredValue, WaitStatus

from .._execution._execution import numbers_behind
from .._patterns._pattern import Pattern
from .._plans._places import plan_at, step_at
from .._plans._plan import Plan
from .._values._layout import lay_out
from .._values._schema import to_values
from .._values._state import Values
from ..errors import IncompatibleCheckpoint
from ._compatibility import check_compatible, concerning, fits, unfit_in, unheeded_in
from ._standing import Standing

_NONE: Final[Values] = {}

Migration: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Definition:
    """What a stored run is executed by.

    Attributes:
        workflow: Its workflow, perhaps of a newer version.
        migrations: From the run's version to the workflow's.
    """

    workflow: Pattern
    migrations: Sequence[Migration] = ()

    def prepared(self, snapshot: Snapshot) -> "Prepared":
        """A run that can go on.

        Raises:
            IncompatibleCheckpoint: It cannot, whatever the reason is.
        """
        migrated = self.migrated(snapshot)
        unfit = unfit_in(snapshot, self.workflow.plan)
        after = upgraded(snapshot, migrated)
        if unfit:
            heeded = tuple(wait for wait in after.waits if wait.place not in unfit)
            after = after._replace(waits=heeded)
        with concerning(snapshot.run, "its state does not fit any more"):
            check_compatible(after, self.workflow.plan)
        return Prepared(self, migrated, unfit)

    def view(self, snapshot: Snapshot, lists: Values = _NONE) -> Any:
        """The run's state, as its next step sees it, or as it has ended.

        Args:
            snapshot: The run.
            lists: Its lists, if the snapshot has them not.

        Raises:
            IncompatibleCheckpoint: It cannot be read any more, or a migration failed.
        """
        schema, after = self.workflow.plan.schema, self.upgraded(snapshot)
        with concerning(snapshot.run, "its state does not fit any more"):
            return schema.view({**to_values(after.root.state, schema.lists), **lists})

    def upgraded(self, snapshot: Snapshot) -> Snapshot:
        """The run as one of the workflow's version.

        Raises:
            IncompatibleCheckpoint: A migration failed.
        """
        return upgraded(snapshot, self.migrated(snapshot))

    def migrated(self, snapshot: Snapshot) -> Migrated | None:
        """The stored form of the run as one of the newer version; None if it is one already.

        Raises:
            IncompatibleCheckpoint: A migration failed, or made something that is no run, or would lose what was sent.
        """
        if not self.migrations:
            return None
        with concerning(snapshot.run, f"its migration to version {self.workflow.version} failed"):
            stored: Mapping[str, Any] = _dump(snapshot)
            for migrate in self.migrations:
                stored = migrate(deepcopy(dict(stored)))
            migrated = self._load(stored, snapshot)
        check_kept(snapshot, self.workflow)
        return migrated

    def _load(self, stored: Mapping[str, Any], snapshot: Snapshot) -> Migrated:
        frames: list[Frame] = []
        values: list[StoredValue] = []
        numbers = numbers_behind(snapshot)
        for path, frame in {"": stored["frames"][""], **stored["frames"]}.items():
            seq = snapshot.frames[path].seq + 1 if path in snapshot.frames else 1
            inner = plan_at(self.workflow.plan, path)
            made, rows = _frame(path, seq, numbers, frame, frozenset() if inner is None else inner.schema.lists)
            frames.append(made)
            values += rows
        items = tuple(map(_item, stored["items"]))
        after = snapshot._replace(frames={frame.path: frame for frame in frames}, items=items)
        lost = lost_waits(after, self.workflow.plan)
        return Migrated(self.workflow.version, tuple(frames), tuple(values), items, lost)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A stored run that this process can go on with.

    Attributes:
        definition: What it is executed by.
        migrated: It as one of the definition's version; None if it is one already.
        unfit: What it was sent unchecked and does not fit, by place, with the reason: to be dropped.
    """

    definition: Definition
    migrated: Migrated | None
    unfit: Mapping[str, str]


def upgraded(snapshot: Snapshot, migrated: Migrated | None) -> Snapshot:
    """A run as it was migrated; as it is if that was not necessary."""
    if migrated is None:
        return snapshot
    frames = {frame.path: frame for frame in migrated.frames}
    waits = tuple(wait for wait in snapshot.waits if wait.place not in migrated.lost)
    return snapshot._replace(frames=frames, items=migrated.items, waits=waits, shape=None)


def _dump(snapshot: Snapshot) -> dict[str, Any]:
    frames = {path: _plain_frame(frame) for path, frame in snapshot.frames.items()}
    return {"frames": frames, "items": [_plain_item(item) for item in snapshot.items]}


def _plain_frame(frame: Frame) -> dict[str, Any]:
    state = {key: from_json(data) for key, data in frame.state.items()}
    return {"next": frame.next, "visits": dict(frame.visits), "width": frame.width, "state": state}


def _plain_item(item: Item) -> dict[str, Any]:
    return {
        "path": item.path,
        "visit": item.visit,
        "idx": item.idx,
        "status": item.status.value,
        "input": from_json(item.input),
        "value": None if item.value is None else from_json(item.value),
        "error": item.error,
    }


def _frame(
    path: str, seq: int, numbers: Iterator[int], stored: Mapping[str, Any], lists: frozenset[str]
) -> tuple[Frame, tuple[StoredValue, ...]]:
    state = {_text(key): PLAIN.dump(value, key) for key, value in stored["state"].items()}
    made = to_values(state, lists)
    layout = lay_out(path, numbers, {}, made, made)
    visits = {_text(node): int(count) for node, count in stored["visits"].items()}
    width = None if stored["width"] is None else int(stored["width"])
    after = None if stored["next"] is None else _text(stored["next"])
    return Frame(_text(path), seq, after, state, visits, width, layout.refs), layout.rows


def _item(stored: Mapping[str, Any]) -> Item:
    status = ItemStatus(stored["status"])
    value = PLAIN.dump(stored["value"], "value") if status is ItemStatus.OK else None
    place = (_text(stored["path"]), int(stored["visit"]), int(stored["idx"]))
    error = None if stored["error"] is None else _text(stored["error"])
    return Item(*place, status, PLAIN.dump(stored["input"], "input"), value, error)


def _text(value: object) -> str:
    """A text that can be stored, as all names are.

    Raises:
        TypeError: It is none.
        UnicodeEncodeError: It is no valid Unicode.
    """
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} stands where a text is expected")
    value.encode()
    return value


def lost_waits(after: Snapshot, plan: Plan) -> tuple[str, ...]:
    """Places of waits that are forgotten: open ones where a migrated run stands no longer, and those of no step.

    Args:
        after: The run as it was migrated, with the waits that it had before.
        plan: What goes on with it.
    """
    standing = Standing(after)
    return tuple(
        wait.place
        for wait in after.waits
        if step_at(plan, wait.place) is None
        or (wait.status is WaitStatus.OPEN and not (wait.place in standing and fits(plan, wait)))
    )


def check_kept(before: Snapshot, workflow: Pattern) -> None:
    """See that a migration loses no answer or signal that no step has heeded yet, and no effect of a step under way.

    Args:
        before: The run as it is stored.
        workflow: The newer version.

    Raises:
        IncompatibleCheckpoint: It would.
    """
    for wait in unheeded_in(before):
        if not fits(workflow.plan, wait):
            raise _loses(before, workflow, f"the {wait.kind.value} {wait.name!r} that it was sent", wait.place)
    standing = Standing(before)
    for effect in before.effects:
        if effect.place in standing and step_at(workflow.plan, effect.place) is None:
            raise _loses(before, workflow, f"what is known of effect {effect.key!r}", effect.place)


def _loses(snapshot: Snapshot, workflow: Pattern, what: str, place: str) -> IncompatibleCheckpoint:
    why = (
        f"its migration to version {workflow.version} would lose {what} at {place!r}: let a process that has version "
        f"{snapshot.run.version} end that step first"
    )
    return IncompatibleCheckpoint(snapshot.run.run_id, snapshot.run.workflow, why, place=place)
