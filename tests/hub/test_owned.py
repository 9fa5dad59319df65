"""Tasks that belong to an agent: they end with it, and harm nobody else."""

import logging
from typing import Any

import pytest
from anyio import CancelScope, create_task_group, fail_after, get_running_tasks, sleep, sleep_forever
from anyio import Event as Flag
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, until

from stagepost.hub import (
    AgentNotFound,
    AgentStopped,
    Context,
    HandlerFailed,
    Hub,
    HubNotStarted,
    HubStopped,
    InvalidArgument,
    OwnedTask,
    Restart,
    TaskCrashed,
    WrongThread,
    handles,
)
from stagepost.hub.testing import Probe, idle


class Work:
    """What a task does: it waits, and notes how it ends."""

    def __init__(self) -> None:
        self.began = Flag()
        self.ended = Flag()

    async def run(self) -> None:
        self.began.set()
        try:
            await sleep_forever()
        finally:
            self.ended.set()


def tasks_of(hub: Hub, agent: str) -> tuple[str, ...]:
    (found,) = [described for described in hub.describe().agents if described.id == agent]
    return found.tasks


async def test_a_task_goes_on_after_its_handler_and_ends_with_its_agent() -> None:
    work, spawned = Work(), list[OwnedTask]()

    async def begin(ping: Ping, context: Context) -> None:
        spawned.append(context.spawn(work.run, name="poll"))

    with fail_after(5):
        async with Hub() as hub:
            hub.register("poller", begin)
            await hub.request("poller", Ping())
            await work.began.wait()
            (task,) = spawned
            assert (task.agent, task.name, task.is_running) == ("poller", "poll", True)
            assert tasks_of(hub, "poller") == ("poll",)
            await hub.unregister("poller")
            assert work.ended.is_set()
            assert not task.is_running
            assert not task.cancel()


async def test_tasks_are_needed_until_the_last_message_was_handled() -> None:
    gate, work = Gate(), Work()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate)
            hub.spawn("gate", work.run)
            await hub.send("gate", Ping(0))
            await hub.send("gate", Ping(1))
            await gate.entered.wait()
            tasks.start_soon(hub.unregister, "gate")
            await until(lambda: "gate" not in hub.agents)
            with pytest.raises(AgentStopped):
                hub.spawn("gate", work.run)
            assert not work.ended.is_set()
            gate.opened.set()
            await work.ended.wait()
    assert gate.seen == [0, 1]


@pytest.mark.parametrize("end", ["leave", "drain", "error"])
async def test_tasks_end_with_the_hub(end: str) -> None:
    work = Work()

    async def run() -> None:
        async with Hub() as hub:
            hub.register("echo", echo)
            hub.spawn("echo", work.run)
            await work.began.wait()
            if end == "drain":
                report = await hub.drain()
                assert (report.clean, report.stuck) == (True, ())
                assert work.ended.is_set()
            if end == "error":
                raise ZeroDivisionError

    with fail_after(5):
        before = len(get_running_tasks())
        with CancelScope():
            try:
                await run()
            except ZeroDivisionError:
                assert end == "error"
        assert work.ended.is_set()
        assert len(get_running_tasks()) == before


async def test_a_task_may_send_and_belongs_to_the_message_through_its_context() -> None:
    probe, causes = Probe("probe"), list[str]()

    async def begin(ping: Ping, context: Context) -> None:
        causes.append(context.message.id)

        async def later(number: int) -> None:
            await handled.wait()
            await context.send("probe", Ping(number))
            assert await context.request("echo", Ping(number)) == Pong(number)
            await context.hub.send("probe", Ping(number + 1))

        context.spawn(later, 7)

    handled = Flag()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(probe)
            hub.register("echo", echo)
            hub.register("begin", begin)
            await hub.request("begin", Ping(), trace="t")
            handled.set()
            await until(lambda: len(probe.messages) == 2)
            await until(lambda: tasks_of(hub, "begin") == ())
    first, second = probe.messages
    assert (first.sender, first.cause, first.trace, first.data) == ("begin", causes[0], "t", Ping(7))
    assert (second.sender, second.cause, second.data) == (None, None, Ping(8))


async def crash() -> None:
    raise ZeroDivisionError("crashed")


async def test_a_task_that_fails_is_logged_and_its_agent_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub("main", observer=recorder) as hub:
            hub.register("echo", echo)
            hub.spawn("echo", crash, name="job")
            await until(lambda: "TaskCrashed" in recorder.names)
            assert await hub.request("echo", Ping(1)) == Pong(1)
    (event,) = [event for event in recorder.events if isinstance(event, TaskCrashed)]
    assert (event.hub, event.agent, event.task, event.error) == ("main", "echo", "job", "ZeroDivisionError")
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "task failed hub=main agent=echo task=job" in record.getMessage()


async def test_a_task_that_fails_stops_an_agent_that_is_to_stop() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo, supervision="stop")
            hub.spawn("echo", crash)
            await until(lambda: hub.agents == ())


async def test_a_task_that_fails_ends_a_hub_that_is_to_end() -> None:
    async def run() -> None:
        async with Hub() as hub:
            hub.register("echo", echo, supervision="escalate")
            hub.spawn("echo", crash)
            await sleep_forever()

    with fail_after(5), pytest.raises(ZeroDivisionError):
        await run()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_a_task_makes_up_is_its_failure() -> None:
    import asyncio

    async def make_up() -> None:
        raise asyncio.CancelledError

    async def run() -> None:
        async with Hub() as hub:
            hub.register("echo", echo, supervision="escalate")
            hub.spawn("echo", make_up)
            await sleep_forever()

    with fail_after(5), pytest.raises(HandlerFailed, match="a task"):
        await run()


async def test_an_interrupt_in_a_task_ends_the_hub() -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt

    async def run() -> None:
        async with Hub() as hub:
            hub.register("echo", echo)
            hub.spawn("echo", interrupt)
            await sleep_forever()

    with fail_after(5), pytest.raises(KeyboardInterrupt):
        await run()


class Starting:
    """An agent whose instances each start a task."""

    id = "agent"
    works: "list[Work]"
    stopped: "list[bool]"

    async def on_start(self, hub: Hub) -> None:
        self.work = Work()
        self.works.append(self.work)
        hub.spawn(self.id, self.work.run)

    async def on_stop(self) -> None:
        self.stopped.append(self.work.ended.is_set())

    @handles
    async def fail(self, _: Ping) -> None:
        raise ZeroDivisionError

    @handles
    async def fail_in_a_task(self, _: str, context: Context) -> None:
        context.spawn(crash)


@pytest.mark.parametrize("payload", [Ping(), "text"])
async def test_a_restart_ends_the_tasks_of_the_old_instance(payload: Any) -> None:
    Starting.works, Starting.stopped = [], []
    with fail_after(5):
        async with Hub() as hub:
            hub.register(Starting, supervision=Restart(backoff=0))
            await hub.send("agent", payload)
            await until(lambda: len(Starting.works) == 2)
            assert Starting.works[0].ended.is_set()
            await Starting.works[1].began.wait()
            assert len(tasks_of(hub, "agent")) == 1
        assert Starting.stopped == [True, True]


async def test_tasks_of_an_instance_that_does_not_start_end() -> None:
    work = Work()

    class Bad(Starting):
        async def on_start(self, hub: Hub) -> None:
            hub.spawn(self.id, work.run)
            await work.began.wait()
            raise ZeroDivisionError

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Bad)
            await hub.send("agent", Ping())
            await work.ended.wait()
            await until(lambda: hub.agents == ())


async def test_a_task_may_be_cancelled() -> None:
    work, recorder = Work(), Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register("echo", echo, supervision="stop")
            task = hub.spawn("echo", work.run)
            await work.began.wait()
            assert task.cancel()
            await work.ended.wait()
            await until(lambda: not task.is_running)
            assert hub.agents == ("echo",)
    assert "TaskCrashed" not in recorder.names


async def test_what_a_task_raises_when_it_is_cancelled_is_only_logged() -> None:
    recorder = Recorder()

    async def be_bitter() -> None:
        try:
            await sleep_forever()
        finally:
            raise ZeroDivisionError

    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register("echo", echo, supervision="escalate")
            hub.spawn("echo", be_bitter)
            hub.register("other", echo)
            await hub.unregister("echo")
            assert await hub.request("other", Ping(1)) == Pong(1)
    assert recorder.names.count("TaskCrashed") == 1


@pytest.mark.parametrize("call", ["unregister", "drain"])
async def test_a_task_that_ends_its_agent_or_hub_is_not_waited_for(call: str) -> None:
    steps: list[str] = []
    other = Work()

    async def end(hub: Hub) -> None:
        await other.began.wait()
        await (hub.unregister("echo") if call == "unregister" else hub.drain())
        steps.append("goes on")

    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            hub.spawn("echo", other.run)
            task = hub.spawn("echo", end, hub)
            await until(lambda: not task.is_running)
            assert steps == ["goes on"]
            assert other.ended.is_set()
            assert hub.agents == () or call == "drain"


async def test_a_handler_that_unregisters_its_agent_ends_its_tasks() -> None:
    work = Work()

    async def leave(ping: Ping, context: Context) -> str:
        context.spawn(work.run)
        await work.began.wait()
        await context.hub.unregister("leaver")
        return "left"

    with fail_after(5):
        async with Hub(grace=60) as hub:
            hub.register("leaver", leave)
            assert await hub.request("leaver", Ping()) == "left"
            assert work.ended.is_set()


async def test_a_task_that_ignores_its_cancellation_is_stuck() -> None:
    released = Flag()

    async def resist() -> None:
        with CancelScope(shield=True):
            await released.wait()

    with fail_after(10):
        async with Hub() as hub:
            hub.register("echo", echo)
            hub.spawn("echo", resist)
            report = await hub.drain()
            assert report.stuck == ("echo",)
            released.set()


async def test_where_and_for_whom_a_task_may_be_started() -> None:
    async def work() -> None:
        return

    hub = Hub()
    with fail_after(5):
        with pytest.raises(HubNotStarted):
            hub.spawn("echo", work)
        async with hub:
            hub.register("echo", echo)
            with pytest.raises(AgentNotFound):
                hub.spawn("nobody", work)
            with pytest.raises(InvalidArgument, match="without calling it"):
                hub.spawn("echo", 5)  # type: ignore[arg-type]  # that is the point
            with pytest.raises(InvalidArgument, match="name"):
                hub.spawn("echo", work, name="")
            await idle(hub)
            from anyio import to_thread

            with pytest.raises(WrongThread, match="spawn"):
                await to_thread.run_sync(lambda: hub.spawn("echo", work))
        with pytest.raises(HubStopped):
            hub.spawn("echo", work)


async def test_a_context_whose_agent_has_left_starts_nothing() -> None:
    contexts: list[Context] = []

    async def keep(ping: Ping, context: Context) -> None:
        contexts.append(context)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", keep)
            await hub.request("echo", Ping())
            await hub.unregister("echo")
            hub.register("echo", echo)
            with pytest.raises(AgentStopped):
                contexts[0].spawn(sleep, 1)
