"""What may be answered to the questions of an agent's calls: decisions, and values."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from stagepost.workflows import AnswerTypes

from .._definition._approvals import Decision
from .._definition._definition import AgentDefinition
from .._tools._external import ExternalTool
from .._tools._outside import ASKED, answer_to


def answers_of(agents: Iterable[AgentDefinition]) -> AnswerTypes:
    """The types of the answers to all that the calls of some agents ask."""
    externals = {
        (agent.name, tool.name): tool for agent in agents for tool in agent.tools if isinstance(tool, ExternalTool)
    }
    return AnswerTypes(partial(_type_of_answer, externals))


def _type_of_answer(externals: Mapping[tuple[str, str], ExternalTool], key: str, shown: Any) -> Any:
    """The type of the answer to a question.

    Args:
        externals: The agents' own external tools: the types of their values are known, of others the schema.
        key: The question's key.
        shown: What is shown with it.
    """
    if not key.startswith(ASKED):
        return Decision
    tool = None if shown.get("server") else externals.get((shown["agent"], shown["tool"]))
    return answer_to(shown) if tool is None else tool.answer_type
