"""What the store gives, as output."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json

from stagepost.checkpoint import CorruptSchedule, Item, ItemStatus, Page, RunInfo, SentSignal, Snapshot, Unreadable
from stagepost.workflows import PendingWait, Schedule

from ._run import EffectRow, FanOutRow, FrameRow, RunShown, SignalRow
from ._runs import DamagedRun, RunPage, RunRow
from ._schedules import DamagedSchedule, ScheduleList, ScheduleRow
from ._waits import WaitList, WaitRow

LONGEST_ERROR: Final = 1_000  # characters of it in a list


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
    """A page of runs, each with the beginning of its error only: that may be long, and there are many."""
    runs = [_brief(run_row(info)) for info in page.items]
    return RunPage(runs=runs, next=page.next, previous=page.previous, damaged=_damaged_runs(page.damaged))


def _damaged_runs(damaged: Iterable[Unreadable]) -> list[DamagedRun]:
    return [DamagedRun(run_id=error.run_id or "", reason=error.reason) for error in damaged]


def wait_list(page: Page[PendingWait]) -> WaitList:
    """A page of what runs wait for."""
    return WaitList(waits=list(wait_rows(page.items)), next=page.next, damaged=_damaged_runs(page.damaged))


def schedule_list(page: Page[Schedule]) -> ScheduleList:
    """A page of schedules."""
    damaged = [
        DamagedSchedule(key=error.key, reason=error.reason)
        for error in page.damaged
        if isinstance(error, CorruptSchedule)
    ]
    return ScheduleList(schedules=list(map(schedule_row, page.items)), next=page.next, damaged=damaged)


def _brief(row: RunRow) -> RunRow:
    error = row.error
    if error is None or len(error) <= LONGEST_ERROR:
        return row
    return row.model_copy(update={"error": f"{error[: LONGEST_ERROR - 1]}…"})


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


def run_shown(
    snapshot: Snapshot, waits: Sequence[PendingWait], signals: Sequence[SentSignal], owner: str | None
) -> RunShown:
    """A run as output."""
    run = snapshot.run
    return RunShown(
        run=run_row(run),
        traceback=run.traceback,
        keep=run.keep.value,
        input=value_of(run.input),
        state={key: value_of(data) for key, data in snapshot.root.state.items()},
        next=snapshot.root.next,
        branches=[
            FrameRow(path=path, next=frame.next, saves=frame.seq, saved_at=snapshot.saved_at.get(path))
            for path, frame in sorted(snapshot.frames.items())
        ],
        fan_outs=fan_outs(snapshot.items),
        waits=list(wait_rows(waits)),
        signals=[SignalRow(number=each.number, name=each.name, value=value_of(each.value)) for each in signals],
        effects=[
            EffectRow(place=each.place, key=each.key, status=each.status.value, value=value_of(each.value))
            for each in snapshot.effects
        ],
        owner=owner,
    )


def fan_outs(items: Sequence[Item]) -> list[FanOutRow]:
    """How far the fan-outs of a run are."""
    by_path: dict[str, list[ItemStatus]] = {}
    for item in items:
        by_path.setdefault(item.path, []).append(item.status)
    return [
        FanOutRow(path=path, total=len(found), ok=found.count(ItemStatus.OK), failed=found.count(ItemStatus.FAILED))
        for path, found in sorted(by_path.items())
    ]


def schedule_row(schedule: Schedule) -> ScheduleRow:
    """A schedule."""
    when = schedule.when
    return ScheduleRow(
        key=schedule.key,
        workflow=schedule.workflow,
        when=when if isinstance(when, str) else None,
        every=when.total_seconds() if isinstance(when, timedelta) else None,
        timezone=schedule.timezone,
        missed=schedule.missed,
        overlap=schedule.overlap,
        paused=schedule.paused,
        next_due=schedule.next_due,
        last_due=schedule.last_due,
        last_run=schedule.last_run,
        not_started=schedule.not_started,
        failures=schedule.failures,
        error=schedule.error,
    )
