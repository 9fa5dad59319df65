"""Processes that deliver webhooks are really killed, at any moment; the receiver has every numbered part, in order."""

import random
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest
from anyio import fail_after, move_on_after
from tests.agents.webhooks import _victim
from tests.agents.webhooks._hooks import SECRET
from tests.agents.webhooks._receiver import Got, Receiver
from tests.agents.webhooks._victim import ONE, TASKS, lead
from tests.checkpoint._processes import module

from stagepost.agents import StreamPart, verify_webhook
from stagepost.agents._webhooks._reading import reading
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def kills(seed: int, count: int) -> Sequence[int]:
    """After how many more requests each process is killed."""
    chance = random.Random(seed)  # noqa: S311  # which moments are tried
    return [chance.randrange(0, 9) for _ in range(count)]


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        pytest.param(0, 3, id="3 kills"),
        *(pytest.param(seed, 12, id=f"12 kills, {seed}", marks=pytest.mark.long) for seed in range(1, 10)),
    ],
)
async def test_p7_after_kills_each_part_was_received_in_order(
    tmp_path: Path, receiver: Receiver, seed: int, count: int
) -> None:
    receiver.plan("/all", *[(500, 204, 204, 503)[number % 4] for number in range(20)])
    with fail_after(240):
        for more in kills(seed, count):
            await killed(tmp_path, receiver, len(receiver.got) + more)
        async with module(_victim.__name__, tmp_path, receiver.url) as process:
            assert await process.rest() == ["delivered"]
        await check(tmp_path, receiver)


async def killed(folder: Path, receiver: Receiver, count: int) -> None:
    """Let a process deliver until so many requests have come, or all is delivered; then kill it."""
    async with module(_victim.__name__, folder, receiver.url) as process:
        while len(receiver.got) < count and process.process.returncode is None:
            with move_on_after(0.05):
                await receiver.until(lambda: len(receiver.got) >= count)
        await process.kill()


async def check(folder: Path, receiver: Receiver) -> None:
    """See that what was received is what is stored."""
    for each in receiver.got:
        assert verify_webhook(each.headers, each.body, SECRET) == each.part
    async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=[lead()]) as runner:
        for task_id in TASKS:
            stored = await parts_of(runner, task_id)
            compare([each for each in receiver.of("/all") if each.part["task_id"] == task_id], stored)
        compare(receiver.of("/one"), await parts_of(runner, ONE))


async def parts_of(runner: Runner, task_id: str) -> list[StreamPart]:
    """The parts of a task from its start."""
    async with reading(runner, task_id, None) as parts:
        return [part async for part in parts]


def compare(got: Sequence[Got], stored: Sequence[StreamPart]) -> None:
    """Only the last part may come again, so what is left without it is in order; and it is all that there is."""
    once = [next(group) for _, group in groupby(got, key=lambda each: each.key)]
    assert len({each.key for each in once}) == len(once)
    assert len(stored) > 20
    assert sorted(each.key for each in once) == sorted(part.idempotency_key for part in stored)
    assert once[-1].part["type"] == "completed"
    told = {part.idempotency_key: part for part in stored}
    for each in once:
        part = told[each.key]
        assert {**each.part, "timestamp": None, "cursor": None} == {**part.to_dict(), "timestamp": None, "cursor": None}
    seqs = [each.part["seq"] for each in once if len(each.part["path"]) == 1 and each.part["type"] == "message"]
    assert seqs == sorted(seqs)


async def test_p7_a_process_that_is_killed_while_it_waits_for_an_answer_sends_the_same_part_again(
    tmp_path: Path, receiver: Receiver
) -> None:
    let_go = receiver.hold("/all")
    with fail_after(120):
        async with module(_victim.__name__, tmp_path, receiver.url) as process:
            await receiver.until(lambda: receiver.under_way >= len(TASKS))
            await process.kill()
        let_go()
        async with module(_victim.__name__, tmp_path, receiver.url) as process:
            assert await process.rest() == ["delivered"]
        await check(tmp_path, receiver)


async def test_p7_what_was_refused_before_a_kill_is_delivered_after_it(tmp_path: Path, receiver: Receiver) -> None:
    receiver.plan("/all", *[500] * 1000)
    with fail_after(120):
        async with module(_victim.__name__, tmp_path, receiver.url) as process:
            await receiver.until(lambda: len(receiver.of("/all", ok=False)) >= 2 * len(TASKS))
            await process.kill()
        receiver.plan_nothing("/all")
        async with module(_victim.__name__, tmp_path, receiver.url) as process:
            assert await process.rest() == ["delivered"]
        await check(tmp_path, receiver)
