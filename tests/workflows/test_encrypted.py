"""A runner works on an encrypted store as on any other."""

from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from anyio.lowlevel import checkpoint
from tests.workflows._words import running

from stagepost.checkpoint import EncryptedInbox, EncryptedStore, RunNotFound, RunStatus, SqliteStore
from stagepost.workflows import Chain, Parallel, RunFailed, RunForgotten, State, StepContext, Wait

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # SQLite's

OLD, NEW = b"o" * 32, b"n" * 32
HIDDEN = "what nobody may read"


async def shout(word: str) -> str:
    return f"{word}, {HIDDEN}"


async def pay() -> str:
    return HIDDEN


class Broken:
    """A step that fails once, after an effect."""

    def __init__(self) -> None:
        self.calls = 0

    async def step(self, state: State, context: StepContext) -> dict[str, object]:
        self.calls += 1
        paid = await context.once("pay", pay)
        if self.calls == 1:
            raise ValueError(HIDDEN)
        return {"paid": paid, "words": len(cast("list[str]", state["shouted"]))}


def chain() -> Chain:
    return Chain("work", [Parallel("shouted", shout, over="given"), Wait("approval"), Broken().step])


def content(file: Path) -> bytes:
    return file.read_bytes()


async def test_a_run_waits_and_fails_and_goes_on_by_another_key_and_nothing_of_it_can_be_read(tmp_path: Path) -> None:
    file, work, given = tmp_path / "runs.db", chain(), {"given": ["one", "two"]}
    async with running(EncryptedStore(SqliteStore(file), keys=OLD), work) as runner:
        run = await runner.start(work, given, key="once")
        assert await run.settled() is RunStatus.WAITING
    async with running(EncryptedStore(SqliteStore(file), keys=[NEW, OLD]), work) as runner:
        await runner.recover()
        async with SqliteStore.inbox(file) as inbox:
            await EncryptedInbox(inbox, keys=[NEW, OLD]).answer(run.id, "approval", b'"what nobody may read"')
        with pytest.raises(RunFailed, match=HIDDEN):
            await (await runner.get(run.id)).result()
        assert await (await runner.resume(run.id)).result() == {
            "given": ["one", "two"],
            "shouted": [f"one, {HIDDEN}", f"two, {HIDDEN}"],
            "approval": HIDDEN,
            "paid": HIDDEN,
            "words": 2,
        }
    assert HIDDEN.encode() not in content(file)


async def test_a_start_that_retention_has_forgotten_is_known_by_its_input(tmp_path: Path) -> None:
    """The input is compared as it is stored, so equal ones are sealed alike."""
    work, store = Chain("work", [Broken().step]), EncryptedStore(SqliteStore(tmp_path / "runs.db"), keys=OLD)
    async with running(store, work, keep_for=timedelta(0)) as runner:
        run = await runner.start(work, {"shouted": []}, key="once")
        with pytest.raises(RunFailed):
            await run.result()
        assert await store.prune((await store.info(run.id)).created_at + timedelta(days=1)) == 1
        with pytest.raises(RunNotFound):
            await store.info(run.id)
        with pytest.raises(RunForgotten):
            await runner.start(work, {"shouted": []}, key="once")
        await checkpoint()
