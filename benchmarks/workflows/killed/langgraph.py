"""LangGraph: a graph that is invoked again on the same thread."""

import asyncio  # noqa: TID251 - its saver knows nothing else
import sys
from importlib import import_module
from time import monotonic
from typing import Any, TypedDict

GRAPH: Any = import_module("langgraph.graph")
SAVER: Any = import_module("langgraph.checkpoint.sqlite.aio").AsyncSqliteSaver
IMPORTED = monotonic()


class Values(TypedDict, total=False):
    """Its state."""

    n: int


async def first(state: Values) -> Values:  # noqa: ARG001 - a node takes the state
    """The step that is saved before the kill."""
    return {"n": 1}


async def second(state: Values) -> Values:
    """The step that the kill interrupts."""
    print(IMPORTED, monotonic(), flush=True)
    await asyncio.sleep(3600)
    return state


async def main() -> None:
    """Start or go on, and wait for the kill."""
    builder = GRAPH.StateGraph(Values)
    builder.add_sequence([("first", first), ("second", second)])
    builder.add_edge("__start__", "first")
    async with SAVER.from_conn_string(sys.argv[1]) as saver:
        graph, thread = builder.compile(checkpointer=saver), {"configurable": {"thread_id": "1"}}
        saved = (await graph.aget_state(thread)).next
        await graph.ainvoke(None if saved else {"n": 0}, thread, durability="sync")


if __name__ == "__main__":
    asyncio.run(main())
