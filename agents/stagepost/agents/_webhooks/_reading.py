"""The numbered parts of a task, as they are stored."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from stagepost.workflows import Listening, Runner

from .._loop._loop import AgentLoop
from .._stream._part import StreamPart
from .._stream._read import read
from ..errors import NotAnAgent


async def check_agent(runner: Runner, task_id: str) -> None:
    """See that a run is an agent's.

    Raises:
        RunNotFound: There is none.
        NotAnAgent: It is none.
        WorkflowNotFound: The runner does not know its workflow.
    """
    workflow = (await runner.runs.info(task_id)).workflow
    if not isinstance(runner.workflow(workflow), AgentLoop):
        raise NotAnAgent(workflow, task_id)


@asynccontextmanager
async def reading(runner: Runner, task_id: str, after: str | None) -> AsyncIterator[AsyncIterable[StreamPart]]:
    """The parts of a task after a cursor, up to its end; what is told without being stored is left out.

    While nobody works on the task, as before `Runner.recover` has taken it up, this waits.

    Args:
        runner: The runner.
        task_id: The task.
        after: The cursor; None for all.

    Raises:
        RunNotFound: There is no such task.
        NotAnAgent: The run belongs to a workflow that is not an agent.
    """
    await check_agent(runner, task_id)
    with runner.listen(task_id, buffer=0) as listening:
        async with aclosing(_parts(runner, listening, after)) as parts:
            yield parts


async def _parts(runner: Runner, listening: Listening, cursor: str | None) -> AsyncGenerator[StreamPart, None]:
    def loop_of(workflow: str, _version: int) -> AgentLoop:
        loop = runner.workflow(workflow)
        if not isinstance(loop, AgentLoop):
            raise LookupError(workflow)  # noqa: TRY004  # a run of another kind below the task's: nobody knows it
        return loop

    while True:
        await listening.next()
        has_more = True
        while has_more:
            batch = await read(listening.source, loop_of, listening.run_id, cursor, mask=runner.mask)
            for part in batch.parts:
                yield part
            cursor, has_more = batch.cursor, batch.has_more
            if batch.is_over and not has_more:
                return
