"""stagepost, as users get it: every check on, no observer."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

from benchmarks.workflows.beside import ours_hears, ours_idles
from benchmarks.workflows.history import Mark, histories, message
from benchmarks.workflows.measure import (
    MANY,
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

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Append, Chain, Graph, Parallel, Runner, State, key_equals, step


async def _tick(state: State) -> dict[str, int]:
    return {"n": state["n"] + 1}


async def _double(item: int) -> int:
    return item * 2


async def _write(state: State) -> dict[str, str]:  # noqa: ARG001 - a step takes the state
    return {"body": kilobyte()}


def chain(number: int) -> float:
    """Seconds per step of chains of ten steps, in memory."""
    ticks = Chain("ticks", [step(f"tick-{place}", _tick) for place in range(STEPS)])

    async def run(number: int) -> None:
        for _ in range(number // STEPS):
            await ticks.run({"n": 0})

    return seconds_each(run, number)


def cycle(number: int) -> float:
    """Seconds per visit of one long cycle, in memory."""

    async def run(number: int) -> None:
        ticks = Graph("ticks", max_steps=number + 10)
        ticks.add("tick", _tick)
        ticks.add("end", _tick)
        ticks.edge("tick", "end", when=key_equals("n", number))
        ticks.edge("tick", "tick")
        ticks.start("tick")
        ticks.finish("end")
        await ticks.run({"n": 0})

    return seconds_each(run, number)


def fan_out(number: int) -> float:
    """Seconds per item of one fan-out, in memory."""
    double = Chain("double", [Parallel("doubles", _double, over="items", workers=16)])

    async def run(number: int) -> None:
        await double.run({"items": list(range(number))})

    return seconds_each(run, number)


@asynccontextmanager
async def _runner(path: Path, workflow: Chain | Graph) -> AsyncIterator[Runner]:
    async with SqliteStore(path) as store, Runner(store, workflows=[workflow], max_running=None) as runner:
        yield runner


def _writing(steps: int) -> Chain:
    return Chain("writing", [step(f"write-{place}", _write) for place in range(steps)])


def durable_chains(number: int, *, runs: int) -> float:
    """Seconds per saved step of chains of ten steps, a number of them at once, from their start to their result."""
    writing = _writing(STEPS)
    with database() as path:

        async def run(number: int) -> None:
            async with _runner(path, writing) as runner:

                async def one() -> None:
                    await (await runner.start(writing, {"body": kilobyte()})).result()

                await in_turns(number // STEPS, runs, one)

        return seconds_each(run, number)


def durable_fan_out(number: int, *, workers: int) -> float:
    """Seconds per saved item of one fan-out, from its start to its result."""
    double = Chain("double", [Parallel("doubles", _double, over="items", workers=workers)])
    with database() as path:

        async def run(number: int) -> None:
            async with _runner(path, double) as runner:
                await (await runner.start(double, {"items": list(range(number))})).result()

        return seconds_each(run, number)


def bytes_of_steps(number: int) -> float:
    """Bytes written per step of one long chain."""
    writing = _writing(number)
    with database() as path:

        async def run(_number: int) -> None:
            async with _runner(path, writing) as runner:
                await (await runner.start(writing, {"body": kilobyte()})).result()

        return bytes_each(run, number)


async def _talk(path: Path, turns: int, mark: Mark) -> None:
    """A list that only grows, in the state of a cycle."""

    async def turn(state: State) -> dict[str, object]:
        mark()
        return {"messages": [message()], "n": state["n"] + 1}

    talk = Graph("talk", types={"messages": Annotated[list[dict[str, str]], Append]})
    talk.add("turn", turn)
    talk.add("end", step("end", lambda _: mark(), inline=True))
    talk.edge("turn", "end", when=key_equals("n", turns))
    talk.edge("turn", "turn")
    talk.start("turn")
    talk.finish("end")
    async with _runner(path, talk) as runner:
        await (await runner.start(talk, {"messages": [], "n": 0})).result()


MEASURES: Mapping[str, Measure] = {
    "chain": chain,
    "cycle": cycle,
    "fan-out": fan_out,
    "1 run": partial(durable_chains, runs=1),
    "100 runs": partial(durable_chains, runs=SEVERAL),
    "1,000 runs": partial(durable_chains, runs=MANY),
    "16 workers": partial(durable_fan_out, workers=16),
    "100 workers": partial(durable_fan_out, workers=100),
    "bytes": bytes_of_steps,
    **histories(_talk),
    "heard": ours_hears,
    "idle": ours_idles,
    "restart": partial(restart, "ours"),
    "restart without imports": partial(restart, "ours", imports=False),
}
