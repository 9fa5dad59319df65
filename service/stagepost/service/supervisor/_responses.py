"""What a turn has come to: a pure fold over its events."""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ._config import WorkerConfig
from ._events import ChatEvent


class CalledTool(BaseModel):
    """A call of a tool.

    Attributes:
        tool: Name of the tool.
        input: Its arguments.
    """

    model_config = ConfigDict(title="ToolCall")

    tool: str
    input: dict[str, Any]


class WorkerToolCall(BaseModel):
    """What a worker was asked, and what came of it.

    Attributes:
        worker_name: Name of the worker.
        worker_request: What it was asked.
        worker_response: What it has answered; of one that has failed, what the supervisor was told instead.
        internal_tool_calls: The tools that it has called.
        duration_ms: How long it took, in milliseconds.
        status: Whether it has answered.
    """

    worker_name: str
    worker_request: str
    worker_response: str
    internal_tool_calls: list[CalledTool]
    duration_ms: float
    status: Literal["ok", "failed"]


class SupervisorResponse(BaseModel):
    """The answer to a message.

    Attributes:
        response: All that the supervisor has written in this turn.
        supervisor_tool_calls: The calls that it has made in this turn, in their order.
        worker_details: What its workers have done for these calls, in the same order.
    """

    response: str
    supervisor_tool_calls: list[CalledTool]
    worker_details: list[WorkerToolCall]


class Answering:
    """Puts the events of a turn together.

    Args:
        workers: The workers.

    Attributes:
        text: What the supervisor has written so far.
    """

    def __init__(self, workers: Iterable[WorkerConfig]) -> None:
        self._workers = {worker.tool: worker.name for worker in workers}
        self._calls: list[CalledTool] = []
        self._details: dict[str, WorkerToolCall] = {}
        self.text = ""

    def add(self, event: ChatEvent) -> None:
        """The next event."""
        data = event.data
        detail = self._details.get(data["call_id"] or "")
        match event.name:
            case "token":
                self.text += data["content"]
            case "token_reset":
                self.text = self.text[: data["length"]]
            case "tool_call":
                self._called(data["call_id"], data["tool"], data["args"])
            case "worker_tool_call" if detail is not None:
                detail.internal_tool_calls.append(CalledTool(tool=data["tool"], input=data["args"]))
            case "worker_completed" if detail is not None:
                detail.worker_response, detail.status = data["response"], data["status"]
                detail.duration_ms = data["duration_ms"]
            case "tool_result" if detail is not None and not detail.worker_response:
                detail.worker_response = data["result"]  # of a worker that was never asked, as somebody has denied it

    @property
    def response(self) -> SupervisorResponse:
        """What it has come to so far."""
        return SupervisorResponse(
            response=self.text, supervisor_tool_calls=self._calls, worker_details=list(self._details.values())
        )

    def _called(self, call_id: str, tool: str, arguments: dict[str, Any]) -> None:
        self._calls.append(CalledTool(tool=tool, input=arguments))
        if tool in self._workers:
            request = arguments.get("request", arguments.get("text", ""))
            self._details[call_id] = WorkerToolCall(
                worker_name=self._workers[tool],
                worker_request=request if isinstance(request, str) else str(request),
                worker_response="",
                internal_tool_calls=[],
                duration_ms=0.0,
                status="failed",
            )


def response_of(events: Iterable[ChatEvent], workers: Iterable[WorkerConfig]) -> SupervisorResponse:
    """The answer that the events of a turn tell.

    Args:
        events: All events of the turn, in their order.
        workers: The workers.
    """
    answering = Answering(workers)
    for event in events:
        answering.add(event)
    return answering.response
