"""What the hub costs, against an `asyncio.Queue` with a worker task, and against a peer.

Run ``python benchmarks/hub.py``; with ``--write`` the tables go into docs/benchmarks.md. The sides take turns within
each round, every message is a fresh pydantic value on all of them, and a ratio is the median of the rounds' ratios, so
that a busy machine disturbs them less than it disturbs the times. The hub is as users get it: metrics on, no observer.
"""

import argparse
import asyncio  # noqa: TID251 - its queue is what the hub is compared with
import gc
import os
import platform
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias

import anyio
from pydantic import BaseModel
from rich.console import Console
from rich.progress import Progress

from stagepost.hub import Hub, LogObserver, Observer
from stagepost.hub.testing import idle

MAILBOX: Final = 1024
MANY: Final = 100
PAGE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN: Final = "<!-- benchmarks/hub.py writes from here -->"
END: Final = "<!-- to here -->"
PEER: Final = "autogen-core"
WITHOUT_PEER: Final = f"{PEER} is not installed and was left out: `pip install 'stagepost[bench]'` adds it."


class Ping(BaseModel):
    """What every message carries."""

    number: int


async def echo(ping: Ping) -> Ping:
    """Answer with what was asked."""
    return ping


class Tally:
    """Counts what was handled, and knows when it was all of it."""

    def __init__(self) -> None:
        self._left = 0
        self._all = anyio.Event()

    def expect(self, count: int) -> None:
        """Begin to count down."""
        self._left, self._all = count, anyio.Event()

    async def take(self, ping: Ping) -> None:  # noqa: ARG002 - a handler has a payload
        """Handle one message."""
        self._left -= 1
        if self._left == 0:
            self._all.set()

    async def all(self) -> None:
        """Wait until as many were handled as expected."""
        await self._all.wait()


# --- sides: the same three things, done by each of them ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Channel:
    """Three ways to pass a message on.

    Attributes:
        send: To one agent, one way.
        ask: To one agent, and wait for its answer.
        publish: To a hundred agents.
    """

    send: Callable[[Ping], Awaitable[object]]
    ask: Callable[[Ping], Awaitable[object]]
    publish: Callable[[Ping], Awaitable[object]]


Side: TypeAlias = Callable[[Tally], AbstractAsyncContextManager[Channel]]


@asynccontextmanager
async def open_queue(tally: Tally) -> AsyncIterator[Channel]:
    """A bounded queue and a worker task for each agent, and a future for each request: the least one can do."""
    loop = asyncio.get_running_loop()
    sink: asyncio.Queue[Ping] = asyncio.Queue(MAILBOX)
    news: list[asyncio.Queue[Ping]] = [asyncio.Queue(MAILBOX) for _ in range(MANY)]
    questions: asyncio.Queue[tuple[Ping, asyncio.Future[Ping]]] = asyncio.Queue(MAILBOX)

    async def take_all(queue: asyncio.Queue[Ping]) -> None:
        while True:
            await tally.take(await queue.get())

    async def answer_all() -> None:
        while True:
            ping, answer = await questions.get()
            answer.set_result(await echo(ping))

    async def ask(ping: Ping) -> Ping:
        answer: asyncio.Future[Ping] = loop.create_future()
        await questions.put((ping, answer))
        return await answer

    async def publish(ping: Ping) -> None:
        for queue in news:
            await queue.put(ping)

    async with anyio.create_task_group() as tasks:
        for queue in (sink, *news):
            tasks.start_soon(take_all, queue)
        tasks.start_soon(answer_all)
        yield Channel(sink.put, ask, publish)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def open_hub(tally: Tally, observer: Observer | None = None) -> AsyncIterator[Channel]:
    """The hub."""
    async with Hub("bench", observer=observer) as hub:
        hub.register("sink", tally.take, mailbox=MAILBOX)
        hub.register("echo", echo, mailbox=MAILBOX)
        for number in range(MANY):
            hub.register(f"reader-{number}", tally.take, mailbox=MAILBOX, topics=["news"])
        yield Channel(
            partial(hub.send, "sink"), partial(hub.request, "echo", expect=Ping), partial(hub.publish, "news")
        )


def open_hub_with_filtered_log(tally: Tally) -> AbstractAsyncContextManager[Channel]:
    """The hub with an observer whose logger is set to a level that lets none of the events pass."""
    return open_hub(tally, LogObserver())


@asynccontextmanager
async def open_peer(tally: Tally) -> AsyncIterator[Channel]:
    """The runtime of autogen-core, with its lightest kind of agent."""
    core: Any = import_module("autogen_core")
    runtime = core.SingleThreadedAgentRuntime()

    async def take(_agent: object, ping: Ping, _context: object) -> None:
        await tally.take(ping)

    async def answer(_agent: object, ping: Ping, _context: object) -> Ping:
        return await echo(ping)

    register = core.ClosureAgent.register_closure
    await register(runtime, "echo", answer)
    await register(runtime, "sink", take, subscriptions=lambda: [core.TypeSubscription("sink", "sink")])
    for number in range(MANY):
        name = f"reader-{number}"
        await register(runtime, name, take, subscriptions=partial(_subscriptions, core, name))
    runtime.start()
    try:
        yield Channel(
            partial(runtime.publish_message, topic_id=core.TopicId("sink", "default")),
            partial(runtime.send_message, recipient=core.AgentId("echo", "default")),
            partial(runtime.publish_message, topic_id=core.TopicId("news", "default")),
        )
    finally:
        await runtime.stop()


def _subscriptions(core: Any, name: str) -> list[Any]:
    return [core.TypeSubscription("news", name)]


# --- scenarios: what is timed -----------------------------------------------------------------------------------------


async def one_way(channel: Channel, tally: Tally, count: int) -> None:
    """One sender, one recipient."""
    send = channel.send
    tally.expect(count)
    for number in range(count):
        await send(Ping(number=number))
    await tally.all()


async def request(channel: Channel, _tally: Tally, count: int) -> None:
    """One requester, one question after the other."""
    ask = channel.ask
    for number in range(count):
        await ask(Ping(number=number))


async def clients(channel: Channel, tally: Tally, count: int) -> None:
    """A hundred requesters at once, one recipient."""
    async with anyio.create_task_group() as tasks:
        for _ in range(MANY):
            tasks.start_soon(request, channel, tally, count // MANY)


async def publish(channel: Channel, tally: Tally, count: int) -> None:
    """One publisher, a hundred subscribers. Every delivery has to be made; the count is one of deliveries."""
    tally.expect(count // MANY * MANY)
    for number in range(count // MANY):
        await channel.publish(Ping(number=number))
    await tally.all()


async def fan_in(channel: Channel, tally: Tally, count: int) -> None:
    """A hundred senders at once, one recipient."""
    send = channel.send

    async def send_all() -> None:
        for number in range(count // MANY):
            await send(Ping(number=number))

    tally.expect(count // MANY * MANY)
    async with anyio.create_task_group() as tasks:
        for _ in range(MANY):
            tasks.start_soon(send_all)
    await tally.all()


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something to time.

    Attributes:
        name: What the table calls it.
        run: Does it, a number of times.
        count: How many times in a round; at least a hundred, one for each client or subscriber.
        ceiling: How many times the queue's cost the hub may take.
        floor: How many times the hub's cost the peer is expected to take at least.
    """

    name: str
    run: Callable[[Channel, Tally, int], Awaitable[None]]
    count: int
    ceiling: float
    floor: float


SCENARIOS: Final = (
    Scenario("one way", one_way, 40_000, 1.5, 28),
    Scenario("request", request, 10_000, 1.5, 10),
    Scenario("request, 100 clients", clients, 20_000, 1.6, 19),
    Scenario("publish to 100, per delivery", publish, 50_000, 1.2, 27),
    Scenario("fan-in from 100", fan_in, 40_000, 1.5, 29),
)
PEER_SHARE: Final = 0.1  # of the count: it takes that much longer
Note: TypeAlias = Callable[[], None]


async def timed(side: Side, scenario: Scenario, count: int) -> float:
    """Seconds per message, after a short run to warm up. What it takes to set up and to stop is not in it.

    Garbage is collected meanwhile, but what was there before is left out of that: otherwise a full collection, which
    visits all that was ever imported, falls into one measurement and not into the next, and is all that is measured.
    """
    tally = Tally()
    async with side(tally) as channel:
        await scenario.run(channel, tally, max(MANY, count // 20))
        gc.collect()
        gc.freeze()
        try:
            start = perf_counter()
            await scenario.run(channel, tally, count)
            return (perf_counter() - start) / count
        finally:
            gc.unfreeze()


def take_turns(
    sides: Sequence[Side], scenario: Scenario, rounds: int, scale: float, note: Note
) -> list[tuple[float, ...]]:
    """The times of all sides, round by round."""

    async def one_round() -> tuple[float, ...]:
        shares = [PEER_SHARE if side is open_peer else 1.0 for side in sides]
        counts = [max(MANY, int(scenario.count * scale * share)) for share in shares]
        return tuple([await timed(side, scenario, count) for side, count in zip(sides, counts, strict=True)])

    times = []
    for _ in range(rounds):
        times.append(anyio.run(one_round))
        note()
    return times


def ratio(times: Sequence[tuple[float, ...]], one: int, other: int) -> float:
    """How many times as long as another one a side takes."""
    return median(row[one] / row[other] for row in times)


def compare(rounds: int, scale: float, note: Note) -> list[str]:
    """The rows of the table of all scenarios."""
    with_peer = find_spec("autogen_core") is not None
    sides: list[Side] = [open_queue, open_hub, *([open_peer] if with_peer else [])]
    rows = [
        f"| µs per message | queue | hub | hub ÷ queue | wanted | {PEER} | {PEER} ÷ hub | wanted |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for scenario in SCENARIOS:
        times = take_turns(sides, scenario, rounds, scale, note)
        medians = [f"{median(column) * 1e6:.2f}" for column in zip(*times, strict=True)]
        ours = (*medians[:2], f"**{ratio(times, 1, 0):.2f}**", f"≤ {scenario.ceiling}")
        peers = (medians[2], f"{ratio(times, 2, 1):.0f}") if with_peer else ("", "")
        rows.append(f"| {' | '.join((scenario.name, *ours, *peers, f'≥ {scenario.floor}'))} |")
    return rows if with_peer else [*rows, "", WITHOUT_PEER]


# --- figures: what is not a message -----------------------------------------------------------------------------------


def registering(count: int, handlers: Sequence[Callable[[Ping], Awaitable[object]]]) -> float:
    """Seconds to register one agent; its handler is taken from those given, in turn."""
    hub = Hub("bench")
    gc.collect()
    start = perf_counter()
    for number in range(count):
        hub.register(f"agent-{number}", handlers[number % len(handlers)])
    return (perf_counter() - start) / count


def fresh_handlers(count: int) -> Sequence[Callable[[Ping], Awaitable[object]]]:
    """Handlers that no hub has ever seen: functions with code objects of their own."""
    code: CodeType = echo.__code__
    made = [FunctionType(code.replace(), globals(), f"echo_{number}") for number in range(count)]
    for function in made:
        function.__annotations__ = dict(echo.__annotations__)
    return made


def memory_of_an_agent(count: int) -> tuple[float, float]:
    """Bytes that an agent takes, its id included: before its first message, and when it rests after it."""

    def traced() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    async def measure() -> tuple[float, float]:
        async with Hub("bench") as hub:
            before = traced()
            for number in range(count):
                hub.register(f"agent-{number}", echo)
            registered = traced()
            for agent in hub.agents:
                await hub.send(agent, Ping(number=0))
            await idle(hub)
            return (registered - before) / count, (traced() - before) / count

    tracemalloc.start()
    try:
        return anyio.run(measure)
    finally:
        tracemalloc.stop()


def idle_share(agents: int, period: float) -> float:
    """The share of a core that a hub takes whose agents have all handled a message and wait for the next one."""

    async def measure() -> float:
        async with Hub("bench") as hub:
            for number in range(agents):
                hub.register(f"agent-{number}", echo)
                await hub.send(f"agent-{number}", Ping(number=number))
            await idle(hub)
            before = process_time()
            await anyio.sleep(period)
            return (process_time() - before) / period

    return anyio.run(measure)


def figures(rounds: int, scale: float, note: Note) -> list[str]:
    """The rows of the table of everything else."""
    agents = max(100, int(10_000 * scale))
    seen = median(registering(agents, [echo]) for _ in range(rounds))
    new = median(registering(agents, fresh_handlers(agents)) for _ in range(rounds))
    many = median(registering(10 * agents, [echo]) for _ in range(3))
    note()
    log = ratio(take_turns([open_hub, open_hub_with_filtered_log], SCENARIOS[0], rounds, scale, note), 1, 0)
    registered, rested = memory_of_an_agent(agents)
    share = idle_share(agents, max(0.1, 2 * min(scale, 1)))
    note()
    return [
        "| figure | measured | wanted |",
        "|---|--:|--:|",
        f"| registering an agent, handler seen before | {seen * 1e6:.1f} µs | ≤ 5 µs |",
        f"| registering an agent, handler new | {new * 1e6:.1f} µs | ≤ 30 µs |",
        f"| time per agent with {10 * agents:,} ÷ with {agents:,} | {many / seen:.2f} | 1: linear |",
        f"| memory of an agent before its first message | {registered / 1024:.2f} KB | ≤ 2 KB |",
        f"| memory of an agent that rests after it, with the task of its worker | {rested / 1024:.2f} KB | |",
        f"| idle hub with {agents:,} agents that have all worked | {share:.2%} of a core | < 1 % |",
        f"| one way with a `LogObserver` that filters all ÷ without | {log:.2f} | ≤ 1.1 |",
    ]


# --- the page ---------------------------------------------------------------------------------------------------------


def report(rounds: int, scale: float) -> str:
    """Measure everything, and return it as Markdown."""
    console = Console(stderr=True)
    load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f} before"
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("hub", total=rounds * (len(SCENARIOS) + 1) + 2)
        note = partial(progress.advance, task)
        rows = [*compare(rounds, scale, note), "", *figures(rounds, scale, note)]
    peer = f", {PEER} {version(PEER)}" if find_spec("autogen_core") is not None else ""
    made = (
        f"`{' '.join(['python', *sys.argv])}` on {datetime.now(UTC):%Y-%m-%d}: Python {platform.python_version()}, "
        f"anyio {version('anyio')}, pydantic {version('pydantic')}{peer}, {platform.system()} {platform.machine()}, "
        f"{load}, medians of {rounds} rounds."
    )
    return "\n".join([made, "", *rows])


def write(text: str, page: Path = PAGE) -> None:
    """Put the text between the marks of the page."""
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(description="Measure the hub against asyncio.Queue and autogen-core.")
    parser.add_argument("--rounds", type=int, default=7, help="how many times each side has its turn")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer messages in a round")
    parser.add_argument("--write", action="store_true", help=f"put the tables into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds, options.scale)
    print(text)
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
