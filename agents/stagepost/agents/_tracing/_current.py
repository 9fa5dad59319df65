"""The innermost observation that the running code belongs to."""

from contextvars import ContextVar, Token
from typing import Final

from ._observation import TraceContext

_CURRENT: Final[ContextVar[TraceContext | None]] = ContextVar("stagepost_trace_context", default=None)


def current_trace_context() -> TraceContext | None:
    """The context of the tool call, question to a model, or step that is running; None outside, and if nothing traces.

    For whoever asks others and wants their work to belong to the trace: ``current_trace_context().traceparent`` is the
    header of W3C Trace Context.
    """
    return _CURRENT.get()


def enter(context: TraceContext) -> Token[TraceContext | None]:
    """Make an observation the innermost one of the running task."""
    return _CURRENT.set(context)


def leave(token: Token[TraceContext | None]) -> None:
    """Undo `enter`; in another task, as when a generator is closed, there is nothing to undo."""
    try:
        _CURRENT.reset(token)
    except ValueError:
        _CURRENT.set(None)
