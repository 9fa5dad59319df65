"""One run as somebody outside sees it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic_core import from_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Keep, RunStatus

from .._runs._seeing import Seen
from ._pending import PendingWait


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it is stored, whether anybody works on it or not.

    Attributes:
        id: Its id.
        workflow: Name of its workflow.
        version: Declared version of that workflow.
        status: Where it stands.
        key: The key that it was started with; None if it was given none.
        labels: What it was labelled with when it was started.
        input: What it was started with, as JSON values.
        created_at: When it was started (UTC).
        finished_at: When it ended (UTC); None while it is open.
        saved_at: When each of its branches was last saved (UTC): by path, ``""`` for the run itself, and
            ``summaries[3]`` for an item of a fan-out that is under way.
        error: Why it failed.
        traceback: Traceback of that error, as text.
        next: Path of the place where it goes on; None at its end.
        state: Its state, as its next step sees it, or as it has ended.
        waits: What it waits for; where it waits for other runs, what those wait for.
        owner: Id of the owner that has it, or had it when it ended; None while it is nobody's.
        is_held: Whether this runner works on it now: it neither rests nor stands in line nor was left by a process
            that has ended.
        in_line: The limit for which it waits in line here, as text; None if none holds it back.
        attempts: How often it was taken up after the death of its owner since it was last saved.
        blocked: Why it cannot go on; None if nothing is known that prevents it, and of a run that has ended.
        keep: What stays of it.
        trace: Which trace it belongs to; None if it was given none.
    """

    id: str
    workflow: str
    version: int
    status: RunStatus
    key: str | None
    labels: Mapping[str, str]
    input: Any
    created_at: datetime
    finished_at: datetime | None
    saved_at: Mapping[str, datetime]
    error: str | None
    traceback: str | None
    next: str | None
    state: Any
    waits: Sequence[PendingWait]
    owner: int | None
    is_held: bool
    in_line: str | None
    attempts: int
    blocked: str | None
    keep: Keep
    trace: str | None


def view_of(
    seen: Seen,
    waits: Sequence[PendingWait],
    *,
    is_held: bool = False,
    in_line: str | None = None,
    blocked: str | None = None,
) -> RunView:
    """A run that was read, with what only its runner knows."""
    run = seen.snapshot.run
    return RunView(
        id=run.run_id,
        workflow=run.workflow,
        version=run.version,
        status=run.status,
        key=run.key,
        labels=run.labels,
        input=from_json(run.input),
        created_at=run.created_at,
        finished_at=run.finished_at,
        saved_at=seen.snapshot.saved_at,
        error=run.error,
        traceback=run.traceback,
        next=seen.definition.upgraded(seen.snapshot).root.next,
        state=seen.state,
        waits=waits,
        owner=run.owner,
        is_held=is_held,
        in_line=in_line,
        attempts=run.attempts,
        blocked=blocked,
        keep=run.keep,
        trace=run.trace,
    )
