"""Agents that do not start, hooks that hang, and restarts beside slow handlers."""

import logging
import math
from collections.abc import Callable
from datetime import timedelta

import anyio
import pytest
from anyio import create_task_group, fail_after, sleep_forever
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, error_of, fail, until

from stagepost.hub import (
    AgentNotStarted,
    AgentStartFailed,
    AgentStopped,
    AgentTerminated,
    DeadReason,
    Hub,
    HubStopped,
    InvalidArgument,
    Restart,
    handles,
)
from stagepost.hub._supervision import Restarts
from stagepost.hub.testing import VirtualClock, idle


class Broken:
    """An agent that does not start."""

    def on_start(self) -> None:
        raise ConnectionError("no database")

    @handles
    async def work(self, ping: Ping) -> Pong:
        return Pong(ping.number)


async def test_why_an_agent_did_not_start_reaches_the_requester_the_log_and_an_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = Recorder()
    with fail_after(5), caplog.at_level(logging.INFO, "stagepost"):
        async with Hub("main", observer=recorder) as hub:
            hub.register("broken", Broken)
            with pytest.raises(AgentNotStarted, match="did not start: ConnectionError: no database") as caught:
                await hub.request("broken", Ping())
            assert isinstance(caught.value.cause, ConnectionError)
            assert caught.value.__cause__ is caught.value.cause
            assert isinstance(caught.value, AgentStopped)
    (record,) = [record for record in caplog.records if "did not start" in record.getMessage()]
    assert record.levelno == logging.ERROR
    assert "no database" in caplog.text
    (event,) = [event for event in recorder.events if isinstance(event, AgentStartFailed)]
    assert (event.hub, event.agent, event.error) == ("main", "broken", "ConnectionError")
    assert "AgentTerminated" in recorder.names


async def test_all_who_wait_for_an_agent_that_does_not_start_hear_why() -> None:
    errors: list[AgentNotStarted] = []
    with fail_after(5):
        async with Hub() as hub:
            async with create_task_group() as tasks:
                hub.register("broken", Broken, mailbox=1)
                tasks.start_soon(error_of, AgentNotStarted, lambda: hub.request("broken", Ping()), errors)
                tasks.start_soon(error_of, AgentNotStarted, lambda: hub.send("broken", Ping()), errors)
            assert len(errors) >= 1
            assert hub.agents == ()
            hub.register("broken", echo)
            assert await hub.request("broken", Ping(1)) == Pong(1)


async def test_an_agent_that_does_not_start_while_it_is_unregistered_says_why() -> None:
    gate = Gate()
    errors: list[AgentNotStarted] = []

    class Late(Broken):
        async def on_start(self) -> None:  # type: ignore[override]  # hooks may be async
            gate.entered.set()
            await gate.opened.wait()
            raise ConnectionError

    with fail_after(5):
        async with Hub(grace=None) as hub, create_task_group() as tasks:
            hub.register("late", Late)
            tasks.start_soon(error_of, AgentNotStarted, lambda: hub.request("late", Ping()), errors)
            await gate.entered.wait()
            tasks.start_soon(hub.unregister, "late")
            await until(lambda: hub.agents == ())
            gate.opened.set()
    assert len(errors) == 1


async def test_each_start_that_failed_is_told_and_those_who_wait_hear_the_last_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = Recorder()
    with fail_after(5), caplog.at_level(logging.ERROR, "stagepost"):
        async with Hub(observer=recorder) as hub:
            hub.register("broken", Broken, supervision=Restart(max=2, backoff=0))
            with pytest.raises(AgentNotStarted):
                await hub.request("broken", Ping())
    assert recorder.names.count("AgentStartFailed") == 3
    assert sum(isinstance(event, AgentTerminated) for event in recorder.events) == 1
    assert caplog.text.count("agent did not start") == 3


class Hanging:
    """An agent whose hooks hang until they are cancelled."""

    entered: anyio.Event
    cancelled: anyio.Event
    hang_in: str

    async def on_start(self) -> None:
        await self._hook("on_start")

    async def on_stop(self) -> None:
        await self._hook("on_stop")

    async def _hook(self, name: str) -> None:
        if name != self.hang_in:
            return
        self.entered.set()
        try:
            await sleep_forever()
        finally:
            self.cancelled.set()

    @handles
    async def work(self, ping: Ping) -> Pong:
        if ping.number < 0:
            type(self).hang_in = "on_start"
            raise ZeroDivisionError
        return Pong(ping.number)


def hanging(hook: str) -> type[Hanging]:
    return type("Hanging", (Hanging,), {"entered": anyio.Event(), "cancelled": anyio.Event(), "hang_in": hook})


@pytest.mark.parametrize("drain", [True, False], ids=["drain", "at once"])
async def test_unregistering_ends_a_start_that_hangs(*, drain: bool) -> None:
    agent = hanging("on_start")
    errors: list[AgentStopped] = []
    with fail_after(5):
        async with Hub(grace=0.05) as hub, create_task_group() as tasks:
            hub.register("hanging", agent)
            tasks.start_soon(error_of, AgentStopped, lambda: hub.request("hanging", Ping()), errors)
            await agent.entered.wait()
            await hub.unregister("hanging", drain=drain)
            assert agent.cancelled.is_set()
            hub.register("hanging", echo)
            assert await hub.request("hanging", Ping(1)) == Pong(1)
    assert len(errors) == 1
    assert [letter.reason for letter in hub.dead_letters] == [DeadReason.RECIPIENT_GONE]


async def test_leaving_the_hub_ends_a_start_that_hangs() -> None:
    agent = hanging("on_start")
    errors: list[HubStopped] = []
    with fail_after(5):
        async with create_task_group() as tasks, Hub(grace=0.05) as hub:
            hub.register("hanging", agent)
            tasks.start_soon(error_of, HubStopped, lambda: hub.request("hanging", Ping()), errors)
            await agent.entered.wait()
    assert agent.cancelled.is_set()
    assert len(errors) == 1


async def test_unregistering_ends_a_restart_that_hangs() -> None:
    agent = hanging("nothing")
    errors: list[AgentStopped] = []
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("hanging", agent, supervision=Restart(backoff=0))
            await hub.send("hanging", Ping(-1))
            await agent.entered.wait()
            tasks.start_soon(error_of, AgentStopped, lambda: hub.request("hanging", Ping()), errors)
            await until(lambda: hub.metrics().depth == 1)
            await hub.unregister("hanging", drain=False)
            hub.register("hanging", echo)
    assert len(errors) == 1


async def test_a_stop_that_hangs_is_cancelled_after_a_while_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("stagepost.hub._lifecycle._LAST_WORDS", 0.05)
    agent = hanging("on_stop")
    with fail_after(5), caplog.at_level(logging.ERROR, "stagepost"):
        async with Hub() as hub:
            hub.register("hanging", agent)
            await hub.request("hanging", Ping())
            await hub.unregister("hanging")
            assert agent.cancelled.is_set()
            hub.register("hanging", echo)
    assert "on_stop took too long" in caplog.text


async def test_the_stop_comes_after_the_last_handler_also_when_the_hub_is_left_by_an_error() -> None:
    log: list[str] = []

    class Orderly:
        def on_stop(self) -> None:
            log.append("stopped")

        @handles
        async def work(self, _: Ping) -> None:
            try:
                await sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await checkpoint()
                    await checkpoint()
                log.append("handled")

    async def own() -> None:
        async with Hub() as hub:
            hub.register("orderly", Orderly)
            hub.register("fail", fail, supervision="escalate")
            await hub.send("orderly", Ping())
            await until(lambda: hub.metrics().depth == 0)
            await hub.send("fail", Ping())
            await sleep_forever()

    with fail_after(5), pytest.raises(ZeroDivisionError):
        await own()
    assert log == ["handled", "stopped"]


class Twofold:
    """An agent with a handler that fails, and one that takes as long as a gate says."""

    made = 0
    log: list[str]
    gates: list[Gate]

    def __init__(self) -> None:
        type(self).made += 1
        self.number = type(self).made

    def on_stop(self) -> None:
        self.log.append(f"stop {self.number}")

    @handles
    async def work(self, ping: Ping) -> Pong:
        if ping.number < 0:
            raise ZeroDivisionError
        return Pong(self.number)

    @handles
    async def wait(self, gate: Gate) -> int:
        await gate.pass_through(Ping())
        if gate.id == "fails":
            raise ZeroDivisionError
        return self.number


def twofold() -> type[Twofold]:
    return type("Twofold", (Twofold,), {"made": 0, "log": []})


async def test_a_restart_waits_for_a_slow_handler_only_a_moment() -> None:
    agent, gate, clock, replies = twofold(), Gate(), VirtualClock(), []

    async def ask_slow(hub: Hub) -> None:
        replies.append(await hub.request("twofold", gate, timeout=None))

    async def ask(hub: Hub) -> None:
        replies.append(await hub.request("twofold", Ping(1), timeout=None))

    with fail_after(5):
        async with create_task_group() as tasks, Hub(clock=clock) as hub:
            hub.register("twofold", agent, concurrency=2, supervision=Restart(backoff=0))
            tasks.start_soon(ask_slow, hub)
            await gate.entered.wait()
            await hub.send("twofold", Ping(-1))
            tasks.start_soon(ask, hub)
            await clock.advance(0.9)
            assert replies == []
            await clock.advance(0.2)
            assert replies == [Pong(2)]
            assert agent.log == []
            gate.opened.set()
            await until(lambda: replies == [Pong(2), 1])
            await until(lambda: agent.log == ["stop 1"])
    assert agent.log == ["stop 1", "stop 2"]


async def test_a_failure_of_an_instance_that_was_replaced_does_not_restart_the_new_one() -> None:
    agent, gate, clock = twofold(), Gate("fails"), VirtualClock()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register("twofold", agent, concurrency=2, supervision=Restart(backoff=0))
            await hub.send("twofold", gate)
            await gate.entered.wait()
            await hub.send("twofold", Ping(-1))
            await until(lambda: hub.metrics().failed == 1)
            await clock.advance(2)
            gate.opened.set()
            await until(lambda: hub.metrics().failed == 2)
            assert await hub.request("twofold", Ping(1)) == Pong(2)
    assert agent.made == 2
    assert agent.log == ["stop 1", "stop 2"]


async def test_leaving_while_an_old_instance_still_works_stops_both() -> None:
    agent, gate, clock = twofold(), Gate(), VirtualClock()
    with fail_after(5):
        async with Hub(clock=clock, grace=0.05) as hub:
            hub.register("twofold", agent, concurrency=2, supervision=Restart(backoff=0))
            await hub.send("twofold", gate)
            await gate.entered.wait()
            await hub.send("twofold", Ping(-1))
            await until(lambda: hub.metrics().failed == 1)
            await clock.advance(2)
            assert await hub.request("twofold", Ping(1)) == Pong(2)
    assert gate.cancelled.is_set()
    assert sorted(agent.log) == ["stop 1", "stop 2"]


async def test_a_restart_without_limit_goes_on() -> None:
    agent = twofold()
    with fail_after(10):
        async with Hub() as hub:
            hub.register("twofold", agent, supervision=Restart(max=None, backoff=0))
            for _ in range(50):
                await hub.send("twofold", Ping(-1))
            assert await hub.request("twofold", Ping(1)) == Pong(51)
            await idle(hub)


@pytest.mark.parametrize(
    ("plan", "pauses"),
    [
        (Restart(max=None, backoff=1), [1, 2, 4, 8, 16, 32, 60, 60]),
        (Restart(max=None, backoff=1, max_backoff=3), [1, 2, 3, 3]),
        (Restart(max=None, backoff=5, max_backoff=3), [5, 5]),
        (Restart(max=None, backoff=timedelta(seconds=1), max_backoff=timedelta(seconds=2)), [1, 2, 2]),
        (Restart(max=None, backoff=0), [0, 0, 0]),
        (Restart(max=2, within=None, backoff=1), [1, 2, None, None]),
    ],
    ids=["default", "ceiling", "longer at first", "timedelta", "none", "the whole life"],
)
def test_pauses_double_up_to_a_ceiling(plan: Restart, pauses: list[float | None]) -> None:
    restarts = Restarts(plan)
    assert [restarts.next(0.0) for _ in pauses] == pauses


@pytest.mark.parametrize("plan", [Restart(max=None, backoff=0.1, max_backoff=None), Restart(max=5_000, backoff=0)])
def test_pauses_never_overflow(plan: Restart) -> None:
    restarts = Restarts(plan)
    pauses = [restarts.next(0.0) for _ in range(5_000)]
    assert all(pause is not None and pause < math.inf for pause in pauses)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Restart(max=0),
        lambda: Restart(max=-1),
        lambda: Restart(max=1.5),  # type: ignore[arg-type]  # that is the point
        lambda: Restart(max="3"),  # type: ignore[arg-type]  # that is the point
        lambda: Restart(max=True),
        lambda: Restart(within=-1),
        lambda: Restart(within=math.nan),
        lambda: Restart(backoff=None),  # type: ignore[arg-type]  # that is the point
        lambda: Restart(backoff=math.inf),
        lambda: Restart(backoff="1"),  # type: ignore[arg-type]  # that is the point
        lambda: Restart(max_backoff=-1),
        lambda: Restart(max_backoff=math.nan),
    ],
)
def test_a_plan_that_means_nothing_is_refused(build: Callable[[], Restart]) -> None:
    with pytest.raises(InvalidArgument, match="use "):
        build()


class Announces:
    """Publishes as soon as it starts."""

    @handles
    async def take(self, ping: Ping) -> None: ...

    async def on_start(self, hub: Hub) -> None:
        await hub.publish("born", Ping(1))


async def test_a_hook_may_publish() -> None:
    with fail_after(5):
        async with Hub() as hub, hub.listen("born") as stream:
            hub.register("announces", Announces)
            await hub.send("announces", Ping(0))
            assert (await anext(stream)).data == Ping(1)
