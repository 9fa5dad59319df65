"""The runs that a branch has started end with it when it has lost: also after a crash, and however far they are."""

from collections.abc import Mapping

import anyio
import pytest
from anyio import fail_after
from own_patterns.patterns import Race, Repeat
from tests.workflows._doors import Door
from tests.workflows._words import NOTHING, PATIENCE, Gate, Store, dying, running

from stagepost.checkpoint import Commit, MemoryStore, RunNotFound, RunStatus
from stagepost.workflows import Chain, Parallel, Pattern, RunCancelled, State, Step, StepContext, Wait, step

ASKS = Chain("asks", [Wait("question")])


def starting(child: Pattern, key: str = "kid") -> Step:
    """A step that awaits a run of another workflow."""

    async def start(_state: State, context: StepContext) -> Mapping[str, object]:
        return {"got": dict(await context.child(child, key, {}))}

    return step("start", start)


async def status(store: Store, run_id: str) -> RunStatus:
    return (await store.info(run_id)).status


async def ended(store: Store, run_id: str) -> RunStatus:
    while (found := await status(store, run_id)).is_open:
        await anyio.lowlevel.checkpoint()
    return found


async def test_a_child_that_waits_is_cancelled_with_what_it_asks(store: Store) -> None:
    race = Race("race", {"slow": starting(ASKS), "quick": Wait("quick")})
    work = Chain("work", [race, Wait("more")], companions=[ASKS])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        kid = await runner.get("r1.kid")
        await runner.answer("r1/race[1]/quick", 1)
        with pytest.raises(RunCancelled):
            await kid.result()
        await run.settled()
        assert [wait.id for wait in await runner.waits()] == ["r1/more"]
        await runner.answer("r1/more", 7)
        assert (await run.result())["race"] == "quick"
        assert await status(store, "r1.kid") is RunStatus.CANCELLED


async def test_a_child_that_is_executed_is_cancelled_with_those_below_it(store: Store) -> None:
    gate, won = Gate(), Gate()
    leaf = Chain("leaf", [gate.step])
    middle = Chain("middle", [starting(leaf)], companions=[leaf])
    work = Chain("work", [Race("race", {"slow": starting(middle), "quick": won.step})], companions=[middle])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        kids = [await runner.get(run_id) for run_id in ("r1.kid", "r1.kid.kid")]
        won.open.set()
        assert (await run.result())["race"] == "quick"
        for kid in kids:
            with pytest.raises(RunCancelled):
                await kid.result()
    assert gate.cancelled


async def test_children_of_the_winner_and_of_those_around_go_on(store: Store) -> None:
    async def gives_up(_state: State, context: StepContext) -> None:
        with anyio.move_on_after(0):
            await context.child(ASKS, "winners", {})

    race = Race("race", {"slow": starting(ASKS, "losers"), "quick": Chain("first", [Wait("go"), gives_up])})
    both = Parallel("both", {"race": race, "beside": starting(ASKS, "beside")})
    work = Chain("work", [both], companions=[ASKS])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        (go,) = [wait.id for wait in await runner.waits() if wait.name == "go"]
        await runner.answer(go, 1)
        assert await ended(store, "r1.losers") is RunStatus.CANCELLED
        await run.settled()
        assert await status(store, "r1.beside") is RunStatus.WAITING
        await runner.answer("r1.beside/question", 1)
        await run.result()


async def test_a_child_in_the_items_of_a_losing_branch_is_cancelled(store: Store) -> None:
    async def each(item: int, context: StepContext) -> None:
        await context.child(ASKS, f"kid-{item}", {})

    slow = Parallel("fan", step("each", each), over=lambda _: [0, 1, 2])
    race = Race("race", {"slow": slow, "quick": Wait("quick")})
    work = Chain("work", [race], companions=[ASKS])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        await runner.answer("r1/race[1]/quick", 1)
        await run.result()
        assert {await ended(store, f"r1.kid-{item}") for item in range(3)} == {RunStatus.CANCELLED}


async def test_a_child_of_an_item_that_has_failed_and_is_collected_is_cancelled(store: Store) -> None:
    def fails(_state: State) -> None:
        raise ValueError("broken")

    both = Parallel("both", {"slow": starting(ASKS), "bad": Chain("bad", [Wait("go"), fails])})
    work = Chain(
        "work", [Parallel("fan", both, over=lambda _: [0], failures="bad", may_all_fail=True)], companions=[ASKS]
    )
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        (go,) = [wait.id for wait in await runner.waits() if wait.name == "go"]
        await runner.answer(go, 1)
        assert len((await run.result())["bad"]) == 1
        assert await ended(store, "r1.kid") is RunStatus.CANCELLED


@pytest.mark.parametrize("behind", [True, False], ids=["on disk", "not on disk"])
async def test_a_child_that_is_just_being_stored_is_cancelled_too(store: Store, behind: bool) -> None:  # noqa: FBT001  # a parameter of the test
    won = Gate()
    work = Chain("work", [Race("race", {"slow": starting(ASKS), "quick": won.step})], companions=[ASKS])
    async with running(store, work) as runner:
        door = Door(store, "create", behind=behind, when=lambda new: new.run_id == "r1.kid")
        run = await runner.start(work, run_id="r1")
        await door.reached.wait()
        won.open.set()
        await anyio.wait_all_tasks_blocked()
        assert run.status.is_open  # the join waits for the child
        door.open.set()
        await run.result()
        assert await ended(store, "r1.kid") is RunStatus.CANCELLED


async def test_a_child_that_could_not_be_stored_holds_up_no_join(store: Store) -> None:
    won = Gate()
    work = Chain("work", [Race("race", {"slow": starting(ASKS), "quick": won.step})], companions=[ASKS])
    async with running(store, work) as runner:
        door = Door(store, "create", when=lambda new: new.run_id == "r1.kid")
        run = await runner.start(work, run_id="r1")
        await door.reached.wait()
        won.open.set()
        await anyio.wait_all_tasks_blocked()
        await store.cancel("r1")  # so that nothing begins below it
        door.open.set()
        with pytest.raises(RunCancelled):
            await run.result()
        with pytest.raises(RunNotFound):
            await store.info("r1.kid")


async def test_what_a_crash_comes_before_is_cancelled_by_the_next_process(store: Store) -> None:
    """The winner has ended, and the process dies before the join; the child is open in the next one."""
    won = Gate()
    race = Race("race", {"slow": starting(ASKS), "quick": won.step})
    work = Chain("work", [race, NOTHING], companions=[ASKS])
    async with dying(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        while not (await store.find(below="r1")).items:
            await anyio.lowlevel.checkpoint()
        door = Door(store, "commit", when=lambda commit: commit.joined is not None)
        won.open.set()
        await door.reached.wait()
    async with store:
        assert (await status(store, "r1.kid")).is_open
    async with running(store, work) as runner:
        door.open.set()
        await runner.recover()
        run = await runner.get("r1")
        assert (await run.result())["race"] == "quick"
        assert await ended(store, "r1.kid") is RunStatus.CANCELLED


async def test_what_a_crash_comes_after_is_cancelled_by_the_next_process(store: Store) -> None:
    """The join is stored, and the process dies before the child has ended."""
    won = Gate()
    race = Race("race", {"slow": starting(ASKS), "quick": won.step})
    work = Chain("work", [race, Wait("more")], companions=[ASKS])
    async with dying(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        while not (await store.find(below="r1")).items:
            await anyio.lowlevel.checkpoint()
        closing = Door(store, "claim", when=lambda _owner, run_id, **_: run_id == "r1.kid")
        commits = Door(store, "commit", when=_cancels)
        won.open.set()
        while (await status(store, "r1")) is not RunStatus.WAITING or run.status is not RunStatus.WAITING:
            await anyio.lowlevel.checkpoint()
    async with store:
        assert (await store.info("r1.kid")).cancelling
        assert (await status(store, "r1.kid")).is_open
    closing.open.set()
    commits.open.set()
    async with running(store, work) as runner:
        report = await runner.recover()
        assert report.cancelled == ("r1.kid",)
        assert await status(store, "r1.kid") is RunStatus.CANCELLED


def _cancels(commit: Commit) -> bool:
    return commit.closing is not None and commit.closing.status is RunStatus.CANCELLED


async def test_in_the_next_round_of_a_loop_a_child_of_another_name_begins(store: Store) -> None:
    """Of the same name it would be the one that was cancelled."""

    async def start(_state: State, context: StepContext) -> None:
        await context.child(ASKS, f"kid-{context.around[0]}", {})

    def round_(state: State) -> Mapping[str, object]:
        return {"n": state.get("n", 0) + 1}

    race = Race("race", {"slow": step("start", start), "quick": Wait("quick")})
    body = Chain("body", [race, round_])
    work = Chain("work", [Repeat("rounds", body, until=lambda state: state["n"] == 2)], companions=[ASKS])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        for _ in range(2):
            await run.settled()
            (quick,) = [wait.id for wait in await runner.waits("r1") if wait.name == "quick"]
            await runner.answer(quick, 1)
        assert (await run.result())["n"] == 2
        assert {await ended(store, f"r1.kid-{number}") for number in (1, 2)} == {RunStatus.CANCELLED}


async def test_in_memory_a_child_of_a_losing_branch_ends_with_it() -> None:
    gate, won = Gate(), Gate()
    leaf = Chain("leaf", [gate.step])
    work = Chain("work", [Race("race", {"slow": starting(leaf), "quick": won.step})], companions=[leaf])
    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:

            async def win() -> None:
                await gate.entered.wait()
                won.open.set()

            group.start_soon(win)
            assert (await work.run())["race"] == "quick"
    assert gate.cancelled


async def test_of_a_run_that_keeps_nothing_a_lost_child_ends_too() -> None:
    store = MemoryStore()
    race = Race("race", {"slow": starting(ASKS), "quick": Wait("quick")})
    work = Chain("work", [race], companions=[ASKS])
    async with running(store, work, keep="none") as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        kid = await runner.get("r1.kid")
        await runner.answer("r1/race[1]/quick", 1)
        await run.result()
        with pytest.raises(RunCancelled):
            await kid.result()
