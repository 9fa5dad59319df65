"""Burr, with its asynchronous SQLite persister."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any
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


def _core() -> Any:
    return import_module("burr.core")


async def _tick(state: Any) -> Any:
    return state.update(n=state["n"] + 1)


async def _double(state: Any) -> Any:
    return state.update(value=state["item"] * 2)


async def _write(state: Any) -> Any:
    return state.update(body=kilobyte())


def _action(function: Any, reads: str, writes: str) -> Any:
    return _core().action(reads=[reads], writes=[writes])(function)


def _chain(action: Any, steps: int, **state: object) -> Any:
    """How to build an application; each run has one of its own: that is its way."""
    names = [f"step_{place}" for place in range(steps)]
    builder = _core().ApplicationBuilder().with_actions(**dict.fromkeys(names, action)).with_entrypoint(names[0])
    return builder.with_transitions(*pairwise(names)).with_state(**state)


async def _run(builder: Any, last: str) -> None:
    application = await builder.abuild()
    await application.arun(halt_after=[last])


def chain(number: int) -> float:
    """Seconds per step of chains of ten steps, in memory."""
    tick = _action(_tick, "n", "n")

    async def run(number: int) -> None:
        for _ in range(number // STEPS):
            await _run(_chain(tick, STEPS, n=0), f"step_{STEPS - 1}")

    return seconds_each(run, number)


def cycle(number: int) -> float:
    """Seconds per visit of one long cycle, in memory."""
    tick = _action(_tick, "n", "n")

    async def run(number: int) -> None:
        builder = _core().ApplicationBuilder().with_actions(tick=tick, end=tick).with_entrypoint("tick")
        ways = ("tick", "tick", _core().expr(f"n < {number}")), ("tick", "end", _core().default)
        await _run(builder.with_transitions(*ways).with_state(n=0), "end")

    return seconds_each(run, number)


def fan_out(number: int) -> float:
    """Seconds per item of one fan-out, in memory. It has no limit to what runs at once."""
    doubles = _doubles(_action(_double, "item", "value"))

    async def run(number: int) -> None:
        builder = _core().ApplicationBuilder().with_actions(doubles=doubles()).with_entrypoint("doubles")
        await _run(builder.with_state(items=list(range(number))), "doubles")

    return seconds_each(run, number)


def _doubles(action: Any) -> Any:
    """Its action that maps another one over items; the base class may not be installed."""

    async def states(_self: object, state: Any, _context: object, _inputs: object) -> AsyncIterator[Any]:
        for item in state["items"]:
            yield state.update(item=item)

    async def reduce(_self: object, state: Any, states: Any) -> Any:
        return state.update(values=[made["value"] async for made in states])

    members = {
        "reads": ("items",),
        "writes": ("values",),
        "is_async": lambda _self: True,
        "action": lambda _self, _state, _inputs: action,
        "states": states,
        "reduce": reduce,
    }
    return type("Doubles", (import_module("burr.core.parallelism").MapStates,), members)


@asynccontextmanager
async def _saver(path: Path) -> AsyncIterator[Any]:
    persister = import_module("burr.integrations.persisters.b_aiosqlite").AsyncSQLitePersister
    async with persister.from_values(db_path=str(path)) as saver:
        await saver.initialize()
        yield saver


async def _one(saver: Any, steps: int) -> None:
    builder = _chain(_action(_write, "body", "body"), steps, body=kilobyte())
    await _run(builder.with_identifiers(app_id=uuid4().hex).with_state_persister(saver), f"step_{steps - 1}")


def durable_chains(number: int, *, runs: int) -> float:
    """Seconds per saved step of chains of ten steps, a number of them at once."""
    with database() as path:

        async def run(number: int) -> None:
            async with _saver(path) as saver:
                await in_turns(number // STEPS, runs, partial(_one, saver, STEPS))

        return seconds_each(run, number)


def bytes_of_steps(number: int) -> float:
    """Bytes written per step of one long chain."""
    with database() as path:

        async def run(number: int) -> None:
            async with _saver(path) as saver:
                await _one(saver, number)

        return bytes_each(run, number)


async def _talk(path: Path, turns: int, mark: Mark) -> None:
    """A list in the state of a cycle, which is saved as a whole."""

    async def turn(state: Any) -> Any:
        mark()
        return state.append(messages=message()).update(n=state["n"] + 1)

    actions = {name: _core().action(reads=["n"], writes=["messages", "n"])(turn) for name in ("turn", "end")}
    ways = ("turn", "turn", _core().expr(f"n < {turns}")), ("turn", "end", _core().default)
    builder = _core().ApplicationBuilder().with_actions(**actions).with_transitions(*ways).with_entrypoint("turn")
    async with _saver(path) as saver:
        builder = builder.with_identifiers(app_id=uuid4().hex).with_state_persister(saver)
        await _run(builder.with_state(messages=[], n=0), "end")


MEASURES: Mapping[str, Measure] = {
    "chain": chain,
    "cycle": cycle,
    "fan-out": fan_out,
    "1 run": partial(durable_chains, runs=1),
    "100 runs": partial(durable_chains, runs=SEVERAL),
    "bytes": bytes_of_steps,
    **histories(_talk),
    "restart": partial(restart, "burr"),
    "restart without imports": partial(restart, "burr", imports=False),
}
