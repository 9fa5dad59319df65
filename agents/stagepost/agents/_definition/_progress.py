"""Progress of tool calls, as servers and tools report it, for hooks."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from stagepost._dataclasses import dataclass
from stagepost.hub import get_logger
from stagepost.workflows import own_failure

from .._tools._context import ToolContext


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """How far a call is, as an MCP server says, or a tool by `ToolContext.progress`.

    Attributes:
        tool: Name of the tool.
        progress: How much is done; it grows.
        total: How much there is to do; None if that is not known.
        message: What it is doing; None if it does not say.
    """

    tool: str
    progress: float
    total: float | None
    message: str | None


@runtime_checkable
class ProgressHook(Protocol):
    """Is told how far calls are: an object with ``tool_progress``, in ``Agent(hooks=[…])``.

    With an attribute ``inherited = True`` it also applies to all agents below.
    """

    async def tool_progress(self, progress: ToolProgress, context: ToolContext) -> None:
        """Take note of what is reported in the middle of a call, such as to show it to people.

        Nothing of it is stored. Be quick: the server's other messages may wait meanwhile; of a tool that reports much
        faster than this returns, only the last 100 reports are kept, and its result waits for them. An error is logged,
        and concerns nothing else.

        Args:
            progress: How far the call is.
            context: The tool's context: which agent calls, in which run and turn.
        """
        ...


async def tell_hooks(hooks: Sequence[ProgressHook], told: ToolProgress, context: ToolContext) -> None:
    """Tell hooks how far a call is.

    Args:
        hooks: The hooks.
        told: How far it is.
        context: The tool's context.
    """
    for hook in hooks:
        await _tell(hook, told, context)


async def _tell(hook: ProgressHook, told: ToolProgress, context: ToolContext) -> None:
    name = f"{type(hook).__name__}.tool_progress"
    try:
        await hook.tool_progress(told, context)
    except BaseException as error:  # noqa: BLE001  # what is no failure of the hook's is raised again
        failure = own_failure(error)
        get_logger("agents").warning("progress_hook_failed", hook=name, tool=told.tool, error=type(failure).__name__)
