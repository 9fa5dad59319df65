"""Settings, held against the agent whose model they are for."""

from collections.abc import Sequence
from typing import Final

from .._definition._definition import MESSAGE_AGENT, AgentDefinition
from .._models._settings import ModelSettings
from .._tools._closing import RESERVED
from ..errors import InvalidAgent, InvalidRequest

_KINDS: Final = ("auto", "none", "required")
_FORM: Final = "give ModelSettings(temperature=…)"


def check_settings(agent: AgentDefinition) -> None:
    """See that an agent's settings are some, and name a tool that it has.

    Raises:
        InvalidAgent: They are not, or do not.
    """
    problem = _problem(agent, agent.settings)
    if problem is not None:
        raise InvalidAgent(agent.name, problem)


def run_settings(agent: AgentDefinition, given: ModelSettings | None) -> ModelSettings | None:
    """The settings of a run: those given, where they say something, and the agent's own; None if none are given.

    Raises:
        InvalidRequest: They are no settings, or name a tool that the agent does not have.
    """
    if given is None:
        return None
    problem = _problem(agent, given)
    if problem is not None:
        raise InvalidRequest(agent.name, problem)
    return given.over(agent.settings)


def _problem(agent: AgentDefinition, given: object) -> str | None:
    if not isinstance(given, ModelSettings):
        return f"settings={given!r:.80} is no ModelSettings: {_FORM}"
    choice = given.tool_choice
    if choice is None or choice in _KINDS or agent.servers:  # what servers have is known when they are asked
        return None
    names = _names(agent)
    if choice in names:
        return None
    return f"tool_choice={choice!r} is no tool of it: give one of {', '.join((*_KINDS, *names))}"


def _names(agent: AgentDefinition) -> Sequence[str]:
    """What its model may be told to call."""
    own = [tool.name for tool in agent.tools]
    return (*own, *((MESSAGE_AGENT,) if agent.sub_agents else ()), *(RESERVED if agent.output is not None else ()))
