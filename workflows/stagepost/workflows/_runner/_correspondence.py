"""What somebody outside asks about stored runs and sends to them, by their ids."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from stagepost.checkpoint import RunInfo, WaitKind

from .._plans._run_diagram import run_diagram
from .._runs._run import Run
from ._checks import check_id
from ._inbox import PendingWait, stored
from ._inspecting import RunView, inspect
from ._reception import Reception


class Correspondence(ABC):
    """Shows runs and what they wait for, and hands on answers, signals and word of effects in doubt.

    Nothing is accepted for a run that the code of this process cannot go on with: it would wait for nobody.
    """

    @abstractmethod
    def _open(self) -> Reception:
        """Where runs are worked on.

        Raises:
            RunnerNotOpen: Nobody works on runs now.
        """

    async def get(self, run_id: str) -> Run:
        """The handle of a run: one that is worked on here, or as it stands in the store.

        Raises:
            RunNotFound: There is none.
            UnknownWorkflow: It has completed, and the runner does not know its workflow.
            IncompatibleCheckpoint: It has completed, and its state cannot be read any more.
        """
        reception = self._open()
        return await reception.attach(await reception.store.info(check_id(run_id)), claim=False)

    async def info(self, run_id: str) -> RunInfo:
        """What is stored of a run beside its state, such as its workflow and status: the quickest look at it.

        Raises:
            RunNotFound: There is none.
        """
        return await self._open().store.info(check_id(run_id))

    async def inspect(self, run_id: str) -> RunView:
        """A run as it is stored: where it stands, its state, what it waits for.

        Raises:
            RunNotFound: There is none.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: It is of an older version, and its migration failed.
        """
        return await inspect(self._open(), check_id(run_id))

    async def diagram(self, run_id: str) -> str:
        """A run as a mermaid flowchart: its workflow, with what is done, where it stands, waits or has failed.

        Raises:
            RunNotFound: There is none.
            UnknownWorkflow: The runner does not know its workflow.
        """
        reception = self._open()
        snapshot = await reception.store.load(check_id(run_id))
        return run_diagram(reception.registry.find(snapshot.run).workflow.plan, snapshot)

    async def waits(self, run_id: str | None = None, *, kind: WaitKind | None = None) -> Sequence[PendingWait]:
        """What runs wait for, in the order of their ids: an inbox for whoever answers.

        Args:
            run_id: Only what this run and those that its steps have started wait for; where it waits for other runs,
                what those wait for instead.
            kind: Only waits of this kind, such as ``WaitKind.ANSWER``.

        Raises:
            RunNotFound: There is no such run.
        """
        return await self._open().inbox.waits(run_id, kind)

    async def answer(self, wait_id: str, value: object, *, by: str | None = None) -> None:
        """Answer a `Wait`; when this returns the answer is on disk, and the run goes on.

        Args:
            wait_id: The wait, as in `PendingWait.id`.
            value: The answer; checked against the wait's ``expect=``.
            by: Who answers; stored with it.

        Raises:
            WaitNotFound: No step waits there for an answer.
            AlreadyAnswered: Another answer came first, or the time was up.
            CannotStore: It is no valid answer; the wait stays open.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: The run cannot go on in its workflow as it is now defined; nothing is stored.
        """
        reception = self._open()
        with reception.desk.telling.save():
            reception.desk.wake_soon(await reception.inbox.answer(wait_id, value, by))

    async def signal(self, run_id: str, name: str, value: object = None, *, dedup: str | None = None) -> bool:
        """Send a signal to a run: to the `Receive` that waits for it, or kept until one does.

        Steps that read signals (`StepContext.signals`) find it as well; a run that is parked is not woken by that.

        Args:
            run_id: The run.
            name: The signal's name.
            value: What it carries; checked against ``expect=`` of the step that receives it.
            dedup: A signal of this name and `dedup` is taken once, however often it is sent.

        Returns:
            Whether it is new.

        Raises:
            UnknownSignal: The workflow receives no such signal.
            CannotStore: `value` is not what the step expects.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: The run cannot go on in its workflow as it is now defined; nothing is stored.
        """
        reception = self._open()
        desk = reception.desk
        with desk.telling.save():
            async with desk.signalling(run_id):
                is_new = await reception.inbox.signal(run_id, name, value, dedup)
            desk.wake_soon(run_id)
        return is_new

    async def settle(
        self, run_id: str, key: str, *, value: object = None, retry: bool = False, place: str | None = None
    ) -> None:
        """Say what became of an effect in doubt (see `StepContext.once`), so that its run goes on.

        Args:
            run_id: The run.
            key: The effect's key.
            value: It has happened, and this is what it returned.
            retry: It has not happened: the step does it now.
            place: Which step, if several are in doubt about an effect of this key.

        Raises:
            ValueError: Both `value` and `retry`, or several steps and no `place`.
            EffectNotFound: The run waits for no word of such an effect.
            CannotStore: `value` has no stored form.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: The run cannot go on in its workflow as it is now defined; nothing is stored.
        """
        reception = self._open()
        if retry and value is not None:
            raise ValueError("settle() takes value= (it has happened) or retry=True (it has not), and got both")
        data = None if retry else stored(value, f"what effect {key!r} returned")
        with reception.desk.telling.save():
            await reception.inbox.settle(run_id, key, data, place)
            reception.desk.wake_soon(run_id)
