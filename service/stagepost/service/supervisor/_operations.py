"""What a supervisor can be asked for, as the OpenAPI document describes it."""

from typing import Final

from pydantic import BaseModel, ConfigDict

from .._http._runs._operation import Operation
from .._keys._key import Scope
from ._history import SessionHistory
from ._requests import ChatRequest
from ._responses import SupervisorResponse

_SESSION: Final = "/chat/{session_id}"


class ChatAsked(BaseModel):
    """How a message is answered."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    detach: bool = False
    """Whether the turn goes on without a reader."""


CHAT: Final = Operation(
    "chat",
    "POST",
    "/chat",
    "Say something in a session, and hear the events of its turn.",
    None,
    None,
    query=ChatAsked,
    body=ChatRequest,
    takes_key=True,
    streams=True,
    scope=Scope.RUN,
)
COMPLETE: Final = Operation(
    "chat_complete",
    "POST",
    "/chat/complete",
    "Say something in a session, and get the whole answer.",
    SupervisorResponse,
    None,
    query=ChatAsked,
    body=ChatRequest,
    takes_key=True,
    scope=Scope.RUN,
)
HISTORY: Final = Operation(
    "chat_history",
    "GET",
    _SESSION,
    "Show what was said in a session, turn by turn.",
    SessionHistory,
    None,
    scope=Scope.READ,
)
EVENTS: Final = Operation(
    "chat_events",
    "GET",
    f"{_SESSION}/events",
    "Hear the events of a session's last turn, from its beginning or after one of them.",
    None,
    None,
    streams=True,
    scope=Scope.READ,
)
