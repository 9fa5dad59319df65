"""LangGraph, with its SQLite saver at ``durability="sync"``: what the next step builds on is saved before it starts."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from benchmarks.workflows.history import Mark, histories, message
from benchmarks.workflows.measure import (
    SEVERAL,
    STEPS,
    Measure,
    bytes_each,
    database,
    in_turns,
    kilobyte,
    seconds_each,
)
from benchmarks.workflows.restart import restart


class Values(TypedDict, total=False):
    """Its state."""

    n: int
    body: str
    values: Annotated[list[int], add]
    messages: Annotated[list[dict[str, str]], add]


async def _tick(state: Values) -> Values:
    return {"n": state["n"] + 1}


async def _double(state: Values) -> Values:
    return {"values": [state["n"] * 2]}


async def _write(state: Values) -> Values:  # noqa: ARG001 - a node takes the state
    return {"body": kilobyte()}


def _builder() -> Any:
    return import_module("langgraph.graph").StateGraph(Values)


def _chain(node: Any, steps: int) -> Any:
    builder, before = _builder(), "__start__"
    for place in range(steps):
        name = f"node-{place}"
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, "__end__")
    return builder


def chain(number: int) -> float:
    """Seconds per step of chains of ten steps, in memory."""
    graph = _chain(_tick, STEPS).compile()

    async def run(number: int) -> None:
        for _ in range(number // STEPS):
            await graph.ainvoke({"n": 0})

    return seconds_each(run, number)


def cycle(number: int) -> float:
    """Seconds per visit of one long cycle, in memory."""

    async def run(number: int) -> None:
        def more(state: Values) -> str:
            return "tick" if state["n"] < number else "__end__"

        builder = _builder()
        builder.add_node("tick", _tick)
        builder.add_edge("__start__", "tick")
        builder.add_conditional_edges("tick", more, ["tick", "__end__"])
        await builder.compile().ainvoke({"n": 0}, {"recursion_limit": number + 10})

    return seconds_each(run, number)


def fan_out(number: int) -> float:
    """Seconds per item of one fan-out, in memory."""
    send = import_module("langgraph.types").Send

    async def run(number: int) -> None:
        builder = _builder()
        builder.add_node("double", _double)
        sends = [send("double", {"n": n}) for n in range(number)]
        builder.add_conditional_edges("__start__", lambda _: sends, ["double"])
        builder.add_edge("double", "__end__")
        await builder.compile().ainvoke({"n": 0}, {"max_concurrency": 16})

    return seconds_each(run, number)


@asynccontextmanager
async def _saved(path: Path, builder: Any) -> AsyncIterator[Any]:
    saver = import_module("langgraph.checkpoint.sqlite.aio").AsyncSqliteSaver
    async with saver.from_conn_string(str(path)) as checkpointer:
        yield builder.compile(checkpointer=checkpointer)


async def _one(graph: Any, steps: int) -> None:
    thread = {"configurable": {"thread_id": uuid4().hex}, "recursion_limit": steps + 10}
    await graph.ainvoke({"body": kilobyte()}, thread, durability="sync")


def durable_chains(number: int, *, runs: int) -> float:
    """Seconds per saved step of chains of ten steps, a number of them at once."""
    writing = _chain(_write, STEPS)
    with database() as path:

        async def run(number: int) -> None:
            async with _saved(path, writing) as graph:
                await in_turns(number // STEPS, runs, partial(_one, graph, STEPS))

        return seconds_each(run, number)


def bytes_of_steps(number: int) -> float:
    """Bytes written per step of one long chain."""
    writing = _chain(_write, number)
    with database() as path:

        async def run(number: int) -> None:
            async with _saved(path, writing) as graph:
                await _one(graph, number)

        return bytes_each(run, number)


async def _talk(path: Path, turns: int, mark: Mark) -> None:
    """A list with a reducer, in the state of a cycle."""

    async def turn(state: Values) -> Values:
        mark()
        return {"messages": [message()], "n": state["n"] + 1}

    def more(state: Values) -> str:
        return "turn" if state["n"] < turns else "__end__"

    builder = _builder()
    builder.add_node("turn", turn)
    builder.add_edge("__start__", "turn")
    builder.add_conditional_edges("turn", more, ["turn", "__end__"])
    async with _saved(path, builder) as graph:
        thread = {"configurable": {"thread_id": uuid4().hex}, "recursion_limit": turns + 10}
        await graph.ainvoke({"messages": [], "n": 0}, thread, durability="sync")
        mark()


MEASURES: Mapping[str, Measure] = {
    "chain": chain,
    "cycle": cycle,
    "fan-out": fan_out,
    "1 run": partial(durable_chains, runs=1),
    "100 runs": partial(durable_chains, runs=SEVERAL),
    "bytes": bytes_of_steps,
    **histories(_talk),
    "restart": partial(restart, "langgraph"),
    "restart without imports": partial(restart, "langgraph", imports=False),
}
