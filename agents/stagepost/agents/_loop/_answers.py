"""What may be answered to the questions of an agent's calls: decisions, and values."""

from collections.abc import Iterable, Mapping
from typing import Any

from .._definition._approvals import Decision
from .._tools._external import ExternalTool
from .._tools._outside import ASKED, answer_to
from .._tools._tool import Tool


def externals_of(tools: Iterable[Tool[..., object]]) -> Mapping[str, ExternalTool]:
    """The external ones of some tools, by name."""
    return {tool.name: tool for tool in tools if isinstance(tool, ExternalTool)}


def type_of_answer(externals: Mapping[str, ExternalTool], key: str, shown: Any) -> Any:
    """The type of the answer to a question.

    Args:
        externals: The agent's own external tools: the types of their values are known, of others the schema.
        key: The question's key.
        shown: What is shown with it.
    """
    if not key.startswith(ASKED):
        return Decision
    tool = None if shown.get("server") else externals.get(shown["tool"])
    return answer_to(shown) if tool is None else tool.answer_type
