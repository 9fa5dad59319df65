"""What a part of a streamed reply costs, beside a one-way message."""

import gc
from collections.abc import AsyncIterator
from statistics import median
from time import perf_counter

import anyio
from benchmarks.hub.sides import MAILBOX, Ping, Tally

from stagepost.hub import Hub


async def _count(number: int) -> AsyncIterator[Ping]:
    for part in range(number):
        yield Ping(number=part)


def part_and_message(count: int, rounds: int = 5) -> tuple[float, float]:
    """Seconds for a part that is read as it comes, and for a message that is sent and handled."""

    async def measure() -> tuple[float, float]:
        tally = Tally()
        async with Hub("bench") as hub:
            hub.register("sink", tally.take, mailbox=MAILBOX)
            hub.register("count", _count)
            gc.collect()
            start = perf_counter()
            async for _ in hub.stream("count", count, expect=Ping, timeout=None):
                pass
            middle = perf_counter()
            tally.expect(count)
            for number in range(count):
                await hub.send("sink", Ping(number=number))
            await tally.all()
            return (middle - start) / count, (perf_counter() - middle) / count

    measured = [anyio.run(measure) for _ in range(rounds)]
    return median(part for part, _ in measured), median(message for _, message in measured)


def streaming(scale: float) -> list[str]:
    """The rows of the table."""
    part, message = part_and_message(max(100, int(20_000 * scale)))
    return [f"| a streamed part ({part * 1e6:.2f} µs) ÷ a one-way message | {part / message:.2f} | ≤ 2 |"]
