"""Errors of tools and workers, as models may read them: marked as failed, and without insides."""

from collections.abc import Awaitable, Callable, Mapping

from stagepost._dataclasses import dataclass
from stagepost.agents import Tool, ToolCall, ToolContext, ToolResult
from stagepost.hub import get_logger


@dataclass(frozen=True, slots=True)
class Excuse:
    """What is said in the place of a tool's result.

    Attributes:
        tool: The tool.
        failed: What is said if it has failed.
        silent: What is said if its result is empty; None if it may be.
    """

    tool: Tool[..., object]
    failed: str
    silent: str | None = None


class ToolErrors:
    """A tool hook: whatever goes wrong in a tool or worker is told kindly, and stays marked as an error.

    Arguments that do not fit are told as they are, so that the model can correct them.

    Args:
        excuses: What is said, by the names of the tools. The results of other tools pass.
    """

    def __init__(self, excuses: Mapping[str, Excuse]) -> None:
        self._excuses = dict(excuses)

    async def tool_call(
        self, call: ToolCall, context: ToolContext, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Make the call; see `ToolHook`."""
        result = await proceed(call)
        excuse = self._excuses.get(call.name)
        if excuse is None or (result.is_error and not _fits(excuse.tool, call.arguments)):
            return result
        if result.is_error:
            kind = result.text.partition(":")[0]
            error = kind if kind.isidentifier() else "failed"
            get_logger("supervisor").warning("tool_failed", tool=call.name, run_id=context.run_id, error=error)
            return ToolResult(excuse.failed, is_error=True)
        if excuse.silent is not None and not result.text.strip():
            return ToolResult(excuse.silent, is_error=True)
        return result


def _fits(tool: Tool[..., object], arguments: str) -> bool:
    """Whether arguments are those of a tool."""
    try:
        tool.parse(arguments)
    except ValueError:
        return False
    return True
