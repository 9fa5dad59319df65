"""Tools of this library whose calls are part of the step that makes them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from stagepost.workflows import StepContext

from ._context import ToolContext
from ._returned import ToolResult
from ._tool import Tool


class StepTool(Tool[..., object], ABC):
    """A tool that gets the step that calls it: what it writes to tables is saved together with its result.

    So its effects are neither lost nor made twice. It is idempotent: a call that was interrupted has written nothing.
    """

    @abstractmethod
    async def perform(self, arguments: Mapping[str, object], call: ToolContext, step: StepContext) -> ToolResult:
        """Make a call.

        Args:
            arguments: Its arguments, as `parse` returns them.
            call: Its context.
            step: The step that makes it.
        """


class ToolGroup(ABC):
    """Several tools that belong together; an agent's ``tools=`` may contain it, and gets them all."""

    @property
    @abstractmethod
    def tools(self) -> tuple[Tool[..., object], ...]:
        """The tools."""
