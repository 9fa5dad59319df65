import pytest
from anyio import fail_after
from tests.hub._agents import Gate, Ping, Pong, echo

from stagepost.hub import (
    AgentNotFound,
    DuplicateAgent,
    Hub,
    HubNotStarted,
    HubReentered,
    HubStopped,
    InvalidHandler,
    InvalidName,
    handles,
)


async def test_agents_may_be_registered_before_and_after_the_start() -> None:
    hub = Hub("main")
    hub.register("early", echo)
    with fail_after(5):
        async with hub:
            hub.register("late", echo)
            assert await hub.request("early", Ping(1), expect=Pong) == Pong(1)
            assert await hub.request("late", Ping(2), expect=Pong) == Pong(2)
    assert hub.agents == ("early", "late")
    assert hub.name == "main"


def test_an_object_with_an_id_registers_itself() -> None:
    hub = Hub()
    hub.register(Gate("door"))
    hub.register("window", Gate("ignored"))
    hub.register(Gate("wall"), echo)
    assert hub.agents == ("door", "window", "wall")


def test_ids_are_checked_and_unique() -> None:
    hub = Hub("main")
    hub.register("echo", echo)
    with pytest.raises(DuplicateAgent, match="agent 'echo' is on hub 'main' already"):
        hub.register("echo", echo)
    with pytest.raises(InvalidName, match="not a valid agent id"):
        hub.register("e.cho", echo)
    with pytest.raises(InvalidName, match="not a valid hub name"):
        Hub("a b")


def test_an_agent_needs_an_id_and_a_handler() -> None:
    hub = Hub()
    with pytest.raises(InvalidHandler, match=r"of agent 'echo' is missing: pass a function"):
        hub.register("echo")
    with pytest.raises(InvalidHandler, match=r"_agents.echo has no `id`: register it under one"):
        hub.register(echo)  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"mailbox": 0}], ids=["concurrency", "mailbox"])
def test_limits_below_one_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="use a number from 1 up, or None for no limit"):
        Hub().register("echo", echo, **options)  # type: ignore[arg-type]  # mypy cannot see through the options


async def test_a_hub_takes_messages_only_while_it_runs() -> None:
    hub = Hub("main")
    hub.register("echo", echo)
    await hub.drain()
    for call in (hub.send, hub.request):
        with pytest.raises(HubNotStarted, match="hub 'main' is not running: send to 'echo' inside"):
            await call("echo", Ping())
    with fail_after(5):
        async with hub:
            await hub.send("echo", Ping())
    for call in (hub.send, hub.request):
        with pytest.raises(HubStopped, match="hub 'main' has stopped"):
            await call("echo", Ping())
    with pytest.raises(HubStopped):
        hub.register("other", echo)


async def test_a_hub_is_entered_once() -> None:
    with fail_after(5):
        async with Hub("main") as hub:
            with pytest.raises(HubReentered, match="hub 'main' was entered before"):
                await hub.__aenter__()
        with pytest.raises(HubReentered):
            await hub.__aenter__()


async def test_leaving_a_hub_that_was_not_entered_is_harmless() -> None:
    await Hub().__aexit__(None, None, None)


async def test_an_unknown_recipient_is_an_error_that_lists_the_known_ones() -> None:
    with fail_after(5):
        async with Hub("main") as hub:
            hub.register("echo", echo)
            with pytest.raises(AgentNotFound, match="no agent 'ekho' on hub 'main', which has echo"):
                await hub.send("ekho", Ping())


async def test_the_class_of_the_payload_chooses_the_handler() -> None:
    class Clerk:
        id = "clerk"

        @handles
        async def number(self, _: int) -> str:
            return "number"

        @handles
        async def flag(self, _: bool) -> str:  # noqa: FBT001 - the payload is a bool
            return "flag"

        @handles
        def text(self, text: str) -> str:
            return text.upper()

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Clerk())
            assert await hub.request("clerk", 1, expect=str) == "number"
            assert await hub.request("clerk", True, expect=str) == "flag"
            assert await hub.request("clerk", "abc", expect=str) == "ABC"


async def test_agents_may_each_have_options_of_their_own() -> None:
    with fail_after(5):
        async with Hub() as hub:
            for number in range(1, 301):
                hub.register(f"echo-{number}", echo, mailbox=number)
            described = {agent.id: agent.mailbox for agent in hub.describe().agents}
            assert described == {f"echo-{number}": number for number in range(1, 301)}
            assert await hub.request("echo-1", Ping(1)) == Pong(1)
