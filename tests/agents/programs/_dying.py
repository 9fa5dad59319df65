"""An agent with programs whose processes are killed."""

from pathlib import Path
from typing import Any

import anyio
from tests.agents._mortal import Notes

from stagepost.agents import Agent, AssistantMessage, ModelRequest, ModelResponse, ScriptedModel, Tasks, tool
from stagepost.checkpoint import SqliteStore
from stagepost.programs import PtcLisp
from stagepost.workflows import Runner

MAILING = """
(def began (System/currentTimeMillis))
(let [oslo (tool/look {:city "Oslo"})
      sent (pmap (fn [to] (tool/send {:to to})) ["ann" "bob"])
      paid (pmap (fn [who] (tool/pay {:who who})) ["dan" "eve"])
      seen (tool/look {:city (str "town-" (mod began 1))})
      last (tool/send {:to "carl"})]
  (def kept {:oslo oslo :sent sent :paid paid :seen seen :last last}))
"""
PAID = ["dan", "eve"]
RETURNING = "(return {:kept kept :now (System/currentTimeMillis)})"


def mailer(notes: Notes) -> Agent[Any]:
    """The agent as each process builds it."""
    script = ScriptedModel([MAILING, RETURNING.replace("kept kept", "kept (str *1)"), RETURNING])

    class Noted:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            await notes.note(f"ask {turn}")
            return await script.answer(request)

    @tool(idempotent=True)
    async def look(city: str) -> dict[str, str]:
        await notes.note(f"look {city}")
        return {"city": city}

    @tool
    async def send(to: str) -> str:
        await notes.note(f"send {to}")
        return f"sent to {to}"

    @tool(needs_approval=True)
    async def pay(who: str) -> str:
        await notes.note(f"pay {who}")
        return f"paid {who}"

    return Agent("mailer", "Mail.", model=Noted(), tools=[look, send, pay], output=dict[str, Any], programs=PtcLisp())


async def work(folder: str, *held: str) -> None:
    """Start the task, or take it up again, until it ends; say when it waits for people."""
    notes = Notes(Path(folder), frozenset(held))
    agent = mailer(notes)
    async with (
        SqliteStore(Path(folder) / "runs.db", durability="process") as store,
        Runner(store, workflows=[agent]) as runner,
    ):
        tasks = Tasks(runner)
        if not (await runner.recover()).resumed:
            await tasks.start(agent, "Go.", task_id="task")
        async with tasks.stream("task") as stream:
            async for part in stream:
                if part.type == "approval_requested" and len(await tasks.approvals()) == len(PAID):
                    await notes.note("parked")
                    await anyio.sleep_forever()
