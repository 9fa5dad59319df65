"""What holds on a hub where nothing is said: the size of mailboxes, and how long senders wait."""

import math
from pathlib import Path

import pytest
from anyio import create_task_group, fail_after, to_thread
from tests.hub._agents import Gate, Ping, echo, until

from stagepost.hub import (
    Context,
    DeadReason,
    Hub,
    HubConfig,
    InvalidArgument,
    InvalidConfig,
    MailboxFull,
    RequestTimeout,
    handles,
)
from stagepost.hub.testing import VirtualClock


async def test_agents_have_the_mailbox_of_their_hub_unless_they_say_so() -> None:
    async with Hub(mailbox=7) as hub:
        hub.register("usual", echo)
        hub.register("own", echo, mailbox=3)
        hub.register("hundred", echo, mailbox=100)
        hub.register("endless", echo, mailbox=None)
        sizes = {agent.id: agent.mailbox for agent in hub.describe().agents}
    assert sizes == {"usual": 7, "own": 3, "hundred": 100, "endless": None}


async def test_without_a_word_a_mailbox_holds_a_hundred() -> None:
    async with Hub() as hub, Hub(mailbox=None) as endless:
        for each in (hub, endless):
            each.register("usual", echo)
        assert [each.describe().agents[0].mailbox for each in (hub, endless)] == [100, None]


@pytest.mark.parametrize(("given", "waits"), [(5, 5.0), (None, math.inf), (30.0, 30.0)])
async def test_requests_wait_as_long_as_their_hub_says_unless_they_say_so(given: float | None, waits: float) -> None:
    clock, gate = VirtualClock(), Gate()
    errors: list[RequestTimeout] = []

    async def ask(**options: float) -> None:
        try:
            await hub.request("gate", Ping(), **options)  # type: ignore[call-overload]  # a timeout or nothing
        except RequestTimeout as error:
            errors.append(error)

    with fail_after(10):
        async with Hub(clock=clock, timeout=given, grace=0) as hub, create_task_group() as tasks:
            hub.register(gate, concurrency=None)
            tasks.start_soon(ask)
            tasks.start_soon(lambda: ask(timeout=2))
            await until(lambda: len(gate.seen) == 2)
            await clock.advance(3)
            assert len(errors) == 1
            await clock.advance(min(waits, 100))
            assert len(errors) == (1 if waits == math.inf else 2)
            gate.opened.set()


async def test_an_explicit_timeout_of_30_seconds_is_that_and_not_the_default() -> None:
    clock, gate = VirtualClock(), Gate()
    with fail_after(10):
        async with Hub(clock=clock, timeout=1) as hub, create_task_group() as tasks:
            hub.register(gate)
            tasks.start_soon(lambda: hub.request("gate", Ping(), timeout=30.0))
            await gate.entered.wait()
            await clock.advance(20)
            assert not gate.cancelled.is_set()
            gate.opened.set()


class Asker:
    id = "asker"

    @handles
    async def ask(self, way: str, context: Context) -> None:
        if way == "request":
            await context.request("gate", Ping())
        elif way == "request_many":
            replies = await context.request_many("pings", Ping())
            assert replies.unanswered == ("gate",)
            raise RequestTimeout("gate", 3, "handler")
        else:
            await context.send("gate", Ping())


@pytest.mark.parametrize("way", ["request", "send", "request_many"])
async def test_what_a_handler_sends_waits_as_long_as_its_hub_says(way: str) -> None:
    clock, gate = VirtualClock(), Gate()
    with fail_after(10):
        async with Hub(clock=clock, timeout=3, grace=0) as hub:
            hub.register(gate, mailbox=1, topics="pings")
            hub.register(Asker())
            await hub.send("gate", Ping())
            await gate.entered.wait()
            if way == "send":
                await hub.send("gate", Ping())
            await hub.send("asker", way)
            await until(lambda: hub.metrics().agents["asker"].running == 1)
            await until(lambda: hub.metrics().in_flight == 3 or hub.metrics().blocked == 1)
            await clock.advance(4)
            await until(lambda: hub.metrics().failed == 1)
            gate.opened.set()


async def test_senders_wait_for_room_as_long_as_their_hub_says() -> None:
    clock, gate = VirtualClock(), Gate()
    with fail_after(10):
        async with Hub(clock=clock, timeout=0) as hub:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping())
            await gate.entered.wait()
            await hub.send("gate", Ping())
            with pytest.raises(MailboxFull):
                await hub.send("gate", Ping())
            gate.opened.set()


async def test_timers_and_forwards_wait_for_room_as_long_as_their_hub_says() -> None:
    clock, gate = VirtualClock(), Gate()

    async def pass_on(ping: Ping, context: Context) -> None:
        await context.forward("gate")

    with fail_after(10):
        async with Hub(clock=clock, timeout=2) as hub:
            hub.register(gate, mailbox=1)
            hub.register("first", pass_on)
            await hub.send("gate", Ping())
            await gate.entered.wait()
            await hub.send("gate", Ping())
            await hub.send_later("gate", Ping(), after=1)
            await hub.send("first", Ping())
            await until(lambda: hub.metrics().blocked == 1)
            await clock.advance(2.5)
            await until(lambda: hub.metrics().failed == 1)
            await clock.advance(2)
            await until(lambda: bool(hub.dead_letters))
            assert [letter.reason for letter in hub.dead_letters] == [DeadReason.MAILBOX_FULL]
            gate.opened.set()


async def test_other_threads_wait_as_long_as_the_hub_says() -> None:
    gate = Gate()
    with fail_after(20):
        async with Hub(timeout=0.05) as hub:
            hub.register(gate)
            portal = hub.portal()
            with pytest.raises(RequestTimeout):
                await to_thread.run_sync(lambda: portal.request("gate", Ping()))


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_defaults_come_from_configuration(tmp_path: Path, suffix: str) -> None:
    text = {"toml": "[hub]\nmailbox = 12\ntimeout = 0\n", "json": '{"hub": {"mailbox": null, "timeout": null}}'}[suffix]
    (tmp_path / f"app.{suffix}").write_text(text)
    config = HubConfig.load(tmp_path / f"app.{suffix}", table="hub")
    assert (config.mailbox, config.timeout) == ((12, 0.0) if suffix == "toml" else (None, None))
    hub = Hub.from_config(config)
    hub.register("a", echo)
    assert hub.describe().agents[0].mailbox == config.mailbox


def test_merging_keeps_an_explicit_zero_and_none() -> None:
    base = HubConfig(mailbox=5, timeout=10)
    assert base.merge({"timeout": 0}).timeout == 0
    assert base.merge(HubConfig(timeout=None)).timeout is None
    assert base.merge(HubConfig(mailbox=None)).mailbox is None
    assert base.merge(HubConfig(mailbox=100)).mailbox == 100
    assert base.merge(HubConfig(name="x")) == HubConfig(name="x", mailbox=5, timeout=10)
    assert (HubConfig().mailbox, HubConfig().timeout) == (100, 30.0)


@pytest.mark.parametrize("change", [{"mailbox": 0}, {"mailbox": "many"}, {"timeout": -1}, {"timeout": "soon"}])
def test_defaults_that_cannot_work_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(InvalidConfig):
        HubConfig().merge(change)
    with pytest.raises(InvalidArgument):
        Hub(**change)  # type: ignore[arg-type]  # what is refused
    if "mailbox" in change:
        with pytest.raises(InvalidArgument):
            Hub().register("a", echo, **change)  # type: ignore[arg-type]  # as above
