"""What one thing costs does not depend on how many there are."""

import gc
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

import pytest
from anyio import CancelScope, create_task_group, fail_after
from tests.hub._agents import Gate, Ping, echo, until

from stagepost.hub import AgentNotFound, DeadReason, Hub, HubError, MailboxFull, Priority
from stagepost.hub._envelope import Envelope
from stagepost.hub.testing import idle

FEW = 200
FACTOR = 16
GROWTH = 6  # times as long for each, of 16 times as many: caches and the heap cost something, a scan of all costs 16
ATTEMPTS = 5  # what grows does so each time; what was held up once, by something else on the machine, does not

Act: TypeAlias = Callable[[Hub, int], Awaitable[float]]


async def timed(call: Callable[[int], Awaitable[object]], count: int) -> float:
    """Seconds of processor time for each of some calls, whatever comes of them."""
    began = time.thread_time()
    for number in range(count):
        try:
            await call(number)
        except HubError:
            continue
    return (time.thread_time() - began) / count


async def drop(hub: Hub, many: int) -> float:
    gate = Gate()
    hub.register(gate, mailbox=many, overflow="drop_oldest")
    await hub.send("gate", Ping())
    await gate.entered.wait()
    for _ in range(many):
        await hub.send("gate", Ping())
    return await timed(lambda _: hub.send("gate", Ping()), FEW)


async def drop_with_priorities(hub: Hub, many: int) -> float:
    gate = Gate()
    hub.register(gate, mailbox=many, overflow="drop_oldest")
    await hub.send("gate", Ping())
    await gate.entered.wait()
    for number in range(many):
        await hub.send("gate", Ping(), priority=Priority(number % 4))
    return await timed(lambda number: hub.send("gate", Ping(), priority=Priority(number % 4)), FEW)


async def unknown(hub: Hub, many: int) -> float:
    for number in range(many):
        hub.register(f"agent-{number}", echo)
    return await timed(lambda _: hub.send("agent", Ping()), FEW)


async def cancel(hub: Hub, many: int, *, mailbox: int | None = None) -> float:
    """Cancel requests and senders that wait, the latest first."""
    gate, scopes = Gate(), list[CancelScope]()

    async def ask() -> None:
        with CancelScope() as scope:
            scopes.append(scope)
            await (hub.request("gate", Ping(), timeout=60) if mailbox is None else hub.send("gate", Ping()))

    hub.register(gate, mailbox=mailbox)
    async with create_task_group() as tasks:
        for _ in range(many):
            tasks.start_soon(ask)
        await until(lambda: len(scopes) == many)
        await gate.entered.wait()
        began = time.thread_time()
        for scope in reversed(scopes):
            scope.cancel()
    return (time.thread_time() - began) / many


async def cancel_blocked(hub: Hub, many: int) -> float:
    return await cancel(hub, many, mailbox=1)


async def subscribe(hub: Hub, many: int) -> float:
    hub.register("reader", echo)

    async def come_and_go(number: int) -> None:
        hub.subscribe("reader", f"more.{number}")
        hub.unsubscribe("reader", f"more.{number}")

    for number in range(many):
        hub.subscribe("reader", f"topic.{number}")
    return await timed(come_and_go, FEW)


async def publish_while_others_subscribe(hub: Hub, many: int) -> float:
    hub.register("reader", echo, topics=["read"])
    for number in range(many):
        hub.register(f"agent-{number}", echo, topics=["all.>", "all.*"])

    async def publish(number: int) -> None:
        hub.subscribe("reader", f"topic.{number}")
        await hub.publish("read", Ping())

    return await timed(publish, FEW)


async def unregister(hub: Hub, many: int) -> float:
    for number in range(many):
        hub.register(f"agent-{number}", echo, topics=["a"])
        await hub.send(f"agent-{number}", Ping())
    await idle(hub)
    return await timed(lambda number: hub.unregister(f"agent-{number}"), FEW)


async def look(hub: Hub, many: int) -> float:
    gate = Gate()
    hub.register(gate, mailbox=None)
    for _ in range(many):
        await hub.send("gate", Ping())

    async def metrics(_: int) -> None:
        hub.metrics()

    return await timed(metrics, FEW)


async def look_at_requests(hub: Hub, many: int) -> float:
    async def ask() -> None:
        await hub.request("gate", Ping(), sender="asker", timeout=None)

    gate = Gate()
    hub.register(gate, mailbox=many // 2)
    async with create_task_group() as tasks:
        for _ in range(many):
            tasks.start_soon(ask)
        await until(lambda: hub.metrics().blocked == many // 2 - 1)
        assert hub.metrics().waiting == (("asker", "gate"),)
        began = time.process_time()
        for _ in range(FEW):
            hub.metrics()
        took = time.process_time() - began
        tasks.cancel_scope.cancel()
    assert hub.metrics().waiting == ()
    return took / FEW


ACTS = (
    drop,
    drop_with_priorities,
    unknown,
    cancel,
    cancel_blocked,
    subscribe,
    publish_while_others_subscribe,
    unregister,
    look,
    look_at_requests,
)


@pytest.mark.parametrize("act", ACTS, ids=[act.__name__.replace("_", " ") for act in ACTS])
async def test_what_one_costs_does_not_grow_with_all(act: Act) -> None:
    async def measure(many: int) -> float:
        async with Hub(grace=0, dead_letters=0) as hub:
            return await act(hub, many)

    gc.disable()  # collections take longer with more objects, whoever made them
    try:
        with fail_after(120):
            for _ in range(ATTEMPTS):
                growth = await measure(FACTOR * FEW) / await measure(FEW)
                if growth < GROWTH:
                    break
    finally:
        gc.enable()
    assert growth < GROWTH


class ComparedEnvelope(Envelope):
    """An envelope that counts how often it is looked at in search of another one."""

    __slots__ = ()
    __hash__ = Envelope.__hash__
    count = 0

    def __eq__(self, other: object) -> bool:
        ComparedEnvelope.count += 1
        return self is other


@pytest.mark.parametrize("mailbox", [None, 1], ids=["queued", "without room"])
async def test_cancelling_many_searches_for_none_of_them(mailbox: int | None) -> None:
    gate, scopes = Gate(), list[CancelScope]()
    ComparedEnvelope.count = 0

    async def ask(hub: Hub) -> None:
        with CancelScope() as scope:
            scopes.append(scope)
            await hub.request("gate", Ping(), timeout=60)

    with fail_after(60):
        async with Hub(grace=0) as hub, create_task_group() as tasks:
            assert hub._engine is not None
            hub._engine.new_envelope = ComparedEnvelope
            hub.register(gate, mailbox=mailbox)
            for _ in range(1000):
                tasks.start_soon(ask, hub)
            await until(lambda: hub.metrics().sent == 1000)
            for scope in reversed(scopes):
                scope.cancel()
    assert ComparedEnvelope.count < 40 * 1000


def waiting(hub: Hub, count: int) -> bool:
    return hub.metrics().in_flight + hub.metrics().blocked == count


async def test_cancelling_queued_requests_keeps_counts_order_and_depth() -> None:
    gate, scopes = Gate(), dict[int, CancelScope]()

    async def ask(hub: Hub, number: int) -> None:
        with CancelScope() as scopes[number]:
            await hub.request("gate", Ping(number), timeout=None)

    with fail_after(20):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=200)
            await hub.send("gate", Ping(-1))
            await gate.entered.wait()
            for number in range(300):
                tasks.start_soon(ask, hub, number)
                await until(partial(waiting, hub, number + 2))
            assert (hub.metrics().depths["gate"], hub.metrics().blocked) == (200, 100)
            for number in [*range(0, 300, 3), *range(1, 300, 3)]:
                scopes[number].cancel()
            await until(lambda: hub.metrics().blocked == 0 and hub.metrics().depth == 100)
            gate.opened.set()
            await idle(hub)
    assert gate.seen == [-1, *range(2, 300, 3)]
    metrics = hub.metrics()
    assert (metrics.handled, metrics.in_flight, metrics.depth) == (101, 0, 0)
    assert metrics.accepted == metrics.handled + metrics.cancelled


async def test_dropping_the_oldest_spares_what_is_more_urgent() -> None:
    gate = Gate()
    with fail_after(20):
        async with Hub(grace=0) as hub:
            hub.register(gate, mailbox=3, overflow="drop_oldest")
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            for number, priority in enumerate([Priority.HIGH, Priority.LOW, Priority.HIGH, Priority.HIGH], 1):
                await hub.send("gate", Ping(number), priority=priority)
            with pytest.raises(MailboxFull):
                await hub.send("gate", Ping(5))
            await hub.send("gate", Ping(6), priority=Priority.CRITICAL)
            dropped = [letter.message.data.number for letter in hub.dead_letters]
    assert dropped == [2, 1]
    assert [letter.reason for letter in hub.dead_letters][:2] == [DeadReason.DROPPED] * 2


def test_distinct_options_of_agents_are_not_kept_for_ever() -> None:
    hub = Hub()
    for number in range(1, 2000):
        hub.register(f"agent-{number}", echo, mailbox=number)
    assert len(hub._options) <= 256
    assert [agent.mailbox for agent in hub.describe().agents] == list(range(1, 2000))


async def test_matches_of_topics_are_bounded_by_what_they_hold() -> None:
    with fail_after(300):  # 110,000 deliveries, under coverage, on a machine that may have other work
        async with Hub(grace=0) as hub:
            for number in range(1000):
                hub.register(f"agent-{number}", echo, topics=["all.>"], mailbox=None)
            for number in range(110):
                assert len((await hub.publish(f"all.{number}", Ping())).delivered) == 1000
            assert sum(map(len, hub._directory.topics._matches.values())) <= 101_000
            hub.unsubscribe("agent-0", "all.>")
            assert len((await hub.publish("all.1", Ping())).delivered) == 999


async def test_an_unknown_id_among_many_is_told_with_what_may_be_meant() -> None:
    hub = Hub("main")
    for number in range(500):
        hub.register(f"agent-{number}", echo)
    hub.register("billing_clerk", echo)
    with fail_after(5):
        async with hub:
            for meant in ("billing-clerk", "Billing_Clerk", "billing_clrek", "billing_clerkk"):
                with pytest.raises(AgentNotFound, match=r"which has billing_clerk, agent-0, .* and 491 more") as caught:
                    await hub.send(meant, Ping())
                assert caught.value.known[0] == "billing_clerk"
            with pytest.raises(AgentNotFound, match="and 491 more"):
                await hub.send("x" * 5000, Ping())
