"""Background runs on a store: started, recovered, resumed, served."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from time import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import TaskGroup

from stagepost.checkpoint import CheckpointStore, Keep
from stagepost.hub import Duration, Emitter, Hub, Observer, get_logger, seconds

from .._arguments import flag, from_one
from .._execution._environment import Environment
from .._execution._stored_lists import StoredLists
from .._lifespans import open_lifespans
from .._patterns._pattern import Servable
from .._runs._fitness import Fitness
from .._runs._registry import Migrations, Registry
from .._tracing import TracerFactory, checked_tracing, default_tracing
from .._values._secrets import Given, Secrets
from ..errors import DefinitionError, RunnerNotOpen
from ._children import assembled
from ._claims import joined
from ._dispatcher import Dispatcher
from ._due_runs import DueRuns
from ._hints import check_means
from ._limits import RunLimit, checked_limits
from ._lines import Lines
from ._record import Record
from ._requests import Requests
from ._retention import KeepChoice, Keeping, Sweeper
from ._serving import Serving
from ._timers import Timers

if TYPE_CHECKING:
    from stagepost.hub import Registry as ObserverRegistry

    from ._config import RunnerConfig


class Runner(Requests):
    """Runs workflows in the background and saves every step, so that a killed process can be followed by another.

    An async context manager. Leaving it starts no further step, gives those under way `grace` to end and be
    saved, and cancels the rest; its runs stay open in the store and `recover` goes on with them.

    Args:
        store: Where runs are kept; it serves one runner at a time.
        hub: Where steps ask agents and `serve` registers.
        workflows: The definitions that runs are started from and found again by.
        migrations: By workflow and version, how a stored run of that version becomes one of the next:
            ``{"digest": {1: upgrade}}`` with ``upgrade(run)`` from JSON to JSON, see docs/deploying.md.
        deps: Given to steps as ``context.deps``; never stored.
        observer: Gets the events of all runs.
        grace: See above: seconds, a `timedelta`, or None for as long as it takes.
        max_running: How many runs are worked on at once; more are stored and taken up in their order. Parked runs do
            not count, nor do those that `serve` starts, since others may wait for them. None for no limit.
        limits: How many runs of a workflow, or with a label, are worked on at once or taken up per minute: see
            `RunLimit`.
        max_attempts: How often in a row the process that executes a run may die without one commit in between, before
            the run counts as ``dead``: it may be what ends the process. None for no limit.
        secrets: Given to steps as ``context.secrets``; never stored, never in an event, masked in errors. Each process
            gives its own.
        keep: What stays of runs, see `Keep`: for all, or by the names of their workflows.
        keep_for: How long runs are kept when they have ended; those whose time is up are deleted at the start and every
            hour, a few at a time. None for ever.
        keep_keys: How long after its end the key of a run, and an id that was given, stay taken though the run was
            deleted: starting with them raises `RunForgotten`. None for ever.
        clock: Seconds since 1970, for what waits for the time.
        check_states: Fail steps that change their state in place without returning it, which is lost; for tests.
        tracing: What traces the runs: a provider of traces, or a `Tracing` of one. By default what
            `set_tracing_provider` was given, if it was given any when this is entered.

    Raises:
        StoreInUse: Another runner works on this store (on entering).
    """

    _store: CheckpointStore

    def __init__(
        self,
        store: CheckpointStore,
        *,
        hub: Hub | None = None,
        workflows: Iterable[Servable] = (),
        migrations: Migrations | None = None,
        deps: Any = None,
        observer: Observer | None = None,
        grace: Duration | None = 10.0,
        max_running: int | None = 100,
        limits: Iterable[RunLimit] = (),
        max_attempts: int | None = 5,
        secrets: Given | None = None,
        keep: KeepChoice | Mapping[str, KeepChoice] = Keep.RESULT,
        keep_for: timedelta | None = timedelta(days=30),
        keep_keys: timedelta | None = timedelta(days=400),
        clock: Callable[[], float] = time,
        check_states: bool = False,
        tracing: TracerFactory | None = None,
    ) -> None:
        for name, value in (("max_running", max_running), ("max_attempts", max_attempts)):
            from_one("Runner", name, value)
        flag("Runner", "check_states", check_states)
        if hub is not None and not isinstance(hub, Hub):
            raise DefinitionError("Runner", f"hub={hub!r:.80}: give a Hub, or None")
        if not callable(clock):
            raise DefinitionError("Runner", f"clock={clock!r:.80}: give a function that returns seconds since 1970")
        check_means(store, keep_for=keep_for, keep_keys=keep_keys)
        self._store = store
        self._hub = hub
        self._registry = Registry(workflows, migrations)
        self._deps = deps
        self._emitter = Emitter(observer)
        self._grace = seconds(grace, "grace")
        self._max_running = max_running
        self._limits = checked_limits(limits)
        self._max_attempts = max_attempts
        self._keeping = Keeping(keep)
        self._keep_for = keep_for
        self._keep_keys = keep_keys
        self._clock = clock
        self._check_states = check_states
        self._tracing = checked_tracing(tracing)
        self._secrets = Secrets(secrets, hidden=self._registry.hidden)
        self._serving = Serving(hub)
        self._log = get_logger("workflows", mask=self._secrets.mask)
        self._stack = AsyncExitStack()
        self._group: TaskGroup | None = None
        self._fitness = Fitness(self._registry, hub, self._secrets)
        self._has_recovered = False
        self._dispatcher: Dispatcher | None = None
        self._due_runs: DueRuns | None = None

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since 1970, as it was given."""
        return self._clock

    @property
    def hub(self) -> Hub | None:
        """The hub that it was given; None if it was given none."""
        return self._hub

    @property
    def store(self) -> CheckpointStore:
        """The store, as it was given."""
        return self._store

    @property
    def is_open(self) -> bool:
        """Whether it works on runs: it was entered, and is not being left."""
        return self._dispatcher is not None

    @classmethod
    def from_config(
        cls,
        config: "RunnerConfig",
        store: CheckpointStore,
        *,
        registry: "ObserverRegistry | None" = None,
        hub: Hub | None = None,
        workflows: Iterable[Servable] = (),
        migrations: Migrations | None = None,
        deps: Any = None,
        secrets: Given | None = None,
        tracing: TracerFactory | None = None,
    ) -> Self:
        """Make a runner from configuration, and from what only code can give.

        Args:
            config: What to make.
            store: Where runs are kept; `StoreConfig` and `StoreRegistry` make one.
            registry: What the names of observers stand for; by default only ``null`` and ``log``.
            hub: As above, like the others.
            workflows: See above.
            migrations: See above.
            deps: See above.
            secrets: See above.
            tracing: See above.

        Raises:
            InvalidConfig: An observer's name stands for nothing.
        """
        from stagepost.hub import Registry as ObserverRegistry  # noqa: PLC0415  # builds a pydantic model

        return cls(
            store,
            hub=hub,
            workflows=workflows,
            migrations=migrations,
            deps=deps,
            secrets=secrets,
            observer=(registry or ObserverRegistry()).observer(*config.observers),
            check_states=config.check_states,
            grace=config.grace,
            max_running=config.max_running,
            limits=config.limits,
            max_attempts=config.max_attempts,
            keep=config.keep,
            keep_for=config.keep_for,
            keep_keys=config.keep_keys,
            tracing=tracing,
        )

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            owner = await stack.enter_async_context(joined(self._store))
            if self._hub is not None and self._secrets:
                stack.enter_context(self._hub.masking(self._secrets.mask))
            lifespans = await stack.enter_async_context(open_lifespans(self._grace, self._secrets.mask))
            tracing = self._tracing or default_tracing()
            tracer = None if tracing is None else await stack.enter_async_context(tracing.opened())
            self._group = await stack.enter_async_context(anyio.create_task_group())
            given = (self._store, self._emitter, self._hub, self._deps, self._clock, self._secrets)
            lists = StoredLists(self._store)
            lines: Lines[Record] | None = Lines(self._limits) if self._limits else None
            if lines is not None:
                await lines.load(self._store, self._clock())
            environment = Environment(*given, lists, check_states=self._check_states, tracer=tracer)
            parts = (environment, owner, self._group, self._fitness, lifespans)
            self._dispatcher = assembled(*parts, slots=self._max_running, lines=lines)
            self._due_runs = DueRuns(
                environment,
                self._dispatcher.starter,
                self._registry,
                self._keeping,
                self._group.start_soon,
                log=self._log,
            )
            self._has_recovered = False
            sweeper = Sweeper(self._store, self._clock, self._keep_for, self._keep_keys, log=self._log)
            self._group.start_soon(sweeper.run)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        dispatcher, self._dispatcher, self._due_runs = self._open(), None, None
        try:
            await dispatcher.finish(0 if kind else self._grace)
        finally:
            if self._group is not None:
                self._group.cancel_scope.cancel()
            try:
                if isinstance(error, anyio.get_cancelled_exc_class()):  # it may be the group's own
                    suppressed = await self._stack.__aexit__(kind, error, trace)
                else:  # any other error passes by the group, which would wrap it
                    suppressed = await self._stack.__aexit__(None, None, None)
            finally:
                await self._serving.leave(self._grace)
        return suppressed

    def _open(self) -> Dispatcher:
        if self._dispatcher is None:
            raise RunnerNotOpen
        return self._dispatcher

    def _timers(self) -> Sequence[Timers]:
        """What looks at the clock; `stagepost.workflows.testing` sets it."""
        return [*self._open().timers, self._due().timers]

    def _due(self) -> DueRuns:
        if self._due_runs is None:
            raise RunnerNotOpen
        return self._due_runs
