"""An agent and all that it can reach, as the workflows that do their work."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from stagepost.workflows import Runner
from stagepost.workflows.patterns import BeginTold

from .._context._policy import ContextPolicy
from .._definition._approvals import Approvals
from .._definition._definition import AgentDefinition, sub_agents_of
from .._definition._hooks import all_hooks, inherited
from .._delegation._delegate_tool import DelegateTool
from .._delegation._delegation import Delegation
from .._delegation._handoff import group_of
from .._delegation._messaging import IDLE
from .._loop._loop import AgentLoop
from .._loop._member import Member
from .._loop._session import Approve, Session
from .._mcp import McpConnections
from .._models._around import can_prepare, model_secrets, prepare_model, release_model
from .._models._model import Model
from .._models._settings import ModelSettings
from .._models._settings_keys import settings_secrets
from .._stream._choice import Choice
from .._stream._hearing import BUFFER, stream_of
from ..errors import ModelMissing
from ._inheritance import Link, resolve_model, writers_of


class _Above(NamedTuple):
    """What an agent inherits.

    Attributes:
        approvals: The rules of all agents above it.
        hooks: Those hooks of theirs that are inherited.
        context: The policy of the nearest of them that has one.
        writers: The models that write the summaries of each of its compactions; None for the agent's own.
    """

    approvals: Approvals
    hooks: Sequence[object]
    context: ContextPolicy
    writers: Sequence[Model | None]

    def at(self, way: Sequence[Link]) -> "_Above":
        """The same, with the policy of the last agent of a way, if it has one: names in it mean what they do there."""
        policy = way[-1].agent.context
        return self if policy is None else self._replace(context=policy, writers=writers_of(way, policy))

    def below(self, member: Member) -> "_Above":
        """What is inherited from an agent."""
        return self._replace(approvals=member.approvals, hooks=inherited(member.hooks))


_USUAL: Final = ContextPolicy()
_NOTHING: Final = _Above(Approvals(within=None), (), _USUAL, writers_of((), _USUAL))


class _Place(NamedTuple):
    """Where agents that hand over to each other are in a team.

    Attributes:
        root: The agent at the top.
        name: Name of the loop.
        is_alone: Whether they are asked by nobody and ask nobody.
    """

    root: AgentDefinition
    name: str
    is_alone: bool

    def member(self, way: Sequence[Link], model: Model, above: _Above) -> Member:
        """The agent that is asked first, with what it has of those above it."""
        agent = way[-1].agent
        return Member(
            name=self.name,
            path=tuple(link.agent.name for link in way),
            agent=agent,
            model=model,
            approvals=agent.approvals.with_inherited(above.approvals),
            hooks=all_hooks(above.hooks, agent.hooks),
            context=above.context,
            writers=tuple(model if writer is None else writer for writer in above.writers),
            root=(self.root.name, self.root.budget),
            depth=len(way) - 1,
            is_alone=self.is_alone,
            idle=next((link.agent.idle for link in reversed(way) if link.agent.idle is not None), IDLE),
        )

    def taker(self, way: Sequence[Link], model: Model, above: _Above) -> Member:
        """An agent that the run may be handed over to."""
        name = way[-1].agent.name
        return replace(self.member(way, model, above), name=f"{self.name}@{name}", holder=name)


class Team:
    """The loops of an agent and of those below it, each with what it inherits.

    One agent that can be reached on two ways has two loops, since it may inherit two models.

    Args:
        root: The agent at the top.
        model: Instead of its own model.

    Attributes:
        loop: The loop of the agent at the top.

    Raises:
        ModelMissing: There is no model for one of them.
        InvalidAgent: A sub-agent is only a name.
    """

    def __init__(self, root: AgentDefinition, model: Model | str | None = None) -> None:
        self._root = root
        self._model = model
        self._loops: list[AgentLoop] = []
        self._members: list[Member] = []
        self.loop = self._built((Link(root),), _NOTHING, root.name)
        self.loop.below = tuple(loop for loop in self._loops if loop is not self.loop)

    def told(self, runner: object, begin: BeginTold) -> AbstractAsyncContextManager[AsyncIterator[object]]:
        """The parts of a run of the loop at the top, as in the stream of a task."""
        assert isinstance(runner, Runner)  # noqa: S101  # nobody else serves workflows
        return stream_of(runner, begin, Choice(), buffer=BUFFER)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[Session]:
        """Prepare models and connections, and close what was opened."""
        async with self.open() as session:
            yield session

    def open(
        self,
        approve: Approve | None = None,
        settings: ModelSettings | None = None,
        connections: Mapping[str, McpConnections] | None = None,
    ) -> AbstractAsyncContextManager[Session]:
        """The same, for a run in memory.

        Args:
            approve: Decides about calls that a person has to allow.
            settings: Those of the agent at the top in this run; None for its own.
            connections: Those that are open already, by the names of members; None to open them for this run.
        """
        if self._has_to_open:
            return self._opened(approve, settings, connections)
        return nullcontext(Session(approve=approve, settings=settings))

    async def connect(self, stack: AsyncExitStack) -> Mapping[str, McpConnections]:
        """Connections to the servers of all members, by their names.

        Args:
            stack: Closes them.
        """
        return {
            member.name: await stack.enter_async_context(McpConnections(member.agent.servers))
            for member in self._members
            if member.agent.servers
        }

    @asynccontextmanager
    async def _opened(
        self,
        approve: Approve | None,
        settings: ModelSettings | None,
        connections: Mapping[str, McpConnections] | None,
    ) -> AsyncIterator[Session]:
        for model in self._models:
            await prepare_model(model)
        async with AsyncExitStack() as stack:
            opened = await self.connect(stack) if connections is None else connections
            yield Session(opened, approve, settings)

    async def release(self) -> None:
        """Have the models close what they have open in this event loop, which is about to end."""
        for model in self._models:
            await release_model(model)

    @cached_property
    def _has_to_open(self) -> bool:
        """Whether there is anything to prepare, to connect or to close."""
        return any(map(can_prepare, self._models)) or any(member.agent.servers for member in self._members)

    @property
    def hidden(self) -> Collection[tuple[str, str]]:
        """What its runs may not keep of models and servers."""
        keys = [(f"the key of {model!r}", key) for model in self._models for key in model_secrets(model)]
        keys += [
            (f"a key in the settings of agent {member.agent.name!r}", key)
            for member in self._members
            for key in settings_secrets(member.agent.settings)
        ]
        servers = {server.name: server for member in self._members for server in member.agent.servers}
        return (*keys, *((f"a key of MCP server {name!r}", key) for name, it in servers.items() for key in it.secrets))

    @cached_property
    def _models(self) -> Sequence[Model]:
        models = [model for member in self._members for model in (member.model, *member.writers)]
        return tuple({id(model): model for model in models}.values())

    def _built(self, way: Sequence[Link], above: _Above, name: str) -> AgentLoop:
        agent = way[-1].agent
        model = resolve_model(way, run=self._model)
        if model is None:
            raise ModelMissing(agent.name)
        group = tuple(group_of(agent).values())
        is_alone = len(way) == 1 and not any(sub_agents_of(each) or delegates_of(each) for each in group)
        place = _Place(self._root, name, is_alone=is_alone)
        above = above.at(way)
        member = place.member(way, model, above)
        left = above.below(member)
        others = [self._taker(place, (*way[:-1], Link(taker, model)), left) for taker in group[1:]]
        loop = AgentLoop(member, self._delegation(way, left, name), self, others)
        self._members += [member, *(other for other, _ in others)]
        self._loops.append(loop)
        return loop

    def _taker(self, place: _Place, way: Sequence[Link], above: _Above) -> tuple[Member, Delegation]:
        """An agent that a run may be handed over to. What it inherits is that of the agent which is asked first."""
        model = resolve_model(way)
        assert model is not None  # noqa: S101  # it has at least that of the agent which is asked first
        above = above.at(way)
        member = place.taker(way, model, above)
        return member, self._delegation(way, above.below(member), member.name)

    def _delegation(self, way: Sequence[Link], left: _Above, name: str) -> Delegation:
        """What asks the agents below the last one of a way."""
        agent = way[-1].agent
        agents = {each.name: self._below(way, Link(each), left, name, f".{each.name}") for each in sub_agents_of(agent)}
        tools = {
            tool.name: self._below(way, Link(tool.agent, tool.model), left, name, f":{tool.name}")
            for tool in delegates_of(agent)
        }
        return Delegation(agents, tools)

    def _below(self, way: Sequence[Link], link: Link, above: _Above, parent: str, own: str) -> AgentLoop:
        return self._built((*way, link), above, parent + own)


def delegates_of(agent: AgentDefinition) -> Sequence[DelegateTool]:
    """The tools of an agent that ask other agents."""
    return [tool for tool in agent.tools if isinstance(tool, DelegateTool)]
