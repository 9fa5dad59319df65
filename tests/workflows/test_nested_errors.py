"""Where a failure happened: each pattern that encloses it adds its name, and is the cause of the one around it."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.workflows._words import NOTHING, Counted
from tests.workflows.test_graph import broken_loop

from stagepost.workflows import Chain, Conditional, Graph, Parallel, Pattern, PatternError, State, Step, step


def single(node: Step | Pattern) -> Graph:
    graph = Graph("graph")
    graph.add("node", node)
    graph.start("node")
    graph.finish("node")
    return graph


def chain(inner: Step | Pattern) -> Chain:
    return Chain("chain", [inner])


def conditional(inner: Step | Pattern) -> Conditional:
    return Conditional("conditional", lambda_route, {"way": inner})


def lambda_route(state: State) -> str:
    return "way"


def parallel(inner: Step | Pattern) -> Parallel:
    return Parallel("parallel", inner, over=lambda _: [0], workers=1)


async def failure_of(workflow: Pattern) -> list[BaseException]:
    """The error and its causes, outermost first."""
    with pytest.raises(PatternError) as caught:
        await workflow.run({"seed": 1})
    found: list[BaseException] = [caught.value]
    while (cause := found[-1].__cause__) is not None:
        found.append(cause)
    return found


BROKEN = Counted().fails("b")


@pytest.mark.parametrize("outer", [chain, conditional, single, parallel], ids=lambda make: make.__name__)
@pytest.mark.parametrize("inner", [chain, conditional, single, parallel], ids=lambda make: make.__name__)
async def test_every_enclosing_pattern_is_a_link_of_the_chain(outer: Any, inner: Any) -> None:
    renamed = inner(BROKEN)
    errors = await failure_of(outer(Chain("between", [renamed])))
    kinds = {"chain": "ChainError", "conditional": "ConditionalError", "single": "GraphError"}
    expected = [kinds.get(make.__name__, "ParallelError") for make in (outer, chain, inner)]
    assert [type(error).__name__ for error in errors] == [*expected, "ValueError"]
    assert str(errors[0]).endswith("b is broken")
    state: Mapping[str, object] = errors[-2].state  # type: ignore[attr-defined]  # a pattern's
    assert state["seed"] == 1


async def test_a_failing_route_is_wrapped_too() -> None:
    def route(state: State) -> str:
        raise KeyError("way")

    errors = await failure_of(chain(Chain("inner", [Conditional("conditional", route, {"way": NOTHING})])))
    assert [type(error).__name__ for error in errors] == ["ChainError", "ChainError", "ConditionalError", "KeyError"]


async def test_a_failing_predicate_is_wrapped_too() -> None:
    errors = await failure_of(chain(Chain("inner", [broken_loop(lambda _: bool(1 // 0))])))
    kinds = ["ChainError", "ChainError", "GraphError", "ZeroDivisionError"]
    assert [type(error).__name__ for error in errors] == kinds
    errors = await failure_of(chain(single(broken_loop(lambda _: False))))
    assert [type(error).__name__ for error in errors] == ["ChainError", "GraphError", "GraphError"]
    assert [getattr(error, "node", None) for error in errors] == [None, "node", "work"]


async def test_items_that_cannot_be_had_are_wrapped_too() -> None:
    errors = await failure_of(chain(Chain("inner", [Parallel("p", NOTHING, over="missing")])))
    assert [type(error).__name__ for error in errors] == ["ChainError", "ChainError", "ParallelError", "MissingKey"]


async def test_a_route_in_a_failing_worker_is_that_of_its_own_pattern() -> None:
    worker = conditional(step("b", BROKEN.call, inline=True))
    errors = await failure_of(chain(parallel(worker)))
    assert [getattr(error, "route", None) for error in errors] == [None, None, "way", None]
