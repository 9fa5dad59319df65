"""Lists of stored runs that this process knows are not read again, and none is taken for another."""

from typing import Annotated, Any

import pytest
from tests.workflows._words import running
from tests.workflows.test_continued import TURN, expected, turns

from stagepost.checkpoint import CannotStore, Continued, ListTooShort, MemoryStore, Page, RunNotFound, Snapshot
from stagepost.workflows import Append, Chain, Parallel, Runner, State, Wait, step
from stagepost.workflows._execution._stored_lists import StoredLists


class Counting(MemoryStore):
    """Counts what is read of lists."""

    def __init__(self) -> None:
        super().__init__()
        self.read = self.loaded = 0

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        self.loaded += 1
        return await super().load(run_id, at=at)

    async def elements(self, *place: str, **options: Any) -> Page[bytes]:
        page = await super().elements(*place, **options)
        self.read += len(page.items)
        return page


async def go_on(runner: Runner, run_id: str, length: int, new_id: str, then: object = "then") -> list[Any]:
    start = {"log": Continued(run_id, length, then=[then])}
    return list((await (await runner.start(TURN, start, run_id=new_id)).result())["log"])


async def test_what_this_process_has_written_is_not_read() -> None:
    store = Counting()
    async with running(store, TURN) as runner:
        assert await turns(runner, 10) == expected(10)
        assert list((await runner.runs.get("turn-9")).state["log"]) == expected(10)
    assert (store.read, store.loaded) == (0, 0)


async def test_what_another_process_has_written_is_read_once() -> None:
    store = Counting()
    async with running(store, TURN) as runner:
        await turns(runner, 10)
    async with running(store, TURN) as runner:
        for _ in range(3):
            assert list((await runner.runs.get("turn-9")).state["log"]) == expected(10)
        assert await go_on(runner, "turn-9", 20, "turn-10") == [*expected(10), "then", "answer 21"]
        assert list((await runner.runs.get("turn-10")).state["log"]) == [*expected(10), "then", "answer 21"]
    assert (store.read, store.loaded) == (20, 0)


async def test_of_a_list_that_has_grown_only_what_is_new_is_read() -> None:
    store, types = Counting(), {"log": Annotated[list[Any], Append]}
    work = Chain(
        "work", [step("one", lambda _: {"log": [1]}), Wait("ask"), step("two", lambda _: {"log": [2]})], types=types
    )
    async with running(store, work) as runner:
        await (await runner.start(work, {"log": [0]}, run_id="r")).settled()
    async with running(store, work) as runner:
        lists, schema = StoredLists(store), work.plan.schema
        before = await lists.read(await store.head("r"), schema)
        await runner.recover()
        await runner.answer("r/ask", None)
        await (await runner.get("r")).result()
        store.read = 0
        after = await lists.read(await store.head("r"), schema)
    assert before is not None
    assert after is not None
    assert (before["log"].frozen, after["log"].frozen, store.read) == ([0, 1], [0, 1, 2], 1)


async def test_a_branch_of_a_list_is_its_own() -> None:
    store = Counting()
    async with running(store, TURN) as runner:
        await turns(runner, 2)
        for name in ("one", "two"):
            assert await go_on(runner, "turn-0", 2, name, name) == [*expected(1), name, "answer 3"]
        for name in ("one", "two"):
            assert await go_on(runner, name, 3, f"{name}-more") == [*expected(1), name, "then", "answer 4"]
            assert list((await runner.runs.get(name)).state["log"]) == [*expected(1), name, "answer 3"]
    async with running(store, TURN) as runner:
        for name in ("one", "two"):
            assert list((await runner.runs.get(name)).state["log"]) == [*expected(1), name, "answer 3"]


async def test_a_run_that_is_deleted_and_started_again_is_not_taken_for_the_old_one() -> None:
    store = Counting()
    async with running(store, TURN) as runner:
        await turns(runner, 1)
        old = await runner.start(TURN, {"log": Continued("turn-0", 2, then=["old"])}, run_id="turn-1")
        kept = await old.result()
        await store.delete("turn-1")
        assert await go_on(runner, "turn-0", 2, "turn-1", "new") == [*expected(1), "new", "answer 3"]
        assert await go_on(runner, "turn-1", 4, "turn-2") == [*expected(1), "new", "answer 3", "then", "answer 5"]
        assert list(kept["log"]) == [*expected(1), "old", "answer 3"]
        assert list((await runner.runs.get("turn-1")).state["log"]) == [*expected(1), "new", "answer 3"]


async def test_lists_beyond_what_there_is_room_for_are_read_again() -> None:
    store = Counting()
    async with running(store, TURN) as runner:
        await turns(runner, 3)
        head, schema = await store.head("turn-2"), TURN.plan.schema
        roomy, tight = StoredLists(store), StoredLists(store, room=5_000)
        for lists, read in ((roomy, 6), (tight, 12)):
            store.read = 0
            for _ in range(2):
                values = await lists.read(head, schema)
                assert values is not None
                assert values["log"].frozen == expected(3)
                del values
            assert store.read == read


async def test_a_list_that_somebody_holds_is_not_read_again_however_little_room_there_is() -> None:
    store = Counting()
    async with running(store, TURN) as runner:
        await turns(runner, 3)
        lists, head = StoredLists(store, room=0), await store.head("turn-2")
        held = await lists.read(head, TURN.plan.schema)
        assert await lists.read(head, TURN.plan.schema) == held
    assert store.read == 6


async def test_a_run_that_is_deleted_while_its_list_is_read_is_not_there() -> None:
    class Late(Counting):
        """Deletes a run as soon as its head was read."""

        async def head(self, run_id: str) -> Snapshot:
            head = await super().head(run_id)
            if run_id == "turn-0":
                await self.delete(run_id)
            return head

    store = Late()
    async with running(store, TURN) as runner:
        await turns(runner, 1)
    async with running(store, TURN) as runner:
        with pytest.raises(RunNotFound):
            await runner.runs.get("turn-0")


async def test_a_list_that_is_shorter_than_its_run_said_is_not_taken_for_it() -> None:
    class Shorter(Counting):
        """Has lost what it said it had."""

        async def elements(self, *place: str, **options: Any) -> Page[bytes]:  # noqa: ARG002  # the signature
            return Page(())

    store = Shorter()
    async with running(store, TURN) as runner:
        await turns(runner, 1)
    async with running(store, TURN) as runner:
        with pytest.raises(RunNotFound):
            await go_on(runner, "turn-0", 2, "turn-1")
        assert list((await runner.runs.get("turn-0")).state["log"]) == expected(1), "it is read as a whole instead"
        assert store.loaded == 1


async def test_an_empty_list_is_gone_on_with() -> None:
    silent = Chain("turn", [step("nothing", lambda _: None, inline=True)], types={"log": Annotated[list[Any], Append]})
    async with running(MemoryStore(), silent) as runner:
        await (await runner.start(silent, {"log": []}, run_id="a")).result()
        run = await runner.start(silent, {"log": Continued("a", 0, then=["b"])}, run_id="b")
        assert list((await run.result())["log"]) == ["b"]
        with pytest.raises(ListTooShort):
            await runner.start(silent, {"log": Continued("a", 1)}, run_id="c")


async def test_a_run_in_memory_goes_on_with_the_list_of_another_and_shares_it() -> None:
    before = await TURN.run({"log": ["a"]})
    after = await TURN.run({"log": before.extended("log", ["b"])})
    other = await TURN.run({"log": before.extended("log", ["c"])})
    assert [list(each["log"]) for each in (before, after, other)] == [
        ["a", "answer 1"],
        ["a", "answer 1", "b", "answer 3"],
        ["a", "answer 1", "c", "answer 3"],
    ]
    with pytest.raises(CannotStore, match="it is no list that only grows"):
        before.extended("else", [])
    async with running(MemoryStore(), TURN) as runner:
        run = await runner.start(TURN, {"log": after.extended("log", ["d"])})
        assert list((await run.result())["log"]) == ["a", "answer 1", "b", "answer 3", "d", "answer 5"]


async def test_what_a_fan_out_has_gathered_is_read_with_its_run() -> None:
    def make(item: int) -> str:
        return f"{item}" * 50

    work = Chain("work", [Parallel("fan", step("make", make, inline=True), over="items", into="made")])
    async with running(MemoryStore(), work) as runner:
        await (await runner.start(work, {"items": list(range(200))}, run_id="r")).result()
        state: State = (await runner.runs.get("r")).state
        assert state["made"] == [make(item) for item in range(200)]
