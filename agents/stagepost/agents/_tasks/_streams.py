"""Streams of tasks: of those that there are, and of those that begin with their stream."""

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from stagepost.workflows import Run, Runner, Servable, new_run_id

from .._agent._agent import Agent
from .._loop._loop import AgentLoop
from .._loop._settings import stored_settings
from .._models._settings import ModelSettings
from .._stream._choice import Choice
from .._stream._cursor import parse
from .._stream._finding import loops_of
from .._stream._hearing import BUFFER, Listen, stream_of
from .._stream._read import read
from .._stream._stream import TaskStream
from ..errors import NotAnAgent

OutputT = TypeVar("OutputT")


class TaskStreams:
    """The part of `Tasks` that streams."""

    _runner: Runner

    async def _begin(
        self,
        agent: Servable | str,
        request: object,
        *,
        task_id: str | None,
        remember_id: bool,
        key: str | None,
        settings: ModelSettings | None,
        labels: Mapping[str, str] | None,
        trace: str | None,
    ) -> Run:
        """Start a task; see `Tasks.start`."""
        loop = known_loop(self._runner, agent)
        start = {**loop.accept(request), **stored_settings(loop.agent, settings)}
        return await self._runner.start(
            loop, start, run_id=task_id, key=key, trace=trace, labels=labels, remember_id=remember_id
        )

    def stream(
        self,
        task_id: str,
        *,
        after: str | None = None,
        include_thinking: bool = True,
        include_tool_events: bool = True,
        below: bool = True,
        partial: bool = False,
        whole_results: bool = False,
        buffer: int = BUFFER,
    ) -> TaskStream[Any]:
        """The stream of a task: an async context manager with an async iterator of its parts, see `TaskStream`.

        The task may run, wait for somebody, or have ended, also in another process. Of one that has ended the reader
        gets everything at once. Leaving the block early cancels nothing.

        Args:
            task_id: The task.
            after: `TaskStream.cursor`, or the ``cursor`` of the last part that the reader has got: it gets all that
                follow. None for all; an empty text, as an empty ``Last-Event-ID``, is the same.
            include_thinking: Whether the reader is told what models think, and that they are about to be asked
                (`TurnBegan`).
            include_tool_events: Whether it is told of calls of tools, their arguments, progress and results.
            below: Whether it is told of the agents below the task's agent.
            partial: Whether it gets a `PartialOutput` as often as there is more of a typed answer.
            whole_results: Whether it gets results of tools as a whole, and not only the beginning of long ones.
            buffer: How many tokens and other parts without a number are kept for a slow reader; of more the oldest are
                dropped.

        Raises:
            InvalidCursor: ``after`` is no cursor of this task: at once if that can be seen from its text, so that a
                service can refuse it; of one that comes after more messages than there are, on reading.
            RunnerNotOpen: On entering, like the following: the runner was not entered.
            RunNotFound: There is no such task.
            NotAnAgent: The run belongs to a workflow that is not an agent.
        """
        if after:
            parse(after, task_id)

        async def begin(listen: Listen) -> Run:
            listen(task_id)
            return await self._runner.get(task_id)

        choice = Choice(
            include_thinking=include_thinking,
            include_tool_events=include_tool_events,
            below=below,
            partial=partial,
            whole_results=whole_results,
        )
        return stream_of(self._runner, begin, choice, buffer=buffer, after=after or None)

    @overload
    def start_stream(
        self,
        agent: Agent[OutputT],
        request: object,
        *,
        task_id: str | None = ...,
        key: str | None = ...,
        settings: ModelSettings | None = ...,
        labels: Mapping[str, str] | None = ...,
        trace: str | None = ...,
        after: str | None = ...,
        include_thinking: bool = ...,
        include_tool_events: bool = ...,
        below: bool = ...,
        partial: bool = ...,
        whole_results: bool = ...,
        buffer: int = ...,
    ) -> TaskStream[OutputT]: ...
    @overload
    def start_stream(
        self,
        agent: Servable | str,
        request: object,
        *,
        task_id: str | None = ...,
        key: str | None = ...,
        settings: ModelSettings | None = ...,
        labels: Mapping[str, str] | None = ...,
        trace: str | None = ...,
        after: str | None = ...,
        include_thinking: bool = ...,
        include_tool_events: bool = ...,
        below: bool = ...,
        partial: bool = ...,
        whole_results: bool = ...,
        buffer: int = ...,
    ) -> TaskStream[Any]: ...
    def start_stream(
        self,
        agent: Servable | str,
        request: object,
        *,
        task_id: str | None = None,
        key: str | None = None,
        settings: ModelSettings | None = None,
        labels: Mapping[str, str] | None = None,
        trace: str | None = None,
        after: str | None = None,
        include_thinking: bool = True,
        include_tool_events: bool = True,
        below: bool = True,
        partial: bool = False,
        whole_results: bool = False,
        buffer: int = BUFFER,
    ) -> TaskStream[Any]:
        """A stream that starts its task when its block is entered, or joins the one that has this id or key.

        ::

            async with tasks.start_stream(lead, "Plan the trip.", task_id="trip-42") as stream:
                async for part in stream: ...

        Once the block is entered, the task is saved; leaving the block early cancels nothing. It hears the task from
        its beginning. `stream` after `Tasks.start` may not: of an answer that has begun before anybody listened, no
        tokens are told.

        Args:
            agent: As for `Tasks.start`.
            request: As for `Tasks.start`.
            task_id: As for `Tasks.start`; `TaskStream.task_id` has the one that it was given.
            key: As for `Tasks.start`.
            settings: As for `Tasks.start`.
            labels: As for `Tasks.start`.
            trace: As for `Tasks.start`.
            after: As for `stream`, for a reader that comes back: with a `task_id` or a `key`.
            include_thinking: As for `stream`.
            include_tool_events: As for `stream`.
            below: As for `stream`.
            partial: As for `stream`.
            whole_results: As for `stream`.
            buffer: As for `stream`.

        Raises:
            AgentError: On entering, whatever `Tasks.start` raises.
        """

        async def begin(listen: Listen) -> Run:
            run_id = new_run_id() if task_id is None else task_id
            listen(run_id)
            return await self._begin(
                agent,
                request,
                task_id=run_id,
                remember_id=task_id is not None,
                key=key,
                settings=settings,
                labels=labels,
                trace=trace,
            )

        choice = Choice(
            include_thinking=include_thinking,
            include_tool_events=include_tool_events,
            below=below,
            partial=partial,
            whole_results=whole_results,
        )
        return stream_of(self._runner, begin, choice, buffer=buffer, after=after or None)

    async def heard_all(self, task_id: str, cursor: str | None) -> bool:
        """Whether a reader with this cursor has got everything, the end too, so that it need not come back.

        Answer an ``EventSource`` with status 204 then, which stops it. A task that has failed may be resumed, and goes
        on from there: then this is False again.

        Args:
            task_id: The task.
            cursor: What the reader comes with; None if it comes for the first time.

        Raises:
            RunNotFound: There is no such task.
            NotAnAgent: The run belongs to a workflow that is not an agent.
            InvalidCursor: It is no cursor of this task.
        """
        known_loop(self._runner, (await self._runner.runs.info(task_id)).workflow)
        if not cursor:
            return False
        with self._runner.listen(task_id, buffer=0) as listening:
            batch = await read(listening.source, loops_of(self._runner), task_id, cursor, mask=self._runner.mask)
        return batch.is_over and not batch.parts


def known_loop(runner: Runner, agent: Servable | str) -> AgentLoop:
    """The loop of an agent, or of the agent that a runner knows by a name.

    Raises:
        WorkflowNotFound: The runner knows none of this name.
        NotAnAgent: It is none of an agent.
    """
    workflow = runner.workflow(agent) if isinstance(agent, str) else agent.as_workflow()
    if not isinstance(workflow, AgentLoop):
        raise NotAnAgent(workflow.name)
    return workflow
