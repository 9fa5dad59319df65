"""The schedules of a runner."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import BaseModel

from stagepost.checkpoint import CorruptSchedule, Page, ScheduleChanged, ScheduleNotFound, StoredSchedule, join_values

from .._engine._branch import to_bytes
from .._execution._blobs import blobs_of
from .._patterns._pattern import Pattern
from .._runs._continuing import continued_in
from .._schedules._schedule import Schedule, page_of
from .._schedules._terms import Terms
from .._schedules._when import following
from .._values._secrets import Secrets
from ..errors import ScheduleConflict, ScheduleNotReadable, ScheduleRefused
from ._due_runs import DueRuns, moved, state_of

_MOST: Final = 10_000


class Timetable:
    """All schedules of a runner's store: `Runner.schedules`. `Runner.schedule` makes them.

    Args:
        opened: Gives what starts their runs, as long as the runner is open.
    """

    def __init__(self, opened: Callable[[], DueRuns]) -> None:
        self._opened = opened

    async def list(self, *, after: str | None = None, limit: int = 100) -> Page[Schedule]:
        """Schedules in the order of their keys.

        Args:
            after: `Page.next` of the page before.
            limit: At most so many.

        Returns:
            A page; those that cannot be read, or not by this version of stagepost, are in `Page.damaged`.
        """
        return page_of(await self._opened().store.schedules(after=after, limit=limit))

    async def get(self, key: str) -> Schedule:
        """A schedule: when its next run is due, which was the last one, how many were not started, and what failed.

        Raises:
            ScheduleNotFound: There is none.
            ScheduleNotReadable: What is stored of it makes no sense to this version of stagepost.
        """
        return Schedule.of(await self._opened().store.schedule(key))

    async def pause(self, key: str) -> Schedule:
        """Start no run of a schedule until it is resumed. Those that were started go on.

        Raises:
            ScheduleNotFound: There is none.
        """
        return await self._change(key, lambda stored, _: stored._replace(paused=True))

    async def resume(self, key: str) -> Schedule:
        """Start runs of a schedule again, from its next time on; those of its pause are not made up for.

        Of a schedule that is not paused the next time is counted from now, too: that helps after the clock was wrong.

        Raises:
            ScheduleNotFound: There is none.
            ScheduleNotReadable: What is stored of it makes no sense to this version of stagepost.
        """
        return await self._change(key, resumed)

    async def delete(self, key: str) -> None:
        """Forget a schedule. The runs that it has started stay.

        Raises:
            ScheduleNotFound: There is none.
        """
        await self._opened().store.delete_schedule(key)

    async def next_times(self, key: str, n: int = 5) -> Sequence[datetime]:
        """The next times of a schedule (UTC), as if it were not paused.

        Args:
            key: The schedule.
            n: How many at most.

        Raises:
            ScheduleNotFound: There is none.
            ScheduleNotReadable: What is stored of it makes no sense to this version of stagepost.
        """
        stored = await self._opened().store.schedule(key)
        terms, due_at = Terms.of(stored), stored.due_at
        if due_at is None or n < 1:
            return ()
        later = following(terms.times, due_at, due_at, min(n, _MOST) - 1)
        return (due_at, *(time for time in later if terms.until is None or time <= terms.until))

    async def _change(self, key: str, change: Callable[[StoredSchedule, datetime], StoredSchedule]) -> Schedule:
        due = self._opened()
        while True:
            stored = await due.store.schedule(key)
            try:
                saved = await due.save(change(stored, due.now()))
            except ScheduleChanged:  # a run of it was started meanwhile
                continue
            return Schedule.of(saved)


async def put(
    due: DueRuns, pattern: Pattern, key: str, terms: Terms, *, may_replace: bool, paused: bool | None
) -> Schedule:
    """Make a schedule, or have the one that is there say the same.

    Args:
        due: What starts its runs.
        pattern: The workflow of the runs.
        key: The schedule.
        terms: What it says.
        may_replace: Whether it may have started runs of another workflow until now.
        paused: Whether it starts nothing; None: as it was.

    Raises:
        ScheduleConflict: It starts runs of another workflow.
    """
    while True:
        stored = await _stored(due, key)
        if stored is not None and stored.workflow != pattern.name and not may_replace:
            raise ScheduleConflict(key, stored.workflow)
        wanted = _wanted(stored, key, pattern.name, terms, due.now())
        if paused is not None:
            wanted = resumed(wanted, due.now()) if wanted.paused and not paused else wanted._replace(paused=paused)
        if wanted == stored:
            return Schedule.of(due.expect(stored))
        try:
            return Schedule.of(await due.save(wanted))
        except ScheduleChanged:  # a run of it was started meanwhile, or somebody else makes it
            continue


async def _stored(due: DueRuns, key: str) -> StoredSchedule | None:
    try:
        return await due.store.schedule(key)
    except ScheduleNotFound:
        return None
    except CorruptSchedule:  # nothing of it can be kept, so the new one takes its place
        with suppress(ScheduleNotFound):
            await due.store.delete_schedule(key)
        return None


def resumed(stored: StoredSchedule, now: datetime) -> StoredSchedule:
    """A schedule that is not paused, and whose next time is counted from now."""
    terms = Terms.of(stored)
    return moved(stored._replace(paused=False), terms, terms.after(stored.due_at, now))


def _wanted(stored: StoredSchedule | None, key: str, workflow: str, terms: Terms, now: datetime) -> StoredSchedule:
    """A schedule that says this; its next time stays, unless it is timed otherwise."""
    blank = StoredSchedule(key, workflow, b"", None, None, now)
    wanted = (stored or blank)._replace(workflow=workflow, definition=terms.dump())
    before = None if stored is None else _known(stored)
    if before is None or not before.is_timed_as(terms):
        return moved(wanted, terms, terms.after(None, now))
    return wanted if before.jitter == terms.jitter else moved(wanted, terms, wanted.due_at)


def _known(stored: StoredSchedule) -> Terms | None:
    """What a schedule has said until now; None if another version of stagepost has stored it."""
    try:
        return Terms.of(stored)
    except ScheduleNotReadable:
        return None


def stated(
    due: DueRuns,
    pattern: Pattern,
    key: str,
    state: Mapping[str, object] | BaseModel | None,
    terms: Terms,
    *,
    secrets: Secrets,
) -> Terms:
    """The terms of a schedule with what its runs start with.

    Raises:
        ScheduleRefused: It refers to what a schedule does not keep.
        CannotStore: It is no state of the workflow, has no stored form, is too large, or holds a secret.
    """
    now = due.now()
    if continued_in(state):
        raise ScheduleRefused(key, "its runs cannot go on with the list of another run: have their first step do so")
    schema, due_as, where = pattern.plan.schema, terms.due_as, f"the input of {pattern.name!r}"
    given: Mapping[str, object] | BaseModel = {} if state is None else state
    if due_as is not None:
        if schema.model is not None and due_as not in schema.model.model_fields:
            raise ScheduleRefused(key, f"due_as={due_as!r}: the state of {pattern.name!r} has no such field")
        if isinstance(given, Mapping):
            given = {**given, due_as: now.isoformat()}
    values = schema.initial(given, where)
    if blobs_of(values.values()):
        raise ScheduleRefused(key, "it keeps no bytes beside the state: have the first step of its runs get them")
    stored = {name: value for name, value in to_bytes(values).items() if name != due_as}
    for name, value in stored.items():
        due.store.limits.check(len(value), f"{name} of {where}")
    data = join_values(stored)
    secrets.check(data, where)
    terms = replace(terms, state=data)
    state_of(pattern, terms, now)
    return terms
