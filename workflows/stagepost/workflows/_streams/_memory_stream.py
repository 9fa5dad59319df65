"""The stream of a run in memory, which works on the run meanwhile."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from .._answer import Answer
from .._listening._listening import Listening
from ._stream import RunStream


class MemoryStream(RunStream):
    """The stream of a run in memory; see `RunStream`.

    Args:
        listening: Listens to the run.
        work: Runs it; returns its final state.
    """

    def __init__(self, listening: Listening, work: Callable[[], Awaitable[Any]]) -> None:
        self._answer: Answer[Any] = Answer()
        super().__init__(listening, None, outcome=self._answer.get)
        self._work = work
        self._group: TaskGroup | None = None
        self._interrupt: BaseException | None = None

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._group = await anyio.create_task_group().__aenter__()
        self._group.start_soon(self._run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._group is not None  # noqa: S101  # it was entered
        await super().__aexit__(kind, error, trace)
        self._group.cancel_scope.cancel()
        if isinstance(error, anyio.get_cancelled_exc_class()):  # it may be the group's own
            await self._group.__aexit__(kind, error, trace)
        else:  # any other error passes by the group, which would wrap it
            await self._group.__aexit__(None, None, None)
        if self._interrupt is not None:
            raise self._interrupt

    async def _run(self) -> None:
        try:
            self._answer.give(await self._work())
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001  # raised to whoever asks for the result
            self._answer.fail(error)
            if not isinstance(error, Exception):
                self._interrupt = error  # such as KeyboardInterrupt, which is nobody's failure
