"""Runs and what they wait for, as somebody outside sees them."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from anyio.lowlevel import cancel_shielded_checkpoint

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CheckpointStore, CorruptRun, Keep, Page, RunInfo, RunNotFound, RunStatus

from .._listening._listening import Listening
from .._pattern_errors import describe
from .._patterns._pattern import Pattern
from .._plans._run_diagram import run_diagram
from .._runs._fitness import Fitness
from .._runs._seeing import see
from .._streams._stream import RunStream
from ._dispatcher import Dispatcher
from ._hints import check_id
from ._inbox import Sending
from ._pending import PendingWait
from ._retention import Keeping
from ._run import Run

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it is stored, whether anybody works on it or not.

    Attributes:
        id: Its id.
        workflow: Name of its workflow.
        status: Where it stands.
        created_at: When it was started (UTC).
        finished_at: When it ended (UTC).
        error: Why it failed.
        traceback: Traceback of that error, as text.
        next: Path of the place where it goes on; None at its end.
        state: Its state, as its next step sees it, or as it has ended.
        waits: What it waits for; where it waits for other runs, what those wait for.
        is_held: Whether this runner works on it now: it neither rests nor stands in line nor was left by a process
            that has ended.
    """

    id: str
    workflow: str
    status: RunStatus
    created_at: datetime
    finished_at: datetime | None
    error: str | None
    traceback: str | None
    next: str | None
    state: Any
    waits: Sequence[PendingWait]
    is_held: bool


class Views(Sending, ABC):
    """Shows the runs of a runner by their ids."""

    _store: CheckpointStore
    _keeping: Keeping
    _fitness: Fitness
    _has_recovered: bool

    @abstractmethod
    def _open(self) -> Dispatcher:
        """Where runs are worked on.

        Raises:
            RunnerNotOpen: Nobody works on runs now.
        """

    def _check_open(self) -> None:
        self._open()

    async def _passed_on(self, run_id: str) -> None:
        self._open().presence.rooms.ring(run_id)
        await self._heard()

    async def _heard(self) -> None:
        await cancel_shielded_checkpoint()  # the store has told of it by now, and so the watcher has its turn

    async def _definition(self, info: RunInfo) -> Pattern:
        """As an inbox, but looking at the run: nothing is accepted for one that the code of this process misfits."""
        is_fit = info.blocked is None and (self._has_recovered or self._fitness.is_known(info))
        if is_fit or self._open().is_executed(info.run_id):
            return self._registry.find(info).workflow
        return self._fitness.check(await self._store.load(info.run_id)).definition.workflow

    async def _blocked(self, run_id: str, why: str | None) -> str | None:
        """Why a run cannot go on, as far as is known; where nobody has called `recover` it is looked at."""
        if self._has_recovered or self._open().is_executed(run_id):
            return why
        try:
            snapshot = await self._store.load(run_id)
        except CorruptRun as error:
            return self._secrets.mask(describe(error))
        except RunNotFound:
            return None
        reason = None
        if snapshot.run.status.is_open:
            reason = self._fitness.reason(snapshot) or self._open().claims.reason(snapshot.run)
        return None if reason is None else self._secrets.mask(describe(reason))

    async def get(self, run_id: str) -> Run:
        """The handle of a run: one that is worked on here, or as it stands in the store.

        Raises:
            RunNotFound: There is none.
            UnknownWorkflow: It has completed, and the runner does not know its workflow.
            IncompatibleCheckpoint: It has completed, and its state cannot be read any more.
        """
        dispatcher = self._open()
        return await dispatcher.attach(await dispatcher.store.info(check_id(run_id)), claim=False)

    async def info(self, run_id: str) -> RunInfo:
        """What is stored of a run beside its state, such as its workflow and status: the quickest look at it.

        Raises:
            RunNotFound: There is none.
        """
        return await self._open().store.info(check_id(run_id))

    def listen(self, run_id: str, *, buffer: int = 1000) -> Listening:
        """Listen to a run and to those that its steps have started, from now on, whatever their status.

        ::

            with runner.listen(run_id) as listening:
                heard = await listening.next()

        Any number may listen to the same run. Whoever does costs the run nothing that it would wait for.

        Args:
            run_id: The run.
            buffer: How many told values are kept until the next call; of more the oldest are dropped and counted. With
                0 only rings are heard, and steps whose run nobody else listens to need not tell anything.

        Raises:
            RunnerNotOpen: Nobody works on runs now.
        """
        return Listening(check_id(run_id), self._open().presence.rooms, size=buffer)

    async def runs_started(self, *, beyond: int) -> int:
        """Wait until this runner has stored new runs; those that steps start do not count.

        Args:
            beyond: The number of runs that is known already: what this returned before, or -1 to learn the number.

        Returns:
            How many this runner has stored since it was entered.

        Raises:
            RunnerNotOpen: Nobody works on runs now.
        """
        return await self._open().presence.stored(beyond=beyond)

    def stream(self, run_id: str, *, after: str | None = None, buffer: int = 1000) -> RunStream:
        """What becomes of a run, part by part, whatever its status: for a page that shows how far it has got.

        ::

            async with runner.stream(run_id, after=cursor) as stream:
                async for part in stream:
                    print(part.to_dict())

        Args:
            run_id: The run.
            after: `RunPart.cursor` of the last part that the reader knows; None to begin with the state as it is.
            buffer: How many parts that are stored nowhere are kept for a reader who is slow.

        Raises:
            RunnerNotOpen: Nobody works on runs now.
            CursorRefused: `after` is no cursor; one of another run is refused when the first part is read.
        """
        rooms = self._open().presence.rooms

        async def outcome() -> Any:
            return await (await self.get(run_id)).result()

        return rooms.stream(check_id(run_id), after or None, size=buffer, outcome=outcome)

    async def find(
        self,
        *,
        status: RunStatus | Collection[RunStatus] | None = None,
        workflow: str | None = None,
        labels: Mapping[str, str] = _NONE,
        newest_first: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[RunInfo]:
        """Runs in the order in which they were started, whatever has become of them since.

        Args:
            status: Only those with this status, or one of these.
            workflow: Only those of this workflow.
            labels: Only those with all of these labels.
            newest_first: Begin with the last one.
            after: `Page.next` of the page before.
            limit: At most so many.

        Returns:
            A page; runs of which not even this can be read are in `Page.damaged`.
        """
        return await self._open().store.find(
            status=status, workflow=workflow, labels=labels, newest_first=newest_first, after=after, limit=limit
        )

    def keep_of(self, workflow: str) -> Keep:
        """What stays of the runs of a workflow that are started without ``keep=``."""
        return self._keeping.of(workflow)

    async def inspect(self, run_id: str) -> RunView:
        """A run as it is stored: where it stands, its state, what it waits for.

        Raises:
            RunNotFound: There is none.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: It is of an older version, and its migration failed.
        """
        dispatcher = self._open()
        head = await dispatcher.store.head(check_id(run_id))
        snapshot, definition, state = await see(head, dispatcher.store, dispatcher.registry, dispatcher.lists)
        run = snapshot.run
        return RunView(
            id=run.run_id,
            workflow=run.workflow,
            status=run.status,
            created_at=run.created_at,
            finished_at=run.finished_at,
            error=run.error,
            traceback=run.traceback,
            next=definition.upgraded(snapshot).root.next,
            state=state,
            waits=await self.waits(run_id) if run.status.is_open else (),
            is_held=run.status.is_open and dispatcher.is_executed(run_id),
        )

    async def diagram(self, run_id: str) -> str:
        """A run as a mermaid flowchart: its workflow, with what is done, where it stands, waits or has failed.

        Raises:
            RunNotFound: There is none.
            UnknownWorkflow: The runner does not know its workflow.
        """
        dispatcher = self._open()
        snapshot = await dispatcher.store.load(check_id(run_id))
        return run_diagram(dispatcher.registry.find(snapshot.run).workflow.plan, snapshot)
