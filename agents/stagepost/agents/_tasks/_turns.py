"""The turns of a conversation with an outside caller: runs in sequence, each begun with what was said before.

The run of turn n of conversation ``c`` is ``c-n``, and has the label ``conversation`` by which the last one is found.
The next speaker takes the next name; of several concurrent speakers one gets it, and the others find it taken and come
after it. A turn refers to the transcript of the one before, which may be deleted then. The state of each run says in
``said`` which message it answers; a run with such a name but without that is not a turn. A run that only says that the
conversation has ended takes a name, too.

The name of the first turn stays taken when retention has deleted it: so a conversation of which nothing is left is not
mistaken for one in which nothing was said.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Keep, RunInfo, RunNotFound, RunNotOpen
from stagepost.workflows import (
    Continued,
    Run,
    RunCancelled,
    RunConflict,
    RunDead,
    RunFailed,
    RunForgotten,
    Runner,
    RunNotHeld,
    RunView,
    State,
)

from .._delegation._records import Said
from .._delegation._state import RunState
from .._loop._history import MESSAGES
from .._loop._loop import AgentLoop
from .._models._messages import ChatMessage
from ..errors import ConversationOver, TaskNotFinished

LABEL: Final = "conversation"
_PAGE: Final = 20  # runs; the last turn comes before the runs that its steps have started, which have its label
_GONE: Final = "retention has deleted its last turn (keep_for= of the Runner)"


@dataclass(frozen=True, slots=True)
class Turn:
    """The last turn of a conversation.

    Attributes:
        number: Its number, from 0.
        run_id: The run that has its transcript: its own, or if it ends the conversation, that of the turn before.
        state: The final state of that; None if the conversation was ended before anything was said.
        at: When it has ended, in seconds since 1970; of an open one, when it was begun.
        ends: Whether it ends the conversation: it is not a message, and has the state of the turn before.
        is_open: Whether it has not ended.
    """

    number: int
    run_id: str
    state: State | None
    at: float
    ends: bool = False
    is_open: bool = False

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
        trace: The trace that they belong to; None for one each.
    """

    def __init__(
        self,
        runner: Runner,
        loop: AgentLoop,
        conversation_id: str,
        labels: Mapping[str, str] | None = None,
        trace: str | None = None,
    ) -> None:
        self._runner = runner
        self._loop = loop
        self._id = conversation_id
        self._labels = labels
        self._trace = trace

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

    async def last(self, known: int, *, waits: bool = True) -> Turn | None:
        """The last turn, once it has ended; None if nothing was said yet.

        Args:
            known: Number of a turn that there is, or was; -1 if none is known.
            waits: Whether to wait until it has.

        Raises:
            TaskNotFinished: It has not, and is not waited for.
            RunConflict: A run has the name of a turn and is none.
        """
        view = await self._newest(known)
        if view is None:
            return None
        if view.status.is_open and not RunState(view.state).is_over:
            if not waits:
                raise TaskNotFinished(view.id, view.status)
            with suppress(RunFailed, RunCancelled, RunDead):
                await self.state_of(await self._runner.get(view.id))
            view = await self._runner.runs.get(view.id)
        return await self._turn(view)

    async def begin(self, number: int, start: Mapping[str, Any], key: str | None = None) -> Run | None:
        """Start a turn; or find the one that was started with this key; or None, if its number is taken.

        Raises:
            RunConflict: The key stands for another message.
            RunNotFound: The turn that it goes on with is deleted.
            RunForgotten: The key is that of a message whose turn is deleted.
            ConversationOver: All turns are deleted.
        """
        added, length = _added(start)
        said = Said(uuid4().hex if key is None else key, length - 1)
        try:
            return await self._runner.start(
                self._loop,
                {**start, **said.stored},
                run_id=self.run_id(number),
                remember_id=number == 0,  # of the others nobody gave it: it is the next number
                key=None if key is None else f"{self._id}/{key}",
                keep=self._keep,
                labels={**(self._labels or {}), LABEL: self._id},
                trace=self._trace,
            )
        except RunConflict as conflict:
            return await self.joined(conflict.run_id, added, key)
        except RunForgotten as forgotten:
            if number or forgotten.run_id != self.run_id(0):
                raise
            raise ConversationOver(self._id, _GONE) from None

    async def joined(self, run_id: str, added: Sequence[ChatMessage], key: str | None) -> Run | None:
        """A run that was started with a key; None if it was started with another one, or is no turn.

        Args:
            run_id: The run.
            added: What would be said now; its last message is what is compared.
            key: The key.

        Raises:
            RunConflict: The key stands for another message.
        """
        view = await self._runner.runs.get(run_id)
        known = RunState(view.state)
        if key is None or view.workflow != self._loop.name or known.said is None or known.said.key != key:
            return None
        if known.messages[known.said.at] != added[-1]:
            raise RunConflict(run_id, "message")
        return await self._runner.get(run_id)

    @property
    def _keep(self) -> Keep:
        """What stays of a turn: at least what the next one begins with."""
        keep = self._runner.keep_of(self._loop.name)
        return Keep.RESULT if keep is Keep.NONE else keep

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
        """The last one, and if another process has put the clock back meanwhile, still none before one that is known.

        Args:
            known: Number of a turn that there is, or was.
        """
        number = await self._last_number()
        view = await self._find(max(number, 0))  # what has the name of the first one, and no label, is no turn
        while number < known and (later := await self._find(known)) is not None:
            view, known = later, known + 1
        return view

    async def _last_number(self) -> int:
        """Number of the turn that was started last; -1 if there is none."""
        after: str | None = None
        while True:
            page = await self._runner.runs.list(labels={LABEL: self._id}, newest_first=True, after=after, limit=_PAGE)
            numbers = [number for info in page.items if (number := self._number(info)) is not None]
            if numbers or page.next is None:
                return max(numbers, default=-1)
            after = page.next

    def _number(self, info: RunInfo) -> int | None:
        """The number that the name of a run has as a turn."""
        conversation, _, number = info.run_id.rpartition("-")
        return int(number) if conversation == self._id and number.isdecimal() else None

    async def _find(self, number: int) -> RunView | None:
        try:
            view = await self._runner.runs.get(self.run_id(number))
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
            return Turn(number, view.id, view.state, at, is_open=view.status.is_open)
        before = await self._find(number - 1)
        if before is not None:
            return Turn(number, before.id, before.state, at, ends=True)
        is_first = not RunState(view.state).messages
        return Turn(number, view.id, None if is_first else view.state, at, ends=True)


def first_messages(start: Mapping[str, Any]) -> Sequence[ChatMessage]:
    """The messages of a turn that goes on with nothing."""
    messages: Sequence[ChatMessage] = start[MESSAGES]
    return messages


def _added(start: Mapping[str, Any]) -> tuple[Sequence[ChatMessage], int]:
    """What a turn adds to the transcript, and how many messages there are then."""
    messages: Continued | Sequence[ChatMessage] = start[MESSAGES]
    if isinstance(messages, Continued):
        then: Sequence[Any] = messages.then
        return then, messages.length + len(then)
    return messages, len(messages)
