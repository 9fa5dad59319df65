"""Death watch: who is told that an agent has ended, and when."""

import pytest
from anyio import create_task_group, fail_after, move_on_after, to_thread
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Recorder, echo, fail, until
from tests.hub._fuzz_laws import accounted_for

from stagepost.hub import (
    AgentEnded,
    AgentStopped,
    Context,
    Hub,
    HubNotStarted,
    HubStopped,
    InvalidArgument,
    InvalidName,
    Message,
    NoHandler,
    Restart,
    WrongThread,
    handles,
)
from stagepost.hub._watches import Watches
from stagepost.hub.testing import Probe, idle


def watches_of(hub: Hub) -> Watches:
    assert hub._directory.watches is not None
    return hub._directory.watches


class Watcher:
    """Watches whom it is told to."""

    def __init__(self, agent: str = "watcher") -> None:
        self.id = agent
        self.told: list[Message[AgentEnded]] = []

    @handles
    async def watch(self, agent: str, context: Context) -> None:
        if agent.startswith("!"):
            context.unwatch(agent[1:])
        else:
            context.watch(agent)

    @handles
    async def note(self, message: Message[AgentEnded]) -> None:
        self.told.append(message)

    @property
    def news(self) -> list[tuple[str, str]]:
        return [(message.data.agent, message.data.reason) for message in self.told]


async def test_who_waits_is_told_after_the_last_handler() -> None:
    gate, seen = Gate(), []

    async def wait(hub: Hub) -> None:
        ended = await hub.watch("gate")
        seen.append((ended.agent, ended.reason, ended.error, "gate" in hub.agents))

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate)
            tasks.start_soon(wait, hub)
            await hub.send("gate", Ping())
            await gate.entered.wait()
            tasks.start_soon(hub.unregister, "gate")
            await until(lambda: "gate" not in hub.agents)
            assert not seen
            tasks.start_soon(wait, hub)  # it is leaving: that counts as being there
            await until(lambda: len(watches_of(hub)._watchers["gate"]) == 2)
            gate.opened.set()
            await until(lambda: len(seen) == 2)
    assert seen == [("gate", "unregistered", None, False)] * 2


async def test_an_agent_that_fails_for_good_has_ended() -> None:
    seen: list[AgentEnded] = []

    async def wait(hub: Hub, agent: str) -> None:
        seen.append(await hub.watch(agent))

    class Sick:
        id = "sick"

        async def on_start(self) -> None:
            raise ValueError("sick")

        @handles
        async def take(self, ping: Ping) -> None:
            pass

    class Fragile:
        id = "fragile"

        @handles
        async def take(self, _: Ping) -> None:
            raise ValueError

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("bad", fail, supervision="stop")
            hub.register(Sick)
            hub.register(Fragile, supervision=Restart(max=1, within=60, backoff=0))
            for agent in ("bad", "sick", "fragile"):
                tasks.start_soon(wait, hub, agent)
            await until(lambda: hub._directory.watches is not None)
            await hub.send("bad", Ping())
            await hub.send("sick", Ping())
            await until(lambda: len(seen) == 2)
            await hub.send("fragile", Ping())
            await idle(hub)
            await checkpoint()
            assert len(seen) == 2
            await hub.send("fragile", Ping())
    kinds = {ended.agent: (ended.reason, type(ended.error)) for ended in seen}
    assert kinds == {
        "bad": ("failed", ZeroDivisionError),
        "sick": ("failed", ValueError),
        "fragile": ("failed", ValueError),
    }


async def test_who_is_not_there_has_ended_at_once() -> None:
    watcher = Watcher()
    with fail_after(5):
        async with Hub() as hub:
            ended = await hub.watch("nobody")
            assert (ended.agent, ended.reason, ended.error) == ("nobody", "absent", None)
            hub.register(watcher)
            await hub.send("watcher", "nobody")
            await idle(hub)
            assert watcher.news == [("nobody", "absent")]


async def test_an_agent_is_told_once_by_a_message() -> None:
    watcher, recorder = Watcher(), Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register(watcher)
            hub.register("other", echo)
            hub.register("silent", Probe("silent"))
            await hub.send("watcher", "other", trace="t")
            await hub.send("watcher", "other", trace="t")
            await idle(hub)
            await hub.unregister("other")
            await idle(hub)
            assert watcher.news == [("other", "unregistered")]
            assert (watcher.told[0].sender, watcher.told[0].trace) == (None, "t")
            hub.register("other", echo)
            await hub.unregister("other")
            await idle(hub)
            assert len(watcher.told) == 1
    accounted_for(hub, recorder)


async def test_a_watch_that_was_undone_tells_nothing() -> None:
    watcher = Watcher()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(watcher)
            hub.register("one", echo)
            hub.register("two", echo)
            for word in ("!one", "one", "two", "!one", "!one"):
                await hub.send("watcher", word)
            await idle(hub)
            await hub.unregister("one")
            await hub.unregister("two")
            await idle(hub)
            assert watcher.news == [("two", "unregistered")]


async def test_a_watcher_that_has_left_is_told_nothing_and_nothing_is_kept() -> None:
    watcher = Watcher()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(watcher)
            hub.register("one", echo)
            await hub.send("watcher", "one")
            await idle(hub)
            await hub.unregister("watcher")
            with move_on_after(0.001):
                await hub.watch("one")
            watches = watches_of(hub)
            assert (watches._watchers, watches._watched, watches._untold) == ({}, {}, {})
            hub.register(watcher)
            await hub.unregister("one")
            await idle(hub)
            assert watcher.told == []


async def test_news_for_a_full_mailbox_wait_for_room() -> None:
    class Slow(Gate):
        news = 0

        @handles
        async def watch(self, agent: str, context: Context) -> None:
            context.watch(agent)

        @handles
        async def note(self, _: AgentEnded) -> None:
            self.news += 1

    slow, recorder = Slow(), Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register(slow, mailbox=1)
            hub.register("one", echo)
            await hub.send("gate", "one")
            await hub.send("gate", Ping())
            await slow.entered.wait()
            await hub.send("gate", Ping())
            await hub.unregister("one")
            slow.opened.set()
            await idle(hub)
            assert slow.news == 1
    accounted_for(hub, recorder)


async def test_thousands_of_watchers_are_told_in_several_turns() -> None:
    watchers = [Watcher(f"watcher{number}") for number in range(600)]
    waiting: list[AgentEnded] = []

    async def wait(hub: Hub) -> None:
        waiting.append(await hub.watch("one"))

    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("one", echo)
            for watcher in watchers:
                hub.register(watcher)
                await hub.send(watcher.id, "one")
            tasks.start_soon(wait, hub)
            await idle(hub)
            hub.terminate("one", ValueError())
            hub.terminate("watcher599", ValueError())  # it leaves before it is its turn
            await until(lambda: bool(waiting))
            await idle(hub)
    assert [len(watcher.told) for watcher in watchers] == [1] * 599 + [0]


async def test_a_wait_that_is_cancelled_as_the_agent_ends_is_cancelled() -> None:
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("one", echo)
            hub.register("two", echo)
            tasks.start_soon(hub.watch, "one")
            await until(lambda: hub._directory.watches is not None)
            await checkpoint()
            hub.terminate("two", ValueError())  # nobody watches it
            tasks.cancel_scope.cancel()
            hub.terminate("one", ValueError())
    assert watches_of(hub)._watchers == {}


@pytest.mark.parametrize("way", ["drain", "error", "at once"])
async def test_the_end_of_the_hub_ends_all_waits(way: str) -> None:
    seen: list[AgentEnded] = []
    gate, watcher = Gate(), Watcher()
    hub = Hub(grace=0)

    async def wait() -> None:
        seen.append(await hub.watch("one"))

    with fail_after(5):
        async with create_task_group() as tasks:
            with pytest.raises(RuntimeError) if way == "error" else move_on_after(5):
                async with hub:
                    hub.register("one", echo)
                    hub.register(watcher)
                    hub.register(gate)
                    for _ in range(2):
                        tasks.start_soon(wait)
                    await hub.send("watcher", "one")
                    await idle(hub)
                    if way == "drain":
                        await hub.drain(0)
                        await until(lambda: len(seen) == 2)
                    if way == "error":
                        raise RuntimeError
    assert {ended.reason for ended in seen} == {"hub_stopped"}
    assert (await hub.watch("one")).reason == "hub_stopped"
    assert watcher.told == []


async def test_a_drain_does_not_wait_for_a_handler_that_watches() -> None:
    async def wait(ping: Ping, context: Context) -> str:
        return (await context.hub.watch("other")).reason

    replies: list[object] = []

    async def ask(hub: Hub) -> None:
        replies.append(await hub.request("waiter", Ping()))

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("waiter", wait)
            hub.register("other", echo)
            tasks.start_soon(ask, hub)
            await until(lambda: hub._directory.watches is not None)
            assert (await hub.drain(None)).clean
    assert replies == ["hub_stopped"]


async def test_what_cannot_be_watched_is_refused() -> None:
    problems: list[Exception] = []

    async def deaf(agent: str, context: Context) -> None:
        for watch in (context.watch, context.hub.watch):
            try:
                rest = watch(agent)
                if rest is not None:
                    await rest
            except Exception as error:  # noqa: BLE001 - that is the question
                problems.append(error)

    hub = Hub()
    with pytest.raises(HubNotStarted):
        await hub.watch("one")
    with fail_after(5):
        async with hub:
            hub.register("deaf", deaf)
            with pytest.raises(InvalidName):
                await hub.watch("no id")
            await hub.send("deaf", "deaf")
            await hub.send("deaf", "nobody")
            await idle(hub)

            async def in_task() -> None:
                with pytest.raises(InvalidArgument):
                    await hub.watch("deaf")

            task = hub.spawn("deaf", in_task)
            await until(lambda: not task.is_running)

            def call_by_hand() -> None:
                with pytest.raises(WrongThread):
                    hub.watch("deaf").send(None)

            await to_thread.run_sync(call_by_hand)
    assert [type(problem) for problem in problems] == [InvalidArgument, InvalidArgument, NoHandler]


async def test_an_agent_that_leaves_can_watch_nobody() -> None:
    problems: list[Exception] = []

    class Leaving(Watcher):
        @handles
        async def leave(self, _: Ping, context: Context) -> None:
            await context.hub.unregister(self.id)
            for call in (context.watch, context.unwatch):
                try:
                    call("other")
                except AgentStopped as error:
                    problems.append(error)

        @handles
        async def stop(self, _: int, context: Context) -> None:
            await context.hub.drain(0)
            try:
                context.watch("other")
            except HubStopped as error:
                problems.append(error)

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Leaving("leaving"))
            hub.register(Leaving("stopping"))
            await hub.send("leaving", Ping())
            await idle(hub)
            await hub.send("stopping", 1)
            await until(lambda: len(problems) == 3)
