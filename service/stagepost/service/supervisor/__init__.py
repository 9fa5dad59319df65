"""A supervisor over HTTP: an agent that asks workers, with sessions, events and whole answers.

`WorkerConfig` says what a worker is; `WorkerFactory` and `SupervisorFactory` make agents of it; `create_supervisor_app`
serves them, and `SupervisorService` puts them into an application of your own. Web libraries are imported when those
two, or `SupervisorSettings`, are used.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ._agent_log import AgentLog
from ._checking import Check, ToolEvidence, check_citations, check_prices, check_temperatures
from ._config import TurnLimits, WorkerConfig
from ._errors import InvalidEventId, InvalidWorker, KeyReused, SessionBusy, SupervisorError, TurnFailed
from ._events import ChatEvent, WorkerProgressEvent
from ._factory import SupervisorFactory, WorkerFactory
from ._guardrails import Guardrails
from ._history import PastTurn, SessionHistory
from ._requests import ChatRequest, Resumption
from ._responses import CalledTool, SupervisorResponse, WorkerToolCall, response_of
from ._sessions import ChatSessions
from ._traces import session_traces
from ._turns import ChatTurn

if TYPE_CHECKING:
    from ._app import SupervisorService, create_supervisor_app
    from ._settings import SupervisorSettings

__all__ = [
    "AgentLog",
    "CalledTool",
    "ChatEvent",
    "ChatRequest",
    "ChatSessions",
    "ChatTurn",
    "Check",
    "Guardrails",
    "InvalidEventId",
    "InvalidWorker",
    "KeyReused",
    "PastTurn",
    "Resumption",
    "SessionBusy",
    "SessionHistory",
    "SupervisorError",
    "SupervisorFactory",
    "SupervisorResponse",
    "SupervisorService",
    "SupervisorSettings",
    "ToolEvidence",
    "TurnFailed",
    "TurnLimits",
    "WorkerConfig",
    "WorkerFactory",
    "WorkerProgressEvent",
    "WorkerToolCall",
    "check_citations",
    "check_prices",
    "check_temperatures",
    "create_supervisor_app",
    "response_of",
    "session_traces",
]

_WEB: Final = MappingProxyType(
    {"SupervisorService": "_app", "SupervisorSettings": "_settings", "create_supervisor_app": "_app"}
)


def __getattr__(name: str) -> object:
    if name not in _WEB:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WEB[name]}"), name)
