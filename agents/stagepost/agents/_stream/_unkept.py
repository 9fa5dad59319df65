"""The end of a task of which nothing is kept, so that it cannot be read."""

from datetime import datetime
from typing import Any

from pydantic_core import to_jsonable_python

from stagepost.checkpoint import RunStatus
from stagepost.workflows import RunCancelled, RunFailed

from .._delegation._result import AgentResult
from .._delegation._why import own_error
from ._cursor import parse, render
from ._part import StreamPart
from ._parts import TaskCancelled, TaskCompleted, TaskFailed
from ._position import Cursor, End, Position


def unkept_end(
    outcome: AgentResult[Any] | BaseException, task_id: str, name: str, after: str | None, at: datetime
) -> StreamPart:
    """The last part of a task of which nothing is kept.

    Args:
        outcome: What it has come to.
        task_id: The task.
        name: Name of its agent.
        after: The cursor of the last part before that; None if there is none.
        at: When.
    """
    position = Position(-1) if after is None else parse(after, task_id).position

    def common(status: RunStatus) -> dict[str, Any]:
        cursor = render(Cursor(position, End(status.value, 1)), task_id)
        return {"timestamp": at, "task_id": task_id, "cursor": cursor, "path": (name,), "visit": "1"}

    if isinstance(outcome, AgentResult):
        output = to_jsonable_python(outcome.output)
        return TaskCompleted(**common(RunStatus.COMPLETED), result=output)
    if isinstance(outcome, RunCancelled):
        return TaskCancelled(**common(RunStatus.CANCELLED))
    error = outcome.error if isinstance(outcome, RunFailed) else str(outcome)
    return TaskFailed(**common(RunStatus.FAILED), error=own_error(error))
