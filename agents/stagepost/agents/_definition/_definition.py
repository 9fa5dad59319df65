"""What an agent is made of, as everything sees it that works with agents and does not build them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from pydantic import BaseModel

from .._context._excerpt import READ_RESULT
from .._context._policy import ContextPolicy
from .._mcp import McpServer
from .._models._model import Model
from .._models._provider_tool import ProviderTool
from .._models._settings import ModelSettings
from .._output._output import OutputMode
from .._tools._answer_reader import RESERVED
from .._tools._search import SEARCH_TOOLS
from .._tools._tool import Tool
from .._tools._toolset import Toolset
from ..errors import InvalidAgent
from ._approvals import Approvals
from ._budget import Budget
from ._prompting import PromptFunction

if TYPE_CHECKING:
    from stagepost.programs import Language

MESSAGE_AGENT: Final = "message_agent"
_REQUEST: Final = "request"  # the input that is the text of the request


class AgentDefinition(Protocol):
    """An agent as data; `Agent` is one."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def description(self) -> str:
        """What those who ask it have to know of it."""
        ...

    @property
    def prompt(self) -> str | PromptFunction:
        """What it is for, or the function that says it for each turn."""
        ...

    @property
    def model(self) -> Model | str | None:
        """The model that it asks, or its name; None for that of whoever asks the agent."""
        ...

    @property
    def models(self) -> Mapping[str, Model | str]:
        """What names of models mean to it and to all below it."""
        ...

    @property
    def settings(self) -> ModelSettings:
        """How its model is to answer."""
        ...

    @property
    def tools(self) -> Sequence[Tool[..., object]]:
        """What its model may call."""
        ...

    @property
    def toolsets(self) -> Sequence[Toolset | ProviderTool]:
        """Sets of more tools that its model may call, which depend on run and turn, and tools of its provider."""
        ...

    @property
    def servers(self) -> Sequence[McpServer]:
        """Servers whose tools its model may call."""
        ...

    @property
    def sub_agents(self) -> "Sequence[AgentDefinition | str]":
        """The agents that it may ask; see `sub_agents_of`."""
        ...

    @property
    def input(self) -> type[BaseModel] | None:
        """Model of its requests; None for plain text."""
        ...

    @property
    def output(self) -> object:
        """Type of its answers; None for plain text."""
        ...

    @property
    def output_mode(self) -> OutputMode:
        """How its model is told of that."""
        ...

    @property
    def programs(self) -> "Language | None":
        """The language of the programs that are its answers; None if it calls tools and answers by itself."""
        ...

    @property
    def budget(self) -> Budget:
        """What one run may use."""
        ...

    @property
    def approvals(self) -> Approvals:
        """Which calls a person has to allow."""
        ...

    @property
    def idle(self) -> float | None:
        """Seconds without a message after which a conversation with it has ended; None for what those above say."""
        ...

    @property
    def context(self) -> ContextPolicy | None:
        """What its model sees of a run; None for the policy of the agent above it, or the usual one."""
        ...

    @property
    def hooks(self) -> Sequence[object]:
        """The hooks around its calls of models and tools, the outermost first."""
        ...


@runtime_checkable
class Delegating(Protocol):
    """A tool that asks an agent."""

    @property
    def agent(self) -> AgentDefinition:
        """The agent."""
        ...


@runtime_checkable
class HandingOver(Protocol):
    """A tool that hands the conversation over to another agent."""

    @property
    def hands_over_to(self) -> "AgentDefinition | str":
        """The agent, or its name."""
        ...


def reserved(agent: AgentDefinition) -> tuple[str, ...]:
    """Names that no tool of an agent may have, because the agent needs them itself."""
    own = (*RESERVED, READ_RESULT, *((MESSAGE_AGENT,) if agent.sub_agents else ()))
    return (*own, SEARCH_TOOLS) if toolsets_of(agent) else own


def input_names(agent: AgentDefinition) -> tuple[str, ...]:
    """Names of the inputs of an agent's programs, which no tool of it may have: ``ctx/x`` may stand for both."""
    if agent.programs is None:
        return ()
    return (_REQUEST,) if agent.input is None else tuple(agent.input.model_fields)


def toolsets_of(agent: AgentDefinition) -> Sequence[Toolset]:
    """The toolsets of an agent."""
    return tuple(each for each in agent.toolsets if isinstance(each, Toolset))


def provider_tools_of(agent: AgentDefinition) -> Sequence[ProviderTool]:
    """The tools of an agent that its model's provider executes."""
    return tuple(each for each in agent.toolsets if isinstance(each, ProviderTool))


def sub_agents_of(agent: AgentDefinition) -> Sequence[AgentDefinition]:
    """The agents that an agent may ask.

    Raises:
        InvalidAgent: One is only a name.
    """
    return tuple(_found(agent, each) for each in agent.sub_agents)


def reachable(agent: AgentDefinition) -> Iterator[AgentDefinition]:
    """An agent and the agents below it, sub-agents and those that tools ask or hand over to, each once.

    Raises:
        InvalidAgent: One has a sub-agent that is only a name.
    """
    seen: set[int] = set()
    waiting = [agent]
    while waiting:
        found = waiting.pop(0)
        if id(found) not in seen:
            seen.add(id(found))
            yield found
            waiting.extend(sub_agents_of(found))
            waiting.extend(tool.agent for tool in found.tools if isinstance(tool, Delegating))
            takers = [tool.hands_over_to for tool in found.tools if isinstance(tool, HandingOver)]
            waiting.extend(taker for taker in takers if not isinstance(taker, str))


def _found(agent: AgentDefinition, sub_agent: AgentDefinition | str) -> AgentDefinition:
    if not isinstance(sub_agent, str):
        return sub_agent
    raise InvalidAgent(
        agent.name,
        f"its sub-agent {sub_agent!r} is only a name: "
        f"put both into agents = Agents([…]), and take agents[{agent.name!r}]",
    )
