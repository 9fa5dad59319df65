"""The history of a run: what is kept of each kind of step, and how it is read."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from anyio import fail_after
from tests.workflows._words import PATIENCE, running

from stagepost.checkpoint import (
    AttemptOutcome,
    HappeningKind,
    MemoryStore,
    RunNotFound,
    RunStatus,
    SqliteStore,
    Statement,
    WaitKind,
)
from stagepost.workflows import (
    END,
    Append,
    AttemptEntry,
    Chain,
    ChildEntry,
    Conditional,
    Fold,
    FrameEntry,
    Graph,
    HistoryEntry,
    ItemsEntry,
    Parallel,
    Retry,
    RunEntry,
    RunFailed,
    RunHistory,
    Runner,
    State,
    StepContext,
    Wait,
    WaitEntry,
    key_equals,
    read_history,
    read_value,
    step,
)

OK, FAILED = AttemptOutcome.OK, AttemptOutcome.FAILED


def counts(state: State) -> Mapping[str, object]:
    return {"n": state.get("n", 0) + 1}


def told(entries: Any) -> list[tuple[str, str | None]]:
    """What attempts there were, and how they ended."""
    return [(each.path, each.outcome and each.outcome.value) for each in entries if isinstance(each, AttemptEntry)]


def attempt_at(history: RunHistory, path: str, nth: int = 0) -> AttemptEntry:
    return [each for each in history.items if isinstance(each, AttemptEntry) and each.path == path][nth]


async def for_open(runner: Runner, run_id: str = "r1") -> None:
    """Wait until something of a run waits for an answer."""
    with fail_after(PATIENCE):
        while not any(wait.id.startswith(f"{run_id}/") for wait in await runner.waits()):  # noqa: ASYNC110  # a store has none
            await anyio.sleep(0.001)


async def whole(runner: Runner, run_id: str = "r1") -> RunHistory:
    history = await runner.runs.history(run_id, limit=1000)
    json.dumps(history.to_dict())  # it has a form for JSON
    return history


async def test_a_chain_tells_its_steps_with_what_they_changed() -> None:
    large = "x" * 5000
    chain = Chain(
        "chain",
        [
            step("first", counts, inline=True),
            step("large", lambda _: {"text": large, "log": ["a", "b"]}, inline=True),
            step("more", lambda _: {"log": ["c"]}, inline=True),
        ],
        types={"log": Annotated[list[str], Append]},
    )
    async with running(MemoryStore(), chain, keep="all") as runner:
        await (await runner.start(chain, {"n": 1}, run_id="r1")).result()
        history = await whole(runner)
        first, second, third = (attempt_at(history, path) for path in ("first", "large", "more"))
        (change,) = first.changes
        assert (change.key, change.before and change.before.value, change.after.value) == ("n", 1, 2)
        text, log = sorted(second.changes, key=lambda each: -len(each.key))
        assert (text.before, text.after.is_here, log.added) == (None, False, 2)
        with pytest.raises(LookupError, match=r"runner\.runs\.value"):
            _ = text.after.value
        assert await runner.runs.value("r1", text.after) == large
        (grown,) = third.changes
        assert (grown.added, grown.before and grown.before.length, grown.after.length) == (1, 2, 3)
        assert await runner.runs.value("r1", grown.after) == ["a", "b", "c"]
        assert await runner.runs.value("r1", grown.after, after=2) == ["c"]
        assert await runner.runs.value("r1", change.after) == 2
    assert [(each.number, type(each)) for each in history.items] == [
        (1, RunEntry),
        (2, AttemptEntry),
        (3, AttemptEntry),
        (4, AttemptEntry),
        (5, RunEntry),
    ]
    began, ended = history.items[0], history.items[-1]
    assert isinstance(began, RunEntry)
    assert isinstance(ended, RunEntry)
    assert (began.what, [each.key for each in began.changes], ended.what) == ("began", ["n"], "completed")
    assert history.is_complete
    assert (history.status, history.under_way, history.next) == (RunStatus.COMPLETED, (), None)
    assert [entry.attempt for entry in (first, second, third)] == [1, 1, 1]
    assert all(entry.seconds is not None and entry.seconds >= 0 for entry in (first, second, third))


async def test_a_graph_tells_what_its_edges_were_asked_and_said() -> None:
    graph = Graph("graph")
    graph.add("a", step("a", counts, inline=True))
    graph.start("a")
    graph.edge("a", END, when=key_equals("n", 2))
    graph.edge("a", "a")
    async with running(MemoryStore(), graph, keep="all") as runner:
        await (await runner.start(graph, run_id="r1")).result()
        history = await whole(runner)
    first, second = attempt_at(history, "a"), attempt_at(history, "a", 1)
    assert (first.visits, second.visits) == ((1,), (2,))
    (on,), (out,) = first.decisions, second.decisions
    assert (on.path, on.to, [tuple(each) for each in on.asked]) == (
        "a->",
        "a",
        [("n is 2", None, False), (None, "a", True)],
    )
    assert (out.to, out.failed, [each.says for each in out.asked]) == (None, False, [True])


async def test_a_graph_without_a_way_on_tells_that_it_was_asked_in_vain() -> None:
    graph = Graph("graph")
    graph.add("a", step("a", counts, inline=True))
    graph.start("a")
    graph.edge("a", END, when=key_equals("n", 5))
    async with running(MemoryStore(), graph, keep="all") as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(graph, run_id="r1")).result()
        history = await whole(runner)
    (decision,) = attempt_at(history, "a").decisions
    assert (decision.failed, [each.says for each in decision.asked]) == (True, [False])
    failed = attempt_at(history, "a->")
    assert failed.outcome is FAILED
    assert "none of its edges matches" in (failed.error or "")


async def test_a_conditional_tells_its_route_and_those_not_taken() -> None:
    routes = {"yes": step("y", counts, inline=True), "no": step("n", counts, inline=True)}
    conditional = Conditional("choice", lambda _: "yes", routes)
    chain = Chain("chain", [conditional])
    async with running(MemoryStore(), chain, keep="all") as runner:
        await (await runner.start(chain, run_id="r1")).result()
        history = await whole(runner)
    (decision,) = attempt_at(history, "choice").decisions
    assert (decision.route, set(decision.routes)) == ("yes", {"yes", "no"})
    assert told(history.items) == [("choice", "ok"), ("choice/yes", "ok")]


async def test_a_fan_out_tells_its_items_those_that_failed_and_what_became_of_them_when_resumed() -> None:
    broken = True

    def work(item: int) -> int:
        if item == 2 and broken:
            raise ValueError(item)
        return item * 10

    fan = Parallel("fan", step("work", work, inline=True), over="items", into="out", workers=1)
    chain = Chain("chain", [fan])
    async with running(MemoryStore(), chain, keep="all") as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(chain, {"items": [1, 2, 3]}, run_id="r1")).result()
        failed = await whole(runner)
        broken = False
        await (await runner.resume("r1")).result()
        history = await whole(runner)
    assert told(failed.items) == [("fan[0]", "ok"), ("fan[1]", "failed"), ("fan", "failed")]
    assert history.items[: len(failed.items)] == failed.items
    assert told(history.items)[3:] == [("fan[1]", "ok"), ("fan[2]", "ok"), ("fan", "ok")]
    again = attempt_at(history, "fan[1]", 1)
    assert (again.attempt, again.kind, again.value and again.value.value) == (2, HappeningKind.ITEM, 20)
    assert attempt_at(history, "fan[1]").error == "ValueError: 2"
    (items,) = [each for each in history.items if isinstance(each, ItemsEntry)]
    assert (items.path, items.count) == ("fan", 3)
    (joined,) = attempt_at(history, "fan", 1).changes
    assert (joined.key, joined.after.value) == ("out", [10, 20, 30])
    assert [each.what for each in history.items if isinstance(each, RunEntry)] == [
        "began",
        "failed",
        "resumed",
        "completed",
    ]


async def test_items_whose_worker_is_a_pattern_tell_its_steps() -> None:
    async def big(_: object) -> Mapping[str, object]:
        return {"text": "x" * 5000}

    worker = Chain("worker", [step("one", counts, inline=True), step("two", big)])
    chain = Chain("chain", [Parallel("fan", worker, over="items", into="out", workers=1)])
    async with running(MemoryStore(), chain, keep="all") as runner:
        await (await runner.start(chain, {"items": [1]}, run_id="r1")).result()
        history = await whole(runner)
    assert told(history.items) == [("fan[0]/one", "ok"), ("fan[0]/two", "ok"), ("fan[0]", "ok"), ("fan", "ok")]
    assert [each.key for each in attempt_at(history, "fan[0]/one").changes] == ["n"]
    last = attempt_at(history, "fan[0]/two")
    assert (last.changes, last.size) == ((), len('{"text":""}') + 5000)


async def test_a_fold_tells_each_item() -> None:
    def add(state: State, item: int) -> Mapping[str, object]:
        if item < 0:
            raise ValueError(item)
        return {"n": state.get("n", 0) + item}

    fold = Chain("chain", [Fold("fold", add, over="items")])
    async with running(MemoryStore(), fold, keep="all") as runner:
        await (await runner.start(fold, {"items": [1, 2]}, run_id="r1")).result()
        await (await runner.start(fold, {"items": []}, run_id="r2")).result()
        with pytest.raises(RunFailed):
            await (await runner.start(fold, {"items": [-1]}, run_id="r3")).result()
        history, empty, failed = await whole(runner), await whole(runner, "r2"), await whole(runner, "r3")
    assert told(history.items) == [("fold[0]", "ok"), ("fold[1]", "ok"), ("fold", "ok")]
    assert [change.after.value for change in attempt_at(history, "fold[1]").changes] == [3]
    assert told(empty.items) == [("fold", "ok")]
    assert told(failed.items) == [("fold[0]", "failed"), ("fold", "failed")]


async def test_a_wait_tells_who_was_asked_what_and_who_answered() -> None:
    chain = Chain("chain", [Wait("approval", show=lambda _: {"sum": 3}), step("after", counts, inline=True)])
    async with running(MemoryStore(), chain, keep="all") as runner:
        run = await runner.start(chain, run_id="r1")
        await for_open(runner)
        left = await whole(runner)
        assert left.under_way == ()
        await runner.answer("r1/approval", {"ok": True}, by="ann")
        await run.result()
        history = await whole(runner)
    asked, answered = (each for each in history.items if isinstance(each, WaitEntry))
    assert (asked.wait_id, asked.status, asked.kind, asked.shown) == (
        "r1/approval",
        "open",
        WaitKind.ANSWER,
        {"sum": 3},
    )
    assert (answered.status, answered.by, answered.answer) == ("answered", "ann", {"ok": True})
    assert answered.asked == asked.asked
    assert told(history.items) == [("approval", "waiting"), ("approval", "ok"), ("after", "ok")]
    assert attempt_at(history, "approval", 1).attempt == 2


async def test_a_step_tells_how_often_it_was_tried_in_vain() -> None:
    tries = iter(range(3))

    def flaky(_: State) -> Mapping[str, object]:
        if (number := next(tries)) < 2:
            raise ConnectionError(number)
        return {"n": number}

    retry = Retry(first=0, jitter=0, on=ConnectionError)
    chain = Chain("chain", [step("flaky", flaky, inline=True, retry=retry)])
    async with running(MemoryStore(), chain, keep="all") as runner:
        await (await runner.start(chain, run_id="r1")).result()
        history = await whole(runner)
    (flaked,) = [each for each in history.items if isinstance(each, AttemptEntry)]
    assert [(each.attempt, each.error) for each in flaked.retries] == [
        (1, "ConnectionError: 0"),
        (2, "ConnectionError: 1"),
    ]
    assert (flaked.attempt, flaked.outcome) == (1, OK)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_is_under_way_is_read_beside_its_owner_and_cancelled_with_the_run(tmp_path: Path) -> None:
    entered = anyio.Event()

    async def stuck(_: State) -> Mapping[str, object]:
        entered.set()
        await anyio.sleep_forever()
        raise AssertionError

    chain = Chain("chain", [step("first", counts, inline=True), stuck])
    file = tmp_path / "runs.db"
    async with running(SqliteStore(file), chain, keep="all") as runner, SqliteStore.reader(file) as reader:
        await runner.start(chain, run_id="r1")
        await entered.wait()
        found = await read_history(reader, "r1")
        assert [(each.path, each.attempt, each.outcome, each.ended) for each in found.under_way] == [
            ("stuck", 1, None, None)
        ]
        assert (found.status, found.next) == (RunStatus.RUNNING, None)
        page = await read_history(reader, "r1", limit=1)
        assert ([each.number for each in page.items], page.under_way, page.next) == ([1], (), "1")
        rest = await read_history(reader, "r1", after=page.next)
        assert ([each.number for each in rest.items], rest.under_way) == ([2], found.under_way)
        assert await read_value(reader, "r1", attempt_at(found, "first").changes[0].after) == 1
        await runner.cancel("r1")
        with fail_after(PATIENCE):
            while (after := await runner.runs.history("r1")).status.is_open:  # noqa: ASYNC110  # a store has none
                await anyio.sleep(0.001)
        with pytest.raises(RunNotFound):
            await read_history(reader, "other")
    assert told(after.items)[-1] == ("stuck", "cancelled")
    assert after.under_way == ()


async def test_a_step_tells_the_runs_that_it_has_started() -> None:
    inner = Chain("inner", [Wait("answer")])

    async def starts(_: State, context: StepContext) -> Mapping[str, object]:
        await context.child(inner, "child", {})
        return {}

    chain = Chain("outer", [starts])
    async with running(MemoryStore(), chain, inner, keep="all") as runner:
        run = await runner.start(chain, run_id="r1")
        await for_open(runner, "r1.child")
        open_ = await whole(runner)
        await runner.answer("r1.child/answer", 1)
        await run.result()
        history = await whole(runner)
    begun = next(each for each in (*open_.under_way, *open_.items) if isinstance(each, AttemptEntry))
    assert [each.status.is_open for each in begun.children] == [True]
    for attempt in (each for each in history.items if isinstance(each, AttemptEntry)):
        assert [(each.run_id, each.status) for each in attempt.children] == [("r1.child", RunStatus.COMPLETED)]


async def test_an_item_that_takes_the_place_of_one_that_waits_begins_once() -> None:
    async def asks(item: int, context: StepContext) -> object:
        return await context.wait_for_answer("ok") if item < 2 else item

    fan = Parallel("fan", step("asks", asks, answers=Any), over="items", into="out", workers=2)
    chain = Chain("chain", [fan])
    async with running(MemoryStore(), chain, keep="all") as runner:
        run = await runner.start(chain, {"items": list(range(6))}, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        left = await whole(runner)
        for item in (0, 1):
            await runner.answer(f"r1/fan[{item}]:ok", item)
        await run.result()
        history = await whole(runner)
    assert [each.path for each in left.under_way if each.kind is HappeningKind.ITEM] == []
    entries = Counter(told(history.items))
    assert entries == {
        **{(f"fan[{item}]", "waiting"): 1 for item in (0, 1)},
        **{(f"fan[{item}]", "ok"): 1 for item in range(6)},
        ("fan", "ok"): 1,
    }


async def test_an_item_tells_when_it_began_after_one_whose_commit_was_refused() -> None:
    def notes(state: State, context: StepContext) -> Mapping[str, object]:
        context.write("INSERT INTO app_notes VALUES (?)", state["item"])
        return {"noted": True}

    item = Chain("item", [step("notes", notes, inline=True)])
    fan = Parallel("fan", item, over="items", into="out", workers=1, failures="failures")
    async with running(MemoryStore(), fan, keep="all") as runner:
        await runner.store.execute(Statement("CREATE TABLE app_notes (n INTEGER CHECK (n > 0)) STRICT"))
        await (await runner.start(fan, {"items": [0, 1]}, run_id="r1")).result()
        history = await whole(runner)
    items = [each for each in history.items if isinstance(each, AttemptEntry) and each.kind is HappeningKind.ITEM]
    assert [(each.path, each.outcome, each.begun is not None) for each in items] == [
        ("fan[0]", FAILED, True),
        ("fan[1]", OK, True),
    ]


async def test_a_run_that_keeps_no_history_tells_what_is_known_and_that_it_is_not_more() -> None:
    inner = Chain("inner", [step("one", counts, inline=True)])

    async def starts(_: State, context: StepContext) -> Mapping[str, object]:
        await context.child(inner, "child", {})
        return {}

    async def asks(item: int, context: StepContext) -> object:
        return item or await context.wait_for_answer("ok")

    fan = Parallel("fan", step("asks", asks, answers=Any), over="items", into="out")
    chain = Chain("outer", [starts, fan])
    async with running(MemoryStore(), chain, inner) as runner:
        run = await runner.start(chain, {"items": [0, 1]}, run_id="r1")
        await for_open(runner)
        open_ = await whole(runner)
        await runner.answer("r1/fan[0]:ok", True)
        await run.result()
        history = await whole(runner)
        page = await runner.runs.history("r1", limit=2)
        rest = await runner.runs.history("r1", after=page.next)
    assert not open_.is_complete
    assert [type(each) for each in open_.items].count(WaitEntry) >= 1
    assert told(open_.items) == [("fan[1]", "ok")]
    (frame,) = [each for each in open_.items if isinstance(each, FrameEntry)]
    assert (frame.path, frame.next, frame.number) == ("", "fan", None)
    assert [each.child.run_id for each in open_.items if isinstance(each, ChildEntry)] == ["r1.child"]
    assert [each.what for each in history.items if isinstance(each, RunEntry)] == ["began", "completed"]
    assert {each.status for each in history.items if isinstance(each, WaitEntry)} == {"open", "answered"}
    assert (*page.items, *rest.items) == tuple(history.items)


async def test_a_queued_run_is_not_taken_for_interrupted_once_its_turn_has_come() -> None:
    gate = anyio.Event()

    async def waits(_: State) -> Mapping[str, object]:
        await gate.wait()
        return {}

    chain = Chain("chain", [waits])
    async with running(MemoryStore(), chain, keep="all", max_running=1) as runner:
        runs = [await runner.start(chain, run_id=f"r{number}") for number in (1, 2)]
        gate.set()
        for run in runs:
            await run.result()
        history = await whole(runner, "r2")
    assert told(history.items) == [("waits", "ok")]
    assert [each.what for each in history.items if isinstance(each, RunEntry)] == ["began", "completed"]


def test_every_entry_says_its_type() -> None:
    kinds = {kind.type for kind in HistoryEntry.__subclasses__()}
    assert kinds == {"run", "attempt", "items", "wait", "frame", "child"}
