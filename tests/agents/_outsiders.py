"""An agent with an external tool and a searched toolset, whose processes are killed; see `_mortal`."""

import os
from pathlib import Path

import anyio
from tests.agents._mortal import Notes

from stagepost.agents import (
    Agent,
    Answer,
    AssistantMessage,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    Tool,
    call,
    external_tool,
    tool,
    toolset,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Inbox, Runner

BUYING: list[ScriptEntry] = [[call("quote", item="nails"), call("send", to="ann")], "bought"]
SEARCHING: list[ScriptEntry] = [
    call("search_tools", query="ship parcel"),
    [call("ship_parcel", to="ann"), call("look")],
    call("ship_parcel", to="bob"),
    "shipped",
]


def outsider(notes: Notes, script: list[ScriptEntry]) -> Agent[str]:
    """The agent as each process builds it."""
    said = ScriptedModel(script)

    class Noted:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            await notes.note(f"ask {turn}: {' '.join(sorted(each.name for each in request.tools))}")
            await notes.note(f"ask {turn}")
            return await said.answer(request)

    @tool
    async def send(to: str) -> str:
        await notes.note(f"send {to}")
        return f"sent to {to}"

    @tool
    async def ship_parcel(to: str) -> str:
        "Ships a parcel."
        await notes.note(f"ship {to}")
        return f"shipped to {to}"

    @tool(idempotent=True)
    async def look() -> str:
        await notes.note("look")
        return "fine"

    quote = external_tool("quote", "Asks the supplier.", parameters={"type": "object", "properties": {"item": {}}})
    hidden = [_numbered(number) for number in range(30)]
    found = toolset([ship_parcel, *hidden]).searched()
    return Agent("outsider", prompt="", model=Noted(), tools=[quote, send, look, found])


def _numbered(number: int) -> Tool[..., object]:
    @tool(name=f"count_{number}")
    def count() -> int:
        "Counts."
        return number

    return count


async def work(folder: str, script: str, held: str) -> None:
    """Start the task, and wait to be killed; once it waits for somebody, say so."""
    notes = Notes(Path(folder), frozenset([held]))
    agent = outsider(notes, BUYING if script == "buying" else SEARCHING)
    async with SqliteStore(Path(folder) / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
        run = await Tasks(runner).start(agent, "go", task_id="t")
        await run.settled()
        await notes.note("settled")
        os.write(1, b"waiting\n")
        await anyio.sleep_forever()


async def reply(folder: str, held: str) -> None:
    """Answer the call in a process that knows no agent, and wait to be killed."""
    notes = Notes(Path(folder), frozenset([held]))
    async with SqliteStore.inbox(Path(folder) / "runs.db") as store:
        inbox = Inbox(store)
        while not (waits := await inbox.waits("t")):
            await anyio.lowlevel.checkpoint()
        await inbox.answer(waits[0].id, Answer(7), by="eve")
        await notes.note("answered")
