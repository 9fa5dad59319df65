"""A model's provider on this machine: an OpenAI-compatible HTTP server that does as a script says."""

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
