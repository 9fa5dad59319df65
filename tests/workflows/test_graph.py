from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import BaseModel
from tests.workflows._words import NOTHING, Counted, Recorder, Store, nothing, running

from stagepost.hub import InvalidName
from stagepost.workflows import (
    END,
    Chain,
    ChainError,
    DefinitionError,
    Graph,
    GraphError,
    NodeRevisited,
    Parallel,
    Pattern,
    State,
    Step,
    StepContext,
    key_equals,
    key_exists,
    step,
)


def count(state: State) -> Mapping[str, object]:
    return {"n": state.get("n", 0) + 1}


COUNT = step("count", count, inline=True)


def below(limit: int) -> Callable[[State], bool]:
    def predicate(state: State) -> bool:
        return bool(state["n"] < limit)

    return predicate


def loop(times: int, name: str = "loop", node: Step | Pattern = COUNT, **options: Any) -> Graph:
    """Runs a node again and again, then another one."""
    graph = Graph(name, **options)
    graph.add("work", node)
    graph.add("done", NOTHING)
    graph.edge("work", "work", when=below(times))
    graph.edge("work", "done")
    graph.start("work")
    graph.finish("done")
    return graph


def broken_loop(predicate: Callable[[Any], bool]) -> Graph:
    graph = Graph("loop")
    graph.add("work", COUNT)
    graph.add("done", NOTHING)
    graph.edge("work", "done", when=predicate)
    graph.start("work")
    graph.finish("done")
    return graph


async def test_edges_are_tried_in_the_order_they_were_added() -> None:
    counted = Counted()
    for value, path in ((1, ["a", "b"]), (2, ["a", "c"])):
        graph = Graph("choice")
        for name in "abc":
            graph.add(name, counted.adds(name))
        graph.edge("a", "b", when=key_equals("n", 1))
        graph.edge("a", "c", when=key_exists("n"))
        graph.edge("a", "b")
        graph.start("a")
        graph.finish("b", "c")
        assert (await graph.run({"n": value}))["path"] == path


async def test_a_cycle_goes_round_until_a_predicate_lets_it_out() -> None:
    recorder = Recorder()
    assert (await loop(4).run(observer=recorder))["n"] == 4
    assert [(visit.path, visit.visits) for visit in recorder.of(NodeRevisited)] == [
        ("work", 2),
        ("work", 3),
        ("work", 4),
    ]


async def test_a_finish_ends_the_graph_whatever_leads_on_from_it() -> None:
    graph = Graph("short")
    graph.add("a", COUNT)
    graph.add("b", COUNT)
    graph.edge("a", "b")
    graph.edge("b", "a")
    graph.start("a")
    graph.finish("b")
    assert (await graph.run())["n"] == 2


async def test_the_start_may_be_the_finish() -> None:
    graph = Graph("single")
    graph.add("a", COUNT)
    graph.start("a")
    graph.finish("a")
    assert (await Chain("c", [COUNT, graph]).run())["n"] == 2


@pytest.mark.parametrize(("limit", "ends"), [(5, True), (4, False), (None, True)])
async def test_max_steps_limits_the_nodes_that_are_entered(limit: int | None, ends: bool) -> None:  # noqa: FBT001  # a parameter of the test
    graph = loop(4, max_steps=limit)
    if ends:
        assert (await graph.run())["n"] == 4
        return
    with pytest.raises(GraphError) as caught:
        await graph.run()
    assert str(caught.value) == (
        "graph 'loop' failed at node 'work': it has taken max_steps=4 steps: raise it, or check the edges"
    )
    assert caught.value.path == ("work", "work", "work", "work")
    assert caught.value.state["n"] == 4


async def test_limits_count_from_each_entry_and_visits_from_the_first() -> None:
    visits: list[int] = []

    def note(state: State, context: StepContext) -> Mapping[str, object]:
        visits.append(context.visit)
        return {"n": state.get("n", 0) + 1}

    def reset(state: State) -> Mapping[str, object]:
        return {"n": 0, "rounds": state.get("rounds", 0) + 1}

    outer = Graph("outer")
    outer.add("inner", loop(3, "inner", step("note", note, inline=True), max_steps=4))
    outer.add("reset", step("reset", reset, inline=True))
    outer.add("end", NOTHING)
    outer.edge("inner", "reset")
    outer.edge("reset", "inner", when=lambda state: state["rounds"] < 3)
    outer.edge("reset", "end")
    outer.start("inner")
    outer.finish("end")
    assert dict(await outer.run()) == {"n": 0, "rounds": 3}
    assert visits == list(range(1, 10))


async def test_a_graph_may_be_the_first_node_of_a_graph() -> None:
    outer = Graph("outer")
    outer.add("inner", loop(2))
    outer.start("inner")
    outer.finish("inner")
    assert (await Chain("c", [Chain("d", [outer]), COUNT]).run())["n"] == 3


async def test_visits_number_what_is_inside_of_a_node() -> None:
    keys: list[str] = []

    async def note(value: object, context: StepContext) -> None:
        keys.append(context.idempotency_key.partition("/")[2])

    items = Parallel("items", note, over=lambda _: [0])
    patterns = Parallel("patterns", Chain("worker", [note, loop_of_two(note)]), over=lambda _: [0])
    await loop(2, node=Chain("node", [note, items, patterns, COUNT])).run()
    assert len(keys) == len(set(keys)) == 10
    assert keys[:3] == ["work/note#1", "work/items[0]#1", "work/patterns[0]/note#1.0"]
    assert keys[3:5] == ["work/patterns[0]/loop/work#1.1", "work/patterns[0]/loop/work#1.2"]
    assert [key.replace("#1", "#2", 1) for key in keys[:5]] == keys[5:]


def loop_of_two(note: Callable[..., Any]) -> Graph:
    def twice(state: State) -> bool:
        return len(seen) % 2 == 1

    seen: list[int] = []

    async def work(state: State, context: StepContext) -> None:
        seen.append(1)
        await note(state, context)

    graph = Graph("loop")
    graph.add("work", step("work", work))
    graph.add("done", NOTHING)
    graph.edge("work", "work", when=twice)
    graph.edge("work", "done")
    graph.start("work")
    graph.finish("done")
    return graph


async def test_a_typed_state_is_seen_by_predicates() -> None:
    class Draft(BaseModel):
        n: int = 0

    graph = Graph("typed", state=Draft)
    graph.add("work", step("work", lambda draft: {"n": draft.n + 1}, inline=True))
    graph.add("done", NOTHING)
    graph.edge("work", "done", when=lambda draft: draft.n == 3)
    graph.edge("work", "work")
    graph.start("work")
    graph.finish("done")
    assert await graph.run() == Draft(n=3)


async def test_a_failing_node_is_named_with_the_way_to_it() -> None:
    def fail_at_three(state: State) -> None:
        if state["n"] == 3:
            raise ValueError("three")

    graph = loop(9, node=Chain("inner", [COUNT, fail_at_three]))
    with pytest.raises(ChainError) as caught:
        await Chain("outer", [graph]).run()
    error = caught.value.__cause__
    assert isinstance(error, GraphError)
    assert (error.node, error.path) == ("work", ("loop/work",) * 3)
    assert str(caught.value) == (
        "chain 'outer' failed at step 'loop': graph 'loop' failed at node 'work': "
        "chain 'inner' failed at step 'fail_at_three': ValueError: three"
    )


async def test_a_predicate_that_raises_names_its_edge() -> None:
    with pytest.raises(ChainError) as caught:
        await Chain("c", [broken_loop(lambda _: 1 // 0 == 0)]).run()
    error = caught.value.__cause__
    assert isinstance(error, GraphError)
    assert str(error) == (
        "graph 'loop' failed at node 'work': "
        "the predicate of its edge to 'done' raised ZeroDivisionError: integer division or modulo by zero"
    )
    assert (error.node, error.path, dict(error.state)) == ("work", ("loop/work",), {"n": 1})
    assert isinstance(error.__cause__, ZeroDivisionError)


async def test_no_matching_edge_is_an_error() -> None:
    with pytest.raises(GraphError, match="none of its edges matches the state: add one without when=, or make it a f"):
        await broken_loop(lambda _: False).run()


def empty() -> Graph:
    return Graph("g")


def with_node() -> Graph:
    graph = empty()
    graph.add("a", NOTHING)
    return graph


def two_starts() -> None:
    graph = with_node()
    for _ in range(2):
        graph.start("a")


DEFINITIONS: dict[str, tuple[Callable[[], object], str]] = {
    "duplicate": (lambda: with_node().add("a", NOTHING), "there is a node 'a' already: give this one another name"),
    "no step": (lambda: with_node().add("b", 7), "a step is a function"),  # type: ignore[arg-type]  # on purpose
    "unknown source": (lambda: with_node().edge("x", "a"), r"there is no node 'x': add it first \(there are: a\)"),
    "unknown target": (lambda: with_node().edge("a", "x"), "there is no node 'x'"),
    "unknown start": (lambda: empty().start("x"), r"there is no node 'x': add it first \(there are: none yet\)"),
    "unknown finish": (lambda: with_node().finish("a", "x"), "there is no node 'x'"),
    "two starts": (two_starts, "it starts at 'a' already"),
    "no steps at all": (lambda: Graph("g", max_steps=0), "max_steps=0: give at least 1, or None for no limit"),
}


@pytest.mark.parametrize(("build", "why"), DEFINITIONS.values(), ids=DEFINITIONS.keys())
def test_a_graph_refuses_what_makes_no_sense(build: Callable[[], object], why: str) -> None:
    with pytest.raises(DefinitionError, match=why):
        build()


def test_names_of_nodes_follow_the_one_rule() -> None:
    with pytest.raises(InvalidName, match="node name"):
        empty().add("a->b", NOTHING)


def test_a_graph_is_checked_as_a_whole_before_it_is_used() -> None:
    graph = with_node()

    def why() -> str:
        with pytest.raises(DefinitionError) as caught:
            _ = graph.plan
        return caught.value.why

    assert why() == "it has no start: call start(node)"
    graph.start("a")
    assert why() == "it has no end: call finish(node), or add an edge to END"
    graph.add("b", nothing)
    graph.finish("b")
    assert why() == "node 'a' leads nowhere: add an edge, or make it a finish"
    graph.edge("a", "a")
    assert why() == "no edges lead from the start to node 'b'"
    graph.edge("a", "b")
    assert graph.plan.start == "->"


@pytest.mark.parametrize(
    "use",
    [
        lambda graph: graph.plan,
        lambda graph: Chain("c", [graph]).plan,
        lambda graph: Parallel("p", graph, over="n").plan,
    ],
    ids=["alone", "nested", "worker"],
)
def test_a_graph_in_use_no_longer_changes(use: Callable[[Graph], object]) -> None:
    graph = loop(2)
    use(graph)
    changes: list[Callable[[], None]] = [
        lambda: graph.add("x", NOTHING),
        lambda: graph.edge("work", "done"),
        lambda: graph.start("work"),
        lambda: graph.finish("work"),
    ]
    for change in changes:
        with pytest.raises(DefinitionError, match="it has been run or registered and can no longer change"):
            change()


async def test_an_edge_may_lead_out_of_the_graph(store: Store) -> None:
    counted = Counted()
    graph = Graph("review")
    graph.add("a", counted.adds("a"))
    graph.edge("a", END, when=lambda state: len(state["path"]) == 3)
    graph.edge("a", "a")
    graph.start("a")
    work = Chain("work", [graph, counted.adds("b")])
    async with running(store, work) as runner:
        await (await runner.start(work)).result()
    assert counted.calls == ["a", "a", "a", "b"]
    assert (await graph.run())["path"] == ["a", "a", "a"]
    assert len([line for line in work.mermaid().splitlines() if "-->" in line]) == 2  # back, and on to b


async def test_a_predicate_of_an_edge_to_the_end_that_raises_is_told() -> None:
    graph = with_node()
    graph.edge("a", END, when=lambda state: state["missing"])
    graph.start("a")
    with pytest.raises(GraphError, match="the predicate of its edge to the end raised MissingKey"):
        await graph.run()
