import time

import pytest
from anyio import fail_after
from hypothesis import given
from hypothesis import strategies as st
from tests.hub._agents import Gate, Ping, until

from stagepost.hub import Context, DeadReason, HandlerFailed, Hub, MailboxFull, Priority, RequestTimeout
from stagepost.hub.testing import idle

URGENCY = [Priority.LOW, Priority.NORMAL, Priority.HIGH, Priority.CRITICAL]


async def test_urgent_messages_pass_others_and_keep_their_order() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            for number in range(1, 9):
                await hub.send("gate", Ping(number), priority=URGENCY[number % 4])
            gate.opened.set()
    assert gate.seen == [0, 3, 7, 2, 6, 1, 5, 4, 8]


async def test_a_stream_of_urgent_messages_starves_nobody() -> None:
    seen: list[int] = []

    async def flood(ping: Ping, context: Context) -> None:
        seen.append(ping.number)
        if ping.number < 200:
            await context.send(context.agent, Ping(ping.number + 1), priority=Priority.CRITICAL)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("flood", flood)
            await hub.send("flood", Ping(0), priority=Priority.CRITICAL)
            await hub.send("flood", Ping(1000), priority=Priority.LOW)
            await idle(hub)
    assert seen.index(1000) <= 16


async def test_requests_and_publications_have_priorities_too() -> None:
    seen: list[Priority] = []

    async def note(ping: Ping, context: Context) -> None:
        seen.append(context.message.priority)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("note", note, topics=["a"])
            await hub.request("note", Ping(), priority=Priority.HIGH)
            await hub.publish("a", Ping(), priority=Priority.CRITICAL)
            await hub.broadcast(Ping(), priority=Priority.LOW)
            await idle(hub)
    assert seen == [Priority.HIGH, Priority.CRITICAL, Priority.LOW]


@given(st.lists(st.sampled_from(URGENCY), max_size=60))
async def test_messages_of_one_priority_keep_their_order(plan: list[Priority]) -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            for number, priority in enumerate(plan):
                await hub.send("gate", Ping(number), priority=priority)
            gate.opened.set()
    assert sorted(gate.seen) == list(range(len(plan)))
    for priority in URGENCY:
        mine = [number for number in gate.seen if plan[number] is priority]
        assert mine == sorted(mine)


async def test_a_mailbox_that_rejects_makes_nobody_wait() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub(grace=0) as hub:
            hub.register(gate, mailbox=1, overflow="reject")
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            with pytest.raises(MailboxFull):
                await hub.send("gate", Ping(2), timeout=None)
            with pytest.raises(MailboxFull):
                await hub.request("gate", Ping(3), timeout=None)
            assert (await hub.broadcast(Ping(4), timeout=5)).full == ("gate",)
    assert hub.metrics().delivered == 2


async def test_a_dropped_request_is_told_to_its_requester() -> None:
    gate = Gate()
    refused: list[MailboxFull] = []

    async def ask(ping: Ping, context: Context) -> None:
        try:
            await context.request("gate", ping)
        except MailboxFull as error:
            refused.append(error)

    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=1, overflow="drop_oldest")
            hub.register("ask", ask)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("ask", Ping(1))
            await until(lambda: "gate" in hub.metrics().depths)
            await hub.send("gate", Ping(2))
            gate.opened.set()
    assert [error.dropped for error in refused] == [True]
    assert gate.seen == [0, 2]
    assert [letter.reason for letter in hub.dead_letters] == [DeadReason.DROPPED]


async def test_what_is_dropped_is_the_oldest_of_the_least_urgent_and_never_more_urgent_than_the_newcomer() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=3, overflow="drop_oldest")
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            for number, priority in enumerate([Priority.HIGH, Priority.LOW, Priority.NORMAL, Priority.HIGH], start=1):
                await hub.send("gate", Ping(number), priority=priority)
            await hub.send("gate", Ping(5), priority=Priority.NORMAL)
            with pytest.raises(MailboxFull):
                await hub.send("gate", Ping(6), priority=Priority.LOW)
            gate.opened.set()
    assert gate.seen == [0, 1, 4, 5]


async def test_a_message_that_nobody_began_in_time_is_dead() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=3, topics=["a"])
            await hub.send("gate", Ping(0), ttl=0.01)
            await gate.entered.wait()
            await hub.send("gate", Ping(1), ttl=0.01)
            await hub.publish("a", Ping(2), ttl=0.01)
            await hub.send("gate", Ping(3), ttl=60)
            await hub.send("gate", Ping(4), ttl=0.01)
            await until(lambda: hub.metrics().dead == 3)
            gate.opened.set()
    assert gate.seen == [0, 3]
    assert [letter.reason for letter in hub.dead_letters] == [DeadReason.EXPIRED] * 3
    assert hub._engine is not None
    assert not any(hub._engine.deadlines._buckets.values())


async def test_a_message_expires_also_if_the_timer_has_not_come_yet() -> None:
    async def block(ping: Ping) -> None:
        time.sleep(0.02)  # noqa: ASYNC251 - a handler that blocks the loop is the fact under test

    with fail_after(5):
        async with Hub() as hub:
            hub.register("block", block)
            await hub.send("block", Ping(0))
            await hub.send("block", Ping(1), ttl=0.001)
            with pytest.raises(RequestTimeout):
                await hub.request("block", Ping(2), timeout=0.001)
    assert hub.metrics().handled == 1
    assert hub.metrics().dead == 2


async def test_a_handler_that_fails_forgets_the_deadline_of_its_message() -> None:
    async def fail(ping: Ping) -> None:
        raise ZeroDivisionError

    with fail_after(5):
        async with Hub() as hub:
            hub.register("fail", fail)
            await hub.send("fail", Ping(0), ttl=60)
            with pytest.raises(HandlerFailed):
                await hub.request("fail", Ping(0))
            assert hub._engine is not None
            assert not any(hub._engine.deadlines._buckets.values())
