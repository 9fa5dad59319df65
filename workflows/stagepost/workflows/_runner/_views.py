"""Runs and what they wait for, as somebody outside sees them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from anyio.lowlevel import cancel_shielded_checkpoint

from stagepost.checkpoint import CannotDecrypt, CheckpointStore, CorruptRun, Keep, RunInfo, RunNotFound

from .._listening._listening import Listening
from .._pattern_errors import describe
from .._patterns._pattern import Pattern
from .._plans._run_diagram import run_diagram
from .._runs._fitness import Fitness
from .._streams._cursor import Cursor, check_cursor, read_cursor
from .._streams._stream import RunStream
from ._dispatcher import Dispatcher
from ._hints import check_id
from ._retention import Keeping
from ._run import Run
from ._run_catalogue import RunCatalogue
from ._sending import Sending

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


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
        except (CorruptRun, CannotDecrypt) as error:
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

    async def heard_all(self, run_id: str, cursor: str | None) -> bool:
        """Whether a reader of a run's stream with this cursor has got everything, the end too, and need not come back.

        A run that has failed may be resumed, and goes on from there: then this is False again.

        Args:
            run_id: The run.
            cursor: `RunPart.cursor` of the last part that the reader knows; None if it comes for the first time.

        Raises:
            RunNotFound: There is none.
            CursorRefused: The cursor is none of this run's stream.
        """
        dispatcher = self._open()
        if not cursor:
            await dispatcher.store.info(check_id(run_id))
            return False
        known = read_cursor(run_id, cursor)
        head = await dispatcher.store.head(check_id(run_id))
        check_cursor(head, known)
        return not head.run.status.is_open and known == Cursor(head.root.seq, head.run.epoch)

    @property
    def runs(self) -> RunCatalogue:
        """The runs of the store, with those that other runners have started: listed, counted, shown, deleted."""
        return RunCatalogue(self._open, self.waits, self._blocked)

    def keep_of(self, workflow: str) -> Keep:
        """What stays of the runs of a workflow that are started without ``keep=``."""
        return self._keeping.of(workflow)

    async def diagram(self, run_id: str) -> str:
        """A run as a mermaid flowchart: its workflow, with what is done, where it stands, waits or has failed.

        Raises:
            RunNotFound: There is none.
            UnknownWorkflow: The runner does not know its workflow.
        """
        dispatcher = self._open()
        snapshot = await dispatcher.store.load(check_id(run_id))
        return run_diagram(dispatcher.registry.find(snapshot.run).workflow.plan, snapshot)
