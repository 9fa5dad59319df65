"""Listening to runs of agents on a runner."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final, Self, TypeAlias

from stagepost.checkpoint import RunNotFound, RunStatus
from stagepost.workflows import Listening, Run, Runner

from .._delegation._result import AgentResult
from .._loop._loop import AgentLoop
from ..errors import NotAnAgent
from ._choice import Choice
from ._finding import forms_of, loops_of
from ._stream import Hearing, TaskStream

BUFFER: Final = 1000
"""How many told values are kept for a slow reader."""

Listen: TypeAlias = Callable[[str], None]
"""Begins to listen to a run, which may not be there yet, and to no other."""

Begin: TypeAlias = Callable[[Listen], Awaitable[Run]]
"""Finds or starts a run."""

ResultOf: TypeAlias = Callable[[Run], Awaitable[Callable[[], AgentResult[Any]]]]
"""Waits for the end of a run, and says how to make its result."""


def stream_of(
    runner: Runner,
    begin: Begin,
    choice: Choice,
    *,
    buffer: int,
    after: str | None = None,
    result: ResultOf | None = None,
) -> TaskStream[Any]:
    """The stream of a run.

    Args:
        runner: Where it runs.
        begin: Finds or starts it; see `heard`.
        choice: What the reader wants to get.
        buffer: How many tokens are kept for a slow reader.
        after: Where the reader goes on.
        result: See `heard`.
    """
    return TaskStream(partial(heard, runner, begin, buffer, result), choice, after)


@asynccontextmanager
async def heard(
    runner: Runner,
    begin: Begin,
    buffer: int,
    result: ResultOf | None = None,
) -> AsyncIterator[Hearing[Any]]:
    """Listen to a run of an agent. Leaving the block does not touch the run.

    Args:
        runner: Where it runs.
        begin: Finds or starts it. It listens before it starts one, so that nothing is missed that is told at once.
        buffer: How many tokens are kept for a slow reader.
        result: Waits for the end of a run, and says how to make its result.

    Raises:
        NotAnAgent: The run belongs to a workflow that is not an agent.
    """
    with _Ear(runner, buffer) as ear:
        run = await begin(ear.listen)
        ear.listen(run.id)
        loop = loop_of_run(runner, run)

        async def run_now() -> Run:
            """Who has completed here stays so; of others a later claim, by this process or another one, may count."""
            return run if run.status is RunStatus.COMPLETED else await runner.get(run.id)

        async def own_result() -> Callable[[], AgentResult[Any]]:
            try:
                found = await run_now()
            except RunNotFound:  # nothing is kept of it
                found = run
            return partial(loop.result, await found.result(), runner.clock)

        async def given_result(result: ResultOf) -> Callable[[], AgentResult[Any]]:
            return await result(await run_now())

        yield Hearing(
            task_id=run.id,
            name=loop.name,
            listening=ear.listening,
            loop_of=loops_of(runner),
            form_of=forms_of(loop),
            clock=runner.clock,
            mask=runner.mask,
            result=own_result if result is None else partial(given_result, result),
            left_with=lambda: run.left_with,
        )


def loop_of_run(runner: Runner, run: Run) -> AgentLoop:
    """The loop that works on a run.

    Raises:
        NotAnAgent: It is none of an agent.
    """
    loop = runner.workflow(run.workflow)
    if not isinstance(loop, AgentLoop):
        raise NotAnAgent(run.workflow, run.id)
    return loop


class _Ear:
    """Listens to one run at a time.

    Args:
        runner: Where the runs are.
        buffer: How many told values are kept.
    """

    def __init__(self, runner: Runner, buffer: int) -> None:
        self._runner = runner
        self._buffer = buffer
        self._stack = ExitStack()
        self._listening: Listening | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stack.close()

    @property
    def listening(self) -> Listening:
        """The listener."""
        assert self._listening is not None  # noqa: S101  # somebody has said to what
        return self._listening

    def listen(self, run_id: str) -> None:
        """Listen to a run."""
        if self._listening is None or self._listening.run_id != run_id:
            self._stack.close()
            self._listening = self._stack.enter_context(self._runner.listen(run_id, buffer=self._buffer))
