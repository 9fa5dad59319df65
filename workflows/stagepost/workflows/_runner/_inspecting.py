"""Looking at one run from outside."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunStatus

from ._inbox import PendingWait
from ._reception import Reception


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it is stored, whether anybody works on it or not.

    Attributes:
        id: Its id.
        workflow: Name of its workflow.
        status: Where it stands.
        created_at: When it was started (UTC).
        finished_at: When it ended (UTC).
        error: Why it failed.
        traceback: Traceback of that error, as text.
        next: Path of the place where it goes on; None at its end.
        state: Its state, as its next step sees it, or as it has ended.
        waits: What it waits for; where it waits for other runs, what those wait for.
        is_held: Whether this runner works on it now: it neither rests nor stands in line nor was left by a process
            that has ended.
    """

    id: str
    workflow: str
    status: RunStatus
    created_at: datetime
    finished_at: datetime | None
    error: str | None
    traceback: str | None
    next: str | None
    state: Any
    waits: Sequence[PendingWait]
    is_held: bool


async def inspect(reception: Reception, run_id: str) -> RunView:
    """See `Runner.inspect`."""
    snapshot = await reception.store.load(run_id)
    definition, run = reception.registry.find(snapshot.run), snapshot.run
    return RunView(
        id=run.run_id,
        workflow=run.workflow,
        status=run.status,
        created_at=run.created_at,
        finished_at=run.finished_at,
        error=run.error,
        traceback=run.traceback,
        next=definition.upgraded(snapshot).root.next,
        state=definition.view(snapshot),
        waits=await reception.inbox.waits(run_id, None) if run.status.is_open else (),
        is_held=run.status.is_open and reception.desk.works_on(run_id),
    )
