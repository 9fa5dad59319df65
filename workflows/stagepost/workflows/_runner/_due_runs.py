"""Starting the runs of schedules when they are due.

A run and the next time of its schedule are one transaction, and the store refuses it if the schedule was saved since it
was read. So whatever ends the process, or whoever else looks at the schedule meanwhile, no time gets two runs.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import anyio
from pydantic import BaseModel
from pydantic_core import to_json

from stagepost.checkpoint import (
    RunNotFound,
    ScheduleChanged,
    ScheduleNotFound,
    StoredSchedule,
    StoreError,
    Unreadable,
    split_values,
)

from .._containment import own_failure
from .._execution._environment import Environment
from .._ids import new_run_id
from .._pattern_errors import describe
from .._patterns._pattern import Pattern
from .._runs._registry import Registry
from .._runs._starting import Order
from .._schedules._asking import LABEL
from .._schedules._terms import Terms
from .._values._state import State
from ..errors import RunForgotten, RunnerStopped
from ._retention import Keeping
from ._starter import Starter
from ._timers import Timers

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_AGAIN: Final = timedelta(seconds=30)  # after a run could not be started


class DueRuns:
    """Starts what is due.

    Args:
        environment: Where schedules are stored, and the clock.
        starter: Starts runs.
        registry: Knows the workflows.
        keeping: What stays of the runs.
        spawn: Runs a function in the runner's task group.
        log: Where failures are logged; shows no secrets.

    Attributes:
        store: Where schedules are.
        timers: Look at the clock.
    """

    def __init__(  # all that it works with, each of another type
        self,
        environment: Environment,
        starter: Starter,
        registry: Registry,
        keeping: Keeping,
        spawn: Callable[..., object],
        *,
        log: "BoundLogger",
    ) -> None:
        self.store = environment.store
        self._secrets = environment.secrets
        self._clock = environment.clock
        self._starter = starter
        self._registry = registry
        self._keeping = keeping
        self._log = log
        self._told = frozenset[str]()  # what was logged of schedules that cannot be read
        self.timers = Timers(self._look, environment.clock, spawn, log=log)

    async def save(self, schedule: StoredSchedule) -> StoredSchedule:
        """Store a schedule in the place of its last revision, and look at it when its time has come.

        Raises:
            ScheduleChanged: Somebody else has saved it since.
        """
        return self.expect(await self.store.save_schedule(schedule))

    def expect(self, schedule: StoredSchedule) -> StoredSchedule:
        """Look at a schedule when its time has come; returns it."""
        if schedule.look_at is not None and not schedule.paused:
            self.timers.expect(schedule.look_at)
        return schedule

    def now(self) -> datetime:
        """The time of the runner's clock."""
        return datetime.fromtimestamp(self._clock(), UTC)

    async def _look(self, now: float, limit: int) -> datetime | None:
        """Start what is due; many at once, so that the store saves them together."""
        moment = datetime.fromtimestamp(now, UTC)
        due, following, damaged = await self.store.due_schedules(moment, limit=limit)
        self._tell(damaged)
        if not due:
            return following
        hindrances = list[Exception]()
        async with anyio.create_task_group() as tasks:
            for schedule in due:
                tasks.start_soon(self._start, schedule, moment, hindrances)
        for hindrance in hindrances:
            if isinstance(hindrance, RunnerStopped):
                return None
            raise hindrance
        again, following, _ = await self.store.due_schedules(moment, limit=1)
        return again[0].look_at if again else following

    def _tell(self, damaged: Sequence[Unreadable]) -> None:
        """Log each of those that cannot be read once, and again if it could be meanwhile."""
        for error in damaged:
            if str(error) not in self._told:
                self._log.error("schedule not readable", why=self._secrets.mask(str(error)))
        self._told = frozenset(map(str, damaged))

    async def _start(self, schedule: StoredSchedule, now: datetime, hindrances: list[Exception]) -> None:
        """Start the runs of one schedule; what hinders that is written down, and hinders no other."""
        try:
            await self._start_all(schedule, now)
        except (ScheduleChanged, ScheduleNotFound):  # since it was read: it is looked at again
            return
        except (StoreError, RunnerStopped) as error:  # concerns all of them
            hindrances.append(error)
        except BaseException as error:  # noqa: BLE001  # a state's validators are a user's; what is no failure is raised again
            await self._note(schedule, own_failure(error), hindrances)

    async def _start_all(self, schedule: StoredSchedule, now: datetime) -> None:
        """Start a run for each time that is to have one, and say when the next one is due."""
        assert schedule.due_at is not None  # noqa: S101  # it is looked at
        terms = Terms.of(schedule)
        times, missed, following = terms.due(schedule.key, schedule.due_at, now)
        if times and terms.overlap == "skip" and await self._is_open(schedule.last_run):
            times, missed = (), missed + len(times)
        schedule = schedule._replace(missed=schedule.missed + missed)
        if not times:
            await self.store.save_schedule(moved(schedule, terms, following))
        for number, time in enumerate(times, 1):
            after = times[number] if number < len(times) else following
            schedule = await self._start_one(moved(schedule, terms, after), terms, time)

    async def _start_one(self, schedule: StoredSchedule, terms: Terms, time: datetime) -> StoredSchedule:
        """Start the run for a time, unless there is one; returns the schedule as it is stored then."""
        pattern = self._registry.newest(schedule.workflow)
        run_id = new_run_id()
        schedule = schedule._replace(last_due=time, last_run=run_id, failures=0, error=None)
        order = Order(
            run_id=run_id,
            key=key_of(schedule.key, time),
            labels={**terms.labels, LABEL: schedule.key},
            keep=self._keeping.of(pattern.name),
            any_input=True,
            schedule=schedule,
        )
        order.check(self._secrets, pattern.name)
        try:
            run, info, _ = await self._starter.start(pattern, state_of(pattern, terms, time), order)
        except RunForgotten as error:
            known = error.run_id
        else:
            if run is not None:
                return schedule._replace(revision=schedule.revision + 1)
            known = info.run_id
        return await self.store.save_schedule(schedule._replace(last_run=known))  # the schedule was made anew since

    async def _is_open(self, run_id: str | None) -> bool:
        with suppress(RunNotFound):
            return run_id is not None and (await self.store.info(run_id)).status.is_open
        return False

    async def _note(self, schedule: StoredSchedule, error: BaseException, hindrances: list[Exception]) -> None:
        """Write down why a run could not be started, and when that is tried again."""
        why = self._secrets.mask(describe(error))
        if not schedule.failures:
            self._log.error("scheduled run not started", schedule=schedule.key, why=why)
        try:
            stored = await self.store.schedule(schedule.key)  # some of its times may have got their runs
            again = stored.look_at and self.now() + _AGAIN
            failed = stored._replace(look_at=again, failures=stored.failures + 1, error=why)
            await self.store.save_schedule(failed)
        except (ScheduleChanged, ScheduleNotFound):
            return
        except StoreError as failure:
            hindrances.append(failure)


def state_of(pattern: Pattern, terms: Terms, time: datetime) -> State | BaseModel:
    """What the run for a time starts with.

    Raises:
        CannotStore: The workflow's states have no place for it.
    """
    given = split_values(terms.state)
    if terms.due_as is not None:
        given[terms.due_as] = to_json(time.isoformat())
    schema = pattern.plan.schema
    state: State | BaseModel = schema.view(schema.adopt(given, {}, f"the input of {pattern.name!r}"))
    return state


def key_of(key: str, time: datetime) -> str:
    """The start-once key of the run for a time."""
    return f"{key}@{time.isoformat()}"


def moved(schedule: StoredSchedule, terms: Terms, due_at: datetime | None) -> StoredSchedule:
    """A schedule whose next run is for a time."""
    return schedule._replace(due_at=due_at, look_at=None if due_at is None else terms.look_at(schedule.key, due_at))
