"""Tables of the application: a step and what it writes there are one transaction."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.workflows._words import Store, running

from stagepost.checkpoint import MemoryStore, RunStatus, Statement
from stagepost.workflows import (
    Chain,
    Conditional,
    Fold,
    Graph,
    Parallel,
    Retry,
    RunFailed,
    RunnerRequired,
    State,
    StepContext,
    Wait,
    step,
)

TABLE = Statement("CREATE TABLE app_notes (text TEXT NOT NULL UNIQUE) STRICT")
INSERT = "INSERT INTO app_notes VALUES (?)"


def note(state: State, context: StepContext) -> dict[str, object]:
    context.write(INSERT, "first")
    context.write(INSERT, "second")
    return {"done": True}


def note_item(item: object, context: StepContext) -> object:
    context.write(INSERT, f"item {item}")
    return item


def note_pair(state: State, item: object, context: StepContext) -> None:
    context.write(INSERT, f"item {item}")


def note_way(state: State, context: StepContext) -> str:
    context.write(INSERT, "way")
    return "on"


NOTED: dict[str, tuple[Any, Sequence[str]]] = {
    "a step": (Chain("work", [step("note", note, inline=True)]), ["first", "second"]),
    "items": (
        Parallel("work", step("note", note_item, inline=True), over=lambda _: [1, 2]),
        ["item 1", "item 2"],
    ),
    "a step of an item": (
        Parallel("work", Chain("one", [step("note", note, inline=True)]), over=lambda _: [1]),
        ["first", "second"],
    ),
    "a route": (Conditional("work", note_way, {"on": step("on", lambda _: None, inline=True)}), ["way"]),
    "a fold": (Chain("work", [Fold("fold", note_pair, over=lambda _: [1, 2])]), ["item 1", "item 2"]),
}


async def noted(store: Store) -> list[object]:
    return [text for (text,) in await store.query("SELECT text FROM app_notes ORDER BY text")]


@pytest.mark.parametrize(("work", "texts"), NOTED.values(), ids=NOTED)
async def test_what_a_step_writes_is_saved_with_it(store: Store, work: Any, texts: Sequence[str]) -> None:
    async with running(store, work) as runner:
        await store.execute(TABLE)
        await (await runner.start(work)).result()
        assert await noted(store) == texts


@pytest.mark.parametrize(("work", "texts"), NOTED.values(), ids=NOTED)
async def test_a_statement_that_fails_is_the_step_s_failure(store: Store, work: Any, texts: Sequence[str]) -> None:
    async with running(store, work) as runner:
        await store.execute(TABLE, Statement(INSERT, (texts[-1],)))
        with pytest.raises(RunFailed, match=r"StatementFailed: the statement .* failed .UNIQUE constraint failed"):
            await (await runner.start(work, run_id="r1")).result()
        assert (await store.info("r1")).status is RunStatus.FAILED
        await store.execute(Statement("DELETE FROM app_notes WHERE text = ?", (texts[-1],)))
        await (await runner.resume("r1")).result()
        assert await noted(store) == texts


async def test_what_a_step_writes_is_saved_with_it_though_no_edge_leads_on() -> None:
    """The step does not run again, so its rows would be lost."""
    answers = [False]
    graph = Graph("work")
    graph.add("note", step(note, inline=True))
    graph.start("note")
    graph.add("end", step("end", lambda _: None, inline=True))
    graph.finish("end")
    graph.edge("note", "end", when=lambda _: answers[0])
    async with running(store := MemoryStore(), graph) as runner:
        await store.execute(TABLE)
        with pytest.raises(RunFailed, match="none of its edges matches"):
            await (await runner.start(graph, run_id="r1")).result()
        answers[0] = True
        await (await runner.resume("r1")).result()
        assert await noted(store) == ["first", "second"]


async def test_nothing_is_written_to_the_store_s_own_tables() -> None:
    def clear(state: State, context: StepContext) -> None:
        context.write("DELETE FROM runs")

    work = Chain("work", [step("clear", clear, inline=True)])
    async with running(store := MemoryStore(), work) as runner:
        with pytest.raises(RunFailed, match=r"StatementRefused: .* is refused: it does more than to write tables app_"):
            await (await runner.start(work, run_id="r1")).result()
        assert (await store.info("r1")).status is RunStatus.FAILED


async def test_what_a_failed_attempt_has_written_is_forgotten() -> None:
    attempts: list[int] = []

    def unsure(state: State, context: StepContext) -> None:
        attempts.append(1)
        context.write(INSERT, f"attempt {len(attempts)}")
        if len(attempts) < 3:
            raise ConnectionError

    work = Chain("work", [step("unsure", unsure, inline=True, retry=Retry(attempts=3, first=0, jitter=0))])
    async with running(store := MemoryStore(), work) as runner:
        await store.execute(TABLE)
        await (await runner.start(work)).result()
        assert await noted(store) == ["attempt 3"]


async def test_what_was_written_before_a_wait_is_written_once() -> None:
    async def ask(state: State, context: StepContext) -> dict[str, object]:
        context.write(INSERT, "asked")
        return {"said": await context.once("mail", lambda: "sent")}

    work = Chain("work", [step("ask", ask), Wait("go")])
    async with running(store := MemoryStore(), work) as runner:
        await store.execute(TABLE)
        run = await runner.start(work, run_id="r1")
        await run.settled()
        await runner.answer("r1/go", None)
        await run.result()
        assert await noted(store) == ["asked"]


async def test_a_run_in_memory_has_no_tables() -> None:
    with pytest.raises(
        Exception, match="step 'note' of 'work' writes to a table, and a run in memory cannot"
    ) as caught:
        await Chain("work", [step("note", note, inline=True)]).run()
    assert isinstance(caught.value.__cause__, RunnerRequired)


async def test_a_step_reads_what_was_saved_before_it(store: Store) -> None:
    async def count(state: State, context: StepContext) -> dict[str, object]:
        context.write(INSERT, f"note of {context.path}")
        return {context.path: len(await context.query("SELECT * FROM app_notes WHERE text LIKE ?", "note%"))}

    work = Chain("work", [step("one", count), step("two", count)])
    async with running(store, work) as runner:
        await store.execute(TABLE)
        assert await (await runner.start(work)).result() == {"one": 0, "two": 1}


async def test_a_query_that_fails_is_the_step_s_failure() -> None:
    async def look(state: State, context: StepContext) -> None:
        await context.query("SELECT * FROM app_nothing")

    work = Chain("work", [step("look", look)])
    async with running(MemoryStore(), work) as runner:
        with pytest.raises(RunFailed, match=r"StatementFailed: .*no such table: app_nothing"):
            await (await runner.start(work)).result()


async def test_a_run_in_memory_reads_no_tables() -> None:
    async def look(state: State, context: StepContext) -> None:
        await context.query("SELECT 1")

    with pytest.raises(Exception, match="step 'look' of 'work' reads a table, and a run in memory cannot"):
        await Chain("work", [step("look", look)]).run()


async def test_a_step_and_the_runs_below_it_know_their_labels() -> None:
    def tell(state: State, context: StepContext) -> dict[str, object]:
        return {"labels": dict(context.labels)}

    child = Chain("child", [step("tell", tell)])

    async def ask(state: State, context: StepContext) -> dict[str, object]:
        return {"below": (await context.child(child, "one", {}))["labels"], **tell(state, context)}

    work = Chain("work", [step("ask", ask)])
    async with running(MemoryStore(), work, child) as runner:
        run = await runner.start(work, labels={"customer": "7"})
        assert await run.result() == {"labels": {"customer": "7"}, "below": {"customer": "7"}}
    assert await child.run() == {"labels": {}}


SECRETIVE: dict[str, tuple[Any, ...]] = {
    "a text": (INSERT, "key sk-live-4711"),
    "bytes": (INSERT, b"key sk-live-4711"),
    "the statement": ("INSERT INTO app_notes VALUES ('sk-live-4711')",),
}


@pytest.mark.parametrize("written", SECRETIVE.values(), ids=SECRETIVE)
async def test_no_secret_is_written_to_a_table(store: Store, written: tuple[Any, ...]) -> None:
    def leak(state: State, context: StepContext) -> None:
        context.write(*written)

    work = Chain("work", [step("leak", leak, inline=True)])
    async with running(store, work, secrets={"key": "sk-live-4711"}) as runner:
        await store.execute(TABLE)
        with pytest.raises(RunFailed, match="what 'leak' writes to a table cannot be stored: it holds"):
            await (await runner.start(work)).result()
        assert await store.query("SELECT * FROM app_notes") == []
