"""Middleware that lets handlers log with the fields of their message."""

from typing import Any

from ._context import ActingContext
from ._middleware import Proceed


async def bind_log_fields(context: ActingContext[Any], proceed: Proceed) -> object:
    """Bind ``hub``, ``agent``, ``message`` and ``trace`` for everything that the handler logs through structlog.

    Use it as ``Hub(middleware=[bind_log_fields])``. Loggers that merge structlog's context variables, like those of
    `get_logger`, show the fields.
    """
    from structlog.contextvars import bound_contextvars  # noqa: PLC0415 - brings rich along; not for everybody

    message = context.message
    with bound_contextvars(hub=context.hub.name, agent=context.agent, message=message.id, trace=message.trace):
        return await proceed()
