"""What the measures share: an agent that calls a tool on each turn, and a store that knows when it has committed."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any, Final, Generic, TypeVar

import anyio

from stagepost.agents import Agent, Budget, ModelRequest, ModelResponse, ToolCall, tool
from stagepost.checkpoint import Commit, Page, Snapshot, SqliteStore
from stagepost.workflows import Runner

T = TypeVar("T")

RUN: Final = "r"
RESULT: Final = "It is 3 degrees in Oslo, with wind from the west. " * 10
_FREE: Final = Budget(turns=None, tool_calls=None)


class Stepped(Generic[T]):
    """Awaits something, and adds the processor time that its steps take in this thread to `Spent.seconds`.

    Args:
        spent: Where it is added.
        awaited: What is awaited.
    """

    def __init__(self, spent: "Spent", awaited: Coroutine[Any, Any, T]) -> None:
        self._spent = spent
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, T]:
        """Step by step."""
        sent: Any = None
        while True:
            start = thread_time()
            try:
                yielded = self._awaited.send(sent)
            except StopIteration as ended:
                result: T = ended.value
                return result
            finally:
                self._spent.seconds += thread_time() - start
            sent = yield yielded


class Spent:
    """Processor time of one kind of work.

    Attributes:
        seconds: So much.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def on(self, awaited: Coroutine[Any, Any, T]) -> Stepped[T]:
        """Await something, and add what it takes."""
        return Stepped(self, awaited)


class Gate:
    """Lets somebody wait until all have come, and knows when the last one did; again and again.

    Args:
        number: How many have to come each time.

    Attributes:
        last: When the last one came.
    """

    def __init__(self, number: int) -> None:
        self.last = 0.0
        self._number = number
        self._come = 0
        self._more = anyio.Event()

    def come(self) -> None:
        """One more is here."""
        self._come += 1
        if self._come % self._number == 0:
            self.last = perf_counter()
            self._more.set()
            self._more = anyio.Event()

    async def full(self, time: int) -> None:
        """Wait until all have come so many times."""
        while self._come < time * self._number:
            await self._more.wait()


class Watched(SqliteStore):
    """A store that knows when it has committed last, and what reading has cost its caller's thread.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, durability="process")
        self.committed_at = 0.0
        self.reading = Spent()

    async def commit(self, commit: Commit) -> None:
        """As of `SqliteStore`."""
        await super().commit(commit)
        self.committed_at = perf_counter()

    async def head(self, run_id: str) -> Snapshot:
        """As of `SqliteStore`."""
        return await self.reading.on(super().head(run_id))

    async def head_with(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> tuple[Snapshot, Page[bytes]]:
        """As of `SqliteStore`."""
        return await self.reading.on(super().head_with(run_id, path, key, after=after, limit=limit))

    async def elements(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> Page[bytes]:
        """As of `SqliteStore`."""
        return await self.reading.on(super().elements(run_id, path, key, after=after, limit=limit))


async def _at_once(_: int) -> None:
    pass


def looping(
    turns: int,
    *,
    asked: Callable[[int], Awaitable[None]] = _at_once,
    before: Callable[[int], Awaitable[None]] = _at_once,
) -> Agent[str]:
    """An agent that calls its tool on each turn but the last.

    Args:
        turns: So many.
        asked: What the model waits for, by its turn.
        before: What the tool waits for, by its turn.
    """

    @tool(idempotent=True)
    async def look(turn: int) -> str:
        """Look at the weather."""
        await before(turn)
        return RESULT

    return Agent("looker", prompt="Look.", model=_Looping(turns, asked), tools=[look], budget=_FREE)


class _Looping:
    """A model that answers whole, without tokens."""

    def __init__(self, turns: int, asked: Callable[[int], Awaitable[None]]) -> None:
        self._turns = turns
        self._asked = asked

    async def answer(self, request: ModelRequest) -> ModelResponse:
        turn = request.answers
        await self._asked(turn)
        if turn >= self._turns - 1:
            return ModelResponse("done")
        return ModelResponse(calls=[ToolCall(id=f"c{turn}", name="look", arguments=f'{{"turn":{turn}}}')])


@asynccontextmanager
async def running(*agents: Agent[str]) -> AsyncIterator[tuple[Runner, Watched]]:
    """A runner on a new file."""
    with TemporaryDirectory(prefix="benchmark-") as folder:
        async with Watched(Path(folder) / "runs.db") as store, Runner(store, workflows=list(agents)) as runner:
            yield runner, store
