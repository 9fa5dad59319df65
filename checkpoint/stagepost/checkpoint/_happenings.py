"""What has happened to a run that keeps all, as it is read."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from ._happening import HappeningKind
from ._records import Frame, RunStatus
from ._snapshots import RunInfo


class Happened(NamedTuple):
    """Something that has happened to a run, as it is stored.

    Attributes:
        number: Its place in the history of its run, from 1; `Version` counts with the same numbers.
        kind: What it is about.
        place: The step, fan-out or item, with its visits; empty for the run itself.
        outcome: How an attempt has ended (`AttemptOutcome`), what became of a wait (``open``, ``answered``,
            ``expired``, ``refused``) or of the run (``began``, ``recovered``, ``resumed``, ``migrated``, or its end).
        attempt: The how many-th attempt at this place it was, from 1.
        begun: When it began (UTC), as far as that is known.
        ended: When it ended (UTC); None for an attempt that was interrupted.
        error: Why it failed.
        detail: JSON object with what else is known; of a wait its ``kind``, ``name``, ``due_at`` (ISO 8601) and ``by``.
        value: JSON of what it has made, was shown (an open wait) or was answered.
        epoch: By which claim of the run.
        saved_at: When it was stored (UTC).
        frame: The frame that it has saved, without the values that have rows of their own (`Frame.refs` names them).
        before: The version before that, if there was one.
    """

    number: int
    kind: HappeningKind
    place: str
    outcome: str | None
    attempt: int | None
    begun: datetime | None
    ended: datetime | None
    error: str | None
    detail: bytes | None
    value: bytes | None
    epoch: int
    saved_at: datetime
    frame: Frame | None = None
    before: Frame | None = None


class UnderWay(NamedTuple):
    """An attempt that has begun and not ended, as far as the store knows.

    Attributes:
        kind: What it is about.
        place: The step, fan-out or item, with its visits.
        attempt: The how many-th attempt at this place it is, from 1.
        begun: When it began (UTC).
    """

    kind: HappeningKind
    place: str
    attempt: int
    begun: datetime


class ChildRun(NamedTuple):
    """A run that a step of another run has started.

    Attributes:
        run_id: Its id.
        place: The step.
        workflow: Name of its workflow.
        status: Where it stands.
        error: Why it failed.
        created_at: When it was started (UTC).
        finished_at: When it ended (UTC).
    """

    run_id: str
    place: str
    workflow: str
    status: RunStatus
    error: str | None
    created_at: datetime
    finished_at: datetime | None


class Happenings(NamedTuple):
    """A page of what has happened to a run, all of it as of one moment.

    Attributes:
        run: What is known of the run.
        items: What has happened, in the order in which it was stored.
        next: Give it as ``after=`` to get the following page; None: this was the last one.
        under_way: What has begun and not ended.
        children: Runs that its steps have started, in the order of their ids.
    """

    run: RunInfo
    items: Sequence[Happened]
    next: str | None
    under_way: Sequence[UnderWay]
    children: Sequence[ChildRun]
