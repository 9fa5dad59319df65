"""An agent's process is really killed; what was committed is done once, what nobody can know is said."""

from collections import Counter
from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes, mailer
from tests.agents._weather import results
from tests.checkpoint._processes import running

from stagepost.agents import AssistantMessage
from stagepost.checkpoint import SqliteStore
from stagepost.hub import Hub
from stagepost.workflows import Runner

LIFE = "import sys, anyio; from tests.agents._mortal import first_life; anyio.run(first_life, *sys.argv[1:])"

DONE = {"ask 0": 1, "look Oslo": 1, "send ann": 1, "ask 1": 1, "look Rome": 1, "ask 2": 1}
TOLD = ["Oslo is fine", "sent to ann", "Rome is fine"]
UNKNOWN = "interrupted, outcome unknown: the process ended while send was called."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def killed(folder: Path, held: list[str]) -> None:
    """A process that is killed once it is where it should be."""
    async with running(LIFE, folder, *held) as process:
        assert {(await process.line()).strip() for _ in held} == set(held)
        await process.kill()


async def second_life(folder: Path) -> tuple[str, list[str], int]:
    """Take the run up again, and ask for its answer as its requester would."""
    async with SqliteStore(folder / "runs.db") as store, Hub() as hub, Runner(store, hub=hub) as runner:
        await runner.serve(mailer(Notes(folder)))
        (run,) = (await runner.recover()).resumed
        answer = await hub.request(
            "mailer", "Write to Ann.", expect=str, timeout=None, headers={"idempotency-key": "mail"}
        )
        said = (await run.result())["messages"]
    told = [message.text for message in results(said)]
    return answer, told, sum(isinstance(message, AssistantMessage) for message in said)


@pytest.mark.parametrize(
    ("held", "again", "told"),
    [
        (["ask 0"], {"ask 0": 2}, TOLD),
        (["ask 1"], {"ask 1": 2}, TOLD),
        (["look Rome"], {"look Rome": 2}, TOLD),
        (["ask 2"], {"ask 2": 2}, TOLD),
        (["look Oslo", "send ann"], {"look Oslo": 2}, [TOLD[0], UNKNOWN, TOLD[2]]),
    ],
    ids=["at the first answer", "between answers", "in a second tool", "at the last answer", "in both tools"],
)
async def test_p7_a_killed_agent_repeats_only_what_was_in_flight_and_may_be_repeated(
    tmp_path: Path, held: list[str], again: dict[str, int], told: list[str]
) -> None:
    with fail_after(120):
        await killed(tmp_path, held)
        answer, texts, answers = await second_life(tmp_path)
    assert Counter(Notes(tmp_path).read()) == {**DONE, **again}
    assert (answer, answers) == ("done", 3)
    assert [text.startswith(start) for text, start in zip(texts, told, strict=True)] == [True] * 3


async def test_p7_an_agent_killed_twice_goes_on_behind_what_is_committed(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, ["look Oslo", "send ann"])
        async with running(RECOVERING, tmp_path, "ask 1") as process:
            assert (await process.line()).strip() == "ask 1"
            await process.kill()
        answer, texts, _ = await second_life(tmp_path)
    assert Counter(Notes(tmp_path).read()) == {**DONE, "look Oslo": 2, "ask 1": 2}
    assert (answer, texts[1].startswith(UNKNOWN)) == ("done", True)


RECOVERING = """
import sys, anyio
from pathlib import Path
from tests.agents._mortal import Notes, mailer
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

async def main(folder, *held):
    loop = mailer(Notes(Path(folder), frozenset(held))).as_workflow()
    async with SqliteStore(Path(folder) / "runs.db") as store, Runner(store, workflows=[loop]) as runner:
        (run,) = (await runner.recover()).resumed
        await run.result()

anyio.run(main, *sys.argv[1:])
"""
