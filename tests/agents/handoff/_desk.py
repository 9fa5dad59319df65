"""Two agents that hand over to each other, in processes that are killed."""

from pathlib import Path
from typing import Any

from tests.agents._mortal import Notes

from stagepost.agents import (
    Agent,
    AssistantMessage,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    call,
    handoff,
    tool,
)
from stagepost.checkpoint import CheckpointStore, SqliteStore
from stagepost.workflows import Runner

SCRIPT: list[ScriptEntry] = [
    [call("look", order="7"), call("transfer_to_refunds")],
    call("pay", order="7"),
    call("transfer_to_triage"),
    "Anything else?",
]
ASKED = ["triage 0", "refunds 1", "refunds 2", "triage 3"]


def desk(notes: Notes) -> Agent[str]:
    """The agents as each process builds them. Their answers depend on the number of answers before."""
    script = ScriptedModel(SCRIPT)

    class Noted:
        def __init__(self, agent: str) -> None:
            self.agent = agent

        async def answer(self, request: ModelRequest) -> ModelResponse:
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            assert request.messages[0].text == self.agent
            await notes.note(f"{self.agent} {turn}")
            return await script.answer(request)

    class Held:
        """A hook that tells of calls that were made, and whose results are not saved yet."""

        inherited = True

        async def tool_call(self, made: Any, _context: Any, go_on: Any) -> Any:
            result = await go_on(made)
            await notes.note(f"made {made.name}")
            return result

    @tool(idempotent=True)
    async def look(order: str) -> str:
        await notes.note(f"look {order}")
        return "bought"

    @tool
    async def pay(order: str) -> str:
        await notes.note(f"pay {order}")
        return "paid"

    refunds = Agent("refunds", "refunds", model=Noted("refunds"), tools=[pay, handoff("triage")])
    return Agent("triage", "triage", model=Noted("triage"), tools=[look, handoff(refunds)], hooks=[Held()])


async def served(store: CheckpointStore, agent: Agent[str]) -> Any:
    """One process: it starts the task, or takes it up, to its end."""
    async with store, Runner(store, workflows=[agent], grace=0) as runner:
        await runner.recover()
        tasks = Tasks(runner)
        await (await tasks.start(agent, "My money back!", task_id="t")).result()
        return await tasks.get("t")


async def life(folder: str, *held: str) -> None:
    """Wait to be killed."""
    notes = Notes(Path(folder), frozenset(held))
    await served(SqliteStore(Path(folder) / "runs.db"), desk(notes))
