from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from stagepost.agents import MemoryTokenStore, StoredTokens, TokenStore
from stagepost.checkpoint import CannotDecrypt, CorruptStore, MemoryStore, SqliteStore, Statement

FIRST, SECOND = b"1" * 32, b"2" * 32


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def in_memory(clock: Callable[[], float]) -> AsyncIterator[TokenStore]:
    yield MemoryTokenStore(clock=clock)


@asynccontextmanager
async def stored(clock: Callable[[], float]) -> AsyncIterator[TokenStore]:
    async with MemoryStore() as store:
        yield StoredTokens(store, clock=clock)


@asynccontextmanager
async def encrypted(clock: Callable[[], float]) -> AsyncIterator[TokenStore]:
    async with MemoryStore() as store:
        yield StoredTokens(store, keys=FIRST, clock=clock)


@pytest.fixture(params=[in_memory, stored, encrypted])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


async def test_a_value_is_kept_until_it_is_replaced_taken_or_expires(kind: Any) -> None:
    now = [1000.0]
    async with kind(lambda: now[0]) as tokens:
        assert (await tokens.get("a"), await tokens.take("a")) == (None, None)
        await tokens.put("a", "one")
        await tokens.put("a", "two")
        await tokens.put("b", "short", within=10)
        await tokens.put("c", "short", within=10)
        assert (await tokens.get("a"), await tokens.get("b")) == ("two", "short")
        assert (await tokens.take("b"), await tokens.take("b"), await tokens.get("b")) == ("short", None, None)
        now[0] = 1010.0
        assert (await tokens.get("c"), await tokens.take("c"), await tokens.get("a")) == (None, None, "two")
        await tokens.put("c", "again", within=1000)
        assert await tokens.take("c") == "again"


async def test_of_several_who_take_a_value_one_gets_it(kind: Any) -> None:
    got: list[str | None] = []
    async with kind(lambda: 1000.0) as tokens:
        await tokens.put("a", "one", within=1000)

        async def take() -> None:
            got.append(await tokens.take("a"))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(take)
    assert sorted(got, key=str) == [None] * 4 + ["one"]


async def test_what_has_expired_is_removed_from_the_file(tmp_path: Path) -> None:
    now = [1000.0]
    async with SqliteStore(tmp_path / "runs.db") as store:
        tokens = StoredTokens(store, clock=lambda: now[0])
        await tokens.put("old", "one", within=1)
        now[0] = 1002.0
        await tokens.put("new", "two")
        assert await store.query("SELECT name FROM app_stagepost_tokens") == [("new",)]


async def test_keys_encrypt_each_value_for_its_own_name() -> None:
    async with MemoryStore() as store:
        await StoredTokens(store).put("plain", "before there were keys")
        await StoredTokens(store, keys=FIRST).put("a", "one")
        await StoredTokens(store, keys=[SECOND, FIRST]).put("b", "two")
        ((sealed,),) = await store.query("SELECT value FROM app_stagepost_tokens WHERE name = 'a'")
        assert "one" not in str(sealed)
        both = StoredTokens(store, keys=[SECOND, FIRST])
        assert [await both.get(name) for name in ("plain", "a", "b")] == ["before there were keys", "one", "two"]
        with pytest.raises(CannotDecrypt):
            await StoredTokens(store, keys=FIRST).get("b")
        await store.execute(Statement("UPDATE app_stagepost_tokens SET value = ? WHERE name = 'b'", (sealed,)))
        with pytest.raises(CorruptStore, match="'b'"):
            await both.get("b")
