"""What a reader of a run's stream gets: frozen values with a form for JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic_core import to_jsonable_python

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import ItemStatus, JsonValue, RunStatus, WaitKind, WaitStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """One part of the stream of a run; see `RunStream`.

    Attributes:
        type: What it is, for JSON.
        run_id: The run.
        timestamp: When that was (UTC).
        seq: Number of the last commit of the run's own steps that the reader knows of with this part.
        cursor: Give it as ``after=`` to go on after this part.
    """

    type: ClassVar[str]

    run_id: str
    timestamp: datetime
    seq: int
    cursor: str

    def to_dict(self) -> dict[str, Any]:
        """It with its type, as values that ``json.dumps`` takes: times as ISO 8601."""
        return {"type": self.type, **{each.name: _plain(getattr(self, each.name)) for each in fields(self)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateShown(RunPart):
    """The state as it is: where a reader begins, or goes on after commits that it has not been told one by one.

    Attributes:
        state: The state, as JSON values.
        next: Path of the place where the run goes on; None at its end.
        skipped: How many commits the reader has not been told.
    """

    type: ClassVar[str] = "state"

    state: Mapping[str, JsonValue]
    next: str | None
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSaved(RunPart):
    """A step is done and saved, or the items of a fan-out are fixed, or its values joined.

    Attributes:
        step: Path of the step; that of the fan-out for its items.
        changed: The keys of the state that it has changed, as JSON values.
        added: What it has added to lists that only grow, by key.
        next: Path of the place where the run goes on; None at its end.
        items: How many items the fan-out there works on, once they are fixed; None for other places.
    """

    type: ClassVar[str] = "step"

    step: str
    changed: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
    added: Mapping[str, Sequence[JsonValue]] = field(default_factory=lambda: MappingProxyType({}))
    next: str | None
    items: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTold(RunPart):
    """What a step has told while it worked (`StepContext.tell`); stored nowhere, so that a slow reader may miss it.

    Attributes:
        run_id: The run of the step: also one that a step of the run has started.
        place: The step, with the item and visit.
        what: What it has told.
    """

    type: ClassVar[str] = "told"

    place: str
    what: object

    def to_dict(self) -> dict[str, Any]:
        """It as for all parts; a value without a JSON form is named by its type."""
        what = to_jsonable_python(self.what, bytes_mode="base64", fallback=_named, serialize_unknown=True)
        return {**RunPart.to_dict(self), "what": what}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldMissed(RunPart):
    """The reader was too slow for what steps have told.

    Attributes:
        missed: How many `StepTold` are missing here.
    """

    type: ClassVar[str] = "missed"

    missed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitBegan(RunPart):
    """A step of the run waits: for an answer, a signal, the time, another run, or word of an effect.

    Attributes:
        wait_id: Its id, for ``runner.answer``.
        place: The step, with the item and visit.
        kind: What ends it.
        name: Of the step, the signal, the other run, or the effect's key, by its kind.
        prompt: What is shown to whoever answers, as a JSON value.
        due_at: When it expires (UTC); None for never.
    """

    type: ClassVar[str] = "wait"

    wait_id: str
    place: str
    kind: WaitKind
    name: str
    prompt: JsonValue
    due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOver(RunPart):
    """A wait has ended, and the step that waited goes on.

    Attributes:
        wait_id: Its id.
        place: The step, with the item and visit.
        status: How it has ended.
        value: What it has brought, as a JSON value.
        by: Who has answered.
    """

    type: ClassVar[str] = "wait_over"

    wait_id: str
    place: str
    status: WaitStatus
    value: JsonValue
    by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOver(RunPart):
    """An item of a fan-out has ended.

    Attributes:
        path: Path of the fan-out.
        index: Position of the item, from 0.
        status: How it has ended.
        value: What its worker has made, as a JSON value.
        error: Why it has failed.
        done: How many of its items have ended.
        total: How many it has.
    """

    type: ClassVar[str] = "item"

    path: str
    index: int
    status: ItemStatus
    value: JsonValue
    error: str | None
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOver(RunPart):
    """The run has ended, and with it the stream. One that has failed may be resumed: then another stream goes on.

    Attributes:
        status: How it has ended.
        error: Why it has failed.
    """

    type: ClassVar[str] = "end"

    status: RunStatus
    error: str | None


def _named(value: object) -> str:
    return f"<{type(value).__name__}>"


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        case Mapping():
            return dict(value)
        case _:
            return value
