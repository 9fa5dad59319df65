"""Schedules: each revision is saved once, with the run that it starts or without; and what limits per minute count."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from .._schedules import StoredSchedule
from .._store import CheckpointStore
from ..errors import RunNotFound, ScheduleChanged, ScheduleNotFound
from ._words import Check, equal, lease_of, new_run, refuses

_NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)


def _new(key: str, *, hours: int | None = 0, paused: bool = False) -> StoredSchedule:
    """A schedule that is due so many hours after noon."""
    due = None if hours is None else _NOON + timedelta(hours=hours)
    return StoredSchedule(key, "conformance", b'{"every":1}', due, due, _NOON, paused)


async def check_a_schedule_is_read_as_it_was_saved(store: CheckpointStore) -> None:
    """All its parts, to the microsecond."""
    late = _NOON + timedelta(microseconds=1)
    new = StoredSchedule("a", "conformance", b"{}", late, None, _NOON, True, 0, _NOON, "run", 3, 2, "why")
    saved = await store.save_schedule(new)
    equal(saved, new._replace(revision=1))
    equal(await store.schedule("a"), saved)


async def check_a_schedule_is_saved_by_whoever_read_it_last(store: CheckpointStore) -> None:
    """A new one that is there is refused, and so is one that was saved or deleted since."""
    first = await store.save_schedule(_new("a"))
    with refuses(ScheduleChanged):
        await store.save_schedule(_new("a"))
    second = await store.save_schedule(first._replace(missed=1))
    with refuses(ScheduleChanged):
        await store.save_schedule(first._replace(missed=2))
    equal((await store.schedule("a")).missed, 1)
    await store.delete_schedule("a")
    with refuses(ScheduleChanged):
        await store.save_schedule(second)


async def check_unknown_schedules_are_refused(store: CheckpointStore) -> None:
    """To read, and to delete."""
    with refuses(ScheduleNotFound):
        await store.schedule("a")
    with refuses(ScheduleNotFound):
        await store.delete_schedule("a")


async def check_schedules_come_in_pages(store: CheckpointStore) -> None:
    """In the order of their keys."""
    for key in "cab":
        await store.save_schedule(_new(key))
    page = await store.schedules(limit=2)
    equal([each.key for each in page.items], ["a", "b"])
    page = await store.schedules(limit=2, after=page.next)
    equal(([each.key for each in page.items], page.next), (["c"], None))


async def check_due_schedules_are_told_with_the_next_time(store: CheckpointStore) -> None:
    """The longest due first; neither those that are paused, nor those that are over."""
    equal(list((await store.due_schedules(_NOON)).items), [])
    for each in (_new("b", hours=1), _new("a"), _new("d", hours=5), _new("c", hours=5)):
        await store.save_schedule(each)
    await store.save_schedule(_new("paused", paused=True))
    await store.save_schedule(_new("over", hours=None))
    due, following, _ = await store.due_schedules(_NOON + timedelta(hours=1))
    equal(([each.key for each in due], following), (["a", "b"], _NOON + timedelta(hours=5)))
    due, following, _ = await store.due_schedules(_NOON + timedelta(hours=1), limit=1)
    equal(([each.key for each in due], following), (["a"], _NOON + timedelta(hours=1)))
    due, following, _ = await store.due_schedules(_NOON + timedelta(hours=9))
    equal(([each.key for each in due][:2], len(due), following), (["a", "b"], 4, None))
    due, following, _ = await store.due_schedules(_NOON - timedelta(hours=1))
    equal((list(due), following), ([], _NOON))


async def check_a_run_is_stored_with_the_schedule_that_starts_it(store: CheckpointStore) -> None:
    """Both or none: not if the schedule was saved since, and not if the run is there already."""
    first = await store.save_schedule(_new("a"))
    started = first._replace(last_run="run")
    lease_of((await store.create(replace(new_run("run", key="k"), schedule=started)))[0])
    equal(await store.schedule("a"), started._replace(revision=2))
    with refuses(ScheduleChanged):
        await store.create(replace(new_run("other"), schedule=started))
    with refuses(RunNotFound):
        await store.info("other")
    again = replace(new_run("again", key="k"), schedule=started._replace(revision=2, last_run="again"))
    lease, info = await store.create(again)
    equal((lease, info.run_id), (None, "run"))
    equal((await store.schedule("a")).last_run, "run")


async def check_admissions_are_counted(store: CheckpointStore) -> None:
    """In the order of time; those before a time are forgotten, and those of the future are of now."""
    await store.admit(["a", "b"], _NOON, before=_NOON)
    await store.admit(["a"], _NOON + timedelta(seconds=30), before=_NOON)
    equal(
        await store.admissions(_NOON),
        [("a", _NOON), ("b", _NOON), ("a", _NOON + timedelta(seconds=30))],
    )
    equal(await store.admissions(_NOON + timedelta(seconds=1)), [("a", _NOON + timedelta(seconds=30))])
    back = _NOON + timedelta(seconds=10)
    await store.admit(["c"], back, before=_NOON + timedelta(seconds=1))
    equal(await store.admissions(_NOON), [("a", back), ("c", back)])


CHECKS: Final[tuple[Check, ...]] = (
    check_a_schedule_is_read_as_it_was_saved,
    check_a_schedule_is_saved_by_whoever_read_it_last,
    check_unknown_schedules_are_refused,
    check_schedules_come_in_pages,
    check_due_schedules_are_told_with_the_next_time,
    check_a_run_is_stored_with_the_schedule_that_starts_it,
    check_admissions_are_counted,
)
