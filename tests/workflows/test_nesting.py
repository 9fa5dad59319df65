"""Patterns nested deep work, or are refused where they are built; so are values and errors."""

import inspect
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from tests.workflows._words import NOTHING, running

from stagepost.checkpoint import MemoryStore
from stagepost.workflows import (
    Chain,
    Conditional,
    DefinitionError,
    Graph,
    Parallel,
    Pattern,
    RunFailed,
    Runner,
    State,
    Step,
    WorkflowError,
    step,
)
from stagepost.workflows._patterns._nesting import DEEPEST

T = TypeVar("T")

ROOM = 400  # of the 1,000 calls that Python allows; what runs is left so many, whoever has called it


def in_graph(inner: Step | Pattern) -> Graph:
    graph = Graph("p")
    graph.add("node", inner)
    graph.start("node")
    graph.finish("node")
    return graph


KINDS: Mapping[str, Callable[[Any], Pattern]] = {
    "chain": lambda inner: Chain("p", [inner]),
    "conditional": lambda inner: Conditional("p", lambda _: "a", {"a": inner}),
    "graph": in_graph,
    "branches": lambda inner: Parallel("p", {"a": inner, "b": NOTHING}),
    "items, one worker": lambda inner: Parallel("p", inner, over="n", workers=1),
    "items, two workers": lambda inner: Parallel("p", inner, over="n", workers=2),
}


def nested(wrap: Callable[[Any], Pattern], depth: int, innermost: Step) -> Pattern:
    pattern: Pattern = Chain("p", [innermost])
    for _ in range(depth - 1):
        pattern = wrap(pattern)
    return pattern


def calls_left(room: int) -> int:
    """How many calls may be made until so much is left; a tracer, such as coverage's, takes some itself."""
    return 0 if sys.gettrace() is not None else sys.getrecursionlimit() - len(inspect.stack(0)) - room


def deep(calls: int, function: Callable[[], T]) -> T:
    """Call a function as a framework would that has used up some of the stack."""
    return function() if calls <= 0 else deep(calls - 1, function)


async def deep_async(calls: int, function: Callable[[], Awaitable[T]]) -> T:
    """Await a function likewise."""
    return await function() if calls <= 0 else await deep_async(calls - 1, function)


def fail(_state: State) -> None:
    raise ValueError("on purpose")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("wrap", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_as_deep_as_is_allowed_works_also_from_a_deep_stack(
    wrap: Callable[[Any], Pattern],
    backend: str,
    sync: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    good, bad = nested(wrap, DEEPEST, NOTHING), nested(wrap, DEEPEST, step("bad", fail, inline=True))

    async def stored(runner: Runner, workflow: Pattern) -> None:
        run = await runner.start(workflow, {"n": [1]}, run_id=workflow.name)
        await run.result()
        await runner.diagram(run.id)

    async def main() -> None:
        await deep_async(calls_left(ROOM), lambda: good.run({"n": [1]}))
        with pytest.raises(WorkflowError, match="on purpose") as caught:
            await deep_async(calls_left(ROOM), lambda: bad.run({"n": [1]}))
        assert "on purpose" in "".join(traceback.format_exception(caught.value))
        async with running(MemoryStore(), good) as runner:
            await deep_async(calls_left(ROOM), lambda: stored(runner, good))
        async with running(MemoryStore(), bad) as runner:
            with pytest.raises(RunFailed, match="on purpose"):
                await stored(runner, bad)

    deep(calls_left(ROOM + 100) if sync else 0, lambda: anyio.run(main, backend=backend))
    assert good.mermaid().startswith("flowchart")


@pytest.mark.parametrize("depth", [DEEPEST + 1, 50, 150, 1000])
@pytest.mark.parametrize("wrap", KINDS.values(), ids=KINDS)
def test_deeper_is_refused_where_it_is_built(wrap: Callable[[Any], Pattern], depth: int) -> None:
    with pytest.raises(DefinitionError, match=rf"'p': more than {DEEPEST} patterns .*\(p/p/p/p/…/p\)"):
        nested(wrap, depth, NOTHING)


def test_a_pattern_inside_of_itself_is_refused() -> None:
    graph = in_graph(NOTHING)
    graph.add("self", graph)
    for build in (
        lambda: graph.plan,
        lambda: Chain("outer", [graph]),
        lambda: Runner(MemoryStore(), workflows=[graph]),
    ):
        with pytest.raises(DefinitionError, match="nested inside each other"):
            build()


def test_a_graph_that_grows_inside_of_others_is_refused_when_it_is_used() -> None:
    graph = in_graph(NOTHING)
    outer = Chain("outer", [graph])
    graph.add("more", nested(KINDS["chain"], DEEPEST - 1, NOTHING))
    graph.edge("node", "more")
    with pytest.raises(DefinitionError, match="nested inside each other"):
        _ = outer.plan


def caused(depth: int) -> Exception:
    """An error with so many causes, one of the other."""
    error = ValueError("0")
    for number in range(1, depth):
        outer = ValueError(str(number))
        outer.__cause__ = error
        error = outer
    return error


def grouped(depth: int) -> Exception:
    error: Exception = ValueError("0")
    for _ in range(depth):
        error = ExceptionGroup("group", [error])
    return error


@pytest.mark.parametrize("secrets", [None, {"key": "sk-live-4711-0815"}], ids=["no secrets", "secrets"])
@pytest.mark.parametrize("make", [caused, grouped])
async def test_an_error_with_hundreds_of_causes_fails_its_step(
    make: Callable[[int], Exception], secrets: Mapping[str, str] | None
) -> None:
    def raises(_state: State) -> None:
        raise make(900)

    work = Chain("work", [step("raises", raises, inline=True)])
    with pytest.raises(WorkflowError, match="failed at step 'raises'"):
        await work.run(secrets=secrets)
    async with running(MemoryStore(), work, secrets=secrets) as runner:
        with pytest.raises(RunFailed, match="failed at step 'raises'"):
            await (await runner.start(work)).result()


def in_itself() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


def levels(count: int) -> object:
    value: object = 1
    for _ in range(count):
        value = {"v": [value]}
    return value


@pytest.mark.parametrize("make", [in_itself, lambda: levels(150), lambda: levels(5_000)], ids=["itself", "150", "5000"])
@pytest.mark.parametrize("room", [ROOM, 250])
async def test_a_value_that_is_nested_too_deep_is_refused_by_name(make: Callable[[], object], room: int) -> None:
    work = Chain("work", [step("makes", lambda _: {"value": make()}, inline=True)])
    with pytest.raises(
        WorkflowError, match=r"step 'makes': CannotStore: .*nested (deeper than 199 levels|too deep for)"
    ):
        await deep_async(calls_left(room), work.run)


def test_the_docs_say_how_deep() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "workflows.md").read_text()
    assert f"Patterns nest at most {DEEPEST} deep" in docs
