"""What the hub does where systems differ: the last column of the table in docs/coming-to-the-hub.md."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from anyio import Event as Flag
from anyio import create_task_group, fail_after, sleep_forever, wait_all_tasks_blocked
from tests.hub._agents import until
from tests.hub._streams import Source

from stagepost.hub import (
    AgentEnded,
    AgentNotFound,
    Context,
    DeadReason,
    HandlerFailed,
    Hub,
    HubStopped,
    MailboxFull,
    NoHandler,
    RequestCycle,
    RequestTimeout,
    Restart,
    handles,
)
from stagepost.hub.testing import Probe, VirtualClock, idle

PAGE: Final = Path(__file__).parents[2] / "docs" / "coming-to-the-hub.md"
Case: TypeAlias = Callable[[], Awaitable[None]]
CASES: Final[dict[str, Case]] = {}


def case(name: str) -> Callable[[Case], Case]:
    """A row of the table."""

    def add(check: Case) -> Case:
        CASES[name] = check
        return check

    return add


def first_letter(text: str) -> str:
    return text[0]


async def fail(number: int) -> None:
    raise ZeroDivisionError(number)


@case("the recipient does not exist")
async def _nobody() -> None:
    async with Hub() as hub:
        hub.register("counter", fail)
        with pytest.raises(AgentNotFound, match="counter"):
            await hub.send("countre", 1)


@case("the recipient takes no such payload")
async def _no_handler() -> None:
    async with Hub() as hub:
        hub.register("numbers", fail)
        with pytest.raises(NoHandler, match="takes int"):
            await hub.send("numbers", "text")


@case("nobody subscribes to a topic")
async def _unheard() -> None:
    async with Hub() as hub:
        assert (await hub.publish("news", 1)).reached_nobody
        assert hub.metrics().unheard == 1


@case("a handler raises during a request")
async def _failing_request() -> None:
    async with Hub() as hub:
        hub.register("fail", fail)
        with pytest.raises(HandlerFailed) as caught:
            await hub.request("fail", 1)
        assert isinstance(caught.value.cause, ZeroDivisionError)


@case("a handler raises, and nobody waits")
async def _failing_notice() -> None:
    async with Hub() as hub:
        hub.register("fail", fail)
        await hub.send("fail", 1)
        await hub.send("fail", 2)
        await idle(hub)
        assert hub.metrics().agents["fail"].failed == 2  # it went on


@case("order of messages")
async def _order() -> None:
    probe = Probe("probe")

    async def send_all(number: int, context: Context) -> None:
        for part in range(number):
            await context.send("probe", (context.agent, part))

    async with Hub() as hub:
        hub.register(probe)
        for agent in ("a", "b"):
            hub.register(agent, send_all)
            await hub.send(agent, 50)
        await idle(hub)
    for agent in ("a", "b"):
        assert [part for sender, part in probe.payloads if sender == agent] == list(range(50))


@case("the mailbox is full")
async def _full() -> None:
    async with Hub(grace=0) as hub:
        hub.register(Probe("slow", replies=[lambda _: sleep_forever()]), mailbox=1)
        await hub.send("slow", 1)
        await wait_all_tasks_blocked()
        await hub.send("slow", 2)
        with pytest.raises(MailboxFull):
            await hub.send("slow", 3, timeout=0.01)


@case("one publishes to a topic that it subscribes to")
async def _own() -> None:
    async def tell(text: str, context: Context) -> int:
        return len((await context.publish("news", text)).delivered)

    async with Hub() as hub:
        hub.register("teller", tell, topics=["news"])
        assert await hub.request("teller", "text") == 0


@case("the requester gives up")
async def _given_up() -> None:
    source = Source()
    async with Hub() as hub:
        hub.register(source)
        with pytest.raises(RequestTimeout):
            async for _ in hub.stream("source", 1, timeout=0.01):
                pass
        await source.closed.wait()


@case("a reply comes too late")
async def _late() -> None:
    gate = Flag()

    async def slow(number: int) -> int:
        await gate.wait()
        return number

    async with Hub() as hub:
        hub.register("slow", slow, detach=True)
        with pytest.raises(RequestTimeout):
            await hub.request("slow", 1, timeout=0.01)
        gate.set()
        await idle(hub)
        assert [letter.reason for letter in hub.dead_letters] == [DeadReason.LATE_REPLY]


@case("requests go in a circle")
async def _circle() -> None:
    async def ask(other: str, context: Context) -> object:
        return await context.request(other, context.agent)

    async with Hub() as hub:
        hub.register("a", ask)
        hub.register("b", ask)
        with pytest.raises(HandlerFailed) as caught:
            await hub.request("a", "b")
        cause = caught.value.cause
        while isinstance(cause, HandlerFailed):
            cause = cause.cause
        assert isinstance(cause, RequestCycle)


@case("an actor ends")
async def _end() -> None:
    told: list[AgentEnded] = []

    class Watcher:
        id = "watcher"

        @handles
        async def watch(self, agent: str, context: Context) -> None:
            context.watch(agent)

        @handles
        async def tell(self, ended: AgentEnded) -> None:
            told.append(ended)

    async with Hub() as hub:
        hub.register(Watcher())
        hub.register("mortal", fail)
        await hub.request("watcher", "mortal")
        await hub.request("watcher", "absent")
        await hub.unregister("mortal")
        await idle(hub)
    assert [(ended.agent, ended.reason) for ended in told] == [("absent", "absent"), ("mortal", "unregistered")]


@case("a message waits while its agent is restarted")
async def _restarted() -> None:
    class Fragile:
        @handles
        async def work(self, number: int) -> int:
            return 1 // number

    replies: list[object] = []

    async with Hub() as hub, create_task_group() as tasks:
        hub.register("fragile", Fragile, supervision=Restart(backoff=0))

        async def ask(number: int) -> None:
            try:
                replies.append(await hub.request("fragile", number))
            except HandlerFailed:
                replies.append("failed")

        for number in (0, 1):
            tasks.start_soon(ask, number)
        await until(lambda: len(replies) == 2)
    assert sorted(map(str, replies)) == ["1", "failed"]


@case("an instance for each key")
async def _keyed() -> None:
    clock, made = VirtualClock(), list[str]()

    class Letter:
        def __init__(self, key: str) -> None:
            made.append(key)

        @handles
        async def take(self, text: str) -> None: ...

    async with Hub(clock=clock) as hub:
        hub.register("letters", Letter, per=first_letter, idle=60)
        for text in ("apple", "berry", "avocado"):
            await hub.request("letters", text)
        assert made == ["a", "b"]
        await clock.advance(61)
        assert hub.metrics().agents["letters"].instances == 0


@case("a message comes while an instance is passivated")
async def _passivated() -> None:
    clock, log, gate = VirtualClock(), list[str](), Flag()

    class Letter:
        def __init__(self) -> None:
            log.append("made")

        @handles
        async def take(self, text: str) -> None: ...

        async def on_stop(self) -> None:
            await gate.wait()
            log.append("stopped")

    async with Hub(clock=clock) as hub:
        hub.register("letters", Letter, per=first_letter, idle=60)
        await hub.request("letters", "apple")
        await clock.advance(61)
        await hub.send("letters", "avocado")
        await wait_all_tasks_blocked()
        assert log == ["made"]
        gate.set()
        await idle(hub)
        assert log == ["made", "stopped", "made"]


@case("a timer's target has stopped")
async def _timer() -> None:
    async with Hub() as hub:
        hub.register("target", fail)
        timer = await hub.every(60, "target", 1)
        await hub.unregister("target")
        assert not timer.is_active


@case("a reply in parts with a slow reader")
async def _slow_reader() -> None:
    source = Source()
    async with Hub() as hub:
        hub.register(source)
        async with hub.stream("source", 1000) as stream:
            assert await anext(stream) == 0
            await wait_all_tasks_blocked()
            assert source.made < 20


@case("the system stops")
async def _stop() -> None:
    async def count(number: int) -> AsyncIterator[int]:
        yield number

    async with Hub() as hub:
        hub.register("count", count)
        hub.register(Probe("slow", replies=[lambda _: sleep_forever()]))
        await hub.send("count", 1)
        await hub.send("slow", 1)
        report = await hub.drain(timeout=0.01)
        assert [message.agent for message in report.unfinished] == ["slow"]
        assert hub.metrics().agents["count"].handled == 1
        with pytest.raises(HubStopped):
            await hub.send("count", 1)


@pytest.mark.parametrize("name", CASES)
async def test_the_hub_does_what_the_comparison_says(name: str) -> None:
    with fail_after(10):
        await CASES[name]()


def test_the_page_and_these_cases_are_the_same() -> None:
    table = PAGE.read_text().split("## What happens when")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    assert set(rows) - {"case"} == set(CASES)
