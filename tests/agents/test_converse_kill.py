"""The process of a conversation is really killed, between its turns and in them."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes
from tests.agents._talking import TALK, talker
from tests.checkpoint._processes import running

from stagepost.agents import ConversationOver, OpenConversation, Tasks, UserMessage, converse
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

LIFE = "import sys, anyio; from tests.agents._talking import speak; anyio.run(speak, *sys.argv[1:])"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def killed(folder: Path, held: str, *texts: str) -> None:
    """A process that says these, and is killed where it is held."""
    async with running(LIFE, folder, held, *texts) as process:
        assert (await process.line()).strip() == held
        await process.kill()


@asynccontextmanager
async def next_life(folder: Path) -> AsyncIterator[tuple[OpenConversation[str], Runner]]:
    notes = Notes(folder)
    async with (
        SqliteStore(folder / "runs.db") as store,
        Runner(store, workflows=[talker(notes)]) as runner,
        converse(runner, "talker", id=TALK) as talk,
    ):
        yield talk, runner


def said_in(talk: OpenConversation[str]) -> list[str]:
    return [message.text for message in talk.messages if isinstance(message, UserMessage)]


async def test_p7_a_conversation_killed_between_turns_goes_on(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "said b", "a", "b")
        async with next_life(tmp_path) as (talk, _):
            assert said_in(talk) == ["a", "b"]
            assert (await talk.send("c")).output == "a / b / c"
    assert Counter(Notes(tmp_path).read()) == {"ask 0": 1, "said a": 1, "ask 1": 1, "said b": 1, "ask 2": 1}


async def test_p7_a_turn_that_a_kill_left_open_is_answered_before_the_next_one(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "ask 1", "a", "b")
        async with next_life(tmp_path) as (talk, runner):
            assert (await Tasks(runner).get(f"{TALK}-1")).status.is_open
            assert (await talk.send("c")).output == "a / b / c"
            assert [message.text for message in talk.messages] == ["a", "a", "b", "a / b", "c", "a / b / c"]
    assert Counter(Notes(tmp_path).read()) == {"ask 0": 1, "said a": 1, "ask 1": 2, "ask 2": 1}


async def test_p7_a_message_that_is_sent_again_behind_a_kill_is_said_once(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "ask 1", "a", "b")
        async with next_life(tmp_path) as (talk, _):
            assert (await talk.send("b", key="b")).output == "a / b"
            assert said_in(talk) == ["a", "b"]
    assert Counter(Notes(tmp_path).read()) == {"ask 0": 1, "said a": 1, "ask 1": 2}


async def test_p8_a_tool_in_flight_at_the_kill_is_not_called_again_in_the_turn_or_behind_it(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "send", "a", "send it")
        async with next_life(tmp_path) as (talk, _):
            output = (await talk.send("c")).output
            assert output.startswith("a / send it / c / interrupted, outcome unknown")
    assert Counter(Notes(tmp_path).read()) == {"ask 0": 1, "said a": 1, "ask 1": 1, "send": 1, "ask 2": 1, "ask 3": 1}


async def test_p7_a_conversation_that_was_ended_before_a_kill_stays_so(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "said end", "a", "end")
        async with next_life(tmp_path) as (talk, runner):
            with pytest.raises(ConversationOver):
                await talk.send("b")
            assert said_in(talk) == ["a"]
            await runner.recover()
    assert Notes(tmp_path).read() == ["ask 0", "said a", "said end"]


FORGETTING = "import sys, anyio; from tests.agents._talking import forget; anyio.run(forget, *sys.argv[1:])"


@pytest.mark.parametrize(
    "held",
    [
        pytest.param("INSERT OR REPLACE INTO keys", id="while it notes what is remembered"),
        pytest.param("DELETE FROM runs", id="as it deletes the first turn"),
        pytest.param("COMMIT", id="before that is saved"),
        pytest.param("2", id="after two turns"),
        pytest.param("9", id="after all turns but the last"),
    ],
)
async def test_p7_a_conversation_is_whole_after_a_kill_in_the_retention_of_turns_that_it_refers_to(
    tmp_path: Path, held: str
) -> None:
    with fail_after(120):
        async with running(FORGETTING, tmp_path, held, *"abcd") as process:
            assert (await process.line()).strip() == "held"
            await process.kill()
        async with next_life(tmp_path) as (talk, runner):
            assert said_in(talk) == [*"abcd"]
            left = [info.run_id for info in (await runner.runs.list()).items]
            assert left == [f"{TALK}-{number}" for number in range(4)][-len(left) :]
            assert len(left) == {"2": 2, "9": 1}.get(held, 4)
            assert (await talk.send("e")).output == "a / b / c / d / e"
        async with SqliteStore(tmp_path / "runs.db") as store:
            assert list(await store.check()) == []


@pytest.mark.parametrize("held", ["ask 2", "said c"], ids=["in a turn that refers to another", "after it"])
async def test_p7_a_turn_that_refers_to_another_is_whole_after_a_kill_although_the_other_is_deleted(
    tmp_path: Path, held: str
) -> None:
    with fail_after(120):
        await killed(tmp_path, held, "a", "b", "c")
        async with SqliteStore(tmp_path / "runs.db") as store:
            for number in range(2):
                await store.delete(f"{TALK}-{number}")
        async with next_life(tmp_path) as (talk, runner):
            assert (await talk.send("d")).output == "a / b / c / d"
            assert len((await Tasks(runner).get(f"{TALK}-2")).messages) == 6
    assert Notes(tmp_path).read().count("ask 2") == (2 if held == "ask 2" else 1)
