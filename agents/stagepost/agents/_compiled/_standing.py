"""Functions that stand in for tools with effects while a program is checked."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias

from stagepost._dataclasses import dataclass

from .._models._model import JsonSchema
from .._tools._tool import Tool

StandIn: TypeAlias = Callable[..., object] | Callable[..., Awaitable[object]]
"""What is called instead of a tool: a function of the same arguments, possibly async."""


@dataclass(frozen=True, slots=True)
class _WithoutContext:
    """The parameters of a tool, whose stand-in needs no context."""

    tool: Tool[..., object]

    @property
    def schema(self) -> JsonSchema:
        return self.tool.schema.parameters

    @property
    def takes_context(self) -> bool:
        return False

    def parse(self, text: str) -> Mapping[str, object]:
        return self.tool.parse(text)


def has_effects(tool: Tool[..., object]) -> bool:
    """Whether calling it for a sample may do harm."""
    return not tool.idempotent or tool.needs_approval


def standing(tool: Tool[..., object], stand_in: StandIn) -> Tool[..., object]:
    """A tool that calls the function instead."""

    async def function(**arguments: Any) -> object:
        result = stand_in(**arguments)
        return await result if isawaitable(result) else result

    return Tool(
        name=tool.name,
        description=tool.description,
        idempotent=True,
        timeout=tool.timeout,
        function=function,
        _arguments=_WithoutContext(tool),
    )
