"""The entries of a run's history: frozen values with a form for JSON."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import AttemptOutcome, ChildRun, HappeningKind, JsonValue, RunStatus, WaitKind

from ._parts import DecisionEntry, RetryEntry, as_dict
from ._values import KeyChange, RecordedValue


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """Something that has happened to a run.

    Attributes:
        type: What kind of entry it is, for JSON.
        number: Its place in the history, from 1; None if the run keeps no history, or it is still under way.
        saved_at: When it was stored (UTC).
    """

    type: ClassVar[str]

    number: int | None
    saved_at: datetime

    def to_dict(self) -> dict[str, Any]:
        """It with its type, as values that ``json.dumps`` takes: times as ISO 8601."""
        return {"type": self.type, **as_dict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry(HistoryEntry):
    """The run itself: it began, was taken over after a crash, was resumed, was migrated, or has ended.

    Attributes:
        what: ``began``, ``recovered``, ``resumed``, ``migrated``, or its end: ``completed``, ``failed``, ``cancelled``,
            ``dead``.
        error: Why it has failed.
        changes: What it began with.
    """

    type: ClassVar[str] = "run"

    what: str
    error: str | None = None
    changes: Sequence[KeyChange] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEntry(HistoryEntry):
    """An attempt at a step, at a fan-out as a whole, or at one item of it.

    Attributes:
        kind: Which of these.
        path: Path of the step from the run's root, items as ``orders[3]``.
        visits: Which visits of the fan-outs around it, outermost first, and which of its graph node; all 0 outside of
            graphs, and then empty.
        attempt: The how many-th it is at this path and visit, from 1: a step is begun again after a crash, once what it
            has waited for has come, and if its run is resumed. None if nobody has counted.
        begun: When it began (UTC); None if that is not known.
        ended: When it ended (UTC); None while it is under way, and if it was interrupted.
        outcome: How; None while it is under way. If its process has died and nobody has taken its run over since, it
            still counts as under way.
        error: Why it has failed.
        changes: What it has changed in the state: for a step in an item, in what the item has written.
        value: What an item has made; None for steps, and if nobody knows.
        size: How many bytes that has, if it is too large for the history.
        decisions: What was decided with its result.
        retries: Tries that failed before that, in the process that has ended it.
        children: Runs that it has started, as they are now.
    """

    type: ClassVar[str] = "attempt"

    kind: HappeningKind
    path: str
    visits: Sequence[int] = ()
    attempt: int | None
    begun: datetime | None
    ended: datetime | None
    outcome: AttemptOutcome | None
    error: str | None = None
    changes: Sequence[KeyChange] = ()
    value: RecordedValue | None = None
    size: int | None = None
    decisions: Sequence[DecisionEntry] = ()
    retries: Sequence[RetryEntry] = ()
    children: Sequence[ChildRun] = ()

    @property
    def seconds(self) -> float | None:
        """How long it took; None if that is not known."""
        return None if self.begun is None or self.ended is None else (self.ended - self.begun).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsEntry(HistoryEntry):
    """The items of a fan-out were fixed.

    Attributes:
        path: Path of the fan-out.
        visits: As in `AttemptEntry`.
        count: How many there are.
    """

    type: ClassVar[str] = "items"

    path: str
    visits: Sequence[int] = ()
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEntry(HistoryEntry):
    """A step has asked for something, or its wait is over.

    Attributes:
        wait_id: Its id, for ``runner.answer``.
        path: Path of the step.
        visits: As in `AttemptEntry`.
        kind: What ends it.
        name: Of the step, the signal, the other run, or the effect's key, by its kind.
        status: ``open``, ``answered``, ``expired``, or ``refused``: the answer did not fit, and the wait is open again.
        asked: When it was opened (UTC).
        ended: When it was answered, or expired (UTC); None while it is open.
        due_at: When it expires (UTC); None for never.
        by: Who has answered.
        shown: What is shown to whoever answers.
        answer: What was answered, or sent as a signal.
        error: Why an answer was refused.
    """

    type: ClassVar[str] = "wait"

    wait_id: str
    path: str
    visits: Sequence[int] = ()
    kind: WaitKind
    name: str
    status: str
    asked: datetime | None
    ended: datetime | None = None
    due_at: datetime | None = None
    by: str | None = None
    shown: JsonValue = None
    answer: JsonValue = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameEntry(HistoryEntry):
    """Where the run, or an item of it, stood when it was saved, of which nobody has said what had happened.

    Attributes:
        path: Path of the item; empty for the run.
        next: Path of the place where it goes on; None at its end.
        changes: What was changed, where that is known.
    """

    type: ClassVar[str] = "frame"

    path: str
    next: str | None
    changes: Sequence[KeyChange] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEntry(HistoryEntry):
    """A run that a step has started, where the history does not say when the step ran.

    Attributes:
        path: Path of the step.
        visits: As in `AttemptEntry`.
        child: The run, as it is now.
    """

    type: ClassVar[str] = "child"

    path: str
    visits: Sequence[int] = ()
    child: ChildRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """A page of what has happened to a run.

    Attributes:
        run_id: The run.
        workflow: Name of its workflow.
        version: Declared version of that workflow.
        status: Where it stands.
        is_complete: Whether the run keeps its history (``keep="all"``). If not, `items` are what is still known of it:
            where it stands, items of fan-outs under way, waits and children, but no step that was done.
        items: What has happened, in the order in which it was stored.
        under_way: What has begun and not ended, with the last page only.
        next: Give it as ``after=`` to get the following page; None: this was the last one. What happens later is read
            with ``after=`` the `HistoryEntry.number` of the last entry.
    """

    run_id: str
    workflow: str
    version: int
    status: RunStatus
    is_complete: bool
    items: Sequence[HistoryEntry]
    under_way: Sequence[AttemptEntry] = ()
    next: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """It as values that ``json.dumps`` takes."""
        return as_dict(self)
