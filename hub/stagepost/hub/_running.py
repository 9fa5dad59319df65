"""The message that the running code handles."""

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Final

from ._envelope import Envelope

_running: Final[ContextVar[Envelope | None]] = ContextVar("stagepost_running", default=None)

running: Final[Callable[[], Envelope | None]] = _running.get
"""The message whose handler runs this code, or started the task that does. A task that outlives the handler keeps it:
it is the cause of everything the task sends, but only its state says whether its handler still runs."""

set_running: Final[Callable[[Envelope | None], Token[Envelope | None]]] = _running.set
"""Called by a worker when it starts a message."""

reset_running: Final[Callable[[Token[Envelope | None]], None]] = _running.reset
"""Called by it before it rests, with the result of the first call: a third cheaper than setting it to None."""
