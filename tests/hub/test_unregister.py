import pytest
from anyio import CancelScope, create_task_group, fail_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, until

from stagepost.hub import (
    AgentNotFound,
    AgentStopped,
    AgentUnregistered,
    Context,
    DuplicateAgent,
    Event,
    Hub,
    handles,
)
from stagepost.hub.testing import idle


async def test_an_agent_that_never_got_a_message_leaves_at_once() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            await hub.unregister("echo")
            assert hub.agents == ()
            with pytest.raises(AgentNotFound):
                await hub.send("echo", Ping())
            with pytest.raises(AgentNotFound):
                await hub.unregister("echo")


async def test_agents_may_leave_before_the_hub_starts() -> None:
    hub = Hub()
    hub.register("echo", echo)
    await hub.unregister("echo")
    assert hub.agents == ()


async def test_an_agent_finishes_its_mailbox_first_and_keeps_its_id_until_then() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate)
            for number in range(3):
                await hub.send("gate", Ping(number))
            await gate.entered.wait()
            tasks.start_soon(hub.unregister, "gate")
            await until(lambda: hub.agents == ())
            with pytest.raises(AgentStopped):
                await hub.send("gate", Ping())
            with pytest.raises(AgentStopped):
                await hub.unregister("gate")
            with pytest.raises(DuplicateAgent):
                hub.register("gate", echo)
            gate.opened.set()
            await until(lambda: len(gate.seen) == 3)
            await until(lambda: not hub._directory._leaving)
            hub.register("gate", echo)
            assert await hub.request("gate", Ping(1)) == Pong(1)


async def test_an_idle_agent_leaves_with_its_workers() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register("echo", echo)
            await hub.request("echo", Ping())
            endpoint = hub._directory.endpoints()[0]
            await hub.unregister("echo")
            assert not endpoint.workers.staff
            assert recorder.names.count("AgentUnregistered") == 1


async def test_without_drain_handlers_are_cancelled_and_the_rest_is_dead() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            for number in range(3):
                await hub.send("gate", Ping(number))
            await gate.entered.wait()
            await hub.unregister("gate", drain=False)
            assert gate.cancelled.is_set()
            assert (hub.metrics().cancelled, hub.metrics().dead, hub.metrics().in_flight) == (1, 2, 0)


async def test_the_grace_bounds_the_drain() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub(grace=0.05) as hub:
            hub.register(gate)
            await hub.send("gate", Ping(0))
            await hub.send("gate", Ping(1))
            await hub.unregister("gate")
            assert (hub.metrics().cancelled, hub.metrics().dead) == (1, 1)


async def test_who_is_cancelled_while_unregistering_leaves_no_worker_behind() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            with CancelScope() as scope:
                async with create_task_group() as tasks:
                    tasks.start_soon(hub.unregister, "gate")
                    await until(lambda: hub.agents == ())
                    await checkpoint()
                    scope.cancel()
            await gate.cancelled.wait()
            await until(lambda: not hub._directory._leaving)
            hub.register("gate", echo)


@pytest.mark.parametrize("drain", [True, False], ids=["drain", "at once"])
async def test_a_handler_may_unregister_its_own_agent(*, drain: bool) -> None:
    class Leaver:
        id = "leaver"

        @handles
        async def leave(self, _: Ping, context: Context) -> str:
            await context.hub.unregister(context.agent, drain=drain)
            return "left"

        @handles
        async def note(self, number: int) -> None: ...

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Leaver(), concurrency=2)
            await hub.send("leaver", 1)
            assert await hub.request("leaver", Ping(), expect=str) == "left"
            await idle(hub)
            await until(lambda: not hub._directory._leaving)
    assert hub.metrics().handled + hub.metrics().dead == 2


async def test_agents_come_and_go_while_others_send() -> None:
    seen = 0

    async def count(number: int) -> None:
        nonlocal seen
        seen += 1

    async def send(hub: Hub) -> None:
        for number in range(200):
            try:
                await hub.send("counter", number)
            except (AgentNotFound, AgentStopped):
                await checkpoint()

    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(send, hub)
            for _ in range(20):
                hub.register("counter", count, mailbox=2)
                await checkpoint()
                await hub.unregister("counter")
    metrics = hub.metrics()
    assert metrics.accepted == metrics.handled == seen


class Successor:
    """Takes an id anew at the moment at which it is free."""

    def __init__(self) -> None:
        self.hub: Hub

    def on_event(self, event: Event) -> None:
        if isinstance(event, AgentUnregistered):
            self.hub.register(Gate(), topics=["next"])


async def test_an_agent_that_two_take_off_is_not_mistaken_for_the_next_of_its_id() -> None:
    async def take_off() -> None:
        try:
            await hub.unregister("gate")
        except AgentStopped:
            ends.append("stopped already")
        else:
            ends.append("taken off")

    ends, successor = list[str](), Successor()
    with fail_after(60):
        async with Hub(observer=successor) as hub:
            successor.hub = hub
            hub.register(Gate(), topics=[f"topic.{number}" for number in range(30_000)])
            async with create_task_group() as tasks:
                tasks.start_soon(take_off)
                tasks.start_soon(take_off)
            assert hub.agents == ("gate",)
            assert hub.describe().agents[0].topics == ("next",)
            successor.hub = Hub()  # leaving the hub is not the end of an agent that another one follows
    assert sorted(ends) == ["stopped already", "taken off"]
