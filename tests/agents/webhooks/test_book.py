"""What webhooks for all tasks follow: whatever is stored after them, once, whatever the clock says."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import pytest

from stagepost.agents._webhooks._book import Book
from stagepost.checkpoint import Cell, Frame, MemoryStore, NewRun, Statement

URL = "https://example.org/hook"


class Backwards:
    """A clock that is set back again and again."""

    def __init__(self) -> None:
        self._now = 1_000_000.0

    def __call__(self) -> float:
        self._now -= 60
        return self._now


async def start(store: MemoryStore, ids: Sequence[str], labels: Mapping[str, str]) -> None:
    for run_id in ids:
        await store.create(NewRun(run_id, "lead", 1, None, b"{}", 0, Frame("", 1, "next", {}), labels=labels))


async def followed(book: Book) -> list[list[str]]:
    await book.follow_new()
    return [[task.task_id for task in webhook.tasks] for webhook in await book.list()]


async def test_what_is_stored_after_a_webhook_is_followed_once_in_its_order() -> None:
    async with MemoryStore(clock=Backwards()) as store:
        book = Book(store, lambda: 1.0)
        await book.make()
        assert await followed(book) == []
        await start(store, ["before"], {})
        await book.add(f"{URL}/1")
        await book.add(f"{URL}/2", labels={"tenant": "a"})
        many = [f"b-{number}" for number in range(230)]
        await start(store, ["a-0", "a-0.child"], {"tenant": "a", "region": "x"})
        await start(store, many, {"tenant": "b"})
        await start(store, ["a-1"], {"tenant": "a"})
        first, second = await followed(book)
        assert sorted((first, second), key=len) == [["a-0", "a-1"], ["a-0", *many, "a-1"]]
        assert await followed(book) == [first, second]
        await store.cancel("a-1")
        await start(store, ["a-2"], {"tenant": "a"})
        assert [len(tasks) for tasks in await followed(book)] == [len(first) + 1, len(second) + 1]


class Interrupted(MemoryStore):
    """Lets something happen after the next query."""

    then: Callable[[], Awaitable[None]] | None = None

    async def query(self, text: str, *values: Cell) -> Sequence[tuple[Cell, ...]]:
        rows = await super().query(text, *values)
        then, self.then = self.then, None
        if then is not None:
            await then()
        return rows


async def test_a_webhook_that_was_removed_meanwhile_follows_nothing() -> None:
    async with Interrupted() as store:
        book = Book(store, lambda: 1.0)
        await book.make()
        added = await book.add(URL)
        await start(store, ["r"], {})
        store.then = partial(book.remove, added.id)
        await book.follow_new()
        assert await book.active(0) == []
        await book.add(URL)
        assert await followed(book) == [[]]


@pytest.mark.parametrize(
    "damage", ["labels = '{'", "seen = 'x'", "url = CAST(x'ff' AS TEXT)", "added_at = 4611686018427387904"]
)
async def test_a_damaged_webhook_is_told_once_and_the_others_go_on(
    damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with MemoryStore() as store:
        book = Book(store, lambda: 1.0)
        await book.make()
        bad, good = await book.add(f"{URL}/bad"), await book.add(f"{URL}/good")
        await start(store, ["first"], {})
        await book.follow_new()
        await store.execute(Statement(f"UPDATE app_stagepost_webhooks SET {damage} WHERE id = ?", (bad.id,)))  # noqa: S608  # of a test
        await start(store, ["second"], {})
        for _ in range(2):
            await book.follow_new()
            assert [each.task_id for each in await book.active(0) if each.webhook_id == good.id] == ["first", "second"]
            assert good.id in {webhook.id for webhook in await book.list()}
        assert [bad.id in record.getMessage() for record in caplog.records] == [True]
