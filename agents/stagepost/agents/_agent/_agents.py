"""Agents that know each other by name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from pydantic import JsonValue

from stagepost.hub import Duration, seconds

from .._delegation._handoff import Handoff, group_of
from .._models._model import Model
from .._tools._tool import Tool
from ..errors import InvalidAgent, UnknownAgent
from ._agent import Agent
from ._dumping import dump_agents
from ._given import ToolSource
from ._loading import Known, read_agents

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Agents(Mapping[str, Agent[object]]):
    """Agents that know each other by name: names of sub-agents are resolved, in any order.

    An immutable mapping from names to agents that can be run::

        agents = Agents([Agent("lead", prompt="…", sub_agents=["weather"]), weather])
        await agents["lead"].run("Miami?")

    Args:
        agents: The agents, in any order. Agents whose sub-agents are names are replaced by copies with agents.
        idle: For agents that say nothing else: seconds (or a `timedelta`) without a message after which a conversation
            with them has ended; ``math.inf`` for never. These are replaced by copies, too.

    Raises:
        InvalidAgent: Two have the same name, a name is unknown, or agents ask each other in a circle.
        InvalidArgument: `idle` is no duration.
    """

    def __init__(self, agents: Iterable[Agent[object]], *, idle: Duration | None = None) -> None:
        known: dict[str, Agent[object]] = {}
        if isinstance(agents, Agent | Mapping):
            raise TypeError(f"Agents takes a list of agents, and not a single {type(agents).__name__}: Agents([…])")
        for agent in agents:
            if agent.name in known:
                raise InvalidAgent(agent.name, "two agents have this name: rename one, or leave one out")
            known[agent.name] = agent
        self._agents: dict[str, Agent[object]] = {}
        acquainted = _Acquainted(known, self._agents, None if idle is None else seconds(idle, "idle"))
        self._agents.update({name: acquainted.agent(agent, ()) for name, agent in known.items()})
        for agent in self._agents.values():
            group_of(agent)

    @classmethod
    def load(
        cls,
        data: Mapping[str, object],
        *,
        tools: Mapping[str, ToolSource] = _NOTHING,
        models: Mapping[str, Model | str] = _NOTHING,
        types: Mapping[str, Any] = _NOTHING,
        parts: Mapping[str, object] = _NOTHING,
        idle: Duration | None = None,
    ) -> "Agents":
        """Build agents from data, as read from JSON or TOML.

        The data has a list ``agents``; each has a ``name``, a ``prompt``, and optionally ``model``, ``tools``,
        ``sub_agents``, ``input``, ``output``, ``output_mode``, ``programs``, ``budget``, ``approvals``, ``hooks``,
        ``settings``, ``context``, ``idle`` and ``description``. Objects of code are names there::

            [[agents]]
            name = "lead"
            prompt = "Answer questions about travelling."
            model = "fast"
            tools = ["get_trains"]
            sub_agents = ["weather"]
            output = "Report"
            budget = { turns = 8 }
            settings = { temperature = 0.2 }
            context = { limit = 100_000 }
            approvals = ["send_*"]      # or { rules = ["send_*"], within = 3600 }

        No name in data imports anything: a name that is in no argument is an error. Only the name of a model that is
        not in `models` is passed to litellm.

        Args:
            data: The data.
            tools: Tools and servers by their names in the data.
            models: Models by their names.
            types: Models of requests and types of answers by their names.
            parts: Prompt functions, hooks, compactions and other languages than PTC-Lisp by their names.
            idle: As for the class.

        Raises:
            InvalidAgentData: The data is malformed, or a name is unknown; it says where.
            InvalidAgent: The parts of an agent, or the agents, do not fit together.
        """
        return cls(read_agents(data, Known(tools=tools, models=models, types=types, parts=parts)), idle=idle)

    def dump(
        self,
        *,
        tools: Mapping[str, ToolSource] = _NOTHING,
        models: Mapping[str, Model | str] = _NOTHING,
        types: Mapping[str, Any] = _NOTHING,
        parts: Mapping[str, object] = _NOTHING,
    ) -> dict[str, JsonValue]:
        """The agents as JSON, from which `load` makes equal ones, given the same names.

        ::

            names = {"tools": {"look": look}, "types": {"Report": Report}, "models": {"fast": model}}
            text = json.dumps(agents.dump(**names))
            assert Agents.load(json.loads(text), **names) == agents

        What is as usual is left out. No secret is written: keys in settings are refused.

        Args:
            tools: Tools, toolsets and servers by the names that stand for them.
            models: Models by their names.
            types: Models of requests and types of answers by their names.
            parts: Prompt functions, hooks, compactions and other languages than PTC-Lisp by their names.

        Raises:
            NamesMissing: Parts of the agents have no name; all of them are told.
        """
        known = Known(tools=tools, models=models, types=types, parts=parts)
        return dump_agents(tuple(self._agents.values()), known)

    def __getitem__(self, name: str) -> Agent[object]:
        try:
            return self._agents[name]
        except KeyError:
            raise UnknownAgent(name, tuple(self._agents)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._agents)

    def __len__(self) -> int:
        return len(self._agents)

    def __repr__(self) -> str:
        return f"Agents({', '.join(self._agents)})"


class _Acquainted:
    """Agents whose sub-agents are agents; one for each that was given, however many ask it.

    Args:
        known: Those that were given.
        made: Where they come to be; they find there whom they hand over to.
        idle: The idle time of those that have none of their own.
    """

    def __init__(
        self, known: Mapping[str, Agent[object]], made: Mapping[str, Agent[object]], idle: float | None
    ) -> None:
        self._known = known
        self._among = made
        self._idle = idle
        self._made: dict[int, Agent[object]] = {}  # by identity; `_known` keeps the originals alive

    def agent(self, agent: Agent[object], above: tuple[Agent[object], ...]) -> Agent[object]:
        """An agent with its sub-agents; those above it are on the way from the first one asked for."""
        if any(agent is each for each in above):
            raise _circle(agent, above)
        if id(agent) not in self._made:
            below = tuple(self.agent(self._found(agent, each), (*above, agent)) for each in agent.sub_agents)
            idle = self._idle if agent.idle is None else agent.idle
            tools = tuple(self._tool(agent, tool) for tool in agent.tools)
            is_whole = idle == agent.idle and _are(below, agent.sub_agents) and _are(tools, agent.tools)
            self._made[id(agent)] = agent if is_whole else replace(agent, sub_agents=below, tools=tools, idle=idle)
        return self._made[id(agent)]

    def _tool(self, agent: Agent[object], tool: Tool[..., object]) -> Tool[..., object]:
        if not isinstance(tool, Handoff):
            return tool
        if isinstance(tool.target, Agent) and self._known.get(tool.target.name) is not tool.target:
            return tool
        if tool.target_name not in self._known:
            known = ", ".join(self._known)
            raise InvalidAgent(agent.name, f"it hands over to {tool.target!r}, which is none of these agents: {known}")
        return tool.among(self._among)

    def _found(self, agent: Agent[object], sub_agent: Agent[object] | str) -> Agent[object]:
        if not isinstance(sub_agent, str):
            return sub_agent
        if sub_agent not in self._known:
            known = ", ".join(self._known)
            raise InvalidAgent(agent.name, f"its sub-agent {sub_agent!r} is none of these agents: {known}")
        return self._known[sub_agent]


def _are(some: Iterable[object], others: Iterable[object]) -> bool:
    """Whether these are the same objects."""
    return all(one is other for one, other in zip(some, others, strict=True))


def _circle(agent: Agent[object], above: tuple[Agent[object], ...]) -> InvalidAgent:
    first = next(index for index, each in enumerate(above) if each is agent)
    names = [each.name for each in (*above[first:], agent)]
    return InvalidAgent(agent.name, f"it may be asked in a circle: {' -> '.join(names)}. Take one of these away")
