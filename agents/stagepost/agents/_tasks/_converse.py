"""Conversations between an outside caller and an agent."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, overload
from uuid import uuid4

import anyio

from stagepost.checkpoint import LabelRefused, RunNotFound
from stagepost.hub import Duration, check_name, seconds
from stagepost.workflows import Run, Runner, State

from .._agent._agent import Agent
from .._delegation._messaging import IDLE
from .._delegation._result import AgentResult
from .._delegation._state import RunState
from .._loop._loop import AgentLoop
from .._models._messages import ChatMessage
from .._stream._choice import Choice
from .._stream._hearing import BUFFER, Listen, stream_of
from .._stream._stream import TaskStream
from ..errors import ConversationOver, TaskNotFinished
from ._streams import known_loop
from ._turns import LABEL, Turn, Turns, first_messages

OutputT = TypeVar("OutputT")
OutputT_co = TypeVar("OutputT_co", covariant=True)

_ID_LENGTH: Final = 80  # with a number appended, it is the id of a run


class _Unsaid(float):
    """The idle time where none is given: the agent's, which is as long unless the agent says otherwise."""


_UNSAID: Final = _Unsaid(IDLE)


@overload
def converse(
    runner: Runner,
    agent: Agent[OutputT],
    *,
    id: str | None = ...,
    idle: Duration | None = ...,
    labels: Mapping[str, str] | None = ...,
    trace: str | None = ...,
    waits: bool = ...,
) -> "OpenConversation[OutputT]": ...
@overload
def converse(
    runner: Runner,
    agent: str,
    *,
    id: str | None = ...,
    idle: Duration | None = ...,
    labels: Mapping[str, str] | None = ...,
    trace: str | None = ...,
    waits: bool = ...,
) -> "OpenConversation[Any]": ...
def converse(
    runner: Runner,
    agent: Agent[Any] | str,
    *,
    id: str | None = None,  # noqa: A002  # the word for it
    idle: Duration | None = _UNSAID,
    labels: Mapping[str, str] | None = None,
    trace: str | None = None,
    waits: bool = True,
) -> "OpenConversation[Any]":
    """Open a conversation with an agent: an async context manager whose messages outlive the process.

    ::

        async with converse(runner, "weather") as talk:
            print((await talk.send("How is Oslo?")).output)
            print((await talk.send("And tomorrow?")).output)
        ...
        async with converse(runner, "weather", id=talk.id) as talk:    # later, or in another process
            print((await talk.send("And the day after?")).output)

    Each message is a run of its own, ``<id>-0``, ``<id>-1`` and so on, which is also one of `Tasks`: it can be
    inspected, told something, cancelled. It begins with everything that was said before, which is not stored again, and
    has a budget of its own. The label ``conversation`` of these runs is the conversation's id.

    The last turn is all that a conversation needs: retention (``Runner(keep_for=…)``) may delete those before it. Once
    it has deleted the last one, the conversation is over, for as long as ``keep_keys`` says.

    Args:
        runner: Where the agent runs.
        agent: An agent that the runner knows, or its name.
        id: The conversation; by default a new one. An existing one continues after its last turn: a turn that a process
            left open is taken up, and awaited before the next message is sent; one that has failed or was cancelled
            stays in the transcript.
        idle: Seconds (or a `timedelta`) after the last answer after which the conversation has ended, whether or not
            anybody had it open; None for no limit; by default the agent's own ``idle``. The value of this opening
            counts, not that of an earlier one.
        labels: What the runs of the messages that are sent here can be found by, as for `Tasks.start`; beside their
            own label, ``conversation``.
        trace: The trace that the runs of the messages that are sent here belong to, as for ``runner.start``; by default
            each has a trace of its own.
        waits: Whether a message that is sent while the turn before is open waits for its end; else it is refused with
            `TaskNotFinished`.

    Raises:
        LabelRefused: One of the labels is ``conversation``.
        WorkflowNotFound: The runner knows no agent of this name.
        NotAnAgent: The name stands for a workflow that is not an agent.
        InvalidName: The id contains characters that are not allowed.
        ValueError: The id has more than 80 characters, or `idle` is negative.
    """
    conversation_id = uuid4().hex if id is None else check_name("conversation id", id)
    if len(conversation_id) > _ID_LENGTH:
        raise ValueError(f"conversation id {conversation_id!r} is too long: give at most {_ID_LENGTH} characters")
    if labels and LABEL in labels:
        raise LabelRefused(f"{LABEL!r} is what converse() finds the conversation by: call yours something else")
    loop = known_loop(runner, agent)
    limit = loop.idle if isinstance(idle, _Unsaid) else seconds(idle, "idle")
    return OpenConversation(runner, loop, conversation_id, limit, labels, trace=trace, waits=waits)


class OpenConversation(Generic[OutputT_co]):
    """What `converse` opens.

    Messages are answered one after another, in the order in which they were sent, including those that somebody else
    sends to the same conversation. Leaving it does not end it: it can be opened again.

    Attributes:
        id: The conversation; ``converse(runner, agent, id=…)`` opens it again.
    """

    def __init__(
        self,
        runner: Runner,
        loop: AgentLoop,
        conversation_id: str,
        idle: float,
        labels: Mapping[str, str] | None,
        *,
        trace: str | None,
        waits: bool,
    ) -> None:
        self.id = conversation_id
        self._clock = runner.clock
        self._runner = runner
        self._loop = loop
        self._idle = idle
        self._waits = waits
        self._turns = Turns(runner, loop, conversation_id, labels, trace)
        self._last: Turn | None = None
        self._taken = -1  # number of a turn that somebody else has begun meanwhile
        self._is_current = False  # whether `_last` is the last one, as far as is known
        self._speaking = anyio.Lock()

    def __repr__(self) -> str:
        return f"<OpenConversation {self.id} with {self._loop.name}>"

    async def __aenter__(self) -> Self:
        """Open it.

        Raises:
            RunConflict: It is a conversation with another agent, or its runs are not a conversation.
        """
        self._last = await self._turns.take_up()
        self._is_current = self._last is None or not self._last.is_open
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave it; it does not end."""

    @property
    def is_complete(self) -> bool:
        """Whether it takes no more messages: somebody has ended it, or its idle time is up.

        Of what others have done since it was opened, or since the last message that was sent here, it knows nothing.
        """
        return self._why_over(self._last) is not None

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The transcript up to the last turn that has ended here, without the prompt."""
        return () if self._last is None or self._last.state is None else tuple(RunState(self._last.state).messages)

    @property
    def agent(self) -> str:
        """Name of the agent that has the conversation, after the last turn that has ended here."""
        last = None if self._last is None else self._last.state
        return self._loop.agent.name if last is None else self._loop.holder(last)

    async def send(self, request: object, *, key: str | None = None) -> AgentResult[OutputT_co]:
        """Send a message and return the answer, however long that takes: a call may wait for a person, for example.

        Cancelling this call does not stop the turn; the next message then waits for its end.

        Args:
            request: A text, or any request of the agent.
            key: Start-once key: a message with one key is sent once, even if another process sends it again; each call
                gets the answer. After the end of the conversation that holds for its last message only.

        Returns:
            The answer, with the whole transcript; tokens and turns are those of this message.

        Raises:
            ConversationOver: It has ended, or retention has deleted its last turn.
            TaskNotFinished: The turn before is open, and is not waited for.
            InvalidRequest: The request is not what the agent takes.
            RunFailed: The turn has failed; the conversation can continue.
            RunCancelled: Somebody has cancelled the turn; the conversation can continue.
            RunConflict: The key stands for another message.
            RunForgotten: The key stands for a message whose turn retention has deleted.
            RunnerStopped: The runner was left; the turn stays open.
        """
        async with self._speaking:
            run = await self._said(request, key)
            state = await self._turns.state_of(run)
            self._note(run, state)
            return self._loop.result(state, self._clock)

    def stream(
        self,
        request: object,
        *,
        key: str | None = None,
        include_thinking: bool = True,
        include_tool_events: bool = True,
        below: bool = True,
        partial: bool = False,
        whole_results: bool = False,
        buffer: int = BUFFER,
    ) -> TaskStream[OutputT_co]:
        """A stream that sends a message when its block is entered, and has the parts of the answer's turn.

        ::

            async with talk.stream("And tomorrow?") as stream:
                async for part in stream: ...
            print(stream.result.output)

        Leaving the block early does not stop the turn; the next message waits for its end.

        Args:
            request: As for `send`.
            key: As for `send`.
            include_thinking: As for `Tasks.stream`, like the following.
            include_tool_events: As for `Tasks.stream`.
            below: As for `Tasks.stream`.
            partial: As for `Tasks.stream`.
            whole_results: As for `Tasks.stream`.
            buffer: As for `Tasks.stream`.

        Raises:
            ConversationOver: On entering, like whatever else `send` raises of the message.
        """

        async def begin(listen: Listen) -> Run:
            async with self._speaking:
                return await self._said(request, key, listen)

        async def result(run: Run) -> Callable[[], AgentResult[OutputT_co]]:
            state = await self._turns.state_of(run)
            self._note(run, state)
            return lambda: self._loop.result(state, self._clock)

        choice = Choice(
            include_thinking=include_thinking,
            include_tool_events=include_tool_events,
            below=below,
            partial=partial,
            whole_results=whole_results,
        )
        return stream_of(self._runner, begin, choice, buffer=buffer, result=result)

    async def end(self) -> None:
        """End it after the current message: it takes no more messages, in any process."""
        async with self._speaking:
            with suppress(ConversationOver):  # as retention has deleted all turns
                while not self._why_over(last := await self._before()):
                    self._is_current = False
                    with suppress(RunNotFound):  # its last turn was deleted
                        before = (None, None) if last is None else (last.state, last.run_id)
                        await self._turns.begin(_next(last), self._loop.end(*before))
                        self._taken = _next(last)

    async def _said(self, request: object, key: str | None, listen: Listen | None = None) -> Run:
        """The run that answers a message: the next turn, or the one that was begun with the key."""
        while True:
            try:
                last = await self._before(waits=self._waits)
            except TaskNotFinished as found:
                if (run := await self._joined(found.task_id, request, key)) is None:
                    raise
                return run
            self._check_not_over(last, key)
            self._is_current = False
            if listen is not None:
                listen(self._turns.run_id(_next(last)))
            with suppress(RunNotFound):  # its last turn was deleted
                run = await self._turns.begin(_next(last), self._beginning(last, request), key)
                if run is not None:
                    return run
                self._taken = _next(last)

    def _beginning(self, last: Turn | None, request: object) -> Mapping[str, object]:
        if last is None or last.state is None:
            return self._loop.accept(request)
        return self._loop.go_on(last.state, request, run_id=last.run_id)

    async def _joined(self, run_id: str, request: object, key: str | None) -> Run | None:
        """The turn that is open, if it was begun with the key."""
        return await self._turns.joined(run_id, first_messages(self._loop.accept(request)), key)

    async def _before(self, *, waits: bool = True) -> Turn | None:
        """The last turn, once it has ended; looked for, if somebody else may have said something."""
        if not self._is_current or self._why_over(self._last):
            self._last = await self._turns.last(self._taken, waits=waits)
            self._is_current = True
        return self._last

    def _note(self, run: Run, state: State) -> None:
        """Remember a turn that has ended here, if it is the next one."""
        if run.id == self._turns.run_id(_next(self._last)):
            self._last = Turn(_next(self._last), run.id, state, self._clock())
            self._is_current = True

    def _check_not_over(self, last: Turn | None, key: str | None) -> None:
        why = self._why_over(last)
        if why is not None and not (last is not None and last.answers(key)):
            raise ConversationOver(self.id, why)

    def _why_over(self, last: Turn | None) -> str | None:
        if last is None:
            return None
        if last.ends:
            return "somebody has ended it"
        if self._clock() - last.at <= self._idle:
            return None
        return f"nothing was said for more than {self._idle:g} s"


def _next(last: Turn | None) -> int:
    return 0 if last is None else last.number + 1
