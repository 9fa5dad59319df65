"""A conversation, and a task, whose processes are killed; see `_mortal`."""

import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
from tests.agents._mortal import Notes
from tests.agents._weather import results

from stagepost.agents import (
    Agent,
    AssistantMessage,
    ModelRequest,
    ModelResponse,
    Tasks,
    ToolCall,
    UserMessage,
    converse,
    tool,
)
from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.workflows import Runner

TALK = "talk"  # id of the conversation


def talker(notes: Notes) -> Agent[str]:
    """Answers with what was said to it and what its tools have told; a message that begins with one's name calls it."""

    class Noted:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            await notes.note(f"ask {sum(isinstance(message, AssistantMessage) for message in request.messages)}")
            last = request.messages[-1]
            name = last.text.partition(" ")[0] if isinstance(last, UserMessage) else ""
            if name in ("send", "pay"):
                return ModelResponse(calls=(ToolCall(id="s", name=name, arguments="{}"),))
            said = [message.text for message in request.messages if isinstance(message, UserMessage)]
            return ModelResponse(text=" / ".join([*said, *(result.text for result in results(list(request.messages)))]))

    @tool
    async def send() -> str:
        await notes.note("send")
        return "sent"

    @tool(needs_approval=True)
    async def pay() -> str:
        await notes.note("pay")
        return "paid"

    return Agent("talker", prompt="", model=Noted(), tools=[send, pay])


async def speak(folder: str, held: str, *texts: str) -> None:
    """Say something, each once, and wait to be killed."""
    notes = Notes(Path(folder), frozenset([held]))
    async with SqliteStore(Path(folder) / "runs.db") as store, Runner(store, workflows=[talker(notes)]) as runner:
        async with converse(runner, "talker", id=TALK) as talk:
            for text in texts:
                if text == "end":
                    await talk.end()
                else:
                    await talk.send(text, key=text)
                await notes.note(f"said {text}")
        await anyio.sleep_forever()


async def work(folder: str, held: str, request: str, told: str = "") -> None:
    """Start a task, tell it something once it is held, and wait to be killed; a task that is parked says so."""
    notes = Notes(Path(folder), frozenset([held]))
    async with SqliteStore(Path(folder) / "runs.db") as store, Runner(store, workflows=[talker(notes)]) as runner:
        run = await Tasks(runner).start("talker", request, task_id="t")
        if told:
            await Tasks(runner).tell("t", told)
        await run.settled()
        await notes.note("settled")


async def forget(folder: str, held: str, *texts: str) -> None:
    """Say something, then let retention delete all turns but the last, and wait to be killed.

    Args:
        folder: Where the file is.
        held: Which statement of retention never returns; or after how many deleted runs nothing more is done.
        texts: What is said.
    """

    def held_in(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        connection.set_trace_callback(hold)
        return run_batch(connection, batch)

    def hold(statement: str) -> None:
        if not held.isdecimal() and held in statement:
            os.write(1, b"held\n")
            time.sleep(1000)

    async with (
        SqliteStore(Path(folder) / "runs.db") as store,
        Runner(store, workflows=[talker(Notes(Path(folder)))]) as runner,
        converse(runner, "talker", id=TALK) as talk,
    ):
        for text in texts:
            await talk.send(text)
    async with SqliteStore(Path(folder) / "runs.db", run_batch=held_in) as store:
        last = (await store.info(f"{TALK}-{len(texts) - 1}")).finished_at
        assert last is not None
        for number in range(len(texts) - 1):
            if held == str(number):
                break
            await store.prune(last, limit=1)
        os.write(1, b"held\n")
        await anyio.sleep_forever()
