"""An agent's process is killed between a picture and the next question: the next process has both, or neither."""

from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes
from tests.agents._weather import results
from tests.checkpoint._processes import running

from stagepost.agents import (
    Agent,
    AssistantMessage,
    Audio,
    Image,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    Tasks,
    ToolMessage,
    UserMessage,
    call,
    tool,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

LIFE = "import sys, anyio; from tests.agents.test_parts_kill import first_life; anyio.run(first_life, *sys.argv[1:])"
PICTURE = bytes(range(256)) * 400
SOUND = b"sound" * 1000


def eye(notes: Notes) -> tuple[Agent[str], list[list[bytes | None]]]:
    """The agent as each process builds it, and the bytes that its model gets."""
    script, seen = ScriptedModel([[call("shoot"), call("shoot")], call("shoot"), "seen"]), list[list[bytes | None]]()

    class Noted:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            await notes.note(f"ask {turn}")
            said = [message for message in request.messages if isinstance(message, UserMessage | ToolMessage)]
            seen.append([part.data for message in said for part in message.parts])
            return await script.answer(request)

    @tool(idempotent=True)
    async def shoot() -> Image:
        "Take a picture."
        await notes.note("shoot")
        return Image(data=PICTURE, media_type="image/png")

    return Agent("eye", "Look.", model=Noted(), tools=[shoot]), seen


async def first_life(folder: str, *held: str) -> None:
    agent, _ = eye(Notes(Path(folder), frozenset(held)))
    store = SqliteStore(Path(folder) / "runs.db", durability="process")
    async with store, Runner(store, workflows=[agent]) as runner:
        sound = Audio(data=SOUND, media_type="audio/wav")
        await (await Tasks(runner).start(agent, ["What is this?", sound], task_id="task")).result()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("held", ["ask 0", "shoot", "ask 1", "ask 2"])
async def test_p7_behind_a_sigkill_a_model_gets_the_bytes_of_all_that_is_said(tmp_path: Path, held: str) -> None:
    with fail_after(60):
        async with running(LIFE, tmp_path, held) as process:
            assert (await process.line()).strip() == held
            await process.kill()
        agent, seen = eye(Notes(tmp_path))
        async with SqliteStore(tmp_path / "runs.db") as store:
            assert await store.verify() == []
            async with Runner(store, workflows=[agent]) as runner:
                (run,) = (await runner.recover()).resumed
                state = await run.result()
            assert await store.verify() == []
    assert seen[-1] == [SOUND, PICTURE, PICTURE, PICTURE]
    assert [message.text for message in results(list(state["messages"]))] == ["[image 1]"] * 3
