"""Tasks, an extension of the protocol of 2026: the server answers a call with the id of a task, and is asked for it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NoReturn

import anyio
import mcp_types as types
from mcp.client import ClientSession
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from ._remote import Asked, RemoteResult, Response
from ._sdk_content import elicitations, responses_for, told

_PAUSE: Final = 1.0  # seconds between questions for a task whose server does not say how long
_SHORTEST: Final = 0.05
_LONGEST: Final = 30.0


class CreatedTask(types.Result):
    """A server's answer to a call that has become a task."""

    result_type: Literal["task"] = "task"
    task_id: str
    poll_interval_ms: int | None = None


class _TaskParams(types.RequestParams):
    task_id: str


class _UpdateParams(_TaskParams):
    input_responses: types.InputResponses


class _GetTask(types.Request[_TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: _TaskParams
    name_param = "taskId"


class _UpdateTask(types.Request[_UpdateParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: _UpdateParams
    name_param = "taskId"


class _CancelTask(types.Request[_TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: _TaskParams
    name_param = "taskId"


class _Task(types.Result):
    """A task, with what belongs to its status."""

    status: Literal["working", "input_required", "completed", "failed", "cancelled"]
    status_message: str | None = None
    poll_interval_ms: int | None = None
    input_requests: types.InputRequests | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


async def _never(_created: CreatedTask, _context: ClaimContext) -> NoReturn:
    raise AssertionError  # pragma: no cover  # calls take the claim themselves


class TasksExtension(ClientExtension):
    """Tells servers that calls may become tasks."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """A call may be answered with a task."""
        return (ResultClaim(result_type="task", model=CreatedTask, resolve=_never),)


def begun(created: CreatedTask) -> Asked:
    """A task that was created, as what a round ends with."""
    return Asked(how="task", state=created.task_id, pause=_seconds(created.poll_interval_ms))


async def follow(session: ClientSession, before: Asked, responses: Mapping[str, Response]) -> RemoteResult | Asked:
    """Ask for a task until it has ended, or wants to know something that nobody has said yet.

    Args:
        session: The connection.
        before: What was known of it.
        responses: What people have said to what it asked.
    """
    task = before.state or ""
    if responses:
        update = _UpdateTask(params=_UpdateParams(task_id=task, input_responses=responses_for(responses)))
        await session.send_request(update, types.Result)
    pause = before.pause
    while True:
        if not responses:
            await anyio.sleep(pause)
        found = await session.send_request(_GetTask(params=_TaskParams(task_id=task)), _Task)
        pause = _seconds(found.poll_interval_ms)
        fresh = {name: it for name, it in (found.input_requests or {}).items() if name not in responses}
        if found.status == "input_required" and fresh:
            asked = elicitations(fresh)
            return asked if isinstance(asked, RemoteResult) else Asked(how="task", requests=asked, state=task)
        if found.status in ("completed", "failed", "cancelled"):
            return _ended(found)
        if responses:
            await anyio.sleep(pause)


async def cancel(session: ClientSession, task: str) -> None:
    """Have the server end a task."""
    await session.send_request(_CancelTask(params=_TaskParams(task_id=task)), types.Result)


def _ended(task: _Task) -> RemoteResult:
    if task.status == "completed":
        return told(types.CallToolResult.model_validate(task.result or {"content": []}))
    error = task.error or {}
    why = str(error.get("message") or task.status_message or f"the task was {task.status}")
    return RemoteResult(why, is_error=True)


def _seconds(milliseconds: int | None) -> float:
    return _PAUSE if milliseconds is None else min(max(milliseconds / 1000, _SHORTEST), _LONGEST)
