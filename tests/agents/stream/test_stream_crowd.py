"""Many who listen, some of whom never read: memory is bounded, nobody is late, and everybody gets everything."""

import gc
from collections import Counter
from collections.abc import Sequence

import anyio
import pytest
from anyio import fail_after

from stagepost.agents import (
    Agent,
    Budget,
    FunctionModel,
    Gap,
    ModelRequest,
    ModelResponse,
    StreamPart,
    TaskCompleted,
    Tasks,
    Token,
    TokenArrived,
    ToolCall,
    tool,
)
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Runner

BURST = 500  # tokens that come at once: fewer than a listener keeps
KEPT = 1_000  # told values, at most, that a listener keeps
TURNS = 4
WORDS = 30


@tool(idempotent=True)
async def look(turn: int) -> str:
    """Look at the weather."""
    return f"{turn}: it is fine. " * 50


class Talking:
    """A model that says much on each turn, burst by burst, and lets whoever wants to read it do so in between.

    Args:
        turns: Of so many turns.
        bursts: Of each turn.
    """

    def __init__(self, turns: int, bursts: int) -> None:
        self.read = anyio.Semaphore(0)
        self.told = 0
        self._turns = turns
        self._bursts = bursts

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The answer, once all of it was read."""
        for number in range(self._bursts * BURST):
            if request.on_token is not None:
                request.on_token(Token(number, "word ", "text"))
                self.told += 1
            if number % BURST == BURST - 1:
                await self.read.acquire()
        turn = request.answers
        calls = () if turn >= self._turns - 1 else (ToolCall(id="c", name="look", arguments=f'{{"turn":{turn}}}'),)
        return ModelResponse("word " * (self._bursts * BURST), calls=calls)


def held(name: str) -> int:
    """How many objects of a class there are."""
    return sum(type(each).__name__ == name for each in gc.get_objects())


def numbered(parts: Sequence[StreamPart]) -> list[object]:
    return [part.key for part in parts if part.cursor is not None]


async def test_who_never_reads_holds_few_pieces_and_makes_nobody_late() -> None:
    model = Talking(turns=20, bursts=2)
    agent = Agent("talker", prompt="Talk.", model=model, tools=[look], budget=Budget(turns=None, tool_calls=None))
    with fail_after(60):
        async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
            tasks = Tasks(runner)
            async with tasks.start_stream(agent, "go", task_id="t") as stream, tasks.stream("t") as stalled:
                parts, most = [await anext(aiter(stalled))], 0
                heard: list[StreamPart] = []
                async for part in stream:  # the model waits for this reader, and the reader for nobody
                    heard.append(part)
                    if isinstance(part, TokenArrived) and part.index % BURST == BURST - 1:
                        most = max(most, held("Piece"))
                        model.read.release()
                heard_of_all = sum(isinstance(part, TokenArrived) for part in heard)
                assert heard_of_all == model.told == 20 * 2 * BURST
                assert KEPT / 2 <= most <= KEPT + 2 * BURST, (
                    "what the stalled one keeps, and what the other has not read"
                )
                parts += [part async for part in stalled]
            async with tasks.stream("t") as stream:
                again = [part async for part in stream]
    assert not any(isinstance(part, Gap) for part in heard)
    assert any(isinstance(part, Gap) for part in parts)
    assert numbered(parts) == numbered(heard) == numbered(again)
    assert isinstance(parts[-1], TaskCompleted)


@pytest.mark.parametrize("number", [100, pytest.param(1_000, marks=pytest.mark.long)])
async def test_runs_that_are_all_heard_are_heard_whole_and_nothing_is_left_of_them(number: int) -> None:
    most = 0

    def answer(request: ModelRequest) -> ModelResponse:
        nonlocal most
        asked.update([request.answers])
        if asked[1] == number // 2:  # half of the runs have been asked for their second answers
            most = most or held("Piece")
        if request.answers < TURNS - 1:
            return ModelResponse("word " * WORDS, calls=[ToolCall(id="c", name="look", arguments='{"turn":1}')])
        return ModelResponse("word " * WORDS)

    asked = Counter[int]()
    agent = Agent("looker", prompt="Look.", model=FunctionModel(answer), tools=[look])
    heard: dict[str, list[StreamPart]] = {}

    async def listen(name: str) -> None:
        async with tasks.start_stream(agent, "go", task_id=name) as stream:
            heard[name] = [part async for part in stream]

    with fail_after(300):
        async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
            tasks = Tasks(runner)
            async with anyio.create_task_group() as group:
                for each in range(number):
                    group.start_soon(listen, f"t{each}")
            left = {kind: held(kind) for kind in ("Piece", "Told", "Listening", "Room", "TaskStream")}
    assert left == dict.fromkeys(left, 0)
    assert 0 < most <= number * (WORDS + 5), "of each run at most what was told since its last commit"
    (shape,) = {tuple((part.seq, part.type) for part in parts if part.cursor is not None) for parts in heard.values()}
    assert len(shape) == 3 * (TURNS - 1) + 3, (
        "a message, a call and a result of each turn, and the first and last parts"
    )
    assert all(isinstance(parts[-1], TaskCompleted) for parts in heard.values())
