"""The ways to run an agent in memory."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial as bind
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import SecretStr

from stagepost.hub import Observer

from .._delegation._result import AgentResult
from .._loop._loop import AgentLoop
from .._loop._session import Approve, Session
from .._models._model import Model
from .._models._settings import ModelSettings
from .._stream._choice import Choice
from .._stream._stream import TaskStream
from ._running import beginning, run_in_memory, run_loop
from ._streaming import heard_in_memory
from ._sync import run_alone

OutputT_co = TypeVar("OutputT_co", covariant=True)


class Readied(NamedTuple):
    """What a run in memory needs.

    Attributes:
        loop: The agent's loop.
        opened: Opens what it needs, for as long as it runs.
    """

    loop: AgentLoop
    opened: AbstractAsyncContextManager[Session]


class Fronts(ABC, Generic[OutputT_co]):
    """The part of an `Agent` that runs it in memory."""

    name: str

    @abstractmethod
    def _readied(
        self,
        model: Model | str | None,
        settings: ModelSettings | None,
        approve: Approve | None,
        override_model: Model | str | None,
    ) -> Readied:
        """What a run needs, checked; see `run`."""

    async def run(
        self,
        request: object,
        *,
        after: AgentResult[object] | None = None,
        model: Model | str | None = None,
        settings: ModelSettings | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
    ) -> AgentResult[OutputT_co]:
        """Run in memory: nothing is stored, and a crash loses the run.

        Args:
            request: The input model, a mapping of its fields, a text, or a list of texts and parts (`Image`, `Audio`,
                `File`).
            after: Continue where this run ended: the model sees everything that was said.
            model: The model, or its name, for an agent without a model of its own.
            settings: Settings for its model; they override the agent's own settings. Agents below have their own.
            approve: Decides about calls that need approval: a function, possibly async, from a `ToolCall` to an `Allow`
                or a `Deny`. Without it such a call fails the run: there is nobody to ask.
            deps: Given to tools as ``context.deps``.
            secrets: Given to tools as ``context.secrets``, and masked in what tools return and the model writes.
            observer: Gets the run's events.
            override_model: Replaces the agent's own model, mainly in tests. Agents below without a model of their own
                ask it too.

        Raises:
            ModelMissing: It, or an agent below it, has no model.
            InvalidAgent: A sub-agent is only a name.
            InvalidRequest: The request does not fit the agent, or the agent has a model of its own and is given another
                one as `model`.
            CannotStore: The request contains something that a run cannot keep, such as a secret.
            BudgetExceeded: The run exceeds its budget.
            CostUnknown: The budget limits the cost, and the cost is unknown.
            AgentFailed: Something else went wrong, such as the model; the cause says what.
        """
        loop, opened = self._readied(model, settings, approve, override_model)
        return await run_in_memory(loop, opened, request, after=after, deps=deps, secrets=secrets, observer=observer)

    def stream(
        self,
        request: object,
        *,
        after: AgentResult[object] | None = None,
        model: Model | str | None = None,
        settings: ModelSettings | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
        include_thinking: bool = True,
        include_tool_events: bool = True,
        below: bool = True,
        partial: bool = False,
        buffer: int = 1000,
    ) -> TaskStream[OutputT_co]:
        """Run in memory, and hear what it does while it works: an async context manager with an async iterator.

        ::

            async with agent.stream("How is Oslo?") as stream:
                async for part in stream:
                    if isinstance(part, TokenArrived) and part.kind == "text":
                        print(part.token, end="")
            print(stream.result.output)

        The run works as long as the block lasts: leaving it early cancels the run, as nobody else can hear it. A run
        that fails has `TaskFailed` as its last part, and ``stream.result`` raises what `run` raises; leaving the block
        raises nothing then.

        Args:
            request: As for `run`, like the others that `run` has.
            after: As for `run`.
            model: As for `run`.
            settings: As for `run`.
            approve: As for `run`.
            deps: As for `run`.
            secrets: As for `run`.
            observer: As for `run`.
            override_model: As for `run`.
            include_thinking: As for `Tasks.stream`, like the following.
            include_tool_events: As for `Tasks.stream`.
            below: As for `Tasks.stream`.
            partial: As for `Tasks.stream`.
            buffer: As for `Tasks.stream`.

        Raises:
            ModelMissing: It, or an agent below it, has no model.
            InvalidAgent: A sub-agent is only a name.
            InvalidRequest: As for `run`.
        """
        loop, opened = self._readied(model, settings, approve, override_model)
        begin = beginning(loop, request, after)
        run = bind(run_loop, loop, begin, deps=deps, secrets=secrets, observer=observer)
        choice = Choice(
            include_thinking=include_thinking, include_tool_events=include_tool_events, below=below, partial=partial
        )
        return TaskStream(bind(heard_in_memory, loop, opened, run, buffer), choice)

    def run_sync(
        self,
        request: object,
        *,
        after: AgentResult[object] | None = None,
        model: Model | str | None = None,
        settings: ModelSettings | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
    ) -> AgentResult[OutputT_co]:
        """`run` for code that is not async, in an event loop of its own; it takes what `run` takes.

        Raises:
            EventLoopRunning: An event loop runs in this thread already.
            AgentError: As for `run`.
        """
        run = bind(self.run, request, after=after, model=model, settings=settings, approve=approve)
        given = bind(run, deps=deps, secrets=secrets, observer=observer, override_model=override_model)
        return run_alone(self.name, given)
