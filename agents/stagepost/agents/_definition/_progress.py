"""Progress of tool calls, as servers report it, for hooks."""

from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from stagepost._dataclasses import dataclass
from stagepost.hub import get_logger
from stagepost.workflows import own_failure

from .._tools._context import ToolContext
from .._tools._outside import Tell


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """How far a call of an MCP server's tool is, as the server says.

    Attributes:
        tool: Name of the tool.
        progress: How much is done; it grows.
        total: How much there is to do; None if the server does not know.
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
        """Take note of what a server reports in the middle of a call, such as to show it to people.

        Nothing of it is stored. Be quick: the server's other messages may wait meanwhile. An error is logged, and
        concerns nothing else.

        Args:
            progress: How far the call is.
            context: The tool's context: which agent calls, in which run and turn.
        """
        ...


def progress_of(hooks: Iterable[object], tool: str, context: ToolContext, mask: Callable[[str], str]) -> Tell | None:
    """What tells the hooks how far a call is; None if none of them wants to know.

    Args:
        hooks: Those of the agent.
        tool: Name of the tool.
        context: The tool's context.
        mask: Gives a text without the secrets of the run.
    """
    listening = [hook for hook in hooks if isinstance(hook, ProgressHook)]
    if not listening:
        return None

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told = ToolProgress(tool, progress, total, None if message is None else mask(message))
        for hook in listening:
            await _tell(hook, told, context)

    return tell


async def _tell(hook: ProgressHook, told: ToolProgress, context: ToolContext) -> None:
    name = f"{type(hook).__name__}.tool_progress"
    try:
        await hook.tool_progress(told, context)
    except BaseException as error:  # noqa: BLE001  # what is no failure of the hook's is raised again
        failure = own_failure(error)
        get_logger("agents").warning("progress_hook_failed", hook=name, tool=told.tool, error=type(failure).__name__)
