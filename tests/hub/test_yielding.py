"""Beside any loop over any coroutine of the hub other tasks get their turn, however the calls end."""

import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest
from anyio import create_task_group, fail_after, move_on_after, sleep
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, echo, until

from stagepost.hub import (
    AlreadyForwarded,
    Context,
    DeliveryError,
    Hub,
    HubError,
    HubReentered,
    InvalidTopic,
    Listener,
    Overflow,
)
from stagepost.hub.testing import Probe, VirtualClock, idle

LATE = 0.05  # seconds of processor time that another task may have to wait
ROUNDS = 12_000  # more than this takes without a turn for others
MANY = 3_000  # agents


@dataclass
class Late:
    """How late the task was that ran beside.

    Attributes:
        most: The longest that it had to wait, in seconds of processor time.
        turns: How often it ran.
    """

    most: float = 0.0
    turns: int = 0


@asynccontextmanager
async def watched() -> AsyncIterator[Late]:
    """Run a task beside the block that wants its turn all the time."""
    late = Late()

    async def tick() -> None:
        last = time.thread_time()
        while True:
            await checkpoint()
            now = time.thread_time()
            late.most, late.turns, last = max(late.most, now - last), late.turns + 1, now

    gc.collect()
    gc.freeze()  # a full collection is the interpreter's pause, not a path of the hub
    try:
        async with create_task_group() as tasks:
            tasks.start_soon(tick)
            await checkpoint()
            yield late
            await checkpoint()
            tasks.cancel_scope.cancel()
    finally:
        gc.unfreeze()


async def keep_on(call: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> None:
    """Call again and again, whatever comes of it."""
    for _ in range(rounds):
        with suppress(HubError, StopAsyncIteration, ValueError):
            await call()


def full(hub: Hub, overflow: Overflow) -> Gate:
    """An agent that handles nothing and has room for one message."""
    gate = Gate()
    hub.register(gate, mailbox=1, overflow=overflow, topics=["full"])
    return gate


CALLS: dict[str, Callable[[Hub], Callable[[], Awaitable[object]]]] = {
    "send": lambda hub: lambda: hub.send("deep", Ping()),
    "send to nobody": lambda hub: lambda: hub.send("nobody", Ping()),
    "send what is not handled": lambda hub: lambda: hub.send("deep", "text"),
    "send with a priority that is none": lambda hub: lambda: hub.send("deep", Ping(), priority=9),  # type: ignore[arg-type]  # refused
    "send without waiting": lambda hub: lambda: hub.send("waits", Ping(), timeout=0),
    "send to one that rejects": lambda hub: lambda: hub.send("rejects", Ping()),
    "send to one that drops": lambda hub: lambda: hub.send("drops", Ping()),
    "request nobody": lambda hub: lambda: hub.request("nobody", Ping()),
    "request without time": lambda hub: lambda: hub.request("echo", Ping(), timeout=0),
    "request one that rejects": lambda hub: lambda: hub.request("rejects", Ping()),
    "request": lambda hub: lambda: hub.request("echo", Ping()),
    "request the wrong class": lambda hub: lambda: hub.request("echo", Ping(), expect=str),
    "publish to nobody": lambda hub: lambda: hub.publish("nothing", Ping()),
    "publish to a bad topic": lambda hub: lambda: hub.publish("a.*", Ping()),
    "publish": lambda hub: lambda: hub.publish("deep", Ping()),
    "publish to the full": lambda hub: lambda: hub.publish("full", Ping()),
    "publish what is not handled": lambda hub: lambda: hub.publish("deep", "text"),
    "broadcast": lambda hub: lambda: hub.broadcast(Ping()),
    "broadcast to nobody": lambda hub: lambda: hub.broadcast(7.5),
    "unregister nobody": lambda hub: lambda: hub.unregister("nobody"),
    "listen": lambda hub: lambda: listen(hub),
    "listen to a bad topic": lambda hub: lambda: listen(hub, "a..b"),
    "enter again": lambda hub: hub.__aenter__,
    "wait for quiet": lambda hub: lambda: idle(hub),
}


async def listen(hub: Hub, topic: str = "a") -> None:
    async with hub.listen(topic):
        pass


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_p5_a_loop_over_any_call_lets_others_run(call: Callable[[Hub], Callable[[], Awaitable[object]]]) -> None:
    with fail_after(60):
        async with Hub(grace=0) as hub:
            hub.register("echo", echo)
            hub.register(Probe("deep"), mailbox=None, topics=["deep"])
            for overflow, agent in (("wait", "waits"), ("reject", "rejects"), ("drop_oldest", "drops")):
                hub.register(agent, Gate(agent).pass_through, mailbox=1, overflow=overflow, topics=["full"])  # type: ignore[arg-type]  # of the table
                for _ in range(2):
                    await hub.send(agent, Ping())
                    await sleep(0.01)
            async with watched() as late:
                await keep_on(call(hub))
    assert late.most < LATE
    assert late.turns > 10
