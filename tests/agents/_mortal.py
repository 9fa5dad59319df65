"""An agent whose processes are killed: it notes what it does in files, and waits where it is told to."""

import os
from pathlib import Path

import anyio

from stagepost.agents import (
    Agent,
    AssistantMessage,
    Budget,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    call,
    tool,
)
from stagepost.checkpoint import SqliteStore
from stagepost.hub import Hub
from stagepost.workflows import Runner

SCRIPT: list[ScriptEntry] = [[call("look", city="Oslo"), call("send", to="ann")], [call("look", city="Rome")], "done"]


class Notes:
    """A folder that outlives processes. What happens is a line of a file; ``held`` names what is waited at.

    Args:
        folder: The folder.
        held: Events behind whose line this process waits for ever, and says so on its standard output.
    """

    def __init__(self, folder: Path, held: frozenset[str] = frozenset()) -> None:
        self._file = folder / "events"
        self._held = held

    async def note(self, event: str) -> None:
        with self._file.open("a") as file:
            file.write(f"{event}\n")
        if event in self._held:
            os.write(1, f"{event}\n".encode())
            await anyio.sleep_forever()

    def read(self) -> list[str]:
        return self._file.read_text().splitlines()


def mailer(notes: Notes) -> Agent[str]:
    """The agent as each process builds it."""
    script = ScriptedModel(SCRIPT)

    class Noted:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            await notes.note(f"ask {turn}")
            return await script.answer(request)

    @tool(idempotent=True)
    async def look(city: str) -> str:
        await notes.note(f"look {city}")
        return f"{city} is fine"

    @tool
    async def send(to: str) -> str:
        await notes.note(f"send {to}")
        return f"sent to {to}"

    return Agent("mailer", prompt="Mail.", model=Noted(), tools=[look, send], budget=Budget(turns=3, tool_calls=3))


async def first_life(folder: str, *held: str) -> None:
    """Start the run by a request, and wait to be killed."""
    notes = Notes(Path(folder), frozenset(held))
    async with SqliteStore(Path(folder) / "runs.db") as store, Hub() as hub, Runner(store, hub=hub) as runner:
        await runner.serve(mailer(notes))
        await hub.request("mailer", "Write to Ann.", timeout=None, headers={"idempotency-key": "mail"})
