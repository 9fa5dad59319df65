"""What is asked of a runner: to start runs, to go on with them, to end them, to serve workflows."""

from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel

from stagepost.hub import check_name

from .._engine._intermediates import Intermediate
from .._patterns._given import workflow_of
from .._patterns._pattern import Pattern, Servable
from .._runs._checking import LISTED, CheckProgress, Examination, RunReader
from .._runs._registry import family
from .._runs._report import CheckReport
from .._runs._starting import Order
from ._forks import Forks
from ._hints import check_id
from ._recovery import Recovery, RecoveryReport
from ._retention import KeepChoice, Keeping, kept
from ._run import Run, stored_handle
from ._serving import Serving, answered


class Requests(Forks):
    """The part of a `Runner` that its users call."""

    _grace: float
    _keeping: Keeping
    _max_attempts: int | None
    _serving: Serving

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

    def mask(self, text: str) -> str:
        """A text with three stars in the place of each secret that the runner knows."""
        return self._secrets.mask(text)

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
