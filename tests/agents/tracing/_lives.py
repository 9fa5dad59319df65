"""A traced task whose processes are killed, while it is where the provider has heard that it is."""

from pathlib import Path

import anyio
from tests.agents.tracing._noting import Noting

from stagepost.agents import (
    Agent,
    AgentTool,
    Model,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    call,
    tool,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Chain, Runner, step


class Holding:
    """Answers as scripted; the answers before one of a number are never given.

    Args:
        script: The answers.
        held: The number, from 0; None to give all.
    """

    def __init__(self, script: list[ScriptEntry], held: int | None) -> None:
        self._inner = ScriptedModel(script)
        self._held = held

    async def answer(self, request: ModelRequest) -> ModelResponse:
        if request.answers == self._held:
            await anyio.sleep_forever()
        return await self._inner.answer(request)


def lead(held: str = "") -> Agent[str]:
    """The agent as each process builds it.

    Args:
        held: Where this process stops: the name of the span.
    """

    @tool(idempotent=True)
    async def look(city: str) -> str:
        if held == ("look below" if city == "Voss" else "look"):
            await anyio.sleep_forever()
        return f"{city} is fine"

    @tool
    async def send(to: str) -> str:
        if held == "send":
            await anyio.sleep_forever()
        return f"sent to {to}"

    inner: Model = Holding([call("look", city="Voss"), "Voss it is"], {"helper": 0}.get(held))
    helper = Agent("helper", "Help.", model=inner, tools=[look], description="Helps.")
    script: list[ScriptEntry] = [
        [call("look", city="Oslo"), call("look", city="Rome")],
        call("send", to="ann"),
        call("helper", request="where?"),
        "done",
    ]
    model = Holding(script, {"ask 0": 0, "ask 1": 1, "ask 3": 3}.get(held))
    return Agent("lead", "Lead.", model=model, tools=[look, send, AgentTool(helper)])


def flow(held: str = "") -> Chain:
    """A plain workflow."""

    async def second(state: dict[str, object]) -> dict[str, object]:
        if held == "second":
            await anyio.sleep_forever()
        return {"second": 2}

    return Chain("flow", [step("first", lambda _state: {"first": 1}), step("second", second)])


async def live(folder: str, kind: str, held: str) -> None:
    """Work on the task until killed, or to its end."""
    noting = Noting(Path(folder) / "told")
    agent, plain = lead(held), flow(held)
    async with (
        SqliteStore(Path(folder) / "runs.db") as store,
        Runner(store, workflows=[agent, plain], tracing=noting) as runner,
    ):
        await runner.recover()
        if kind == "flow":
            await (await runner.start(plain, {}, run_id="t")).result()
        else:
            await (await Tasks(runner).start(agent, "go", task_id="t")).result()
