"""What the model of an agent is sent first, without a model."""

from stagepost._dataclasses import dataclass

from .._definition._definition import AgentDefinition, sub_agents_of
from .._definition._prompting import prompt_name
from .._definition._request import brief_of
from .._delegation._messaging import message_tool
from .._delegation._state import RunState
from .._loop._opening import asked
from .._output._output import output_of
from .._tools._answer_reader import AnswerReader
from .._tools._tool import Tool


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """What the model of an agent is sent first.

    Attributes:
        system: The system prompt. Of a prompt function only the name is known, in angle brackets.
        user: The request.
    """

    system: str
    user: str


def preview(agent: AgentDefinition, request: object) -> PromptPreview:
    """What the model of an agent is sent first for a request.

    Raises:
        InvalidRequest: The agent does not take it.
    """
    brief = brief_of(agent)
    state = RunState(asked(brief, request))
    prompt = agent.prompt
    mission = brief.filled(prompt, state.fields) if isinstance(prompt, str) else f"<{prompt_name(prompt)}>"
    user = getattr(state.messages[0], "text", "")
    if agent.programs is not None:
        return PromptPreview(_with_programs(agent, state, mission), user)
    told = AnswerReader(output_of(agent.output), agent.output_mode).instructions
    return PromptPreview("\n\n".join(filter(None, (mission, told))), user)


def _with_programs(agent: AgentDefinition, state: RunState, mission: str) -> str:
    from .._loop._program_facts import PromptMaker, turn_number  # noqa: PLC0415 - programs take time to import

    assert agent.programs is not None  # noqa: S101  # whoever asks has looked
    below = sub_agents_of(agent)
    tools: list[Tool[..., object]] = [*agent.tools, *([message_tool(below)] if below else ())]
    maker = PromptMaker(agent, agent.programs)
    return maker.prompt(state, mission, turn_number(agent.budget, 1), {tool.name: tool for tool in tools})
