"""The events of a turn, as clients get them.

============================  ========================================================================================
``token``                     a piece of the supervisor's text
``tool_call``                 the supervisor calls a worker, or a tool of its own
``worker_started``            a worker begins with a request
``worker_tool_call``          it calls a tool
``worker_tool_result``        it has the result
``worker_completed``          it has answered, or failed
``tool_result``               the supervisor has the answer
``done``, ``error``           the last one
``token_reset``               the model is asked again: text after a length is void
``approval_requested`` …      what a person has to say, with the fields of the stream's parts of these names
============================  ========================================================================================
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

from stagepost._dataclasses import dataclass

LAST: Final = frozenset({"done", "error"})
_OF_WORKERS: Final = ("worker_started", "worker_tool_call", "worker_tool_result", "worker_completed")
_COMMON: Final = frozenset({"seq", "call_id", "session_id", "timestamp", "worker"})


class WorkerProgressEvent(BaseModel):
    """What a worker does, as code in the process of the service sees it.

    Attributes:
        event_type: What has happened.
        worker_name: Name of the worker.
        data: What belongs to it: the same fields as over HTTP.
    """

    model_config = ConfigDict(frozen=True)

    event_type: Literal["worker_started", "worker_tool_call", "worker_tool_result", "worker_completed"]
    worker_name: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """An event of a turn.

    Attributes:
        name: What has happened.
        data: What belongs to it, as JSON values, with ``seq``, ``call_id``, ``session_id`` and ``timestamp``.
        id: What a reader comes back with, to get what follows.
    """

    name: str
    data: Mapping[str, Any]
    id: str

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        return self.name in LAST

    @property
    def progress(self) -> WorkerProgressEvent | None:
        """The same as a `WorkerProgressEvent`; None if it is not about a worker at work."""
        if self.name not in _OF_WORKERS:
            return None
        data = {name: value for name, value in self.data.items() if name not in _COMMON}
        return WorkerProgressEvent(event_type=self.name, worker_name=self.data["worker"], data=data)  # type: ignore[arg-type]  # one of these names

    def to_sse(self) -> bytes:
        """The same as a server-sent event."""
        data = to_json(self.data, inf_nan_mode="null")  # JSON has no NaN
        return b"event: %b\nid: %b\ndata: %b\n\n" % (self.name.encode(), self.id.encode(), data)
