"""What is timed, and how the sides take turns in it."""

import gc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Final, TypeAlias

import anyio
from benchmarks.hub.sides import MANY, Channel, Ping, Side, Tally, open_hub, open_peer, open_queue

PEER: Final = "autogen-core"
WITHOUT_PEER: Final = f"{PEER} is not installed and was left out: `pip install 'stagepost[bench]'` adds it."


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
    Scenario("one way", one_way, 40_000, 1.45, 28),
    Scenario("request", request, 10_000, 1.35, 10),
    Scenario("request, 100 clients", clients, 20_000, 1.6, 19),
    Scenario("publish to 100, per delivery", publish, 50_000, 1.3, 27),
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
