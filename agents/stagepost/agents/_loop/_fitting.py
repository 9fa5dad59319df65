"""The settings that a turn's question goes out with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .._models._model import ToolSchema
from .._models._settings import ModelSettings
from .._tools._closing import RETURN

_FREE: Final = (None, "auto", "none")


def fitted(settings: ModelSettings, tools: Sequence[ToolSchema], *, is_first: bool) -> ModelSettings:
    """Settings without a choice of a tool that cannot be, or that would keep the model from ever answering.

    A call is forced on the first turn only, because a model that has to call tools cannot give a text as its answer.
    Where the answer is a call too, any call may be forced on all turns.

    Args:
        settings: Those of the run.
        tools: What there is to call in this turn.
        is_first: Whether nothing was answered yet.
    """
    choice = settings.tool_choice
    if choice in _FREE:
        return settings
    names = {tool.name for tool in tools}
    exists = bool(names) if choice == "required" else choice in names
    ends = choice == "required" and RETURN in names
    return settings if exists and (is_first or ends) else replace(settings, tool_choice=None)
