"""What the hub costs, against `asyncio.Queue` with one worker task and against autogen-core, in one run.

Run it: ``python benchmarks/hub.py [--rounds 7] [--write docs/benchmarks.md]``. All rounds are interleaved, each number
is a median. Observers are off, metrics on, mailboxes hold 1,024, each message has a fresh pydantic payload.
"""

import argparse
import asyncio  # noqa: TID251 - the raw queue is what the hub is compared with
import gc
import platform
import statistics
import sys
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from time import perf_counter, process_time

from pydantic import BaseModel

from stagepost.hub import Hub, LogObserver
from stagepost.hub.testing import idle

try:
    from autogen_core import (
        AgentId,
        DefaultTopicId,
        MessageContext,
        RoutedAgent,
        SingleThreadedAgentRuntime,
        TypeSubscription,
        event,
        message_handler,
    )
except ImportError:
    AgentId = None  # type: ignore[assignment, misc]  # the peer is not installed

MAILBOX = 1024
CLIENTS = 100
BEGIN, END = "<!-- hub: begin -->", "<!-- hub: end -->"


class Number(BaseModel):
    """A small payload."""

    number: int


Scenario = Callable[[int], Coroutine[object, object, float]]


async def raw_one_way(n: int) -> float:
    """Queue and worker."""
    queue: asyncio.Queue[Number] = asyncio.Queue(MAILBOX)

    async def handle(payload: Number) -> None: ...

    async def work() -> None:
        while True:
            await handle(await queue.get())
            queue.task_done()

    worker = asyncio.create_task(work())
    began = perf_counter()
    for number in range(n):
        await queue.put(Number(number=number))
    await queue.join()
    took = perf_counter() - began
    worker.cancel()
    return took


def _answering() -> tuple["asyncio.Queue[tuple[Number, asyncio.Future[Number]]]", "asyncio.Task[None]"]:
    queue: asyncio.Queue[tuple[Number, asyncio.Future[Number]]] = asyncio.Queue(MAILBOX)

    async def handle(payload: Number) -> Number:
        return payload

    async def work() -> None:
        while True:
            payload, reply = await queue.get()
            reply.set_result(await handle(payload))

    return queue, asyncio.create_task(work())


async def raw_request(n: int) -> float:
    """One client, one request after the other."""
    return await _raw_requests(n, 1)


async def raw_clients(n: int) -> float:
    """A hundred clients at once."""
    return await _raw_requests(n, CLIENTS)


async def _raw_requests(n: int, clients: int) -> float:
    queue, worker = _answering()
    loop = asyncio.get_running_loop()

    async def client() -> None:
        for number in range(n // clients):
            reply = loop.create_future()
            await queue.put((Number(number=number), reply))
            await reply

    began = perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    took = perf_counter() - began
    worker.cancel()
    return took


async def raw_publish(n: int) -> float:
    """A queue and a worker for each of a hundred subscribers."""
    queues: list[asyncio.Queue[Number]] = [asyncio.Queue(MAILBOX) for _ in range(CLIENTS)]

    async def handle(payload: Number) -> None: ...

    async def work(queue: "asyncio.Queue[Number]") -> None:
        while True:
            await handle(await queue.get())
            queue.task_done()

    workers = [asyncio.create_task(work(queue)) for queue in queues]
    began = perf_counter()
    for number in range(n // CLIENTS):
        payload = Number(number=number)
        for queue in queues:
            await queue.put(payload)
    for queue in queues:
        await queue.join()
    took = perf_counter() - began
    for worker in workers:
        worker.cancel()
    return took


async def raw_fan_in(n: int) -> float:
    """A hundred senders to one worker."""
    queue: asyncio.Queue[Number] = asyncio.Queue(MAILBOX)

    async def handle(payload: Number) -> None: ...

    async def work() -> None:
        while True:
            await handle(await queue.get())
            queue.task_done()

    async def send() -> None:
        for number in range(n // CLIENTS):
            await queue.put(Number(number=number))

    worker = asyncio.create_task(work())
    began = perf_counter()
    await asyncio.gather(*(send() for _ in range(CLIENTS)))
    await queue.join()
    took = perf_counter() - began
    worker.cancel()
    return took


async def take(payload: Number) -> None:
    """Handle one way."""


async def answer(payload: Number) -> Number:
    """Handle a request."""
    return payload


async def hub_one_way(n: int) -> float:
    """One sender, one agent."""
    return await _hub_sends(n, 1)


async def hub_fan_in(n: int) -> float:
    """A hundred senders, one agent."""
    return await _hub_sends(n, CLIENTS)


async def hub_filtered(n: int) -> float:
    """One way, with an observer whose events nobody logs."""
    return await _hub_sends(n, 1, LogObserver())


async def _hub_sends(n: int, senders: int, observer: LogObserver | None = None) -> float:
    async with Hub(observer=observer) as hub:
        hub.register("taker", take, mailbox=MAILBOX)

        async def send() -> None:
            for number in range(n // senders):
                await hub.send("taker", Number(number=number))

        began = perf_counter()
        await (send() if senders == 1 else asyncio.gather(*(send() for _ in range(senders))))
        await idle(hub)
        return perf_counter() - began


async def hub_request(n: int) -> float:
    """One client, one request after the other."""
    return await _hub_requests(n, 1)


async def hub_clients(n: int) -> float:
    """A hundred clients at once."""
    return await _hub_requests(n, CLIENTS)


async def _hub_requests(n: int, clients: int) -> float:
    async with Hub() as hub:
        hub.register("answerer", answer, mailbox=MAILBOX)

        async def client() -> None:
            for number in range(n // clients):
                await hub.request("answerer", Number(number=number), expect=Number)

        began = perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        return perf_counter() - began


async def hub_publish(n: int) -> float:
    """A hundred subscribers, each of which must get everything."""
    async with Hub() as hub:
        for number in range(CLIENTS):
            hub.register(f"taker{number}", take, mailbox=MAILBOX, topics=["news"])
        began = perf_counter()
        for number in range(n // CLIENTS):
            await hub.publish("news", Number(number=number))
        await idle(hub)
        took = perf_counter() - began
        assert hub.metrics().handled == n // CLIENTS * CLIENTS  # noqa: S101 - a benchmark that loses messages is void
        return took


if AgentId is not None:

    class Taker(RoutedAgent):
        """Both handlers, for autogen-core."""

        def __init__(self) -> None:
            super().__init__("taker")

        @message_handler
        async def take(self, message: Number, ctx: MessageContext) -> Number:  # noqa: ARG002
            """Answer."""
            return message

    class Listener(RoutedAgent):
        """A subscriber, for autogen-core."""

        def __init__(self) -> None:
            super().__init__("listener")

        @event
        async def take(self, message: Number, ctx: MessageContext) -> None:
            """Take note."""


async def peer_request(n: int) -> float:
    """One client, one request after the other, on autogen-core."""
    return await _peer_requests(n, 1)


async def peer_clients(n: int) -> float:
    """A hundred clients at once, on autogen-core."""
    return await _peer_requests(n, CLIENTS)


async def _peer_requests(n: int, clients: int) -> float:
    runtime = SingleThreadedAgentRuntime()
    await Taker.register(runtime, "taker", Taker)
    runtime.start()

    async def client() -> None:
        for number in range(n // clients):
            await runtime.send_message(Number(number=number), AgentId("taker", "default"))

    began = perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    took = perf_counter() - began
    await runtime.stop()
    return took


async def peer_publish(n: int) -> float:
    """A hundred subscribers, on autogen-core."""
    runtime = SingleThreadedAgentRuntime()
    for number in range(CLIENTS):
        await Listener.register(runtime, f"taker{number}", Listener)
        await runtime.add_subscription(TypeSubscription("default", f"taker{number}"))
    runtime.start()
    began = perf_counter()
    for number in range(n // CLIENTS):
        await runtime.publish_message(Number(number=number), DefaultTopicId())
    await runtime.stop_when_idle()
    return perf_counter() - began


ROWS: list[tuple[str, int, Scenario, Scenario, Scenario | None, str]] = [
    ("one way", 20_000, raw_one_way, hub_one_way, None, "1.5"),
    ("request, one client", 5_000, raw_request, hub_request, peer_request, "1.5"),
    ("request, 100 clients", 10_000, raw_clients, hub_clients, peer_clients, "1.6"),
    ("publish to 100, per delivery", 50_000, raw_publish, hub_publish, peer_publish, "1.2"),
    ("fan-in from 100", 20_000, raw_fan_in, hub_fan_in, None, "1.5"),
    ("one way, filtered `LogObserver` ÷ without", 20_000, hub_one_way, hub_filtered, None, "1.1"),
]


def timed(scenario: Scenario, n: int) -> float:
    """Microseconds per message."""
    gc.collect()
    return asyncio.run(scenario(n)) / n * 1e6


def compare(rounds: int) -> list[str]:
    """The table of ratios."""
    lines = ["| scenario | raw, µs | hub, µs | hub ÷ raw | wanted | autogen-core ÷ raw |", "|---|---|---|---|---|---|"]
    for name, n, raw, hub, peer, wanted in ROWS:
        times: tuple[list[float], list[float], list[float]] = ([], [], [])
        for _ in range(rounds):
            times[0].append(timed(raw, n))
            times[1].append(timed(hub, n))
            if peer is not None and AgentId is not None:
                times[2].append(timed(peer, min(n, 2_000)))
        base, ours = statistics.median(times[0]), statistics.median(times[1])
        theirs = f"{statistics.median(times[2]) / base:.0f}" if times[2] else ""
        lines.append(f"| {name} | {base:.2f} | {ours:.2f} | {ours / base:.2f} | ≤ {wanted} | {theirs} |")
    return lines


def weigh() -> list[str]:
    """What an agent costs that nobody talks to."""

    def fresh() -> Callable[[Number], Awaitable[None]]:
        namespace: dict[str, object] = {"Number": Number}
        exec("async def handle(payload: Number) -> None: ...", namespace)  # noqa: S102 - a function never seen before
        return namespace["handle"]  # type: ignore[return-value]  # the one just made

    def register(n: int) -> float:
        gc.collect()
        hub = Hub()
        began = perf_counter()
        for number in range(n):
            hub.register(f"agent{number}", take)
        return (perf_counter() - began) / n * 1e6

    small, large = statistics.median(register(10_000) for _ in range(5)), register(100_000)
    functions = [fresh() for _ in range(2_000)]
    hub, began = Hub(), perf_counter()
    for number, function in enumerate(functions):
        hub.register(f"agent{number}", function)
    new = (perf_counter() - began) / len(functions) * 1e6
    tracemalloc.start()
    hub = Hub()
    for number in range(10_000):
        hub.register(f"agent{number}", take)
    bare = tracemalloc.get_traced_memory()[0] / 10_000
    tracemalloc.stop()
    met, idle_share = asyncio.run(_settled())
    return [
        "| registering and idling | measured | wanted |",
        "|---|---|---|",
        f"| register, handler seen before | {small:.1f} µs | ≤ 5 µs |",
        f"| register, new handler | {new:.1f} µs | ≤ 30 µs |",
        f"| register 100,000, each | {large:.1f} µs | linear |",
        f"| agent without a message yet | {bare / 1024:.2f} KB | ≤ 2 KB |",
        f"| idle agent after its first message, worker task included | {met / 1024:.2f} KB | |",
        f"| idle hub with 10,000 agents | {idle_share:.2%} of a core | < 1 % |",
    ]


async def _settled() -> tuple[float, float]:
    async with Hub() as hub:
        for number in range(10_000):
            hub.register(f"agent{number}", take)
        gc.collect()
        tracemalloc.start()
        for number in range(10_000):
            await hub.send(f"agent{number}", Number(number=number))
        await idle(hub)
        gc.collect()
        met = tracemalloc.get_traced_memory()[0] / 10_000
        tracemalloc.stop()
        began, cpu = perf_counter(), process_time()
        await asyncio.sleep(2)
        return met, (process_time() - cpu) / (perf_counter() - began)


def main() -> None:
    """Measure, print, and write into the document if told to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    if AgentId is None:
        print("autogen-core is not installed, its column stays empty: pip install 'stagepost[bench]'", file=sys.stderr)
    where = (
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, medians of {options.rounds}."
    )
    text = "\n".join([where, "", *compare(options.rounds), "", *weigh()])
    print(text)
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        options.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
