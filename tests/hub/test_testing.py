import pytest
from anyio import create_task_group, fail_after
from tests.hub._agents import Gate, Ping, Pong, echo, until

from stagepost.hub import HandlerFailed, Hub, MessageFailed, MessageHandled, RequestTimeout, Restart, handles
from stagepost.hub._wake import current_backend
from stagepost.hub.testing import Probe, Recorder, VirtualClock, idle


async def test_a_probe_remembers_messages_and_answers_from_its_script() -> None:
    async def slow(ping: Ping) -> Pong:
        return Pong(ping.number)

    probe = Probe(replies=["first", ValueError("no"), slow, len])
    with fail_after(5):
        async with Hub() as hub:
            hub.register(probe)
            hub.register(Probe("mute"))
            assert await hub.request("probe", Ping()) == "first"
            with pytest.raises(HandlerFailed):
                await hub.request("probe", Ping())
            assert await hub.request("probe", Ping(3)) == Pong(3)
            assert await hub.request("probe", "four") == 4
            assert await hub.request("probe", "seven!!") == 7
            assert await hub.request("mute", 1) is None
    assert probe.payloads[-2:] == ["four", "seven!!"]


async def test_a_probe_hands_out_messages_as_they_come() -> None:
    probe = Probe()
    seen: list[int] = []

    async def read() -> None:
        for _ in range(3):
            seen.append((await probe.next()).data.number)  # noqa: PERF401 - they come one by one

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(probe, topics=["a"])
            await hub.publish("a", Ping(0))
            tasks.start_soon(read)
            await hub.publish("a", Ping(1))
            await idle(hub)
            await hub.publish("a", Ping(2))
    assert seen == [0, 1, 2]


async def test_a_recorder_waits_for_events() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub, create_task_group() as tasks:
            hub.register("echo", echo)
            tasks.start_soon(hub.send, "echo", Ping())
            event = await recorder.until(MessageHandled, lambda event: event.recipient == "echo")
            assert await recorder.until(MessageHandled) is event
    assert recorder.of(MessageFailed) == []
    assert recorder.names[0] == "HubOpened"


async def test_time_passes_when_a_test_says_so() -> None:
    clock, gate = VirtualClock(), Gate()
    outcome: list[str] = []

    async def ask(hub: Hub, timeout: float) -> None:
        try:
            await hub.request("gate", Ping(), timeout=timeout)
        except RequestTimeout:
            outcome.append(f"{timeout} at {clock.now():.1f}")

    with fail_after(5):
        async with Hub(clock=clock, grace=0) as hub, create_task_group() as tasks:
            hub.register(gate, concurrency=None)
            for timeout in (3600, 60, 30):
                tasks.start_soon(ask, hub, timeout)
            await until(lambda: hub.metrics().delivered == 3)
            await clock.advance(29.9)
            assert outcome == []
            await clock.advance(0.1)  # to the very moment
            assert outcome == ["30 at 30.0"]
            await clock.advance(4000)
    assert [text.split()[0] for text in outcome] == ["30", "60", "3600"]


async def test_a_restart_waits_on_the_virtual_clock() -> None:
    class Worker:
        @handles
        async def work(self, ping: Ping) -> None:
            if ping.number:
                raise ZeroDivisionError

    clock = VirtualClock()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register("worker", Worker, supervision=Restart(backoff=100))
            await hub.send("worker", Ping(1))
            await hub.send("worker", Ping(0))
            await clock.advance(99)
            assert hub.metrics().handled == 0
            await clock.advance(2)
            assert hub.metrics().handled == 1


async def test_readers_that_wait_go_on_only_for_what_they_wait_for() -> None:
    probe, recorder = Probe(), Recorder()
    seen: list[str] = []

    async def wait_for_failure() -> None:
        await recorder.until(MessageFailed, lambda event: event.recipient == "fail")
        seen.append("failed")

    with fail_after(5):
        async with Hub(observer=recorder) as hub, create_task_group() as tasks:
            hub.register("fail", Probe("x", replies=[ValueError()]))
            hub.register("other", Probe("y", replies=[ValueError()]))
            hub.register(probe)
            tasks.start_soon(wait_for_failure)
            tasks.start_soon(probe.next)
            await hub.send("other", 1)
            await idle(hub)
            assert seen == []
            await hub.send("probe", 1)
            await hub.send("fail", 1)
    assert seen == ["failed"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_moment_that_has_passed_is_not_waited_for(anyio_backend: str) -> None:
    clock, backend = VirtualClock(), current_backend()
    with fail_after(5):
        await clock.wait_until(backend.new_waiter(), 0.0)
        waiter = backend.new_waiter()
        async with create_task_group() as tasks:
            tasks.start_soon(clock.wait_until, waiter, 5.0)
            await until(lambda: bool(clock._alarms))
            waiter.set_result(None)
            await clock.advance(6)
    assert clock.now() == 6


async def test_an_alarm_whose_wait_is_over_is_passed_by() -> None:
    clock, waiter = VirtualClock(), current_backend().new_waiter()
    waiter.set_result(None)
    clock._alarms[waiter] = 1.0
    with fail_after(5):
        await clock.advance(2)
    assert clock.now() == 2
