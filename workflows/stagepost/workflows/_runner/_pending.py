"""What a run waits for, as somebody outside sees it."""

from datetime import datetime
from typing import Any

from pydantic_core import from_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import OpenWait, WaitKind

from .._ids import wait_id_of


@dataclass(frozen=True, slots=True)
class PendingWait:
    """Something that a run waits for.

    Attributes:
        id: Its id, for `Runner.answer`.
        run_id: The run.
        workflow: Name of its workflow.
        place: The step that waits, as `Runner.settle` takes it.
        kind: What ends it: an ``answer``, a ``signal``, the time (``timer``), the end of another run (``child``), or
            word of an effect in doubt (``effect``).
        name: Of the step, the signal, the other run, or the effect's key, by its kind.
        shown: What ``show=`` gives to whoever answers, or settles an effect, as JSON values.
        due_at: When it ends by itself (UTC); None for never.
        opened_at: Since when the run waits (UTC).
        blocked: Why the run (or the other one, if it waits for that) cannot go on in this process; None if it can.
            Answers, signals and word of effects are refused until it can.
        refused: Why the last answer was dropped, which came from a process that could not check it.
    """

    id: str
    run_id: str
    workflow: str
    place: str
    kind: WaitKind
    name: str
    shown: Any
    due_at: datetime | None
    opened_at: datetime
    blocked: str | None = None
    refused: str | None = None


def pending_wait(found: OpenWait, blocked: str | None) -> PendingWait:
    """An open wait as somebody outside sees it; `blocked` says why its run cannot go on."""
    wait = found.wait
    return PendingWait(
        id=wait_id_of(found.run_id, wait),
        run_id=found.run_id,
        workflow=found.workflow,
        place=wait.place,
        kind=wait.kind,
        name=wait.name,
        shown=None if wait.prompt is None else from_json(wait.prompt),
        due_at=wait.due_at,
        opened_at=wait.opened_at,
        blocked=blocked,
        refused=wait.refused,
    )
