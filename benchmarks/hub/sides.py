"""What is compared: an `asyncio.Queue` with a worker task, the hub, and a peer, each doing the same three things."""

import asyncio  # noqa: TID251 - its queue is what the hub is compared with
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeAlias

import anyio
from pydantic import BaseModel

from stagepost.hub import Hub, LogObserver, Observer

MAILBOX: Final = 1024
MANY: Final = 100  # subscribers, and clients


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
