"""Bringing stored runs to a newer version of their workflow.

A migration is a function of the user's from JSON to JSON::

    {"frames": {"": {"next": "review/check", "visits": {}, "width": null, "state": {"topic": "tides"}}},
     "items": [{"path": "fan", "visit": 0, "idx": 0, "status": "ok", "input": 1, "value": 2, "error": null}]}

Frames are found by their path, "" being the run itself. A migration may rename steps in ``next``, ``visits`` and
paths, and change states, inputs and values.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_core import from_json

from stagepost.checkpoint import PLAIN, CannotRead, Frame, Item, ItemStatus, Migrated, Snapshot, StoredValue

from .._pattern_errors import describe
from .._patterns._pattern import Pattern
from .._programs._places import step_at
from .._values._layout import lay_out
from .._values._schema import to_values
from ..errors import IncompatibleCheckpoint
from ._recovery import check_compatible

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

    def migrated(self, snapshot: Snapshot) -> Migrated | None:
        """The stored form of the run as one of the newer version; None if it is one already.

        Raises:
            IncompatibleCheckpoint: A migration failed, or made something that is no run.
        """
        if not self.migrations:
            return None
        try:
            stored: Mapping[str, Any] = _dump(snapshot)
            for migrate in self.migrations:
                stored = migrate(deepcopy(dict(stored)))
            return self._load(stored, snapshot)
        except Exception as error:
            run = snapshot.run
            why = f"its migration to version {self.workflow.version} failed: {describe(error)}"
            raise IncompatibleCheckpoint(run.run_id, run.workflow, why) from error

    def _load(self, stored: Mapping[str, Any], snapshot: Snapshot) -> Migrated:
        frames: list[Frame] = []
        values: list[StoredValue] = []
        lists = self.workflow.program.schema.lists
        for path, frame in stored["frames"].items():
            seq = snapshot.frames[path].seq + 1 if path in snapshot.frames else 1
            made, rows = _frame(path, seq, frame, lists)
            frames.append(made)
            values += rows
        items = tuple(map(_item, stored["items"]))
        lost = [wait.place for wait in snapshot.waits if step_at(self.workflow.program, wait.place) is None]
        return Migrated(self.workflow.version, tuple(frames), tuple(values), items, tuple(lost))

    def check(self, snapshot: Snapshot) -> None:
        """See that the run can go on.

        Raises:
            IncompatibleCheckpoint: It cannot.
        """
        upgraded = self.upgraded(snapshot)
        check_compatible(upgraded, self.workflow.program)
        try:
            self.workflow.program.schema.read(to_values(upgraded.root.state, self.workflow.program.schema.lists))
        except CannotRead as error:
            why = f"its state does not fit any more: {error}"
            raise IncompatibleCheckpoint(snapshot.run.run_id, snapshot.run.workflow, why) from error

    def view(self, snapshot: Snapshot) -> Any:
        """The run's state, as its next step sees it, or as it has ended.

        Raises:
            IncompatibleCheckpoint: A migration failed.
        """
        schema = self.workflow.program.schema
        return schema.view(to_values(self.upgraded(snapshot).root.state, schema.lists))

    def upgraded(self, snapshot: Snapshot) -> Snapshot:
        """The run as one of the workflow's version.

        Raises:
            IncompatibleCheckpoint: A migration failed.
        """
        migrated = self.migrated(snapshot)
        if migrated is None:
            return snapshot
        frames = {frame.path: frame for frame in migrated.frames}
        return snapshot._replace(frames=frames, items=migrated.items, shape=None)


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
    path: str, seq: int, stored: Mapping[str, Any], lists: frozenset[str]
) -> tuple[Frame, tuple[StoredValue, ...]]:
    state = {key: PLAIN.dump(value, key) for key, value in stored["state"].items()}
    layout = lay_out(path, seq, {}, to_values(state, lists))
    visits = {str(node): int(count) for node, count in stored["visits"].items()}
    return Frame(path, seq, stored["next"], state, visits, stored["width"], layout.refs), layout.rows


def _item(stored: Mapping[str, Any]) -> Item:
    status = ItemStatus(stored["status"])
    value = PLAIN.dump(stored["value"], "value") if status is ItemStatus.OK else None
    place = (stored["path"], stored["visit"], stored["idx"])
    return Item(*place, status, PLAIN.dump(stored["input"], "input"), value, stored["error"])
