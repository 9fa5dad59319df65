"""Background runs on a store: started, recovered, resumed, served."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from time import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import TaskGroup
from pydantic import BaseModel

from stagepost.checkpoint import CheckpointStore, Keep
from stagepost.hub import Duration, Emitter, Hub, Observer, check_name, get_logger, seconds

from .._engine._intermediates import Intermediate
from .._execution._environment import Environment
from .._execution._stored_lists import StoredLists
from .._lifespans import open_lifespans
from .._patterns._given import workflow_of
from .._patterns._pattern import Pattern, Servable
from .._runs._fitness import Fitness
from .._runs._registry import Migrations, Registry, family
from .._runs._starting import Order
from .._values._secrets import Given, Secrets
from ..errors import RunnerNotOpen
from ._children import assembled
from ._claims import joined
from ._dispatcher import Dispatcher
from ._hints import check_id, check_means
from ._recovery import Recovery, RecoveryReport
from ._retention import KeepChoice, Keeping, Sweeper, kept
from ._run import Run, stored_handle
from ._serving import Serving, answered
from ._views import Views

if TYPE_CHECKING:
    from stagepost.hub import Registry as ObserverRegistry

    from ._config import RunnerConfig


class Runner(Views):
    """Runs workflows in the background and saves every step, so that a killed process can be followed by another.

    An async context manager. Leaving it starts no further step, gives those under way `grace` to end and be
    saved, and cancels the rest; its runs stay open in the store and `recover` goes on with them.

    Args:
        store: Where runs are kept; it serves one runner at a time.
        hub: Where steps ask agents and `serve` registers.
        workflows: The definitions that runs are started from and found again by.
        migrations: By workflow and version, how a stored run of that version becomes one of the next:
            ``{"digest": {1: upgrade}}`` with ``upgrade(run)`` from JSON to JSON, see docs/workflows.md.
        deps: Given to steps as ``context.deps``; never stored.
        observer: Gets the events of all runs.
        grace: See above: seconds, a `timedelta`, or None for as long as it takes.
        max_running: How many runs are worked on at once; more are stored and taken up in their order. Parked runs do
            not count, nor do those that `serve` starts, since others may wait for them. None for no limit.
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
        max_attempts: int | None = 5,
        secrets: Given | None = None,
        keep: KeepChoice | Mapping[str, KeepChoice] = Keep.RESULT,
        keep_for: timedelta | None = timedelta(days=30),
        keep_keys: timedelta | None = timedelta(days=400),
        clock: Callable[[], float] = time,
        check_states: bool = False,
    ) -> None:
        for name, value in (("max_running", max_running), ("max_attempts", max_attempts)):
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: give at least 1, or None for no limit")
        check_means(store, keep_for=keep_for, keep_keys=keep_keys)
        self._store = store
        self._hub = hub
        self._registry = Registry(workflows, migrations)
        self._deps = deps
        self._emitter = Emitter(observer)
        self._grace = seconds(grace, "grace")
        self._max_running = max_running
        self._max_attempts = max_attempts
        self._keeping = Keeping(keep)
        self._keep_for = keep_for
        self._keep_keys = keep_keys
        self._clock = clock
        self._check_states = check_states
        self._secrets = Secrets(secrets, hidden=self._registry.hidden)
        self._serving = Serving(hub)
        self._log = get_logger("workflows", mask=self._secrets.mask)
        self._stack = AsyncExitStack()
        self._group: TaskGroup | None = None
        self._fitness = Fitness(self._registry, hub, self._secrets)
        self._has_recovered = False
        self._dispatcher: Dispatcher | None = None

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since 1970, as it was given."""
        return self._clock

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
            max_attempts=config.max_attempts,
            keep=config.keep,
            keep_for=config.keep_for,
            keep_keys=config.keep_keys,
        )

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            owner = await stack.enter_async_context(joined(self._store))
            if self._hub is not None and self._secrets:
                stack.enter_context(self._hub.masking(self._secrets.mask))
            lifespans = await stack.enter_async_context(open_lifespans(self._grace, self._secrets.mask))
            self._group = await stack.enter_async_context(anyio.create_task_group())
            given = (self._store, self._emitter, self._hub, self._deps, self._clock, self._secrets)
            environment = Environment(*given, StoredLists(self._store), check_states=self._check_states)
            self._dispatcher = assembled(environment, owner, self._group, self._fitness, lifespans, self._max_running)
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
        dispatcher, self._dispatcher = self._open(), None
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

    async def start(
        self,
        workflow: Servable,
        state: Mapping[str, object] | BaseModel | None = None,
        *,
        run_id: str | None = None,
        key: str | None = None,
        trace: str | None = None,
        intermediates: list[Intermediate] | None = None,
        keep: KeepChoice | None = None,
        remember_id: bool = True,
        labels: Mapping[str, str] | None = None,
    ) -> Run:
        """Start a run; when this returns, the store has saved it. Or attach to the run that has this id or key already.

        Args:
            workflow: One of the runner's workflows.
            state: What to start with. A `Continued` stands for a list that begins with another run's.
            run_id: The run's name; by default one that sorts by time.
            key: Start-once key: at most one run of the workflow has it.
            trace: The trace that it belongs to; by default its own, named by its id.
            intermediates: A list that states go into while this runner works on the run: first what it starts with,
                then one `Intermediate` behind each step, item of a fold and fan-out. Nothing, if it attaches.
            keep: What stays of it, see `Keep`; by default what the runner says.
            remember_id: Whether `run_id` stays taken for `keep_keys` when the run has been deleted. False for ids that
                nobody gave, such as numbers that are counted on from the runs there are.
            labels: What the run, and the runs that its steps start, can be found by: at most 16 names with values,
                fixed from then on. Those of a run that is there already stay as they are.

        Raises:
            DefinitionError: The runner does not know the workflow.
            HubRequired: A step asks an agent and the runner has no hub.
            CannotStore: What to start with has no stored form; or it, the id, the key, the trace or a label holds a
                secret.
            LabelRefused: There are too many labels, or one is empty or too long.
            RunNotFound: A list is to begin with that of a run that is not there.
            ListTooShort: It is to begin with more elements than that one has.
            LifespanFailed: What its steps need could not be opened; nothing is stored.
            RunConflict: The id or key stands for a run of another workflow or with another input.
            RunForgotten: The id or key is that of a run that has ended and was deleted since (`keep_for`, `keep`).
            StoreError: The run could not be stored.
        """
        pattern = workflow_of(workflow, "start()")
        order = Order(
            run_id=run_id,
            key=key,
            remember_id=remember_id and run_id is not None,
            remember_key=key is not None,
            labels=dict(labels or {}),
            trace=trace,
            intermediates=intermediates,
            keep=self._keeping.of(pattern.name) if keep is None else kept(keep),
        )
        order.check(self._secrets, pattern.name)
        if run_id is not None:
            check_name("run id", run_id)
        dispatcher = self._open()
        self._registry.check(pattern)
        return await dispatcher.start(pattern, state, order)

    async def recover(self) -> RecoveryReport:
        """Take up every open run of the store that this runner does not work on yet; may be called again.

        Returns:
            What goes on now, when all of it has been scheduled, and what was left open and why.
        """
        report = await Recovery(self._open(), self._fitness, self._max_attempts).recover()
        self._has_recovered = True
        await self._passed_on()
        return report

    async def resume(self, run_id: str) -> Run:
        """Go on with a run that has failed: what was done stays done, what failed is tried again.

        An open run that this runner does not work on is taken up as by `recover`.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has completed.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: Its workflow no longer has the place where it stands.
        """
        dispatcher = self._open()
        return await dispatcher.take_up(await self._store.info(check_id(run_id)), reopen=True)

    async def cancel(self, run_id: str) -> Run:
        """End an open run for good, wherever it stands, with the runs that its steps have started and that are open.

        What it has done stays stored.

        The wish is on disk before anything else happens, so it outlives this process. What runs is cancelled in all
        branches and items; a step that does not heed that within the runner's `grace` is fenced and can save nothing.

        Returns:
            Its handle; the run has ended.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        dispatcher = self._open()
        run = await dispatcher.find(check_id(run_id))
        await dispatcher.cancel(run_id, self._grace)
        return run or stored_handle(await self._store.load(run_id), self._registry, dispatcher.presence)

    def workflow(self, name: str) -> Pattern:
        """The newest version of a workflow that the runner knows.

        Raises:
            WorkflowNotFound: It knows none of this name.
        """
        return self._registry.newest(name)

    async def serve(self, service: Servable) -> None:
        """Put a workflow on the hub under its name: each request starts a run and is answered with its result.

        A request with the header ``idempotency-key`` joins the run that has this key; without it the message's id is
        the key. Whoever stops waiting does not stop the run. A run that parks is answered with `RunParked`, the cause
        of the requester's `HandlerFailed`; asking again with the same key attaches to it. `RunForgotten` is the cause
        if retention has deleted the run with this key. Leaving the runner takes the workflow off the hub.

        Lifespans, its own and its companions', are entered before it is put there.

        Raises:
            HubRequired: The runner has no hub.
            LifespanFailed: What its runs need could not be opened; nothing is registered then.
            DefinitionError: Another workflow has its name and version.
            DuplicateAgent: The name is taken on the hub.
        """
        dispatcher, workflow = self._open(), workflow_of(service, "serve()")
        self._serving.check(workflow.name)
        self._registry.check_new(workflow)
        for member in family(workflow):
            await dispatcher.prepare(member)
        self._registry.add(workflow)
        self._secrets.hide(self._registry.hidden)
        keep = self._keeping.of(workflow.name)
        self._serving.put(workflow.name, partial(answered, self._open, workflow, keep, self._secrets))

    def _open(self) -> Dispatcher:
        if self._dispatcher is None:
            raise RunnerNotOpen
        return self._dispatcher
