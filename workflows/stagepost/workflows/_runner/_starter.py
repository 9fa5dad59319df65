"""Making new runs, or finding that there is one with the same id or key."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from pydantic import BaseModel

from stagepost.checkpoint import (
    KeyRemembered,
    ListTooShort,
    NewRun,
    RunInfo,
    RunNotFound,
    Snapshot,
)

from .._answer import Answer
from .._engine._engine import check_hub
from .._execution._blobs import check_blobs
from .._execution._environment import Environment
from .._execution._sizes import check_input
from .._lifespans import Lifespans
from .._patterns._pattern import Pattern
from .._runs._migration import Definition
from .._runs._starting import Begun, Order, begun
from .._values._state import release
from ..errors import RunForgotten, RunnerStopped
from ._claims import Claims
from ._presence import Presence
from ._record import Record
from ._run import Run, handle_of
from ._scheduler import Scheduler
from ._stay import Stay

Start: TypeAlias = Mapping[str, object] | BaseModel | None


class Starter:
    """Stores new runs and has them worked on.

    Args:
        environment: What they are executed with.
        lifespans: What is open around them.
        presence: Where the runs of this process are.
        claims: What owns them.
    """

    def __init__(self, environment: Environment, lifespans: Lifespans, presence: Presence, claims: Claims) -> None:
        self._environment = environment
        self._lifespans = lifespans
        self._presence = presence
        self._claims = claims
        self._stopping = False
        self._scheduler: Scheduler

    def use(self, scheduler: Scheduler) -> None:
        """Have runs worked on by this."""
        self._scheduler = scheduler

    def stop(self) -> None:
        """Start no further run."""
        self._stopping = True

    async def start(self, workflow: Pattern, state: Start, order: Order) -> tuple[Run | None, RunInfo, NewRun]:
        """Start a run.

        Returns:
            Its handle, or None if there is one that has its id or key; what is known of the one or the other; and what
            was to be stored.

        Raises:
            RunForgotten: That one was deleted by retention.
            RunnerStopped: The runner is being left.
        """
        check_hub(workflow.name, workflow.plan, self._environment.hub)
        if order.trace is None:
            order = replace(order, trace=self.ambient())
        made = await begun(workflow, state, self._claims.owner.id, order, self._environment.lists)
        new = made.run
        self._environment.secrets.check(new.input, f"the input of {workflow.name!r}")
        check_input(self._environment.store.limits, new)
        check_blobs(
            new.blobs, f"the input of {workflow.name!r}", self._environment.store.limits, self._environment.secrets
        )
        try:
            run, info = await self.store(made, workflow, order)
        except (RunNotFound, ListTooShort) as error:
            raise made.missing or error from None
        return run, info, new

    def ambient(self) -> str | None:
        """The trace that a run belongs to which is started here and now, if its starter names none."""
        tracer = self._environment.tracer
        return None if tracer is None else tracer.ambient()

    async def arrived(self, run_id: str) -> Record | None:
        """The record of a run, once it is stored."""
        while (record := self._presence.find(run_id)) is not None and record.stay is Stay.STORING:
            await record.changed()
        return record

    async def arrived_below(self, run_id: str) -> None:
        """Wait until all runs below one that are about to be stored are, or are not."""
        for record in self._presence.below(run_id):
            await self.arrived(record.run_id)

    async def store(self, made: Begun, workflow: Pattern, order: Order) -> tuple[Run | None, RunInfo]:
        """Store a new run and have it worked on; or what is stored in its place.

        Raises:
            RunForgotten: That one was deleted by retention.
            RunnerStopped: The runner is being left.
            LifespanFailed: What it needs could not be opened.
            CheckpointError: It could not be stored.
        """
        new = made.run
        if workflow.lifespan is not None:
            await self._lifespans.enter(workflow.name, workflow.lifespan)
        while (known := await self.arrived(new.run_id)) is not None:
            with suppress(RunNotFound):
                return None, await self._environment.store.info(known.run_id)
        if self._stopping:
            raise RunnerStopped(new.run_id)
        record = self._presence.begin(new.run_id, workflow.name, Stay.STORING)
        record.definition, record.urgent, record.awaited = Definition(workflow), order.urgent, False
        record.intermediates = order.intermediates
        answer: Answer[tuple[Run | None, RunInfo]] = Answer()
        self._scheduler.spawn(self._create, made, record, answer)
        try:
            return await answer.get()
        except KeyRemembered as known_key:
            raise RunForgotten(
                known_key.run_id, known_key.status, known_key.ended_at, is_same=known_key.is_same
            ) from None

    async def _create(self, made: Begun, record: Record, answer: Answer[tuple[Run | None, RunInfo]]) -> None:
        new, own = made.run, None
        try:
            lease, info = await self._environment.store.create(new)
            snapshot = Snapshot(info, {"": new.root})
            if lease is not None and new.continued:  # the store says whose lists its own are
                snapshot, own = await self._environment.store.head(new.run_id), made.values
                release(own)
            if lease is not None and new.forked is not None:
                snapshot, own = await self._environment.store.load(new.run_id), None
        except Exception as error:  # noqa: BLE001  # of whoever starts it, and of no other run
            self._presence.lose(record, error)
            answer.fail(error)
            return
        except BaseException:  # somebody waits for the answer, whatever happens
            self._presence.lose(record, RunnerStopped(new.run_id))
            answer.fail(RunnerStopped(new.run_id))
            raise
        if lease is None or self._stopping:
            self._presence.lose(record, RunnerStopped(new.run_id))
            answer.give((None if lease is None else handle_of(record), info))
            return
        run = handle_of(record)
        await self._scheduler.admit(record, snapshot, lease, lambda: answer.give((run, info)), values=own)
