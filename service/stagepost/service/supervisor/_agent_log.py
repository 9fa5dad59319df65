"""A log of what agents do: sizes and times by session, never what was said."""

from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter

from stagepost.agents import ModelContext, ModelRequest, ModelResponse, ToolCall, ToolContext, ToolResult
from stagepost.hub import get_logger

from ._config import WorkerConfig


class AgentLog:
    """A hook that logs questions to models and calls of tools, with sizes, times and the session.

    A call of a worker is ``worker_request worker= tool=`` and ``worker_response worker= duration= content_len=``, with
    the duration in milliseconds.

    Args:
        workers: The workers whose calls are logged as such.
    """

    def __init__(self, workers: Iterable[WorkerConfig] = ()) -> None:
        self._workers = {worker.tool: worker.name for worker in workers}
        self._log = get_logger("supervisor")

    async def model_call(
        self, request: ModelRequest, context: ModelContext, call: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Ask the model; see `ModelHook`."""
        began = perf_counter()
        response = await call(request)
        self._log.info(
            "model_response",
            session=session_of(context.run_id),
            agent=context.agent,
            turn=context.turn,
            messages=len(request.messages),
            duration=_since(began),
            content_len=len(response.text),
            calls=len(response.calls),
        )
        return response

    async def tool_call(
        self, call: ToolCall, context: ToolContext, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Make the call; see `ToolHook`."""
        worker = self._workers.get(call.name)
        of = {"agent": context.agent} if worker is None else {"worker": worker}
        what = "tool" if worker is None else "worker"
        told = {**of, "tool": call.name, "session": session_of(context.run_id), "call_id": call.id}
        self._log.info(f"{what}_request", **told, content_len=len(call.arguments))
        began = perf_counter()
        result = await proceed(call)
        ended = {"duration": _since(began), "content_len": len(result.text), "is_error": result.is_error}
        self._log.info(f"{what}_response", **told, **ended)
        return result


def session_of(run_id: str) -> str:
    """The session that a run belongs to: a turn, or what a turn has started."""
    turn = run_id.partition(".")[0]
    return turn.rpartition("-")[0] or turn


def _since(began: float) -> float:
    return round((perf_counter() - began) * 1000, 1)
