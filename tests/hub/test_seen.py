"""What an operator can see: each agent's messages and times, what was refused, and what reached nobody."""

from collections.abc import Awaitable, Callable
from functools import partial
from time import time

import pytest
from anyio import CancelScope, create_task_group, fail_after, sleep_forever
from anyio import Event as Flag
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, error_of, fail, until

from stagepost.hub import (
    AgentMetrics,
    AgentNotFound,
    AgentStopped,
    AlreadyForwarded,
    Context,
    Delivery,
    HandlerFailed,
    Hub,
    HubError,
    HubStopped,
    Latency,
    MailboxFull,
    MessageDead,
    MessageEvent,
    MessageHandled,
    MessageRefused,
    MessageType,
    NoHandler,
    Published,
    RequestCycle,
    RequestTimeout,
)
from stagepost.hub._tally import Tally
from stagepost.hub.testing import VirtualClock, idle


async def test_metrics_tell_the_messages_of_each_agent_apart() -> None:
    gate, before = Gate(), time()
    with fail_after(5):
        async with Hub(grace=0) as hub:
            hub.register("echo", echo)
            hub.register("fail", fail)
            hub.register("unused", echo)
            hub.register(gate, mailbox=1, topics="a")
            for _ in range(3):
                await hub.request("echo", Ping())
            with pytest.raises(HandlerFailed):
                await hub.request("fail", Ping())
            await hub.send("gate", Ping())
            await gate.entered.wait()
            with pytest.raises(RequestTimeout):
                await hub.request("gate", Ping(), timeout=0)
            await hub.send("gate", Ping())
            await hub.publish("a", Ping())
            with pytest.raises(MailboxFull):
                await hub.send("gate", Ping(), timeout=0)
            async with create_task_group() as tasks:
                tasks.start_soon(hub.send, "gate", Ping())
                await until(lambda: hub.metrics().blocked == 1)
                metrics = hub.metrics()
                tasks.cancel_scope.cancel()
    agents = metrics.agents
    assert list(agents) == ["echo", "fail", "unused", "gate"]
    assert agents["unused"] == AgentMetrics()
    assert (agents["echo"].handled, agents["echo"].in_flight, agents["echo"].running_since) == (3, 0, None)
    assert (agents["echo"].handling.count, agents["echo"].waiting.count) == (3, 3)
    assert (agents["fail"].handled, agents["fail"].failed, agents["fail"].handling.count) == (0, 1, 1)
    held = agents["gate"]
    assert (held.handled, held.dead, held.refused, held.depth, held.blocked, held.running) == (0, 1, 2, 1, 1, 1)
    assert held.in_flight == 2
    assert held.running_since is not None
    assert before - 1 < held.running_since < time() + 1
    for name in ("handled", "failed", "cancelled", "dead", "refused", "in_flight", "depth", "blocked"):
        assert getattr(metrics, name) == sum(getattr(agent, name) for agent in agents.values()), name


async def test_waiting_and_handling_are_timed_apart() -> None:
    clock, doors = VirtualClock(), [Flag(), Flag()]

    async def work(number: int) -> None:
        await doors[number].wait()

    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register("work", work)
            for number in range(2):
                await hub.send("work", number)
            for seconds, door in ((3, doors[0]), (1, doors[1])):
                await clock.advance(seconds)
                door.set()
                await until(lambda: hub.metrics().handled == sum(door.is_set() for door in doors))
            await idle(hub)
            metrics = hub.metrics()
    agent = metrics.agents["work"]
    assert (agent.handled, agent.waiting.count, agent.handling.count) == (2, 2, 2)
    assert 3 <= agent.waiting.max <= 6
    assert agent.waiting.p50 < 0.01
    assert 3 <= agent.handling.max <= 6
    assert 1 <= agent.handling.p50 <= 2
    assert 4 <= metrics.latency.max <= 8
    assert 1 < agent.handling.mean < 4


async def test_times_outlive_their_agent() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            hub.register("other", echo)
            await hub.request("echo", Ping())
            await hub.request("other", Ping())
            await hub.unregister("echo")
            assert "echo" not in hub.metrics().agents
            assert hub.metrics().latency.count == 2


async def test_a_cancelled_handler_is_counted_at_its_agent() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            async with create_task_group() as tasks:
                tasks.start_soon(hub.request, "gate", Ping())
                await gate.entered.wait()
                tasks.cancel_scope.cancel()
            await idle(hub)
            agent = hub.metrics().agents["gate"]
    assert (agent.handled, agent.failed, agent.cancelled, agent.in_flight) == (0, 0, 1, 0)


def test_a_batch_is_noted_by_its_last_message_and_the_average_of_the_others() -> None:
    tally = Tally()
    for total in (1, 1, 5):
        tally.totals[int(total * 1e6).bit_length()] += 1
    tally.note(sent=0.0, began=1.0, ended=5.0, since=0.9, number=3)
    metrics = tally.read(refused=0, depth=0, blocked=0, running=0, running_since=None)
    assert (metrics.handled, metrics.handling.count, metrics.waiting.count) == (3, 3, 3)
    assert 4 <= metrics.handling.max <= 8
    assert 0.05 <= metrics.handling.p50 <= 0.1
    assert 1 <= metrics.waiting.max <= 2


def test_what_was_not_noted_yet_was_short() -> None:
    tally = Tally()
    tally.totals[3] += 2
    handling = tally.read(refused=0, depth=0, blocked=0, running=1, running_since=1.0).handling
    assert (handling.count, handling.max) == (2, 1024e-6)


def test_a_mean_is_right_to_a_factor_of_two() -> None:
    buckets = [0] * 64
    for micros in (4, 5, 6, 7):
        buckets[micros.bit_length()] += 1
    assert Latency(count=4, buckets=tuple(buckets)).mean == pytest.approx(6e-6)
    assert Latency().mean == 0
    assert Latency().max == 0


async def nobody(hub: Hub) -> None:
    await hub.send("nobody", Ping(), sender="me", trace="t")


async def nobody_asked(hub: Hub) -> None:
    await hub.request("nobody", Ping(), sender="me", trace="t")


async def no_handler(hub: Hub) -> None:
    await hub.send("echo", Pong(1))


async def no_time(hub: Hub) -> None:
    await hub.request("echo", Ping(), timeout=0)


async def full(hub: Hub) -> None:
    await hub.send("full", Ping(), timeout=0)


async def full_for_a_while(hub: Hub) -> None:
    await hub.send("full", Ping(), timeout=0.01)


async def full_for_a_request(hub: Hub) -> None:
    await hub.request("full", Ping(), timeout=0.01)


async def rejected(hub: Hub) -> None:
    await hub.request("reject", Ping())


@pytest.mark.parametrize(
    ("send", "recipient", "error"),
    [
        (nobody, "nobody", AgentNotFound),
        (nobody_asked, "nobody", AgentNotFound),
        (no_handler, "echo", NoHandler),
        (no_time, "echo", RequestTimeout),
        (full, "full", MailboxFull),
        (full_for_a_while, "full", MailboxFull),
        (full_for_a_request, "full", RequestTimeout),
        (rejected, "reject", MailboxFull),
    ],
)
async def test_a_refused_message_is_counted_and_told(
    send: Callable[[Hub], Awaitable[None]], recipient: str, error: type[HubError]
) -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub("main", observer=recorder, grace=0) as hub:
            hub.register("echo", echo)
            hub.register("full", Gate("full"), mailbox=1)
            hub.register("reject", Gate("reject"), mailbox=1, overflow="reject")
            for agent in ("full", "reject"):
                for _ in range(2):
                    await hub.send(agent, Ping())
                    await until(lambda: hub.metrics().blocked == 0)
                    for _ in range(3):
                        await checkpoint()
            with pytest.raises(error):
                await send(hub)
            metrics = hub.metrics()
    assert metrics.refused == 1
    assert {agent: of.refused for agent, of in metrics.agents.items() if of.refused} == (
        {} if recipient == "nobody" else {recipient: 1}
    )
    (event,) = [event for event in recorder.events if isinstance(event, MessageRefused)]
    assert (event.hub, event.recipient, event.error, event.level) == ("main", recipient, error.__name__, "warning")
    assert event.payload in ("Ping", "Pong")
    assert event.type in (MessageType.REQUEST, MessageType.NOTIFICATION)
    assert (event.sender, event.trace) == (("me", "t") if recipient == "nobody" else (None, None))


async def test_what_a_handler_sends_in_vain_is_refused_with_its_cause() -> None:
    recorder, seen = Recorder(), dict[str, object]()

    async def act(ping: Ping, context: Context) -> None:
        seen["id"] = context.message.id
        for recipient, error in (("nobody", AgentNotFound), ("act", RequestCycle)):
            with pytest.raises(error):
                await context.request(recipient, ping)
        await context.forward("echo")
        with pytest.raises(AlreadyForwarded):
            await context.forward("echo")

    async def hand_on(number: int, context: Context) -> None:
        await context.forward("nobody")

    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register("act", act)
            hub.register("echo", echo)
            hub.register("hand_on", hand_on)
            await hub.request("act", Ping())
            with pytest.raises(HandlerFailed):
                await hub.request("hand_on", 1)
            assert hub.metrics().refused == 3
    cycle = [event for event in recorder.events if isinstance(event, MessageRefused)][1]
    assert (cycle.sender, cycle.recipient, cycle.cause, cycle.error) == ("act", "act", seen["id"], "RequestCycle")
    assert cycle.trace == seen["id"]


async def test_who_waits_for_room_is_refused_when_the_agent_leaves_and_who_had_it_is_not() -> None:
    recorder, errors = Recorder(), list[AgentStopped]()
    with fail_after(5):
        async with Hub(observer=recorder) as hub, create_task_group() as tasks:
            hub.register(Gate(), mailbox=1)
            sends: list[Callable[[str, Ping], Awaitable[object]]] = [hub.request, hub.request, hub.request, hub.send]
            for number, send in enumerate(sends, 1):
                tasks.start_soon(error_of, AgentStopped, partial(send, "gate", Ping()), errors)
                await until(lambda sent=number: hub.metrics().sent == sent)  # type: ignore[misc]  # mypy guesses no types
                for _ in range(3):
                    await checkpoint()
            assert hub.metrics().blocked == 2
            await hub.unregister("gate", drain=False)
    assert len(errors) == 4
    assert (hub.metrics().refused, hub.metrics().accepted) == (2, 2)
    refused = [event.type for event in recorder.events if isinstance(event, MessageRefused)]
    assert sorted(refused) == [MessageType.NOTIFICATION, MessageType.REQUEST]


async def test_a_message_that_was_dropped_was_accepted_and_is_not_refused() -> None:
    errors = list[MailboxFull]()
    with fail_after(5):
        async with Hub(grace=0) as hub, create_task_group() as tasks:
            hub.register(Gate(), mailbox=1, overflow="drop_oldest")
            await hub.send("gate", Ping())
            await until(lambda: hub.metrics().depth == 0)
            tasks.start_soon(error_of, MailboxFull, lambda: hub.request("gate", Ping()), errors)
            await until(lambda: hub.metrics().depth == 1)
            await hub.send("gate", Ping())
            await until(lambda: len(errors) == 1)
            assert (hub.metrics().refused, hub.metrics().dead) == (0, 1)


async def test_who_gives_up_waiting_for_room_was_not_refused() -> None:
    with fail_after(5):
        async with Hub(grace=0) as hub:
            hub.register(Gate(), mailbox=1)
            for _ in range(2):
                await hub.send("gate", Ping())
                for _ in range(3):
                    await checkpoint()
            async with create_task_group() as tasks:
                tasks.start_soon(hub.send, "gate", Ping())
                await until(lambda: hub.metrics().blocked == 1)
                tasks.cancel_scope.cancel()
            assert hub.metrics().refused == 0


async def test_a_publication_on_a_stopped_hub_is_refused() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            await hub.drain()
            with pytest.raises(HubStopped):
                await hub.publish("a.b", Ping())
            with pytest.raises(HubStopped):
                await hub.broadcast(Ping())
            assert hub.metrics().refused == 2
    events = [event for event in recorder.events if isinstance(event, MessageRefused)]
    assert [(event.recipient, event.topic, event.type) for event in events] == [
        ("*", "a.b", MessageType.NOTIFICATION),
        ("*", None, MessageType.BROADCAST),
    ]


async def test_an_argument_that_is_no_id_is_refused_under_the_name_of_its_class() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            with pytest.raises(HubError):
                await hub.send(["echo"], Ping())  # type: ignore[arg-type]  # the point
            assert hub.metrics().refused == 1
    assert [event.recipient for event in recorder.events if isinstance(event, MessageRefused)] == ["list"]


async def test_events_say_cause_topic_and_handler() -> None:
    recorder = Recorder()

    async def spread(number: int, context: Context) -> None:
        await context.publish("pings.new", Ping(number))

    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register("spread", spread)
            hub.register("echo", echo, topics="pings.>")
            hub.register("text", handles_text, topics="pings.*")
            async with hub.listen("pings.>"):
                await hub.send("spread", 1)
                await idle(hub)
    first, *others = [event for event in recorder.events if isinstance(event, MessageEvent)]
    assert (first.cause, first.topic) == (None, None)
    assert first.handler is not None
    assert first.handler.endswith("spread")
    caused = [event for event in others if event.message_id != first.message_id]
    assert {(event.cause, event.topic) for event in caused} == {(first.message_id, "pings.new")}
    handlers = {event.recipient: event.handler for event in caused}
    assert handlers == {"echo": "tests.hub._agents.echo", "text": None, "listener-1": None}
    (dead,) = [event for event in caused if isinstance(event, MessageDead)]
    assert (dead.recipient, dead.reason) == ("text", "unhandled")
    (published,) = [event for event in recorder.events if isinstance(event, Published)]
    assert (published.delivered, published.lost, published.cause) == (2, 1, first.message_id)


async def handles_text(text: str) -> None: ...


async def test_a_publication_that_reaches_nobody_is_counted_and_told() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder, grace=0) as hub:
            hub.register("text", handles_text, topics="b")
            unheard = await hub.publish("a", Ping())
            assert unheard == Delivery()
            assert unheard.reached_nobody
            assert unheard.complete
            unhandled = await hub.publish("b", Ping())
            assert unhandled.lost == ("text",)
            assert unhandled.reached_nobody
            assert not unhandled.complete
            assert (await hub.broadcast(Ping())).reached_nobody
            assert not (await hub.publish("b", "text")).reached_nobody
            assert (hub.metrics().unheard, hub.metrics().lost) == (3, 1)
    told = [event.delivered for event in recorder.events if isinstance(event, Published)]
    assert told == [0, 0, 0, 1]


async def test_what_a_cascade_loses_is_seen() -> None:
    lost: list[str] = []

    async def spread(ping: Ping, context: Context) -> None:
        if ping.number:
            for _ in range(10):
                delivery = await context.publish("pings", Ping(ping.number - 1))
                lost.extend(delivery.lost)

    with fail_after(20):
        async with Hub(grace=None) as hub:
            for number in range(3):
                hub.register(f"spread-{number}", spread, topics="pings", mailbox=10)
            delivery = await hub.publish("pings", Ping(3))
            assert delivery.complete
            await idle(hub)
            metrics = hub.metrics()
    assert metrics.lost == len(lost) > 0
    assert metrics.lost == metrics.dead == sum(agent.dead for agent in metrics.agents.values())


async def test_a_message_that_is_never_answered_shows_since_when_it_runs() -> None:
    entered = Gate().entered

    async def hang(ping: Ping) -> None:
        entered.set()
        await sleep_forever()

    recorder = Recorder()
    with fail_after(5), CancelScope() as scope:
        async with Hub(observer=recorder, grace=0) as hub:
            hub.register("hang", hang)
            await hub.send("hang", Ping())
            await entered.wait()
            first = hub.metrics().agents["hang"].running_since
            await checkpoint()
            assert first is not None
            assert hub.metrics().agents["hang"].running_since == first
            assert hub.metrics().agents["hang"].running == 1
        assert not scope.cancel_called
    assert [event for event in recorder.events if isinstance(event, MessageHandled)] == []
    assert hub.metrics().agents["hang"].cancelled == 1
