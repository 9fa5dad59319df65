"""A provider on this machine: an OpenAI-compatible HTTP server that follows a script."""

from ._entries import Cut, Drip, Garbage, Hang, ServerEntry, ServerRequest, ServerScript, Slow, Status
from ._main import main
from ._server import LocalServer

__all__ = [
    "Cut",
    "Drip",
    "Garbage",
    "Hang",
    "LocalServer",
    "ServerEntry",
    "ServerRequest",
    "ServerScript",
    "Slow",
    "Status",
    "main",
]
