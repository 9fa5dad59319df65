"""What stands round a step's function: a limit to its time, and errors that are results."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from .._pattern_errors import kind_of, text_of
from ..errors import StepTimeout

if TYPE_CHECKING:
    from ._context import StepContext

Call: TypeAlias = Callable[[Any, "StepContext"], Awaitable[Any]]
Errors: TypeAlias = type[Exception] | tuple[type[Exception], ...]


def timed(call: Call, name: str, limit: float) -> Call:
    """Cancel the call when its time is up.

    Args:
        call: What takes time.
        name: The step's name, for the error.
        limit: Seconds.
    """

    async def within(value: Any, context: "StepContext") -> Any:
        with anyio.move_on_after(limit):
            return await call(value, context)
        raise StepTimeout(name, limit)

    return within


def caught(call: Call, errors: Errors, into: str) -> Call:
    """Make updates of some errors: their type and text, under a key of the state.

    Args:
        call: What may fail.
        errors: The errors that are results.
        into: The key.
    """

    async def expecting(value: Any, context: "StepContext") -> Any:
        try:
            return await call(value, context)
        except errors as error:
            return {into: {"error": kind_of(error), "message": context.mask(text_of(error))}}

    return expecting
