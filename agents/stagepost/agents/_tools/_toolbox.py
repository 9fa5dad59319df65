"""The tools that an agent's model may call now."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from stagepost._dataclasses import dataclass

from .._models._model import ToolSchema
from ._tool import Tool

TOOLBOX: Final = "toolbox"  # where a run keeps what the model could call last


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools by name, and how the model sees them.

    Attributes:
        tools: The tools.
        schemas: All that the model may call, the tools that end a run among them.
    """

    tools: Mapping[str, Tool[..., object]]
    schemas: Sequence[ToolSchema]

    @classmethod
    def of(cls, tools: Iterable[Tool[..., object]], closing: Sequence[ToolSchema]) -> "Toolbox":
        """A toolbox of some tools.

        Args:
            tools: The tools.
            closing: Those that end a run.
        """
        by_name = {tool.name: tool for tool in tools}
        return cls(by_name, (*(tool.schema for tool in by_name.values()), *closing))

    @property
    def names(self) -> str:
        """What there is, for the model."""
        return ", ".join(schema.name for schema in self.schemas) or "none"
