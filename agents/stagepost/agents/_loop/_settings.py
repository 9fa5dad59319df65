"""Settings of an agent and of its runs, and the effective ones of a turn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stagepost.workflows import StepContext

from .._definition._definition import MESSAGE_AGENT, AgentDefinition, toolsets_of
from .._delegation._records import Changes
from .._delegation._state import RunState
from .._models._model import ToolSchema
from .._models._settings import ModelSettings
from .._models._settings_keys import settings_secrets
from .._output._output import output_of
from .._tools._answer_reader import RESERVED, RETURN
from ..errors import InvalidAgent, InvalidRequest
from ._member import Member
from ._session import Session

_KINDS: Final = ("auto", "none", "required")
_FREE: Final = ("auto", "none")
_FORM: Final = "give ModelSettings(temperature=…)"


def check_settings(agent: AgentDefinition) -> None:
    """Check an agent's settings.

    Raises:
        InvalidAgent: They are not settings, or name a tool that it does not have.
    """
    problem = _problem(agent, agent.settings)
    if problem is not None:
        raise InvalidAgent(agent.name, problem)


def run_settings(agent: AgentDefinition, given: ModelSettings | None) -> ModelSettings | None:
    """The settings that a run is given, checked; None if none are. Those of the agent that has the run complete them.

    Raises:
        InvalidRequest: They are not settings, or name a tool that the agent does not have.
    """
    if given is None:
        return None
    problem = _problem(agent, given)
    if problem is not None:
        raise InvalidRequest(agent.name, problem)
    return given


def stored_settings(agent: AgentDefinition, given: ModelSettings | None) -> Changes:
    """The settings of a run as a part of its state; nothing if none are given.

    Raises:
        InvalidRequest: They are not settings, name a tool that the agent does not have, or contain a key.
    """
    settings = run_settings(agent, given)
    if settings is None or given is None:
        return {}
    if any(settings_secrets(given)):
        why = (
            "settings of a task are stored, and their extra= holds a key: give it to the model, or to Agent(settings=…)"
        )
        raise InvalidRequest(agent.name, why)
    return {"settings": given}


def _problem(agent: AgentDefinition, given: object) -> str | None:
    if not isinstance(given, ModelSettings):
        return f"settings={given!r:.80} is not a ModelSettings: {_FORM}"
    choice = given.tool_choice
    if choice is None or choice in _KINDS or agent.servers or toolsets_of(agent):  # what these have is known in a turn
        return None
    names = _names(agent)
    if choice in names:
        return None
    return f"tool_choice={choice!r} is not one of its tools: give one of {', '.join((*_KINDS, *names))}"


def _names(agent: AgentDefinition) -> Sequence[str]:
    """What its model may be told to call."""
    own = [tool.name for tool in agent.tools]
    returns = agent.output_mode == "tool" and output_of(agent.output) is not None
    return (*own, *((MESSAGE_AGENT,) if agent.sub_agents else ()), *(RESERVED if returns else ()))


def settings_of(member: Member, state: RunState, context: StepContext, tools: Sequence[ToolSchema]) -> ModelSettings:
    """The effective settings of a turn.

    Args:
        member: The agent.
        state: That of the run.
        context: The step that asks.
        tools: What there is to call in this turn.
    """
    settings = member.agent.settings
    if not member.depth:  # agents below have their own
        if context.is_durable:
            stored = state.settings
            settings = settings if stored is None else stored.over(settings)
        elif isinstance(session := context.resources, Session):
            settings = settings if session.settings is None else session.settings.over(settings)
    if settings.tool_choice is None:
        return settings
    return without_impossible_choice(settings, tools, is_first=not state.spent.turns)


def without_impossible_choice(settings: ModelSettings, tools: Sequence[ToolSchema], *, is_first: bool) -> ModelSettings:
    """Settings without a tool choice that is impossible, or that would keep the model from ever answering.

    A call is forced on the first turn only, because a model that has to call tools cannot answer with a text. If the
    answer is a call too, any call may be forced on all turns.

    Args:
        settings: Those of the run.
        tools: What there is to call in this turn.
        is_first: Whether nothing was answered yet.
    """
    choice = settings.tool_choice
    if choice is None or choice in _FREE:
        return settings
    names = {tool.name for tool in tools}
    exists = bool(names) if choice == "required" else choice in names
    ends = choice == "required" and RETURN in names
    return settings if exists and (is_first or ends) else replace(settings, tool_choice=None)
