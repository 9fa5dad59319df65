"""Execution of one tool call: every error becomes a text for the model."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import isawaitable

import anyio

from stagepost.hub import describe_error, get_logger
from stagepost.workflows import UncleanStep, guarded, in_thread, own_failure

from .._retries import Passes, retried_behind
from ..errors import McpUnavailable
from ._context import ToolContext
from ._returned import ToolResult, as_result
from ._tool import Tool

__all__ = ["ToolResult", "error_result", "invoke", "invoked"]


class _TimedOut(TimeoutError):
    """A tool took longer than it may."""

    def __init__(self, tool: Tool[..., object]) -> None:
        super().__init__(f"timed out after {tool.timeout:g} s: {tool.name} may or may not have taken effect")


async def invoke(
    tool: Tool[..., object], arguments: Mapping[str, object], context: ToolContext | None, *, is_own: bool = False
) -> ToolResult:
    """Call a tool with valid arguments, with retries if allowed. Never raises the tool's error.

    Args:
        tool: The tool.
        arguments: All that it takes, by name.
        context: What it may know; may be None if it does not want to.
        is_own: Whether the running task is the run's own, see `guarded`.
    """
    return await invoked(tool, partial(tool.function, **_all(tool, arguments, context)), is_own=is_own)


async def invoked(tool: Tool[..., object], function: Callable[[], object], *, is_own: bool = False) -> ToolResult:
    """Call a function in the place of a tool's, as `invoke` does."""
    try:
        return await guarded(tool.name, partial(_tried, tool, function), is_own=is_own)
    except BaseException as error:  # noqa: BLE001  # what is no failure of the tool's is raised again
        return error_result(own_failure(error))


async def _tried(tool: Tool[..., object], function: Callable[[], object]) -> ToolResult:
    try:
        return await _attempt(tool, function)
    except Exception as error:  # noqa: BLE001  # raised again, unless it passes
        return await _again(tool, function, error)


def error_result(error: BaseException) -> ToolResult:
    """The result for the model after an error of any class."""
    if isinstance(error, _TimedOut):
        return ToolResult(str(error), is_error=True)
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return ToolResult("cancelled: the tool awaited something that was cancelled elsewhere", is_error=True)
    if isinstance(error, UncleanStep):
        return ToolResult(f"the tool {error.what}", is_error=True)
    return ToolResult(describe_error(error), is_error=True)


def _all(tool: Tool[..., object], arguments: Mapping[str, object], context: ToolContext | None) -> Mapping[str, object]:
    return {**arguments, "context": context} if tool.takes_context else arguments


async def _again(tool: Tool[..., object], function: Callable[[], object], error: Exception) -> ToolResult:
    """Retry after a transient error, as often as allowed."""
    if tool.retries is None:
        raise error

    def note(error: BaseException, attempt: int, pause: float) -> None:
        get_logger("agents").warning(
            "tool_retried", tool=tool.name, error=type(error).__name__, attempt=attempt, seconds=pause
        )

    async def attempt(_number: int) -> ToolResult:
        return await _attempt(tool, function)

    return await retried_behind(error, attempt, tool.retries, passes=_passes(tool), note=note)


def _passes(tool: Tool[..., object]) -> Passes:
    """Whether an error is transient; unless calls may be repeated, it has to say that nothing was called."""
    reasons = (ConnectionError, TimeoutError) if tool.idempotent else (McpUnavailable,)
    return lambda error: isinstance(error, reasons)


def _attempt(tool: Tool[..., object], function: Callable[[], object]) -> Awaitable[ToolResult]:
    """One call, with the time that it may take."""
    return _called(tool, function) if tool.timeout is None else _within_time(tool, function)


async def _within_time(tool: Tool[..., object], function: Callable[[], object]) -> ToolResult:
    with anyio.move_on_after(tool.timeout):
        return await _called(tool, function)
    raise _TimedOut(tool)


async def _called(tool: Tool[..., object], function: Callable[[], object]) -> ToolResult:
    result = function() if tool.is_async else await in_thread(function, abandon=tool.timeout is not None)
    if isawaitable(result):  # a decorator may hide that a function is async
        result = await result
    return as_result(tool, result)
