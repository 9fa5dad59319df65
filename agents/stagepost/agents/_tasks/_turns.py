"""The turns of a conversation with an outside caller: runs in sequence, each begun with what was said before.

The run of turn n of conversation ``c`` is ``c-n``, and the last turn is the last name that exists: nothing else is
stored. The next speaker takes the next name; of several concurrent speakers one gets it, and the others find it taken
and come after it. The state of each run says in ``said`` which message it answers; a run with such a name but without
that is not a turn. A run that only says that the conversation has ended takes a name, too.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunNotFound, RunNotOpen
from stagepost.workflows import (
    Run,
    RunCancelled,
    RunConflict,
    RunDead,
    RunFailed,
    Runner,
    RunNotHeld,
    RunView,
    State,
)

from .._delegation._state import RunState, Said
from .._loop._loop import AgentLoop


@dataclass(frozen=True, slots=True)
class Turn:
    """The last turn of a conversation.

    Attributes:
        number: Its number, from 0.
        state: The final state of its run; None if the conversation was ended before anything was said.
        at: When it has ended, in seconds since 1970.
        ends: Whether it ends the conversation: it is not a message, and has the state of the turn before.
    """

    number: int
    state: State | None
    at: float
    ends: bool = False

    def answers(self, key: str | None) -> bool:
        """Whether it is the answer to the message that was sent with a key."""
        said = None if self.state is None else RunState(self.state).said
        return key is not None and said is not None and said.key == key


class Turns:
    """The turns of one conversation.

    Args:
        runner: Where they run.
        loop: The agent's loop.
        conversation_id: The conversation.
        labels: What the runs that begin here can be found by.
    """

    def __init__(
        self, runner: Runner, loop: AgentLoop, conversation_id: str, labels: Mapping[str, str] | None = None
    ) -> None:
        self._runner = runner
        self._loop = loop
        self._id = conversation_id
        self._labels = labels

    def run_id(self, number: int) -> str:
        """The name of a turn."""
        return f"{self._id}-{number}"

    async def take_up(self) -> Turn | None:
        """The last turn as it stands; somebody works on it from now on, if a process has left it open."""
        view = await self._newest(-1)
        if view is None:
            return None
        if view.status.is_open and not view.is_held:
            with suppress(RunNotOpen, RunCancelled):  # it has ended since
                await self._runner.resume(view.id)
        return await self._turn(view)

    async def last(self, known: int) -> Turn | None:
        """The last turn, once it has ended; None if nothing was said yet.

        Args:
            known: Number of a turn that there is; -1 if none is known.

        Raises:
            RunConflict: A run has the name of a turn and is none.
        """
        view = await self._newest(known)
        if view is None:
            return None
        if view.status.is_open and not RunState(view.state).is_over:
            with suppress(RunFailed, RunCancelled, RunDead):
                await self.state_of(await self._runner.get(view.id))
            view = await self._runner.inspect(view.id)
        return await self._turn(view)

    async def begin(self, number: int, start: Mapping[str, Any], key: str | None = None) -> Run | None:
        """Start a turn; or find the one that was started with this key; or None, if its number is taken.

        Raises:
            RunConflict: The key stands for another message.
        """
        messages = RunState(start).messages
        said = Said(uuid4().hex if key is None else key, len(messages) - 1)
        try:
            return await self._runner.start(
                self._loop,
                {**start, **said.stored},
                run_id=self.run_id(number),
                remember_id=False,  # nobody gave it: it is the next number
                key=None if key is None else f"{self._id}/{key}",
                labels=self._labels,
            )
        except RunConflict as conflict:
            view = await self._runner.inspect(conflict.run_id)
            known = RunState(view.state)
            if key is None or view.workflow != self._loop.name or known.said is None or known.said.key != key:
                return None
            if known.messages[known.said.at] != messages[-1]:
                raise
            return await self._runner.get(conflict.run_id)

    async def state_of(self, run: Run) -> State:
        """The final state of a turn, which is taken up if a process has ended in it.

        Raises:
            RunFailed: It has failed.
            RunCancelled: Somebody has cancelled it.
            RunDead: Its process died with it too often.
        """
        try:
            state: State = await run.result()
        except RunNotHeld:
            state = await (await self._runner.resume(run.id)).result()
        return state

    async def _newest(self, known: int) -> RunView | None:
        """The last one: all names before it are taken, and none after it."""
        view = None if known < 0 else await self._find(known)
        low, step = known, 1
        while found := await self._find(low + step):
            view, low, step = found, low + step, step * 2
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            found = await self._find(middle)
            if found is None:
                high = middle
            else:
                view, low = found, middle
        return view

    async def _find(self, number: int) -> RunView | None:
        try:
            view = await self._runner.inspect(self.run_id(number))
        except RunNotFound:
            return None
        if view.workflow != self._loop.name:
            raise RunConflict(view.id, f"agent ({view.workflow!r})")
        if RunState(view.state).said is None:
            raise RunConflict(view.id, f"purpose: it is not part of conversation {self._id!r}")
        return view

    async def _turn(self, view: RunView) -> Turn:
        number = int(view.id.removeprefix(self.run_id(0).removesuffix("0")))
        at = (view.finished_at or view.created_at).timestamp()
        if not RunState(view.state).is_over:
            return Turn(number, view.state, at)
        before = await self._find(number - 1)
        return Turn(number, None if before is None else before.state, at, ends=True)
