"""Who drains the hub or takes an agent off it waits for the right handlers, whoever it is."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from anyio import create_task_group, fail_after
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Relay, echo, error_of, until

from stagepost.hub import AgentStopped, Context, HandlerFailed, Hub, HubStopped, Priority, StopReport, handles
from stagepost.hub.testing import idle

Stop = Callable[[Hub], Awaitable[object]]


async def drain(hub: Hub) -> StopReport:
    return await hub.drain(timeout=None)


class Stopper:
    """An agent that stops something when it is told to, in its handler or in a task that this starts."""

    id = "stopper"

    def __init__(self, stop: Stop, tasks: TaskGroup | None = None) -> None:
        self.stop = stop
        self.tasks = tasks
        self.results: list[object] = []
        self.stopped = anyio.Event()

    @handles
    async def run(self, ping: Ping, context: Context) -> Pong:
        if self.tasks is not None:
            self.tasks.start_soon(self._stop, context.hub)
        else:
            async with create_task_group() as tasks:
                tasks.start_soon(self._stop, context.hub)
        return Pong(ping.number)

    @handles
    async def run_itself(self, word: str, context: Context) -> str:
        await self._stop(context.hub)
        return word

    async def _stop(self, hub: Hub) -> None:
        self.results.append(await self.stop(hub))
        self.stopped.set()


@pytest.mark.parametrize("payload", ["text", Ping()], ids=["in the handler", "in a task that it waits for"])
async def test_a_handler_that_drains_waits_for_the_others_and_not_for_itself(payload: object) -> None:
    stopper, gate = Stopper(drain), Gate()
    with fail_after(5):
        async with Hub(grace=None) as hub, create_task_group() as tasks:
            hub.register(stopper)
            hub.register(gate)
            tasks.start_soon(hub.request, "gate", Ping(1))
            await gate.entered.wait()
            await hub.send("stopper", payload)
            await until(lambda: hub._directory.phase.name == "DRAINING")
            for _ in range(5):
                await checkpoint()
            assert not stopper.stopped.is_set()
            gate.opened.set()
            await stopper.stopped.wait()
    (report,) = stopper.results
    assert isinstance(report, StopReport)
    assert report.clean
    assert not gate.cancelled.is_set()
    assert (hub.metrics().handled, hub.metrics().cancelled) == (2, 0)


async def test_a_task_that_outlives_the_handler_that_started_it_waits_for_all_handlers() -> None:
    gate = Gate("stopper-too")
    with fail_after(5):
        async with create_task_group() as tasks, Hub(grace=None) as hub:
            stopper = Stopper(drain, tasks)
            hub.register(stopper)
            hub.register(gate)
            await hub.send("stopper-too", Ping(1))
            await gate.entered.wait()
            await hub.send("stopper", Ping())
            await until(lambda: hub._directory.phase.name == "DRAINING")
            for _ in range(5):
                await checkpoint()
            assert not stopper.stopped.is_set()
            gate.opened.set()
            await stopper.stopped.wait()
    assert (hub.metrics().handled, hub.metrics().cancelled) == (2, 0)


async def test_a_task_of_an_earlier_message_waits_for_the_later_one_of_the_same_worker() -> None:
    gate, started = Gate(), anyio.Event()
    reports: list[StopReport] = []

    class Both:
        id = "both"

        @handles
        async def begin(self, _: str, context: Context) -> None:
            tasks.start_soon(self.drain_later, context.hub)

        @handles
        async def work(self, ping: Ping) -> Pong:
            return await gate.pass_through(ping)

        async def drain_later(self, hub: Hub) -> None:
            await started.wait()
            reports.append(await hub.drain(timeout=None))

    with fail_after(5):
        async with create_task_group() as tasks, Hub(grace=None) as hub:
            hub.register(Both())
            await hub.send("both", "begin")
            await hub.send("both", Ping())
            await gate.entered.wait()
            started.set()
            await until(lambda: hub._directory.phase.name == "DRAINING")
            for _ in range(5):
                await checkpoint()
            assert reports == []
            gate.opened.set()
            await until(lambda: len(reports) == 1)
    assert reports[0].clean
    assert not gate.cancelled.is_set()


async def test_handlers_that_drain_at_the_same_time_do_not_wait_for_each_other() -> None:
    stoppers = [Stopper(drain) for _ in range(3)]
    with fail_after(5):
        async with Hub(grace=None) as hub:
            for number, stopper in enumerate(stoppers):
                hub.register(f"stopper-{number}", stopper)
                await hub.send(f"stopper-{number}", Ping() if number else "text")
            for stopper in stoppers:
                await stopper.stopped.wait()
    assert hub.metrics().handled == 3
    assert all(report.clean for stopper in stoppers for report in stopper.results if isinstance(report, StopReport))


async def test_code_outside_waits_for_handlers_that_drain() -> None:
    later = anyio.Event()

    async def stop_and_go_on(hub: Hub) -> StopReport:
        report = await hub.drain(timeout=None)
        await later.wait()
        return report

    stopper = Stopper(stop_and_go_on)
    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register(stopper)
            await hub.send("stopper", "text")
            await until(lambda: hub._directory.phase.name == "CLOSED")
            later.set()
    assert hub.metrics().handled == 1


async def test_a_handler_that_drains_does_not_wait_for_who_waits_for_its_reply() -> None:
    stopper = Stopper(drain)
    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register(stopper)
            hub.register(Relay("inner", "stopper"))
            hub.register(Relay("outer", "inner"))
            assert await hub.request("outer", Ping(7)) == Pong(7)
    assert hub.metrics().handled == 3


async def test_handlers_that_drain_may_wait_for_each_others_replies() -> None:
    class Both(Stopper):
        @handles
        async def ask(self, number: int, context: Context) -> None:
            async with create_task_group() as tasks:
                tasks.start_soon(self._stop, context.hub)
                await context.request("stopper", Ping(number))

    both, stopper = Both(drain), Stopper(drain)
    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register("both", both)
            hub.register(stopper)
            await hub.send("both", 1)
            await both.stopped.wait()
            await stopper.stopped.wait()
    assert hub.metrics().handled == 2


async def test_what_is_queued_for_an_agent_that_drains_is_given_up_at_once_with_who_waits_for_it() -> None:
    go = anyio.Event()

    async def drain_later(hub: Hub) -> StopReport:
        await go.wait()
        return await hub.drain(timeout=None)

    stopper = Stopper(drain_later)
    errors: list[HandlerFailed] = []
    with fail_after(5):
        async with Hub(grace=None) as hub, create_task_group() as tasks:
            hub.register(stopper, mailbox=2)
            hub.register(Relay("relay", "stopper"), concurrency=2)
            await hub.send("stopper", "text")
            await until(lambda: hub.metrics().depth == 0)
            await hub.send("stopper", "text")
            for number in range(2):  # one is queued, the other one has no room
                tasks.start_soon(error_of, HandlerFailed, lambda n=number: hub.request("relay", Ping(n)), errors)
            await until(lambda: hub.metrics().blocked == 1)
            go.set()
            await stopper.stopped.wait()
    (report,) = stopper.results
    assert isinstance(report, StopReport)
    assert sorted(message.stage for message in report.unfinished) == ["blocked", "queued", "queued"]
    assert [type(error.cause) for error in errors] == [HubStopped, HubStopped]
    assert hub.metrics().in_flight == 0


async def test_who_comes_to_wait_for_a_handler_that_drains_is_not_waited_for_either() -> None:
    ask = anyio.Event()

    async def relay(ping: Ping, context: Context) -> Pong:
        await ask.wait()
        return await context.request("stopper", ping, expect=Pong)

    stopper = Stopper(drain)
    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register(stopper)
            hub.register("relay", relay)
            await hub.send("relay", Ping())
            await hub.send("stopper", "text")
            await until(lambda: hub._directory.phase.name == "DRAINING" and hub.metrics().depth == 0)
            ask.set()
            await stopper.stopped.wait()
    assert (hub.metrics().handled, hub.metrics().failed) == (1, 1)


@pytest.mark.parametrize("drain_first", [True, False], ids=["drain", "at once"])
async def test_an_agent_that_takes_itself_off_waits_for_its_other_handlers(*, drain_first: bool) -> None:
    async def leave(hub: Hub) -> None:
        await hub.unregister("stopper", drain=drain_first)

    class Slow(Stopper):
        def __init__(self) -> None:
            super().__init__(leave)
            self.gate = Gate()

        @handles
        async def wait(self, number: int) -> Pong:
            return await self.gate.pass_through(Ping(number))

    slow = Slow()
    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register(slow, concurrency=2)
            await hub.send("stopper", 1)
            await slow.gate.entered.wait()
            await hub.send("stopper", Ping())
            if drain_first:
                await until(lambda: hub.agents == ())
                for _ in range(5):
                    await checkpoint()
                assert not slow.stopped.is_set()
                slow.gate.opened.set()
            await slow.stopped.wait()
            assert slow.gate.cancelled.is_set() != drain_first
            await until(lambda: not hub._directory._leaving)


async def test_agents_that_take_each_other_off_do_not_wait_for_each_other() -> None:
    begun = anyio.Event()

    def remove(other: str) -> Stop:
        async def stop(hub: Hub) -> None:
            await begun.wait()
            await hub.unregister(other)

        return stop

    a, b = Stopper(remove("b")), Stopper(remove("a"))
    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register("a", a)
            hub.register("b", b)
            await hub.send("a", "text")
            await hub.send("b", Ping())
            await until(lambda: hub.metrics().depth == 0)
            begun.set()
            await a.stopped.wait()
            await b.stopped.wait()
            await idle(hub)
            await until(lambda: not hub._directory._leaving)
    assert (hub.metrics().handled, hub.metrics().cancelled) == (2, 0)


@pytest.mark.parametrize("drain_first", [True, False], ids=["drain", "at once"])
async def test_who_waits_for_the_reply_is_not_cancelled_by_it(*, drain_first: bool) -> None:
    async def remove(hub: Hub) -> None:
        await hub.unregister("relay", drain=drain_first)

    stopper = Stopper(remove)
    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register(stopper)
            hub.register(Relay("relay", "stopper"))
            assert await hub.request("relay", Ping(1)) == Pong(1)
            await until(lambda: not hub._directory._leaving)


@pytest.mark.parametrize("hook", ["on_start", "on_stop"])
@pytest.mark.parametrize("stop", ["drain", "unregister"])
async def test_a_hook_that_stops_its_hub_or_agent_does_not_wait_for_itself(hook: str, stop: str) -> None:
    done = anyio.Event()

    async def act(hub: Hub) -> None:
        await (hub.drain(timeout=None) if stop == "drain" else hub.unregister("hooked"))
        done.set()

    class Hooked:
        async def on_start(self, hub: Hub) -> None:
            if hook == "on_start":
                await act(hub)

        async def on_stop(self, hub: Hub) -> None:
            if hook == "on_stop" and not done.is_set():
                with pytest.raises(AgentStopped) if stop == "unregister" else anyio.CancelScope():
                    await act(hub)
                done.set()

        @handles
        async def work(self, ping: Ping) -> None: ...

    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register("hooked", Hooked)
            hub.register("echo", echo)
            hub.register(Relay("relay", "hooked"))
            await hub.send("relay", Ping())
            if hook == "on_stop":
                await idle(hub)
                await hub.unregister("hooked")
            await done.wait()
    assert hub.metrics().in_flight == 0


ASK: dict[str, Callable[[Hub, Context], Awaitable[object]]] = {
    "by the hub": lambda hub, _: hub.request("stopper", "text", timeout=None),
    "with a cause of its own": lambda _, context: context.hub.request("stopper", "text", cause="x", timeout=None),
    "in the name of another": lambda hub, _: hub.request("stopper", "text", sender="other", timeout=None),
}


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
async def test_who_asks_a_handler_that_drains_is_not_waited_for_however_it_asks(
    ask: Callable[[Hub, Context], Awaitable[object]],
) -> None:
    async def asker(ping: Ping, context: Context) -> object:
        return await ask(context.hub, context)

    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register(Stopper(drain))
            hub.register("asker", asker)
            assert await hub.request("asker", Ping(), timeout=None) == "text"


PASS_ON: dict[str, Callable[[Context], Awaitable[object]]] = {
    "send of the hub": lambda context: context.hub.send("stopper", "more", timeout=None),
    "send of the context": lambda context: context.send("stopper", "more", timeout=None),
    "forward": lambda context: context.forward("stopper", "more"),
    "publish": lambda context: context.publish("more", "more", timeout=None),
}


@pytest.mark.parametrize("pass_on", PASS_ON.values(), ids=PASS_ON)
async def test_who_waits_for_room_at_an_agent_that_drains_is_not_waited_for(
    pass_on: Callable[[Context], Awaitable[object]],
) -> None:
    async def pusher(ping: Ping, context: Context) -> None:
        await pass_on(context)

    async def stop(hub: Hub) -> StopReport:
        await hub.send("stopper", "queued")  # its mailbox is full now
        await hub.send("pusher", Ping())
        await until(lambda: hub.metrics().blocked == 1)
        return await hub.drain(timeout=None)

    stopper = Stopper(stop)
    with fail_after(5):
        async with Hub(grace=None) as hub:
            hub.register(stopper, mailbox=1, topics="more")
            hub.register("pusher", pusher)
            await hub.send("stopper", "text")
            await stopper.stopped.wait()
    assert isinstance(stopper.results[0], StopReport)


async def test_a_handler_that_drains_does_not_wait_for_whoever_waits_for_its_urgent_messages() -> None:
    async def ask(number: int, context: Context) -> None:
        await context.request("stopper", Ping(number), priority=Priority.HIGH, timeout=None)

    gate = Gate()

    async def stop(hub: Hub) -> object:
        await gate.opened.wait()
        return await drain(hub)

    stopper = Stopper(stop)
    with fail_after(5):
        async with Hub(grace=0) as hub:
            hub.register(stopper)
            hub.register("asker", ask)
            await hub.send("stopper", "stop")
            await until(lambda: hub.metrics().agents["stopper"].running == 1)
            await hub.send("asker", 1)
            await until(lambda: hub.metrics().depths.get("stopper") == 1)
            gate.opened.set()
            await stopper.stopped.wait()
    assert len(stopper.results) == 1


async def test_who_drains_waits_for_nobody_whose_handler_has_ended_before_the_reply() -> None:
    gate = Gate()

    async with create_task_group() as tasks:

        async def start(_: Ping, context: Context) -> None:
            tasks.start_soon(ask, context)
            await gate.entered.wait()

        async def ask(context: Context) -> None:
            replies.append(await context.request("closer", "now", timeout=None))

        async def close(_: str, context: Context) -> bool:
            await gate.pass_through(Ping(1))
            return (await context.hub.drain(timeout=5)).clean

        replies = list[object]()
        with fail_after(10):
            async with Hub() as hub:
                hub.register("starter", start)
                hub.register("closer", close)
                await hub.send("starter", Ping())
                await until(lambda: hub.metrics().handled == 1)
                gate.opened.set()
                await until(lambda: bool(replies))
    assert replies == [True]
