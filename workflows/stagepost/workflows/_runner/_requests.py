"""What is asked of a runner: to start runs, to go on with them, to end them, to serve workflows."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel

from stagepost.hub import Duration, check_name

from .._engine._intermediates import Intermediate
from .._patterns._given import workflow_of
from .._patterns._pattern import Pattern, Servable
from .._runs._checking import LISTED, CheckProgress, Examination, RunReader
from .._runs._registry import family
from .._runs._report import CheckReport
from .._runs._starting import Order
from .._schedules._asking import asked
from .._schedules._schedule import Schedule
from .._schedules._terms import Missed, Overlap
from ._due_runs import DueRuns
from ._forks import Forks
from ._hints import check_id
from ._inbox import Inbox
from ._recovery import Recovery, RecoveryReport
from ._retention import KeepChoice, Keeping, kept
from ._run import Run, stored_handle
from ._sending import InboxStore
from ._serving import Served, Serving
from ._statistics import RunnerStatistics
from ._timetable import Timetable, put, stated


class Requests(Forks):
    """The part of a `Runner` that its users call."""

    _grace: float
    _keeping: Keeping
    _max_attempts: int | None
    _serving: Serving

    @abstractmethod
    def _due(self) -> DueRuns:
        """What starts the runs of schedules.

        Raises:
            RunnerNotOpen: Nobody works on runs now.
        """

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
            key: Start-once key, of at most 1,000 characters: at most one run of the workflow has it.
            trace: The trace that it belongs to, in at most 1,000 characters; by default its own, named by its id.
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
            ValueError: The key or the trace is empty or too long; nothing is stored.
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

    async def schedule(
        self,
        workflow: Servable,
        when: str | Duration,
        *,
        key: str,
        state: Mapping[str, object] | BaseModel | None = None,
        missed: Missed = "skip",
        overlap: Overlap = "start",
        timezone: str = "UTC",
        jitter: Duration | None = None,
        until: datetime | None = None,
        due_as: str | None = None,
        labels: Mapping[str, str] | None = None,
        paused: bool | None = None,
        replace: bool = False,
    ) -> Schedule:
        """Have runs started again and again, for as long as the schedule is stored and a runner is open.

        ::

            await runner.schedule(digest, "0 7 * * MON-FRI", timezone="Europe/Berlin", key="morning")
            await runner.schedule(sync, timedelta(minutes=5), key="sync", overlap="skip")

        When this returns, the store has saved it. Called again with the same key, as each start of a service does, it
        changes what is said otherwise and leaves the rest, the next time included, as it is.

        Each run has the label ``schedule`` with the key, and ``key@time`` as its start-once key. Each time gets one run
        at most, whatever happens to the process.

        Args:
            workflow: One of the runner's workflows; of several versions the newest is started.
            when: Five fields of cron (minute, hour, day of month, month, day of week), which needs the extra
                ``schedules`` (cronsim); or the distance between two runs, in seconds or as a `timedelta`, the first one
                after that distance.
            key: Its name: a text that can be a label.
            state: What its runs start with.
            missed: What is done about times at which nobody was there, or the start failed, for more than a minute:
                ``skip`` starts nothing for them, ``once`` one run for the last one, ``all`` one for each, of more than
                100 for the last 100.
            overlap: What is done while the last run is open: ``start`` another one, or ``skip`` the time.
            timezone: The time zone of a cron text, such as ``Europe/Berlin``.
            jitter: Start each run up to so much later, always the same for one time, so that not all start together.
            until: Times after this one do not count.
            due_as: The key of the state that gets the time that a run is for, in ISO 8601 and UTC.
            labels: Labels of the runs: at most 15.
            paused: Whether it starts nothing; None leaves that as it is. A new one is not paused.
            replace: Whether a schedule of this key that starts runs of another workflow starts these from now on.

        Returns:
            It as it is stored.

        Raises:
            ScheduleRefused: It cannot be so, such as when a cron text makes no sense.
            ScheduleConflict: A schedule of this key starts runs of another workflow.
            DefinitionError: The runner does not know the workflow.
            CannotStore: What to start with is no state of the workflow; or it, the key or a label holds a secret.
            ExtraMissing: What reads cron texts is not installed.
        """
        pattern, due = workflow_of(workflow, "schedule()"), self._due()
        self._registry.check(pattern)
        given = dict(labels or {})
        order = Order(keep=self._keeping.of(pattern.name), key=key, labels=given)
        order.check(self._secrets, pattern.name)
        terms = asked(
            key,
            when,
            timezone=timezone,
            missed=missed,
            overlap=overlap,
            jitter=jitter,
            until=until,
            due_as=due_as,
            labels=given,
            now=due.now(),
        )
        terms = stated(due, pattern, key, state, terms, secrets=self._secrets)
        return await put(due, pattern, key, terms, may_replace=replace, paused=paused)

    @property
    def schedules(self) -> Timetable:
        """The schedules of the store, to list, pause, resume and delete them."""
        return Timetable(self._due)

    async def recover(self) -> RecoveryReport:
        """Take up every open run of the store that this runner does not work on yet; may be called again.

        Returns:
            What goes on now, when all of it has been scheduled, and what was left open and why.
        """
        report = await Recovery(self._open(), self._fitness, self._max_attempts).recover()
        self._has_recovered = True
        await self._due().timers.begin()
        await self._open().open_lines()
        await self._heard()
        return report

    async def check(
        self, reader: RunReader | None = None, *, limit: int = LISTED, progress: CheckProgress | None = None
    ) -> CheckReport:
        """What becomes of each open run when this runner recovers it: the gate before a deploy.

        Nothing is claimed or changed. With a reader the runner need not be entered, and the process that owns the runs
        may go on with them meanwhile::

            async with SqliteStore.reader("runs.db") as reader:
                report = await Runner(SqliteStore("runs.db"), workflows=[digest]).check(reader)

        See `check_runs`, which needs no runner.

        Args:
            reader: Where the runs are; by default the runner's own store, once it is entered.
            limit: Of how many runs there is a finding; the others are counted.
            progress: Awaited now and then with how many runs were looked at, and how many there were at the beginning.

        Raises:
            RunnerNotOpen: No reader was given, and the runner is not entered.
            StoreError: The store cannot be read.
        """
        store = self._open().store if reader is None else reader
        return await Examination(self._fitness, self._max_attempts).examine(store, limit=limit, progress=progress)

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

    def workflow(self, name: str, version: int | None = None) -> Pattern:
        """A workflow that the runner knows, such as what to start a run of.

        Args:
            name: Its name.
            version: Its version; by default the newest.

        Raises:
            WorkflowNotFound: It knows none of this name, or not of this version.
        """
        return self._registry.newest(name) if version is None else self._registry.of(name, version)

    @property
    def workflows(self) -> Sequence[Pattern]:
        """The workflows that the runner knows, with those that belong to them, by name and version."""
        return self._registry.known

    def statistics(self) -> RunnerStatistics:
        """How many runs this runner works on at this moment, and how many wait for a slot or a limit.

        Raises:
            RunnerNotOpen: It is not entered.
        """
        return self._open().presence.statistics()

    def mask(self, text: str) -> str:
        """A text with three stars in the place of each secret that the runner knows."""
        return self._secrets.mask(text)

    def inbox(self, store: InboxStore) -> Inbox:
        """An inbox with this runner's definitions and secrets, for a process that does not own the store.

        The runner need not be entered::

            async with SqliteStore.inbox("runs.db") as beside:
                await runner.inbox(beside).answer("digest-42/approval", True, by="Ada")

        Args:
            store: What is written to.
        """
        return Inbox.of(store, self._registry, self._secrets)

    async def serve(self, service: Servable) -> None:
        """Put a workflow on the hub under its name: each request starts a run and is answered with its result.

        A request with the header ``idempotency-key`` joins the run that has this key; without it the message's id is
        the key. Whoever stops waiting does not stop the run. A run that parks is answered with `RunParked`, the cause
        of the requester's `HandlerFailed`; asking again with the same key attaches to it. `RunForgotten` is the cause
        if retention has deleted the run with this key. Leaving the runner takes the workflow off the hub.

        ``async for part in hub.stream(name, request)`` reads the stream of the run instead: of an agent that of
        `Tasks.stream`, of any other workflow that of `Run.stream`. Leaving the loop does not stop the run, and a run
        that waits is no error there.

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
        self._serving.put(workflow.name, Served(self, self._open, workflow, keep, self._secrets).handle)
