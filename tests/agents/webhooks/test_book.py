"""What webhooks for all tasks follow: whatever is stored after them, once, whatever the clock says."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from stagepost.agents._webhooks._book import Book
from stagepost.checkpoint import Cell, Frame, MemoryStore, NewRun

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
