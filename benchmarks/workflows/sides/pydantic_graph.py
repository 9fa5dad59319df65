"""pydantic-graph 1.x, with the nodes that 2.0 removes: its fastest engine. It keeps nothing in a database."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from benchmarks.workflows.measure import STEPS, Measure, seconds_each


@dataclass
class Count:
    """Its state."""

    n: int = 0


def _library() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they say that this engine will go
        library = import_module("pydantic_graph")
        return SimpleNamespace(
            **{name: getattr(library, name) for name in ("BaseNode", "End", "Graph", "GraphRunContext")}
        )


def _cycle(library: Any, limit: int) -> tuple[Any, type[Any]]:
    """A graph of one node that follows itself until it was visited often enough."""

    async def run(_self: object, ctx: Any) -> Any:
        ctx.state.n += 1
        return node() if ctx.state.n < limit else library.End(ctx.state.n)

    namespace = {"run": run, "__module__": __name__}
    node: type[Any] = make_dataclass("Tick", [], bases=(library.BaseNode,), namespace=namespace)
    run.__annotations__ = {"ctx": library.GraphRunContext, "return": node | library.End[int]}
    return library.Graph(nodes=[node], auto_instrument=False), node


def chain(number: int) -> float:
    """Seconds per step of runs of ten steps."""
    library = _library()
    graph, node = _cycle(library, STEPS)

    async def run(number: int) -> None:
        for _ in range(number // STEPS):
            await graph.run(node(), state=Count())

    return seconds_each(run, number)


def cycle(number: int) -> float:
    """Seconds per visit of one long cycle."""
    library = _library()

    async def run(number: int) -> None:
        graph, node = _cycle(library, number)
        await graph.run(node(), state=Count())

    return seconds_each(run, number)


MEASURES: Mapping[str, Measure] = {"chain": chain, "cycle": cycle}
