"""What the system promises of a hub, by number."""

import asyncio
import gc
import time
import weakref

import pytest
from anyio import create_task_group, fail_after, sleep
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, error_of, fail, until

from stagepost.hub import Context, DeliveryError, Hub, MailboxFull, RequestTimeout, handles
from stagepost.hub.testing import idle

ENDS = {"MessageHandled", "MessageFailed", "MessageCancelled", "MessageDead"}


async def test_p1_every_accepted_delivery_ends_in_exactly_one_state() -> None:
    gate, recorder = Gate(), Recorder()
    with fail_after(5):
        async with Hub(observer=recorder, grace=0.02) as hub:
            hub.register("echo", echo)
            hub.register("fail", fail)
            hub.register(gate)
            await hub.request("echo", Ping())
            await hub.send("fail", Ping())
            await hub.send("gate", Ping(0))
            with pytest.raises(RequestTimeout):
                await hub.request("gate", Ping(1), timeout=0.05)
            await hub.send("gate", Ping(2))
    metrics = hub.metrics()
    assert (metrics.handled, metrics.failed, metrics.cancelled, metrics.dead) == (1, 1, 1, 2)
    assert metrics.in_flight == 0
    ended = [event for event in recorder.events if type(event).__name__ in ENDS]
    assert len({event.message_id for event in ended}) == len(ended) == metrics.accepted  # type: ignore[attr-defined]


async def test_p1_what_was_never_accepted_raised_at_the_sender() -> None:
    refused = 0
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate := Gate(), mailbox=1)
            for recipient, payload in [
                ("nobody", Ping()),
                ("gate", 1),
                ("gate", Ping()),
                ("gate", Ping()),
                ("gate", Ping()),
            ]:
                try:
                    await hub.send(recipient, payload, timeout=0)
                except DeliveryError:
                    refused += 1
            gate.opened.set()
    assert refused + hub.metrics().accepted == 5
    assert hub.metrics().handled == 1


async def test_p2_two_agents_that_fill_each_others_mailboxes_end() -> None:
    class Flooder:
        def __init__(self, agent: str, other: str) -> None:
            self.id = agent
            self.other = other
            self.full = 0

        @handles
        async def flood(self, ping: Ping, context: Context) -> None:
            try:
                for _ in range(3):
                    await context.send(self.other, ping, timeout=0.05)
            except MailboxFull:
                self.full += 1

    left, right = Flooder("left", "right"), Flooder("right", "left")
    with fail_after(10):
        async with Hub(grace=0.1) as hub:
            hub.register(left, mailbox=1)
            hub.register(right, mailbox=1)
            await hub.send("left", Ping())
            await hub.send("right", Ping())
            await until(lambda: left.full > 0 and right.full > 0)
    assert hub.metrics().in_flight == 0


async def test_p2_every_request_ends_when_the_hub_stops() -> None:
    ended: list[DeliveryError] = []
    with fail_after(5):
        async with create_task_group() as tasks, Hub(grace=0) as hub:
            hub.register(Gate(), mailbox=5)
            for _ in range(20):
                tasks.start_soon(error_of, DeliveryError, lambda: hub.request("gate", Ping(), timeout=None), ended)
            await until(lambda: hub.metrics().accepted == 6)
    assert len(ended) == 20


async def test_p3_messages_of_one_sender_are_handled_in_the_order_sent() -> None:
    seen: dict[str, list[int]] = {"a": [], "b": []}

    async def note(pair: tuple[str, int]) -> None:
        seen[pair[0]].append(pair[1])
        if pair[1] % 3 == 0:
            await checkpoint()

    async def send(hub: Hub, sender: str) -> None:
        for number in range(100):
            await hub.send("note", (sender, number), sender=sender)

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("note", note, mailbox=3)
            tasks.start_soon(send, hub, "a")
            tasks.start_soon(send, hub, "b")
    assert seen == {"a": list(range(100)), "b": list(range(100))}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_p4_no_task_outlives_the_hub(anyio_backend: str) -> None:
    before = asyncio.all_tasks()
    with fail_after(5):
        async with Hub(grace=0) as hub:
            hub.register(Gate(), concurrency=5)
            for number in range(10):
                await hub.send("gate", Ping(number))
            with pytest.raises(RequestTimeout):
                await hub.request("gate", Ping(), timeout=0.05)
            assert len(asyncio.all_tasks()) > len(before)
    assert asyncio.all_tasks() == before


async def test_p4_an_idle_hub_costs_no_cpu() -> None:
    with fail_after(10):
        async with Hub() as hub:
            for number in range(100):
                hub.register(f"echo{number}", echo)
                await hub.request(f"echo{number}", Ping())
            began, worked = time.monotonic(), time.thread_time()
            await sleep(0.2)  # the fact under test is what this costs
            assert time.thread_time() - worked < (time.monotonic() - began) / 4


async def test_p4_a_resting_worker_holds_on_to_no_message() -> None:
    class Parcel: ...

    async def give_back(parcel: Parcel) -> Parcel:
        return parcel

    with fail_after(5):
        async with Hub() as hub:
            hub.register("post", give_back)
            parcel = Parcel()
            gone = weakref.ref(parcel)
            await hub.request("post", parcel)
            await hub.send("post", parcel)
            await idle(hub)
            del parcel
            gc.collect()
            assert gone() is None


async def test_p4_nothing_is_left_of_messages_that_have_ended() -> None:
    with fail_after(10):
        async with Hub() as hub:
            hub.register("echo", echo)
            for number in range(3000):
                await hub.request("echo", Ping(number), timeout=5 + number)
            await idle(hub)
            (endpoint,) = hub._directory.endpoints()
            assert hub._engine is not None
            assert not endpoint.workers.mailbox.queue
            assert not any(hub._engine.deadlines._buckets.values())
            assert all(worker.current is None for worker in endpoint.workers.staff)


async def test_p5_a_failing_and_a_stuck_agent_harm_nobody() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub(grace=0.05) as hub:
            hub.register("echo", echo)
            hub.register("fail", fail)
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping())
            await gate.entered.wait()
            await hub.send("gate", Ping())
            async with create_task_group() as tasks:
                tasks.start_soon(error_of, MailboxFull, lambda: hub.send("gate", Ping(), timeout=0.05), [])
                for number in range(100):
                    await hub.send("fail", Ping(number))
                    assert await hub.request("echo", Ping(number), expect=Pong) == Pong(number)


async def test_p5_busy_handlers_let_others_run() -> None:
    turns = 0
    handling = True

    async def spin(number: int) -> None:
        ends = time.perf_counter() + 0.0003
        while time.perf_counter() < ends:
            pass

    async def watch() -> None:
        nonlocal turns
        while handling:
            await checkpoint()
            turns += 1

    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("spin", spin)
            for number in range(100):
                await hub.send("spin", number)
            tasks.start_soon(watch)
            await idle(hub)
            handling = False
    assert turns >= 10


async def test_p5_a_sender_that_never_waits_lets_others_run() -> None:
    turns = 0
    sending = True

    async def watch() -> None:
        nonlocal turns
        while sending:
            await checkpoint()
            turns += 1

    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            tasks.start_soon(watch)
            for number in range(100):
                hub.register(f"echo{number}", echo)
            for number in range(5000):
                await hub.send(f"echo{number % 100}", Ping(number))
            sending = False
    assert turns >= 15
