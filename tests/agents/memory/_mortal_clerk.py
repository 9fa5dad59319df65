"""A clerk whose processes are killed while it remembers and forgets."""

from pathlib import Path
from typing import Any

from tests.agents._mortal import Notes

from stagepost.agents import (
    Agent,
    AssistantMessage,
    Memories,
    Memory,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    call,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

OLD = "Likes cake."
TEXTS = ["Likes tea.", "Sails.", "Sings."]


def clerk(notes: Notes, old_id: str) -> Agent[str]:
    """The agent as each process builds it: one call, then several at once."""
    script: list[ScriptEntry] = [
        call("remember", text=TEXTS[0]),
        [call("remember", text=TEXTS[1]), call("remember", text=TEXTS[2]), call("forget", id=old_id)],
        "done",
    ]
    model = ScriptedModel(script)

    class Noted:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            await notes.note(f"ask {turn}")
            return await model.answer(request)

    class Held:
        """A hook that tells of calls that were made, and whose results are not saved yet."""

        async def tool_call(self, made: Any, _context: Any, go_on: Any) -> Any:
            result = await go_on(made)
            await notes.note(f"made {made.arguments}")
            return result

    return Agent("clerk", "Help.", model=Noted(), tools=[Memory(label="customer")], hooks=[Held()])


async def life(folder: str, *held: str) -> None:
    """Take the task up, or start it, and wait to be killed or for its end."""
    notes = Notes(Path(folder), frozenset(held))
    async with SqliteStore(Path(folder) / "runs.db") as store:
        old_id = await Memories(store).remember("ann", OLD) if not (Path(folder) / "events").exists() else None
        agent = clerk(notes, old_id or (Path(folder) / "old").read_text())
        (Path(folder) / "old").write_text(old_id or (Path(folder) / "old").read_text())
        async with Runner(store, workflows=[agent]) as runner:
            await runner.recover()
            run = await Tasks(runner).start(agent, "Hello.", task_id="t", labels={"customer": "ann"})
            await run.result()
