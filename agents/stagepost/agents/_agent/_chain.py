"""Chains of agents: each is asked with the answer of the one before."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from functools import partial as bind
from secrets import token_hex
from typing import Any, Generic, TypeVar

from pydantic import SecretStr

from stagepost._dataclasses import dataclass
from stagepost.hub import Observer, check_name
from stagepost.workflows import Pattern, TracerFactory

from .._definition._definition import AgentDefinition
from .._delegation._result import AgentResult
from .._loop._session import Approve
from .._models._messages import Usage
from .._models._model import Model
from ..errors import ChainedFailure, InvalidAgent, InvalidRequest
from ._chain_stream import ChainStream, Hear
from ._chain_workflow import ChainWorkflow, Link
from ._chainable import Chainable
from ._handing import handing_problem
from ._sync import run_alone
from ._team import Team

OutputT_co = TypeVar("OutputT_co", covariant=True)
NextT = TypeVar("NextT")


@dataclass(frozen=True, slots=True)
class ChainResult(Generic[OutputT_co]):
    """The result of a run of a chain of agents.

    Attributes:
        output: The answer of the last agent.
        results: The results of all agents, in order.
    """

    output: OutputT_co
    results: Sequence[AgentResult[object]]

    @property
    def usage(self) -> Usage:
        """Tokens and US dollars of all of them."""
        return sum((result.usage for result in self.results), Usage())


class AgentChain(Generic[OutputT_co]):
    """A chain of agents, each asked with the answer of the one before; made by `Agent.then`.

    `run` runs them in memory. ``await runner.serve(chain)`` registers them on the hub under the chain's name; there
    each agent's work is a durable child run of the chain's run, and a crash repeats no answer.

    Attributes:
        name: Its name, also on the hub: ``research-then-write`` by default.
        agents: The agents, in order.
    """

    def __init__(self, links: Sequence[Link[Any]], name: str | None) -> None:
        self.agents: Sequence[AgentDefinition] = tuple(link.agent for link in links)
        self.name = check_name("chain name", "-then-".join(each.name for each in self.agents) if name is None else name)
        self._links = tuple(links)

    def __repr__(self) -> str:
        return f"AgentChain({' -> '.join(agent.name for agent in self.agents)})"

    def then(
        self,
        agent: "Chainable[NextT] | AgentChain[NextT]",
        *,
        request: Callable[[OutputT_co], object] | None = None,
        name: str | None = None,
    ) -> "AgentChain[NextT]":
        """The chain with one more agent, or with all of another chain; see `Agent.then`."""
        return chained(self._links, agent, request, name)

    async def run(
        self,
        request: object,
        *,
        model: Model | str | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
        tracing: TracerFactory | None = None,
        trace: str | None = None,
    ) -> ChainResult[OutputT_co]:
        """Run the agents in memory, one after another; each has its own budget.

        Args:
            request: What the first agent takes.
            model: The model for those without a model of their own.
            approve: As for `Agent.run`, of all of them.
            deps: As for `Agent.run`, of all of them.
            secrets: As for `Agent.run`, of all of them.
            observer: As for `Agent.run`, of all of them.
            override_model: Replaces the model of each of them.
            tracing: As for `Agent.run`, of all of them; they are in one trace.
            trace: As for `Agent.run`, of all of them.

        Raises:
            ModelMissing: One of them, or an agent below it, has no model; nothing was asked.
            InvalidRequest: The first agent does not take the request; or all have models of their own, and `model` is
                given.
            ChainedFailure: One has failed, with the error as its cause. Those after it were not asked.
        """
        given = {"approve": approve, "deps": deps, "secrets": secrets, "observer": observer, "tracing": tracing}
        models = self._models(model, override_model)

        async def asked(agent: Any, what: object, more: Mapping[str, Any]) -> AgentResult[Any]:
            result: AgentResult[Any] = await agent.run(what, **more)
            return result

        return await self._each(request, models, {**given, "trace": self._trace(trace)}, asked)

    def stream(
        self,
        request: object,
        *,
        model: Model | str | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
        tracing: TracerFactory | None = None,
        trace: str | None = None,
        include_thinking: bool = True,
        include_tool_events: bool = True,
        below: bool = True,
        partial: bool = False,
        buffer: int = 1000,
    ) -> ChainStream[ChainResult[OutputT_co]]:
        """`run`, heard while it works: the parts of each agent, one agent after the other.

        Leaving the block early cancels the run. ``stream.result`` is what `run` returns, or raises what it raises.

        Args:
            request: As for `run`, like the others that `run` has.
            model: As for `run`.
            approve: As for `run`.
            deps: As for `run`.
            secrets: As for `run`.
            observer: As for `run`.
            override_model: As for `run`.
            tracing: As for `run`.
            trace: As for `run`.
            include_thinking: As for `Agent.stream`, like the following.
            include_tool_events: As for `Agent.stream`.
            below: As for `Agent.stream`.
            partial: As for `Agent.stream`.
            buffer: As for `Agent.stream`.

        Raises:
            ModelMissing: As for `run`.
            InvalidRequest: All have models of their own, and `model` is given.
        """
        given = {"approve": approve, "deps": deps, "secrets": secrets, "observer": observer, "tracing": tracing}
        choice = {"include_thinking": include_thinking, "include_tool_events": include_tool_events, "below": below}
        given |= {**choice, "partial": partial, "buffer": buffer, "trace": self._trace(trace)}
        models = self._models(model, override_model)

        async def run(hear: Hear) -> ChainResult[OutputT_co]:
            async def heard(agent: Any, what: object, more: Mapping[str, Any]) -> AgentResult[Any]:
                return await hear(agent.stream(what, **more))

            return await self._each(request, models, given, heard)

        return ChainStream(run)

    async def _each(
        self,
        request: object,
        models: Sequence[Mapping[str, Any]],
        given: Mapping[str, Any],
        ask: Callable[[Any, object, Mapping[str, Any]], Awaitable[AgentResult[Any]]],
    ) -> ChainResult[OutputT_co]:
        """Ask one agent after the other."""
        results: list[AgentResult[Any]] = []
        for index, link in enumerate(self._links):
            try:
                what = request if index == 0 else link.request_for(results[-1].output)
                result = await ask(link.agent, what, {**models[index], **given})
            except Exception as error:  # kept as the cause, whatever it is
                if index == 0 and isinstance(error, InvalidRequest):
                    raise  # nothing was asked
                raise ChainedFailure(self.name, self._names, results, error) from error
            results.append(result)
        return ChainResult(results[-1].output, tuple(results))

    def _trace(self, trace: str | None) -> str:
        """The trace that all agents share."""
        return trace or f"{self.name}-{token_hex(16)}"

    def run_sync(
        self,
        request: object,
        *,
        model: Model | str | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
        tracing: TracerFactory | None = None,
        trace: str | None = None,
    ) -> ChainResult[OutputT_co]:
        """`run` for code that is not async, in an event loop of its own.

        Args:
            request: As for `run`, like the other arguments.
            model: As for `run`.
            approve: As for `run`.
            deps: As for `run`.
            secrets: As for `run`.
            observer: As for `run`.
            override_model: As for `run`.
            tracing: As for `run`.
            trace: As for `run`.

        Raises:
            EventLoopRunning: An event loop runs in this thread already.
            AgentError: As for `run`.
        """
        run = bind(
            self.run,
            request,
            model=model,
            approve=approve,
            deps=deps,
            secrets=secrets,
            observer=observer,
            override_model=override_model,
            tracing=tracing,
            trace=trace,
        )
        return run_alone(self.name, run)

    def as_workflow(self) -> Pattern:
        """The workflow that does its work, for ``runner.serve(chain)`` and ``Runner(workflows=[chain])``.

        Raises:
            ModelMissing: One of them, or an agent below it, has no model.
            InvalidAgent: A sub-agent is only a name.
        """
        return self._workflow

    @cached_property
    def _workflow(self) -> ChainWorkflow:
        return ChainWorkflow(self.name, self._links)

    @property
    def _names(self) -> Sequence[str]:
        return [agent.name for agent in self.agents]

    def _models(self, model: Model | str | None, override: Model | str | None) -> Sequence[Mapping[str, Any]]:
        """The model given to each agent; checks that all have one before the first is asked."""
        if model is not None and all(agent.model is not None for agent in self.agents):
            raise InvalidRequest(self.name, "all its agents have models of their own, which model= does not replace")
        own = [model if agent.model is None else None for agent in self.agents]
        for link, each in zip(self._links, own, strict=True):
            Team(link.agent, each if override is None else override)  # refuses what has no model
        if override is None:
            return [{"model": each} for each in own]
        return [{"override_model": override} for _ in own]


def chained(
    links: Sequence[Link[Any]],
    agent: "Chainable[NextT] | AgentChain[NextT]",
    request: Callable[[Any], object] | None,
    name: str | None,
) -> AgentChain[NextT]:
    """A chain with one more agent, or with all of another chain.

    Raises:
        InvalidAgent: It is not an agent, or does not take the answers of the last one of the chain; or two different
            agents have the same name.
    """
    last = links[-1].agent
    added = agent._links if isinstance(agent, AgentChain) else (_link(last, agent),)  # noqa: SLF001  # of this class
    first, *others = added
    problem = handing_problem(last, first.agent, request)
    if problem is not None:
        raise InvalidAgent(last.name, problem)
    whole = (*links, Link(first.agent, request), *others)
    known: dict[str, object] = {}
    for link in whole:
        if known.setdefault(link.agent.name, link.agent) is not link.agent:
            raise InvalidAgent(link.agent.name, "two agents of a chain have this name: rename one")
    return AgentChain(whole, name)


def _link(last: AgentDefinition, agent: Any) -> Link[Any]:
    if isinstance(agent, type) or not callable(getattr(agent, "as_workflow", None)) or not hasattr(agent, "output"):
        raise InvalidAgent(last.name, f"then({agent!r:.80}) is not an agent: give an Agent, or a chain of agents")
    return Link(agent)
