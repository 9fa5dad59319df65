"""Runs whose lists begin with those of other runs: conversations that store only what is new."""

from itertools import permutations
from typing import Annotated, Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel, Field
from tests.workflows._crashes import Mortal
from tests.workflows._words import Store, running

from stagepost.checkpoint import (
    BlobNotFound,
    CannotStore,
    LabelRefused,
    ListTooShort,
    MemoryStore,
    RunNotFound,
    ValueTooLarge,
)
from stagepost.workflows import (
    Append,
    Chain,
    Continued,
    RunConflict,
    RunFailed,
    RunForgotten,
    Runner,
    State,
    StepContext,
    Wait,
    step,
)

TYPES = {"log": Annotated[list[Any], Append]}


def answer(state: State) -> dict[str, object]:
    return {"log": [f"answer {len(state['log'])}"]}


TURN = Chain("turn", [step("answer", answer, inline=True)], types=TYPES)


class Line(BaseModel):
    text: str


class Talk(BaseModel):
    topic: str = ""
    lines: Annotated[list[Line], Append] = Field(default_factory=list)


MODEL = Chain(
    "model", [step("say", lambda talk: {"lines": [Line(text=f"said {len(talk.lines)}")]}, inline=True)], state=Talk
)


async def turns(runner: Runner, count: int) -> list[object]:
    """Turns that each go on with the one before; what the last one has."""
    log: list[object] = []
    for number in range(count):
        given: object = [number] if not number else Continued(f"turn-{number - 1}", len(log), then=[number])
        log = list((await (await runner.start(TURN, {"log": given}, run_id=f"turn-{number}")).result())["log"])
    return log


def expected(count: int) -> list[object]:
    return [text for number in range(count) for text in (number, f"answer {2 * number + 1}")]


async def elements(store: Store) -> int:
    ((count,),) = await store.query("SELECT count(*) FROM elements")
    assert isinstance(count, int)
    return count


async def test_ten_turns_store_each_message_once(store: Store) -> None:
    async with running(store, TURN) as runner:
        assert await turns(runner, 10) == expected(10)
        assert await elements(store) == 20
    async with running(store, TURN) as runner:
        for number in range(10):
            state = await (await runner.get(f"turn-{number}")).result()
            assert list(state["log"]) == expected(number + 1)


@pytest.mark.parametrize("order", [*permutations(range(4))][::5], ids=str)
async def test_a_turn_stays_whole_in_whatever_order_others_are_deleted(order: tuple[int, ...]) -> None:
    async with running(store := MemoryStore(), TURN) as runner:
        await turns(runner, 4)
        left = set(order)
        for number in order:
            await store.delete(f"turn-{number}")
            left.discard(number)
            for other in left:
                assert list((await (await runner.get(f"turn-{other}")).result())["log"]) == expected(other + 1)
        assert await elements(store) == 0
        assert await store.verify() == []


async def test_forks_of_one_turn_do_not_meet(store: Store) -> None:
    async with running(store, TURN) as runner:
        await turns(runner, 2)
        forks = [
            await runner.start(TURN, {"log": Continued("turn-0", 2, then=[name])}, run_id=name) for name in ("x", "y")
        ]
        for fork in forks:
            assert list((await fork.result())["log"]) == [0, "answer 1", fork.id, "answer 3"]
        state = await (await runner.get("turn-1")).result()
        assert list(state["log"]) == expected(2)
        assert await elements(store) == 8


async def test_a_run_that_is_open_or_has_failed_can_be_gone_on_with() -> None:
    broken = [True]

    def fail(state: State) -> dict[str, object]:
        if broken:
            raise ValueError("broken")
        return {"log": ["healed"]}

    waits = Chain("waits", [step("a", answer, inline=True), Wait("go"), step("b", answer, inline=True)], types=TYPES)
    fails = Chain("fails", [step("a", answer, inline=True), step("fail", fail, inline=True)], types=TYPES)
    async with running(MemoryStore(), TURN, waits, fails) as runner:
        await (await runner.start(waits, {"log": [0]}, run_id="open")).settled()
        with pytest.raises(RunFailed):
            await (await runner.start(fails, {"log": [0]}, run_id="failed")).result()
        for name in ("open", "failed"):
            run = await runner.start(TURN, {"log": Continued(name, 2, then=[1])}, run_id=f"after-{name}")
            assert list((await run.result())["log"]) == [0, "answer 1", 1, "answer 3"]
        broken.clear()
        await runner.answer("open/go", None)
        assert list((await (await runner.get("open")).result())["log"]) == [0, "answer 1", "answer 2"]
        assert list((await (await runner.resume("failed")).result())["log"]) == [0, "answer 1", "healed"]


async def test_starting_again_finds_the_run_although_the_older_is_gone(store: Store) -> None:
    async with running(store, TURN) as runner:
        await turns(runner, 1)
        given = {"log": Continued("turn-0", 2, then=["more"])}
        run = await runner.start(TURN, given, run_id="turn-1", key="k")
        await run.result()
        for other in (Continued("turn-0", 1, then=["more"]), Continued("turn-0", 2, then=[]), ["more"]):
            with pytest.raises(RunConflict, match="input"):
                await runner.start(TURN, {"log": other}, run_id="turn-1")
        await store.delete("turn-0")
        for again in (await runner.start(TURN, given, run_id="turn-1"), await runner.start(TURN, given, key="k")):
            assert list((await again.result())["log"]) == [*expected(1), "more", "answer 3"]
        with pytest.raises(RunConflict, match="input"):
            await runner.start(TURN, {"log": Continued("turn-0", 1, then=["more"])}, run_id="turn-1")


async def test_what_was_pruned_is_remembered_by_what_it_went_on_with() -> None:
    now = [1e9]
    async with running(store := MemoryStore(clock=lambda: now[0]), TURN, clock=lambda: now[0]) as runner:
        await turns(runner, 2)
        given = {"log": Continued("turn-0", 2, then=[1])}
        assert await store.prune((await store.info("turn-1")).created_at.replace(year=3000)) == 2
        with pytest.raises(RunForgotten) as caught:
            await runner.start(TURN, given, run_id="turn-1")
        assert caught.value.is_same


async def test_a_list_cannot_begin_with_what_is_not_there(store: Store) -> None:
    plain = Chain("plain", [step("nothing", lambda _: None, inline=True)])
    async with running(store, TURN, plain) as runner:
        await turns(runner, 1)
        with pytest.raises(RunNotFound, match="no run 'nobody'"):
            await runner.start(TURN, {"log": Continued("nobody", 0)})
        with pytest.raises(RunNotFound, match="no run 'nobody'"):
            await runner.start(TURN, {"log": Continued("nobody", 1)})
        with pytest.raises(ListTooShort, match=r"run 'turn-0' has 2 elements under the key 'log'.*3 were wanted"):
            await runner.start(TURN, {"log": Continued("turn-0", 3)})
        with pytest.raises(ListTooShort, match="-1 were wanted"):
            await runner.start(TURN, {"log": Continued("turn-0", -1)})
        with pytest.raises(CannotStore, match="log cannot be stored: only a list that grows"):
            await runner.start(plain, {"log": Continued("turn-0", 1)})
        assert len((await runner.start(TURN, {"log": Continued("turn-0", 0, then=["new"])})).id) > 0
    with pytest.raises(CannotStore, match="only a run that a runner starts"):
        await TURN.run({"log": Continued("turn-0", 1)})


async def test_it_is_checked_what_is_added() -> None:
    async with running(store := MemoryStore(max_value=1000), TURN, secrets={"key": "sk-secret-1"}) as runner:
        await turns(runner, 1)
        await (await runner.start(TURN, {"log": Continued("turn-0", 2, then=["x" * 900] * 8)}, run_id="a")).result()
        with pytest.raises(ValueTooLarge, match=r"log\[12\] of the input"):
            await runner.start(TURN, {"log": Continued("a", 11, then=["y", "z" * 1000])})
        with pytest.raises(CannotStore, match="secret"):
            await runner.start(TURN, {"log": Continued("turn-0", 2, then=["sk-secret-1"])})
        assert len((await store.find()).items) == 2


async def test_a_model_goes_on_with_a_list() -> None:
    async with running(store := MemoryStore(), MODEL) as runner:
        await (await runner.start(MODEL, {"lines": [{"text": "a"}]}, run_id="one")).result()
        run = await runner.start(MODEL, {"topic": "t", "lines": Continued("one", 2, then=[Line(text="b")])})
        talk = await run.result()
        assert ([line.text for line in talk.lines], talk.topic) == (["a", "said 1", "b", "said 3"], "t")
        assert await elements(store) == 4


async def test_a_child_goes_on_with_the_list_of_its_parent() -> None:
    async def ask(state: State, context: StepContext) -> dict[str, object]:
        made = await context.child(TURN, "turn", {"log": Continued(context.run_id, 1, then=["why"])})
        return {"log": list(made["log"][1:])}

    work = Chain("work", [step("ask", ask)], types=TYPES)
    async with running(MemoryStore(), work, TURN) as runner:
        state = await (await runner.start(work, {"log": ["begin"]}, run_id="p")).result()
        assert list(state["log"]) == ["begin", "why", "answer 2"]


@pytest.mark.parametrize("saves_last", [True, False], ids=["saved", "lost"])
async def test_after_a_crash_at_any_commit_the_list_is_the_same(*, saves_last: bool) -> None:
    more = Chain("more", [step(f"s{number}", answer, inline=True) for number in range(3)], types=TYPES)
    for commits in range(1, 5):
        store = Mortal()
        async with running(store, TURN) as runner:
            await turns(runner, 1)
        store.revive(commits, saves_last=saves_last)
        with fail_after(10):
            async with store, anyio.create_task_group() as group, Runner(store, workflows=[TURN, more]) as runner:
                await runner.start(more, {"log": Continued("turn-0", 2, then=["x"])}, run_id="r")
                if commits < 4:
                    await store.dead.wait()
                    group.cancel_scope.cancel()
        store.revive(None)
        async with running(store, TURN, more) as runner:
            await runner.recover()
            state = await (await runner.get("r")).result()
            assert list(state["log"]) == [*expected(1), "x", "answer 3", "answer 4", "answer 5"]
            await store.delete("turn-0")
            assert await elements(store) == 6
            assert await store.verify() == []


async def draw(state: Any, context: StepContext) -> dict[str, object]:
    digest = context.attach(b"picture of " + context.run_id.encode())
    return {"log": [{"picture": digest}]}


async def test_bytes_stay_with_the_elements_that_name_them() -> None:
    work = Chain("draw", [step("draw", draw)], types=TYPES)
    async with running(store := MemoryStore(), work) as runner:
        state = await (await runner.start(work, run_id="one")).result()
        state = await (await runner.start(work, {"log": Continued("one", 1)}, run_id="two")).result()
        first, second = (each["picture"] for each in state["log"])
        await store.delete("one")
        assert await store.blob(first) == b"picture of one"
        await (await runner.start(work, {"log": Continued("two", 1)}, run_id="three")).result()
        await store.delete("two")
        assert await store.blob(first) == b"picture of one"
        with pytest.raises(BlobNotFound):
            await store.blob(second)
        await store.delete("three")
        with pytest.raises(BlobNotFound):
            await store.blob(first)


async def test_labels_are_told_and_children_inherit_them() -> None:
    async def ask(state: State, context: StepContext) -> dict[str, object]:
        return {"log": list((await context.child(TURN, "turn", {"log": ["why"]}))["log"])}

    work = Chain("work", [step("ask", ask)], types=TYPES)
    async with running(store := MemoryStore(), work, TURN, secrets={"key": "sk-secret-1"}) as runner:
        await (await runner.start(work, run_id="p", labels={"customer": "7"})).result()
        assert dict((await store.info("p")).labels) == {"customer": "7"}
        assert dict((await store.info("p.turn")).labels) == {"customer": "7"}
        for labels in ({"customer": "sk-secret-1"}, {"sk-secret-1": "x"}):
            with pytest.raises(CannotStore, match="a label of a run of 'work'"):
                await runner.start(work, labels=labels)
        with pytest.raises(LabelRefused, match="17 of them"):
            await runner.start(work, labels={str(number): "x" for number in range(17)})
