"""An agent that has a summary written, and whose processes are killed: before, in and after that."""

import os
import time
from pathlib import Path

from tests.agents._mortal import Notes

from stagepost.agents import (
    Agent,
    Budget,
    ContextPolicy,
    Cut,
    FunctionModel,
    ModelRequest,
    ModelResponse,
    Summarize,
    Tasks,
    Usage,
    Window,
    call,
    tool,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner


class Noted(Summarize):
    """Notes that it was asked, and stops the process where it is told to."""

    def __init__(self, notes: Notes, held: frozenset[str]) -> None:
        super().__init__(keep_turns=1)
        object.__setattr__(self, "notes", notes)
        object.__setattr__(self, "held", held)

    def cut(self, window: Window) -> Cut:
        if "cut" in self.held:  # type: ignore[attr-defined]  # set above
            os.write(1, b"cut\n")
            time.sleep(1_000)  # until it is killed
        return super().cut(window)


def digger(folder: Path, held: frozenset[str] = frozenset()) -> Agent[str]:
    """The agent as each process builds it."""
    notes = Notes(folder, held)

    async def answer(request: ModelRequest) -> ModelResponse:
        usage = Usage(input_tokens=100, output_tokens=1, cost=0.5)
        if not request.tools:
            await notes.note("summary")
            return ModelResponse("all is dug", usage=usage)
        await notes.note(f"ask {request.answers} of {len(request.messages)}")
        calls = [call("dig", number=request.answers).model_copy(update={"id": f"c{request.answers}"})]
        return ModelResponse(calls=calls, usage=usage) if request.answers < 4 else ModelResponse("done", usage=usage)

    @tool
    async def dig(number: int) -> str:
        await notes.note(f"dig {number}")
        return f"layer {number}"

    policy = ContextPolicy(messages=6, compact=[Noted(notes, held)])
    budget = Budget(turns=6, tool_calls=4)
    return Agent("digger", "Dig.", model=FunctionModel(answer), tools=[dig], context=policy, budget=budget)


async def first_life(folder: str, *held: str) -> None:
    """Start the run, and wait to be killed."""
    agent = digger(Path(folder), frozenset(held))
    async with SqliteStore(Path(folder) / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
        await (await Tasks(runner).start(agent, "Dig.", task_id="deep")).result()
