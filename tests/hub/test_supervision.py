import pytest
from anyio import create_task_group, fail_after
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, error_of, fail, until

from stagepost.hub import (
    AgentNotFound,
    AgentRestarted,
    AgentStopped,
    AgentTerminated,
    DeadReason,
    HandlerFailed,
    Hub,
    HubError,
    InvalidHandler,
    Restart,
    handles,
)
from stagepost.hub.testing import VirtualClock, idle

log: list[str] = []


@pytest.fixture(autouse=True)
def _empty_log() -> None:
    log.clear()
    Worker.made = 0
    Worker.refuse_from = 99


class Worker:
    made = 0
    refuse_from = 99

    def __init__(self) -> None:
        Worker.made += 1
        self.number = Worker.made

    async def on_start(self, hub: Hub) -> None:
        log.append(f"start {self.number} on {hub.name}")
        if self.number >= Worker.refuse_from:
            raise RuntimeError("no")

    def on_stop(self) -> None:
        log.append(f"stop {self.number}")

    @handles
    async def work(self, ping: Ping) -> Pong:
        if ping.number < 0:
            raise ZeroDivisionError
        return Pong(self.number)


async def test_a_class_is_made_with_the_first_message_and_stopped_at_the_end() -> None:
    with fail_after(5):
        async with Hub("main") as hub:
            hub.register("worker", Worker)
            hub.register("idle", Worker)
            assert Worker.made == 0
            assert await hub.request("worker", Ping(), expect=Pong) == Pong(1)
            assert await hub.request("worker", Ping(), expect=Pong) == Pong(1)
    assert log == ["start 1 on main", "stop 1"]


async def test_unregistering_stops_the_instance_before_the_id_is_free() -> None:
    with fail_after(5):
        async with Hub("main") as hub:
            hub.register("worker", Worker)
            await hub.send("worker", Ping())
            await hub.unregister("worker")
            assert log == ["start 1 on main", "stop 1"]
            hub.register("worker", Worker)
            assert await hub.request("worker", Ping(), expect=Pong) == Pong(2)


async def test_an_object_with_hooks_is_started_and_stopped_too() -> None:
    class Plain:
        id = "plain"

        async def on_start(self) -> None:
            log.append("start")

        async def on_stop(self, hub: Hub) -> None:
            log.append(f"stop {hub.name}")
            raise ZeroDivisionError

        @handles
        async def work(self, _: Ping) -> None:
            log.append("work")

    with fail_after(5):
        async with Hub("main") as hub:
            hub.register(Plain())
            await hub.send("plain", Ping())
            await hub.send("plain", Ping())
    assert log == ["start", "work", "work", "stop main"]


async def test_messages_wait_until_the_instance_has_started() -> None:
    gate = Gate()

    class Slow:
        id = "slow"

        async def on_start(self) -> None:
            gate.entered.set()
            await gate.opened.wait()
            log.append("started")

        @handles
        async def work(self, _: Ping) -> None:
            log.append("work")

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Slow, concurrency=2)
            for _ in range(3):
                await hub.send("slow", Ping())
            await gate.entered.wait()
            assert log == []
            gate.opened.set()
    assert log == ["started", "work", "work", "work"]


async def test_resume_goes_on_with_the_same_instance() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("worker", Worker)
            with pytest.raises(HandlerFailed):
                await hub.request("worker", Ping(-1))
            assert await hub.request("worker", Ping(), expect=Pong) == Pong(1)


async def test_restart_makes_another_instance_that_goes_on_with_the_mailbox() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub("main", observer=recorder) as hub:
            hub.register("worker", Worker, supervision=Restart(backoff=0.01))
            await hub.send("worker", Ping(-1))
            await hub.send("worker", Ping())
            assert await hub.request("worker", Ping(), expect=Pong) == Pong(2)
    assert log == ["start 1 on main", "stop 1", "start 2 on main", "stop 2"]
    (restarted,) = [event for event in recorder.events if isinstance(event, AgentRestarted)]
    assert (restarted.agent, restarted.restarts, restarted.error) == ("worker", 1, "ZeroDivisionError")
    assert hub.metrics().handled == 2


async def test_an_agent_that_fails_too_often_is_taken_off_the_hub() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register("worker", Worker, supervision=Restart(max=2, backoff=0))
            for _ in range(3):
                await hub.send("worker", Ping(-1))
            await hub.send("worker", Ping(7))
            await until(lambda: "worker" not in hub.agents)
            await idle(hub)
            with pytest.raises((AgentNotFound, AgentStopped)):
                await hub.send("worker", Ping())
    assert Worker.made == 3
    assert [event.agent for event in recorder.events if isinstance(event, AgentTerminated)] == ["worker"]
    assert [(letter.reason, letter.message.data) for letter in hub.dead_letters] == [
        (DeadReason.RECIPIENT_GONE, Ping(7))
    ]


async def test_an_instance_that_does_not_start_is_tried_again_and_then_given_up() -> None:
    Worker.refuse_from = 1
    errors: list[HubError] = []
    with fail_after(5):
        async with Hub() as hub:
            hub.register("worker", Worker, supervision=Restart(max=2, backoff=0))
            hub.register("other", Worker)
            await error_of(AgentStopped, lambda: hub.request("worker", Ping()), errors)
            await error_of(AgentStopped, lambda: hub.request("other", Ping()), errors)
            assert hub.agents == ()
    assert len(errors) == 2
    assert Worker.made == 4


async def test_a_restart_lets_other_handlers_of_the_agent_end() -> None:
    gate = Gate()

    class Twofold(Worker):
        @handles
        async def wait(self, text: str) -> str:
            gate.entered.set()
            await gate.opened.wait()
            return text

    replies: list[str] = []

    async def ask(hub: Hub) -> None:
        replies.append(await hub.request("worker", "hi", expect=str))

    with fail_after(5):
        async with Hub("main") as hub, create_task_group() as tasks:
            hub.register("worker", Twofold, concurrency=2, supervision=Restart(backoff=0))
            tasks.start_soon(ask, hub)
            await gate.entered.wait()
            with pytest.raises(HandlerFailed):
                await hub.request("worker", Ping(-1))
            assert log == ["start 1 on main"]
            gate.opened.set()
            assert await hub.request("worker", Ping(), expect=Pong) == Pong(2)
    assert replies == ["hi"]


async def test_leaving_does_not_wait_for_a_long_backoff() -> None:
    with fail_after(5):
        async with Hub(grace=0.05) as hub:
            hub.register("worker", Worker, supervision=Restart(backoff=3600))
            await hub.send("worker", Ping(-1))
            await until(lambda: hub.metrics().failed == 1)
            await hub.unregister("worker")
            hub.register("worker", Worker, supervision=Restart(backoff=3600))
            await hub.send("worker", Ping(-1))
            await hub.send("worker", Ping(1))
            await until(lambda: hub.metrics().failed == 2)
        assert [letter.reason for letter in hub.dead_letters] == [DeadReason.HUB_STOPPED]


async def test_stop_takes_a_failed_agent_off_the_hub() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("fail", fail, supervision="stop", topics=["a"])
            hub.register("echo", echo)
            await hub.send("fail", Ping())
            await hub.send("fail", Ping())
            with pytest.raises(AgentStopped):
                await hub.request("fail", Ping())
            assert hub.agents == ("echo",)
            assert await hub.request("echo", Ping(1)) == Pong(1)
    assert (hub.metrics().failed, hub.metrics().dead) == (1, 2)


async def test_the_requester_of_a_stopped_agent_gets_its_error() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("fail", fail, supervision="stop")
            with pytest.raises(HandlerFailed):
                await hub.request("fail", Ping())
            hub._directory.agents.clear()
            hub.terminate("fail", ValueError())


async def test_escalate_ends_the_hub_with_the_error() -> None:
    recorder = Recorder()

    async def own() -> None:
        async with Hub(observer=recorder) as hub:
            hub.register("fail", fail, supervision="escalate")
            await hub.send("fail", Ping())
            await Gate().opened.wait()

    with fail_after(5), pytest.raises(ZeroDivisionError):
        await own()
    assert "AgentTerminated" in recorder.names


@pytest.mark.parametrize("source", [echo, Gate(), Worker()], ids=["a function", "an object", "an object with hooks"])
def test_restart_needs_a_class(source: object) -> None:
    with pytest.raises(InvalidHandler, match="register its class"):
        Hub().register("agent", source, supervision=Restart())


@pytest.mark.parametrize(
    "options",
    [{"supervision": "hope"}, {"overflow": "burst"}, {"mailbox": 0}, {"concurrency": 0}],
    ids=lambda options: next(iter(options)),
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="use "):
        Hub().register("agent", echo, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"max": 0}, {"within": -1}, {"backoff": float("nan")}], ids=str)
def test_restart_refuses_values_that_mean_nothing(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="use "):
        Restart(**wrong)  # type: ignore[arg-type]


async def test_failures_outside_of_the_period_do_not_count() -> None:
    clock = VirtualClock()
    with fail_after(5):
        async with Hub(clock=clock) as hub:
            hub.register("worker", Worker, supervision=Restart(max=1, within=10, backoff=0))
            for _ in range(3):
                await hub.send("worker", Ping(-1))
                await clock.advance(11)
            assert hub.agents == ("worker",)
    assert Worker.made == 4


async def test_striking_an_agent_that_never_had_a_message_frees_its_id() -> None:
    async with Hub() as hub:
        hub.register("echo", echo)
        hub.terminate("echo", ValueError())
        hub.register("echo", echo)


def test_a_class_whose_constructor_cannot_be_read_is_taken_as_it_is() -> None:
    class Odd(dict[str, str]):
        @handles
        async def work(self, ping: Ping) -> None: ...

    Hub().register("odd", Odd)
