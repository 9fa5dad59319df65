"""What the store gives, as output."""

from collections.abc import Iterable, Sequence

from pydantic import JsonValue
from pydantic_core import from_json

from stagepost.checkpoint import Page, RunInfo
from stagepost.workflows import PendingWait

from ._models import DamagedRun, RunPage, RunRow, WaitRow


def run_row(info: RunInfo) -> RunRow:
    """A run."""
    return RunRow(
        run_id=info.run_id,
        workflow=info.workflow,
        version=info.version,
        status=info.status.value,
        key=info.key,
        labels=dict(info.labels),
        created_at=info.created_at,
        finished_at=info.finished_at,
        error=info.error,
        blocked=info.blocked,
        cancelling=info.cancelling,
        attempts=info.attempts,
        forked_from=info.forked_from,
        forked_at=info.forked_at,
    )


def run_page(page: Page[RunInfo]) -> RunPage:
    """A page of runs."""
    damaged = [DamagedRun(run_id=error.run_id or "", reason=error.reason) for error in page.damaged]
    return RunPage(runs=[run_row(info) for info in page.items], next=page.next, previous=page.previous, damaged=damaged)


def wait_rows(waits: Iterable[PendingWait]) -> Sequence[WaitRow]:
    """What runs wait for."""
    return [
        WaitRow(
            wait_id=wait.id,
            run_id=wait.run_id,
            workflow=wait.workflow,
            place=wait.place,
            kind=wait.kind.value,
            name=wait.name,
            shown=wait.shown,
            opened_at=wait.opened_at,
            due_at=wait.due_at,
            blocked=wait.blocked,
            refused=wait.refused,
        )
        for wait in waits
    ]


def value_of(data: bytes | None) -> JsonValue:
    """A stored value; JSON that cannot be read is shown as the text that it is."""
    if data is None:
        return None
    try:
        value: JsonValue = from_json(data)
    except ValueError:
        return data.decode(errors="replace")
    return value
