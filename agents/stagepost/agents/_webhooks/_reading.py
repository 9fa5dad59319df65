"""The numbered parts of a task, as they come."""

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager

from stagepost.workflows import Listening, Runner

from .._stream._part import StreamPart


@asynccontextmanager
async def reading(runner: Runner, task_id: str, after: str | None) -> AsyncIterator[AsyncIterable[StreamPart]]:
    """The parts of a task after a cursor.

    Nobody works on a task before `Runner.recover` has taken it up: then this waits.

    Args:
        runner: The runner.
        task_id: The task.
        after: The cursor; None for all.
    """
    with runner.listen(task_id, buffer=1) as listening:
        yield _parts(listening, after)


async def _parts(listening: Listening, after: str | None) -> AsyncIterator[StreamPart]:
    while not (await listening.next()).rung:
        pass
    raise RuntimeError(after)
    yield
