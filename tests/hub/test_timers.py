"""Messages that are sent later: at their time, to whoever has room, and not after the end of anybody concerned."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from anyio import create_task_group, fail_after
from tests.hub._agents import Gate, Ping, Recorder, echo, until

from stagepost.hub import (
    AgentNotFound,
    AgentStopped,
    Context,
    DeadReason,
    Hub,
    HubNotStarted,
    HubStopped,
    InvalidArgument,
    Message,
    MessageDead,
    NoHandler,
    Outgoing,
    Priority,
    SendOn,
    Timer,
    WrongThread,
)
from stagepost.hub.testing import Probe, VirtualClock, idle


def numbers(probe: Probe) -> list[int]:
    return [ping.number for ping in probe.payloads]


async def test_a_message_is_sent_once_after_its_delay() -> None:
    clock, probe = VirtualClock(), Probe("probe")
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(probe)
            options: dict[str, Any] = {"trace": "t", "sender": "me", "cause": "c"}
            timer = await hub.send_later(
                "probe", Ping(1), after=10, headers={"a": "b"}, priority=Priority.HIGH, **options
            )
            assert (timer.recipient, timer.owner, timer.payload, timer.every) == ("probe", None, "Ping", None)
            await clock.advance(9.9)
            assert (probe.payloads, timer.is_active, timer.fired) == ([], True, 0)
            await clock.advance(0.2)
            assert (numbers(probe), timer.is_active, timer.fired, timer.next_at) == ([1], False, 1, None)
            await clock.advance(100)
            assert numbers(probe) == [1]
    (message,) = probe.messages
    assert (message.headers, message.priority, message.trace) == ({"a": "b"}, Priority.HIGH, "t")
    assert (message.sender, message.cause, message.reply_to) == ("me", "c", None)


async def test_a_message_is_sent_at_a_moment_or_at_once_if_that_has_passed() -> None:
    clock, probe = VirtualClock(), Probe("probe")
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(probe)
            timer = await hub.send_later("probe", Ping(1), at=datetime.now(UTC) + timedelta(hours=1))
            assert timer.next_at == pytest.approx(datetime.now(UTC).timestamp() + 3600, abs=5)
            await hub.send_later("probe", Ping(2), at=datetime.now(UTC) - timedelta(days=1))
            await clock.advance(0.1)
            assert numbers(probe) == [2]
            await clock.advance(3605)
            assert numbers(probe) == [2, 1]


async def test_regular_messages_keep_their_grid_however_late_the_loop_is() -> None:
    clock, probe = VirtualClock(), Probe("probe")
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(probe)
            timer = await hub.every(10, "probe", Ping(1))
            assert timer.every == 10
            await clock.advance(30.5)
            assert (timer.fired, timer.skipped) == (3, 0)
            clock._now += 34.5  # the loop is blocked for as long
            await clock.advance(0.5)
            assert (timer.fired, timer.skipped) == (4, 2)
            await clock.advance(4)
            assert timer.fired == 4
            await clock.advance(1)
            assert timer.fired == 5
            assert timer.cancel()
            assert not timer.cancel()
            await clock.advance(100)
            assert len(probe.payloads) == timer.fired == 5


async def test_messages_do_not_pile_up_at_a_slow_agent() -> None:
    clock, gate = VirtualClock(), Gate()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(gate)
            timer = await hub.every(1, "gate", Ping(), first=0)
            await clock.advance(10.5)
            assert (timer.fired, timer.skipped) == (1, 10)
            assert hub.metrics().accepted == 1
            gate.opened.set()
            await clock.advance(1)
            assert timer.fired == 2


async def test_jitter_moves_each_message_within_its_interval_only() -> None:
    clock, probe = VirtualClock(), Probe("probe")
    with fail_after(10):
        async with Hub(clock=clock) as hub:
            hub.register(probe)
            timer = await hub.every(1, "probe", Ping(), jitter=1, first=0)
            times: list[float] = []
            for turn in range(8):
                assert timer.next_at is not None
                times.append(timer._due - turn)
                await clock.advance(timer._due - clock.now())
            assert timer.skipped == 0
    assert all(0 <= time <= 1 for time in times)
    assert len(set(times)) > 4


async def test_a_full_agent_gets_it_when_there_is_room() -> None:
    clock, gate = VirtualClock(), Gate()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(gate, mailbox=1)
            for number in range(2):
                await hub.send("gate", Ping(number))
                await gate.entered.wait()
            await hub.send_later("gate", Ping(2), after=1, ttl=1000)
            await clock.advance(2)
            assert hub.metrics().blocked == 1
            gate.opened.set()
            await idle(hub)
    assert gate.seen == [0, 1, 2]
    assert hub.metrics().accepted == hub.metrics().handled == 3


@pytest.mark.parametrize("overflow", ["wait", "reject"])
async def test_without_room_it_is_dead(overflow: Any) -> None:
    clock, gate, recorder = VirtualClock(), Gate(), Recorder()
    with fail_after(5):
        async with Hub(clock=clock, observer=recorder, grace=0) as hub:
            hub.register(gate, mailbox=1, overflow=overflow)
            for number in range(2):
                await hub.send("gate", Ping(number))
                await gate.entered.wait()
            await hub.send_later("gate", Ping(2), after=1)
            await clock.advance(40)
            assert [letter.reason for letter in hub.dead_letters] == [DeadReason.MAILBOX_FULL]
            metrics = hub.metrics()
            assert (metrics.accepted, metrics.delivered, metrics.refused, metrics.blocked) == (3, 2, 0, 0)
    assert recorder.names.count(MessageDead.__name__) == 2  # and the queued one when the hub ended


async def test_a_full_agent_that_drops_the_oldest_does_so_for_it() -> None:
    clock, gate = VirtualClock(), Gate()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(gate, mailbox=1, overflow="drop_oldest")
            for number in range(2):
                await hub.send("gate", Ping(number))
                await gate.entered.wait()
            await hub.send_later("gate", Ping(2), after=1)
            await clock.advance(2)
            gate.opened.set()
            await idle(hub)
    assert gate.seen == [0, 2]


@pytest.mark.parametrize("end", ["unregister", "drain"])
async def test_one_that_waits_for_room_is_dead_when_its_agent_or_hub_ends(end: str) -> None:
    clock, gate = VirtualClock(), Gate()
    with fail_after(5):
        async with Hub(clock=clock, grace=0) as hub:
            hub.register(gate, mailbox=1)
            for number in range(2):
                await hub.send("gate", Ping(number))
                await gate.entered.wait()
            await hub.send_later("gate", Ping(2), after=1)
            await clock.advance(2)
            if end == "unregister":
                await hub.unregister("gate", drain=False)
            else:
                await hub.drain(0)
            reason = DeadReason.RECIPIENT_GONE if end == "unregister" else DeadReason.HUB_STOPPED
            assert [letter.reason for letter in hub.dead_letters] == [reason, reason]
            metrics = hub.metrics()
            assert metrics.accepted == metrics.handled + metrics.cancelled + metrics.failed + metrics.dead == 3


async def test_a_message_that_lies_too_long_expires() -> None:
    clock, gate = VirtualClock(), Gate()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(gate)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send_later("gate", Ping(1), after=1, ttl=5)
            await clock.advance(10)
            assert [letter.reason for letter in hub.dead_letters] == [DeadReason.EXPIRED]
            gate.opened.set()


async def test_a_timer_ends_with_its_recipient() -> None:
    clock, recorder = VirtualClock(), Recorder()
    with fail_after(5):
        async with Hub(clock=clock, observer=recorder) as hub:
            hub.register("echo", echo)
            timers = [await hub.send_later("echo", Ping(), after=1), await hub.every(1, "echo", Ping())]
            await hub.unregister("echo")
            assert [timer.is_active for timer in timers] == [False, False]
            hub.register("echo", echo)
            await clock.advance(5)
            assert hub.metrics().sent == 0


async def test_a_timer_ends_with_the_agent_that_planned_it() -> None:
    clock, probe, timers = VirtualClock(), Probe("probe"), list[Timer]()

    async def plan(message: Message[Ping], context: Context) -> str:
        timers.append(await context.every(1, "probe", message.data, headers={"a": "b"}))
        timers.append(await context.send_later("probe", message.data, after=100))
        timers.append(await context.send_later("planner", message.data, after=100))
        return message.id

    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(probe)
            hub.register("planner", plan)
            cause = await hub.request("planner", Ping(), trace="t")
            await clock.advance(2.5)
            assert [timer.owner for timer in timers] == ["planner"] * 3
            await hub.unregister("planner")
            assert [timer.is_active for timer in timers] == [False] * 3
            await clock.advance(200)
    seen = [(message.sender, message.cause, message.trace) for message in probe.messages]
    assert seen == [("planner", cause, "t")] * 2


async def test_an_agent_that_leaves_or_has_left_plans_nothing() -> None:
    errors: list[BaseException] = []

    async def leave(ping: Ping, context: Context) -> None:
        await context.hub.unregister("leaver")
        for call in (context.send_later("echo", ping, after=1), context.every(1, "echo", ping)):
            try:
                await call
            except AgentStopped as error:
                errors.append(error)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            hub.register("leaver", leave)
            await hub.request("leaver", Ping())
    assert len(errors) == 2


async def test_timers_end_with_the_hub_and_are_not_waited_for() -> None:
    probe = Probe("probe")
    with fail_after(5):
        async with Hub() as hub:
            hub.register(probe)
            timers = [await hub.send_later("probe", Ping(), after=60), await hub.every(60, "probe", Ping())]
        assert [timer.is_active for timer in timers] == [False, False]
        assert hub.metrics().sent == 0
        with pytest.raises(HubStopped):
            await hub.send_later("probe", Ping(), after=1)


async def test_a_hub_that_drains_sends_and_plans_nothing_more() -> None:
    clock, gate, probe = VirtualClock(), Gate(), Probe("probe")
    with fail_after(5):
        async with Hub(clock=clock) as hub, create_task_group() as tasks:
            hub.register(gate)
            hub.register(probe)
            every = await hub.every(1, "probe", Ping())
            await hub.send("gate", Ping())
            await gate.entered.wait()
            tasks.start_soon(hub.drain, 60)
            await clock.advance(5)
            assert (every.fired, every.is_active) == (0, False)
            with pytest.raises(HubStopped):
                await hub.every(1, "probe", Ping())
            gate.opened.set()


async def test_describe_lists_what_is_planned() -> None:
    async def plan(ping: Ping, context: Context) -> None:
        await context.every(10, "probe", ping)

    clock = VirtualClock()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register(Probe("probe"))
            hub.register("planner", plan)
            await hub.request("planner", Ping())
            await hub.send_later("probe", "text", after=5)
            probe, planner = hub.describe().agents
            assert [(timer.payload, timer.every, timer.owner) for timer in probe.timers] == [
                ("str", None, None),
                ("Ping", 10, "planner"),
            ]
            assert planner.timers == ()
            await clock.advance(12)
            (timer,) = hub.describe().agents[0].timers
            assert (timer.fired, timer.skipped) == (1, 0)


async def test_what_is_planned_passes_the_layers_around_sending() -> None:
    class Stamp:
        async def __call__(self, _: Context, proceed: Callable[[], Awaitable[object]]) -> object:
            return await proceed()

        async def sending(self, outgoing: Outgoing, send_on: SendOn, /) -> Any:
            return await send_on({**outgoing.headers, "by": f"{outgoing.recipient} {outgoing.sender}"})

    async def plan(ping: Ping, context: Context) -> None:
        await context.send_later("probe", ping, after=1)
        await context.every(1, "probe", ping)

    clock, probe = VirtualClock(), Probe("probe")
    with fail_after(5):
        async with Hub(clock=clock, middleware=[Stamp()]) as hub:
            hub.register(probe)
            hub.register("planner", plan)
            await hub.request("planner", Ping())
            await hub.send_later("probe", Ping(), after=1)
            await hub.every(1, "probe", Ping(), sender="me")
            await clock.advance(1.5)
    assert [message.headers["by"] for message in probe.messages] == [
        "probe planner",
        "probe planner",
        "probe None",
        "probe me",
    ]


CALLS: list[tuple[dict[str, Any], type[Exception]]] = [
    ({}, InvalidArgument),
    ({"after": 1, "at": datetime.now(UTC)}, InvalidArgument),
    ({"after": None, "at": datetime(2030, 1, 1)}, InvalidArgument),  # noqa: DTZ001 - that is the point
    ({"at": 5.0}, InvalidArgument),
    ({"after": -1}, InvalidArgument),
    ({"after": float("inf")}, InvalidArgument),
    ({"after": 1, "ttl": "x"}, InvalidArgument),
    ({"after": 1, "headers": {"a": 1}}, InvalidArgument),
]


@pytest.mark.parametrize(("options", "error"), CALLS)
async def test_what_cannot_be_planned_is_refused_at_once(options: dict[str, Any], error: type[Exception]) -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            with pytest.raises(error):
                await hub.send_later("echo", Ping(), **options)
            assert hub.describe().agents[0].timers == ()


async def test_wrong_intervals_recipients_and_payloads_are_refused() -> None:
    with fail_after(5):
        hub = Hub()
        with pytest.raises(HubNotStarted):
            await hub.every(1, "echo", Ping())
        async with hub:
            hub.register("echo", echo)
            for interval in (0, -1, float("inf"), "x"):
                with pytest.raises(InvalidArgument):
                    await hub.every(interval, "echo", Ping())  # type: ignore[arg-type]  # that is the point
            with pytest.raises(InvalidArgument, match="at most the interval"):
                await hub.every(1, "echo", Ping(), jitter=2)
            with pytest.raises(AgentNotFound):
                await hub.send_later("nobody", Ping(), after=1)
            with pytest.raises(NoHandler):
                await hub.send_later("echo", "text", after=1)


async def test_another_thread_plans_and_cancels_nothing() -> None:
    from anyio import run, to_thread

    async def plan(hub: Hub) -> None:
        with pytest.raises(WrongThread, match="every"):
            await hub.every(1, "echo", Ping())

    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            timer = await hub.send_later("echo", Ping(), after=60)
            await to_thread.run_sync(lambda: run(plan, hub))
            with pytest.raises(WrongThread, match="cancel"):
                await to_thread.run_sync(timer.cancel)
            assert timer.is_active


async def test_what_has_ended_keeps_no_payload() -> None:
    clock = VirtualClock()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register("echo", echo)
            cancelled = await hub.send_later("echo", Ping(), after=1)
            cancelled.cancel()
            over = await hub.send_later("echo", Ping(), after=1)
            await clock.advance(2)
            await until(lambda: hub.metrics().handled == 1)
            assert cancelled._shot is over._shot is None
            assert hub._engine is not None
            assert (hub._engine.timers, hub._directory.agents["echo"].timers) == ({}, {})
