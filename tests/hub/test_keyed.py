"""Agents with an instance for each key."""

from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass
from typing import Any

import pytest
from anyio import Event as Flag
from anyio import create_task_group, fail_after, sleep_forever, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from tests.hub._agents import until

from stagepost.hub import (
    AgentNotStarted,
    AgentStopped,
    Bridge,
    Context,
    DeadReason,
    HandlerFailed,
    Hub,
    InstancesFull,
    InstanceTerminated,
    InvalidArgument,
    InvalidHandler,
    KeyFailed,
    MailboxFull,
    RequestCycle,
    Restart,
    handles,
)
from stagepost.hub.testing import Recorder, VirtualClock, idle


@dataclass(frozen=True)
class Deposit:
    account: str
    amount: int = 1


def account(deposit: Deposit) -> str:
    return deposit.account


class Account:
    """Keeps the balance of one account; `log` is told what all of them do."""

    log: list[str]

    def __init__(self, key: str) -> None:
        self.key = key
        self.amount = 0

    async def on_start(self) -> None:
        self.log.append(f"start {self.key}")

    async def on_stop(self) -> None:
        self.log.append(f"stop {self.key}")

    @handles
    async def deposit(self, deposit: Deposit) -> int:
        if deposit.amount < 0:
            raise ValueError(deposit.amount)
        self.amount += deposit.amount
        return self.amount


@pytest.fixture
def accounts() -> type[Account]:
    return type("Account", (Account,), {"log": []})


async def test_each_key_has_an_instance_of_its_own(accounts: type[Account]) -> None:
    async with Hub() as hub:
        hub.register("accounts", accounts, per=account)
        assert await hub.request("accounts", Deposit("ada", 5)) == 5
        assert await hub.request("accounts", Deposit("bob", 7)) == 7
        assert await hub.request("accounts", Deposit("ada", 5)) == 10
        assert accounts.log == ["start ada", "start bob"]
        metrics = hub.metrics().agents["accounts"]
        assert (metrics.instances, metrics.handled) == (2, 3)
        (described,) = hub.describe().agents
        assert described.instances == 2
        assert described.per == "tests.hub.test_keyed.account"
    assert sorted(accounts.log[2:]) == ["stop ada", "stop bob"]


async def test_instances_work_side_by_side_and_each_in_order() -> None:
    gates = {"a": Flag(), "b": Flag()}
    seen: list[tuple[str, int]] = []

    async def work(deposit: Deposit) -> None:
        await gates[deposit.account].wait()
        seen.append((deposit.account, deposit.amount))

    with fail_after(10):
        async with Hub() as hub:
            hub.register("work", work, per=account)
            for number in range(3):
                await hub.send("work", Deposit("a", number))
                await hub.send("work", Deposit("b", number))
            gates["b"].set()
            await wait_all_tasks_blocked()
            assert seen == [("b", 0), ("b", 1), ("b", 2)]
            gates["a"].set()
            await idle(hub)
            assert seen[3:] == [("a", 0), ("a", 1), ("a", 2)]


async def test_the_mailbox_is_that_of_the_instance() -> None:
    gate = Flag()

    async def work(deposit: Deposit) -> None:
        await gate.wait()

    async with Hub() as hub:
        hub.register("work", work, per=account, mailbox=1, overflow="reject")
        await hub.send("work", Deposit("a"))
        await wait_all_tasks_blocked()
        await hub.send("work", Deposit("a"))
        with pytest.raises(MailboxFull):
            await hub.send("work", Deposit("a"))
        await hub.send("work", Deposit("b"))
        metrics = hub.metrics()
        assert (metrics.agents["work"].depth, metrics.depths) == (1 + 1, {"work": 2})
        gate.set()


@pytest.mark.parametrize("way", ["send", "publish", "broadcast", "stream", "timer", "forward", "many"])
async def test_every_way_to_send_finds_the_instance(way: str, accounts: type[Account]) -> None:
    async def hand_on(text: str, context: Context) -> None:
        await context.forward("accounts", Deposit(text, 3))

    clock = VirtualClock()
    with fail_after(10):
        async with Hub(clock=clock) as hub:
            hub.register("accounts", accounts, per=account, topics=["deposits"])
            hub.register("hand-on", hand_on)
            await hub.request("accounts", Deposit("bob"))
            deposit = Deposit("ada", 3)
            if way == "send":
                await hub.send("accounts", deposit)
            elif way == "publish":
                assert (await hub.publish("deposits", deposit)).delivered == ("accounts",)
            elif way == "broadcast":
                await hub.broadcast(deposit)
            elif way == "stream":
                assert [part async for part in hub.stream("accounts", deposit)] == [3]
            elif way == "timer":
                await hub.send_later("accounts", deposit, after=5)
                await clock.advance(6)
            elif way == "forward":
                assert await hub.request("hand-on", "ada") == 3
            else:
                assert (await hub.request_many("deposits", deposit)).received == {"accounts": 3}
            await idle(hub)
            assert await hub.request("accounts", Deposit("ada")) == 4


async def test_an_idle_instance_ends_and_comes_back(accounts: type[Account]) -> None:
    clock = VirtualClock()
    async with Hub(clock=clock) as hub:
        hub.register("accounts", accounts, per=account, idle=60)
        await hub.request("accounts", Deposit("ada"))
        await clock.advance(30)
        await hub.request("accounts", Deposit("bob"))
        await clock.advance(31)
        assert accounts.log == ["start ada", "start bob", "stop ada"]
        assert hub.metrics().agents["accounts"].instances == 1
        assert await hub.request("accounts", Deposit("ada", 2)) == 2
        await clock.advance(61)
        assert accounts.log[3:] == ["start ada", "stop bob", "stop ada"]
        assert hub.metrics().agents["accounts"].handled == 3
        assert hub.describe().agents[0].instances == 0


async def test_an_instance_at_work_does_not_end() -> None:
    clock, gate, ended = VirtualClock(), Flag(), []

    class Slow:
        @handles
        async def work(self, _: Deposit) -> None:
            await gate.wait()

        def on_stop(self) -> None:
            ended.append(1)

    async with Hub(clock=clock) as hub:
        hub.register("slow", Slow, per=account, idle=10)
        await hub.send("slow", Deposit("a"))
        await clock.advance(100)
        assert ended == []
        gate.set()
        await clock.advance(21)
        assert ended == [1]


async def test_a_message_that_comes_while_an_instance_stops_waits_for_a_new_one() -> None:
    clock, gate, log = VirtualClock(), Flag(), list[str]()

    class Slow:
        def __init__(self, key: str) -> None:
            log.append(f"start {key}")

        @handles
        async def work(self, deposit: Deposit) -> None:
            log.append(f"work {deposit.amount}")

        async def on_stop(self) -> None:
            log.append("stopping")
            await gate.wait()
            log.append("stopped")

    with fail_after(10):
        async with Hub(clock=clock) as hub:
            hub.register("slow", Slow, per=account, idle=10)
            await hub.send("slow", Deposit("a", 1))
            await clock.advance(11)
            assert log == ["start a", "work 1", "stopping"]
            await hub.send("slow", Deposit("a", 2))
            await hub.send("slow", Deposit("a", 3))
            await wait_all_tasks_blocked()
            assert log[3:] == []
            assert hub.metrics().agents["slow"].instances == 2
            gate.set()
            await idle(hub)
            assert log[3:] == ["stopped", "start a", "work 2", "work 3"]


async def test_the_number_of_instances_is_bounded(accounts: type[Account]) -> None:
    async with Hub() as hub:
        hub.register("accounts", accounts, per=account, instances=2)
        for name in ("ada", "bob", "ada", "cid"):
            await hub.request("accounts", Deposit(name))
        with fail_after(10):
            while "stop bob" not in accounts.log:
                await checkpoint()
        assert sorted(accounts.log) == ["start ada", "start bob", "start cid", "stop bob"]
        assert await hub.request("accounts", Deposit("ada")) == 3


async def test_if_all_instances_work_a_new_key_is_refused() -> None:
    gate = Flag()

    async def work(deposit: Deposit) -> None:
        await gate.wait()

    clock = VirtualClock()
    async with Hub(clock=clock) as hub:
        hub.register("work", work, per=account, instances=2, topics=["work"])
        await hub.send("work", Deposit("a"))
        await hub.send("work", Deposit("b"))
        await hub.send("work", Deposit("a"))
        with pytest.raises(InstancesFull, match=r"works for 2 keys at once, and no more are allowed: send later"):
            await hub.send("work", Deposit("c"))
        assert (await hub.publish("work", Deposit("c"))).full == ("work",)
        await hub.send_later("work", Deposit("c"), after=1)
        await clock.advance(2)
        assert [letter.reason for letter in hub.dead_letters] == [DeadReason.MAILBOX_FULL] * 2
        assert hub.metrics().agents["work"].refused == 1
        gate.set()


class Unhashable(list[int]): ...


class Later:
    def __await__(self) -> Generator[None, None, None]:
        yield


@pytest.mark.parametrize(
    "key",
    [
        lambda deposit: deposit.nothing,
        lambda _: Unhashable(),
        lambda _: checkpoint(),
        lambda _: Later(),
    ],
    ids=["raises", "no key", "coroutine", "awaitable"],
)
async def test_a_key_function_that_fails_is_an_error_of_the_sender(key: Any, caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()

    async def work(deposit: Deposit) -> None: ...

    async with Hub(clock=clock) as hub:
        hub.register("work", work, per=key, topics=["work"])
        hub.register("other", work, topics=["work"])
        for call in (hub.send, hub.request):
            with pytest.raises(
                KeyFailed, match="gives no key for a Deposit, so no instance of agent 'work' can take it"
            ):
                await call("work", Deposit("a"))
        delivery = await hub.publish("work", Deposit("a"))
        assert (delivery.not_handled, delivery.delivered) == (("work",), ("other",))
        await hub.send_later("work", Deposit("a"), after=1)
        await clock.advance(2)
        assert hub.metrics().agents["work"].refused == 2
        assert [letter.reason for letter in hub.dead_letters] == [DeadReason.UNHANDLED] * 2
    assert len([record for record in caplog.records if "no key for" in record.getMessage()]) == 2


@pytest.mark.parametrize("per", [str, checkpoint, 3, "account"], ids=["class", "async function", "number", "text"])
def test_what_cannot_give_a_key_is_refused(per: Any) -> None:
    async def work(deposit: Deposit) -> None: ...

    with pytest.raises(InvalidArgument, match="takes the payload and returns its key"):
        Hub().register("work", work, per=per)


@pytest.mark.parametrize("options", [{"instances": 0}, {"idle": -1}], ids=str)
def test_wrong_numbers_are_refused(options: dict[str, Any]) -> None:
    async def work(deposit: Deposit) -> None: ...

    with pytest.raises(InvalidArgument):
        Hub().register("work", work, per=account, **options)


def test_an_object_with_hooks_is_refused(accounts: type[Account]) -> None:
    with pytest.raises(InvalidHandler, match=r"there is an instance for each key: register its class"):
        Hub().register("accounts", accounts("ada"), per=account)
    with pytest.raises(InvalidHandler, match="whose constructor needs key"):
        Hub().register("accounts", accounts)


async def test_supervision_is_that_of_the_instance(accounts: type[Account]) -> None:
    recorder = Recorder()
    with fail_after(10):
        async with Hub(observer=recorder) as hub:
            hub.register("accounts", accounts, per=account, supervision="stop")
            await hub.request("accounts", Deposit("bob", 5))
            with pytest.raises(HandlerFailed):
                await hub.request("accounts", Deposit("ada", -1))
            assert await hub.request("accounts", Deposit("bob")) == 6
            assert await hub.request("accounts", Deposit("ada", 3)) == 3  # a new one
            assert [event.agent for event in recorder.of(InstanceTerminated)] == ["accounts"]
            assert accounts.log.index("stop ada") < len(accounts.log) - 1


async def test_an_instance_is_restarted_alone(accounts: type[Account]) -> None:
    recorder = Recorder()
    with fail_after(10):
        async with Hub(observer=recorder) as hub:
            hub.register("accounts", accounts, per=account, supervision=Restart(max=1, within=60, backoff=0))
            await hub.request("accounts", Deposit("bob", 5))
            await hub.request("accounts", Deposit("ada", 5))
            with pytest.raises(HandlerFailed):
                await hub.request("accounts", Deposit("ada", -1))
            assert await hub.request("accounts", Deposit("ada")) == 1
            assert await hub.request("accounts", Deposit("bob")) == 6
            with pytest.raises(HandlerFailed):
                await hub.request("accounts", Deposit("ada", -1))
            await until(lambda: recorder.of(InstanceTerminated) != [])
            assert await hub.request("accounts", Deposit("ada", 4)) == 4


async def test_what_is_queued_for_a_failed_instance_is_refused(accounts: type[Account]) -> None:
    errors: list[str] = []

    async def ask(hub: Hub, amount: int) -> None:
        with pytest.raises((HandlerFailed, AgentStopped)) as caught:
            await hub.request("accounts", Deposit("ada", amount))
        errors.append(str(caught.value))

    with fail_after(10):
        async with Hub() as hub:
            hub.register("accounts", accounts, per=account, supervision="stop")
            async with create_task_group() as tasks:
                tasks.start_soon(ask, hub, -1)
                tasks.start_soon(ask, hub, -1)
            assert min(errors).startswith("agent 'accounts' failed in")
            assert max(errors).endswith("with what was queued for it: send again, to a new one")
            assert await hub.request("accounts", Deposit("ada")) == 1


async def test_an_instance_that_does_not_start_refuses_its_senders_only() -> None:
    class Odd:
        def __init__(self, key: str) -> None:
            if key == "bad":
                raise ValueError(key)

        @handles
        async def work(self, _: Deposit) -> int:
            return 1

    with fail_after(10):
        async with Hub() as hub:
            hub.register("odd", Odd, per=account)
            for _ in range(2):
                with pytest.raises(AgentNotStarted):
                    await hub.request("odd", Deposit("bad"))
            assert await hub.request("odd", Deposit("good")) == 1
            assert hub.agents == ("odd",)


async def test_escalation_ends_the_hub(accounts: type[Account]) -> None:
    async def fail() -> None:
        async with Hub() as hub:
            hub.register("accounts", accounts, per=account, supervision="escalate")
            await hub.send("accounts", Deposit("ada", -1))
            await sleep_forever()

    with fail_after(10), pytest.raises(ValueError, match="-1"):
        await fail()


@pytest.mark.parametrize("drain", [True, False])
async def test_unregistering_ends_all_instances(drain: bool, accounts: type[Account]) -> None:  # noqa: FBT001 - a table
    with fail_after(10):
        async with Hub() as hub:
            hub.register("accounts", accounts, per=account)
            for name in ("ada", "bob", "cid"):
                await hub.send("accounts", Deposit(name))
            await hub.unregister("accounts", drain=drain)
            assert hub.agents == ()
            handled = hub.metrics().handled + hub.metrics().dead + hub.metrics().cancelled
            assert handled == 3
            assert sum(entry.startswith("start") for entry in accounts.log) == sum(
                entry.startswith("stop") for entry in accounts.log
            )
            hub.register("accounts", accounts, per=account)
            assert await hub.request("accounts", Deposit("ada")) == 1


async def test_an_agent_with_keys_that_never_worked_is_unregistered_and_described() -> None:
    async def work(deposit: Deposit) -> None: ...

    async with Hub() as hub:
        hub.register("work", work, per=account)
        assert hub.metrics().agents["work"].instances == 0
        assert hub.describe().agents[0].instances == 0
        await hub.unregister("work")
        hub.register("work", work, per=account)


async def test_an_instance_asks_another_one_but_not_itself() -> None:
    class Peer:
        @handles
        async def ask(self, deposit: Deposit, context: Context) -> str:
            if deposit.amount == 0:
                return f"end {deposit.account}"
            other = "b" if deposit.account == "a" else deposit.account
            return str(await context.request("peer", Deposit(other, deposit.amount - 1)))

    with fail_after(10):
        async with Hub() as hub:
            hub.register("peer", Peer, per=account)
            assert await hub.request("peer", Deposit("a", 1)) == "end b"
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("peer", Deposit("c", 1))
            assert isinstance(caught.value.cause, RequestCycle)


@pytest.mark.parametrize("way", ["request", "send", "forward", "bridge"])
async def test_an_instance_that_works_for_others_is_in_no_circle_of_requests(way: str) -> None:
    begun, gate = Flag(), Flag()

    class Peer:
        @handles
        async def ask(self, deposit: Deposit, context: Context) -> str:
            if deposit.amount:
                return str(await context.request("broker", deposit))
            begun.set()
            await gate.wait()
            return f"end {deposit.account}"

    async def broker(deposit: Deposit, context: Context) -> object:
        onward = Deposit("c" if deposit.account == "c" else "b", deposit.amount - 1)
        if way == "forward":
            await context.forward("peer", onward)
            return None
        return await context.request("peer", onward)

    async def open_gate(hub: Hub) -> None:
        def is_asked() -> bool:
            metrics = hub.metrics().agents["peer"]
            return (metrics.running, metrics.depth) == (2, 1)

        await until(is_asked)
        gate.set()

    with fail_after(10):
        async with Hub("here") as hub, Hub("there") as there, create_task_group() as tasks:
            hub.register("peer", Peer, per=account)
            (there if way == "bridge" else hub).register("broker", broker)
            if way == "bridge":
                Bridge(hub, there, map=["broker@there", "peer@here"])
            tasks.start_soon(hub.request, "peer", Deposit("b", 0))
            await begun.wait()
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("peer", Deposit("c", 1))
            assert "requests form a cycle" in str(caught.value)
            if way != "bridge":  # over there, instances are not told apart
                tasks.start_soon(open_gate, hub)
                if way == "send":
                    await hub.send("peer", Deposit("a", 1))
                    await idle(hub)
                    assert (hub.metrics().handled, hub.metrics().failed) == (4, 2)
                else:
                    assert await hub.request("peer", Deposit("a", 1)) == "end b"
            gate.set()


async def test_an_instance_waits_for_room_at_another_one_but_not_at_itself() -> None:
    gate, log = Flag(), list[str]()

    class Peer:
        @handles
        async def work(self, deposit: Deposit, context: Context) -> None:
            if deposit.account == "a":
                for _ in range(2):
                    await context.send("peer", Deposit("b"))
                gate.set()
                await context.send("peer", Deposit("b"))
                log.append("found room")
                await context.send("peer", Deposit("a", 2)) if deposit.amount == 1 else None
                with pytest.raises(MailboxFull, match="wait for room in its own mailbox"):
                    await context.send("peer", Deposit("a", 2))
            else:
                await gate.wait()

    with fail_after(10):
        async with Hub(grace=0) as hub:
            hub.register("peer", Peer, per=account, mailbox=1)
            await hub.request("peer", Deposit("a"))
            assert log == ["found room"]


async def test_tasks_belong_to_an_instance_which_does_not_end_before_them() -> None:
    clock, log, gate = VirtualClock(), list[str](), Flag()

    class Poller:
        def __init__(self, key: str) -> None:
            self.key = key

        async def on_start(self, hub: Hub) -> None:
            hub.spawn("poller", self.poll)

        async def poll(self) -> None:
            log.append(f"poll {self.key}")
            await gate.wait()

        @handles
        async def work(self, _: Deposit, context: Context) -> None:
            context.spawn(self.poll)

    with fail_after(10):
        async with Hub(clock=clock) as hub:
            hub.register("poller", Poller, per=account, idle=10)
            with pytest.raises(InvalidArgument, match="it has an instance for each key"):
                hub.spawn("poller", sleep_forever)
            for name in "ab":
                await hub.request("poller", Deposit(name))
            await wait_all_tasks_blocked()
            assert sorted(log) == ["poll a", "poll a", "poll b", "poll b"]
            await clock.advance(30)
            assert len(hub.describe().agents[0].tasks) == 4
            gate.set()
            await clock.advance(21)
            assert hub.describe().agents[0].instances == 0


async def test_an_instance_cannot_be_told_of_ends() -> None:
    async def work(deposit: Deposit, context: Context) -> None:
        context.watch("other")

    async with Hub() as hub:
        hub.register("work", work, per=account)
        with pytest.raises(HandlerFailed, match=r"use `await hub\.watch`"):
            await hub.request("work", Deposit("a"))


async def test_instances_stream() -> None:
    class Counter:
        @handles
        async def count(self, deposit: Deposit) -> AsyncIterator[str]:
            for number in range(deposit.amount):
                yield f"{deposit.account}{number}"

    async with Hub() as hub:
        hub.register("counter", Counter, per=account)
        slow = hub.stream("counter", Deposit("a", 100))
        assert await anext(slow) == "a0"
        assert [part async for part in hub.stream("counter", Deposit("b", 2))] == ["b0", "b1"]
        await slow.aclose()


async def test_a_draining_hub_finishes_all_instances(accounts: type[Account]) -> None:
    async with Hub() as hub:
        hub.register("accounts", accounts, per=account)
        for number in range(200):
            await hub.send("accounts", Deposit(str(number % 50)))
        with fail_after(10):
            report = await hub.drain()
        assert report.clean
        assert hub.metrics().handled == 200


async def test_a_handler_of_one_instance_drains_the_hub() -> None:
    class Last:
        @handles
        async def work(self, deposit: Deposit, context: Context) -> bool:
            if deposit.amount == 0:
                await checkpoint()
                return True
            return (await context.hub.drain(timeout=5)).clean

    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("last", Last, per=account)
            tasks.start_soon(hub.send, "last", Deposit("b", 0))
            assert await hub.request("last", Deposit("a", 1)) is True


async def test_who_drains_does_not_wait_for_an_instance_that_waits_for_it() -> None:
    class Asker:
        @handles
        async def ask(self, _: Deposit, context: Context) -> object:
            return await context.request("closer", "now")

    async def close(text: str, context: Context) -> bool:
        return (await context.hub.drain(timeout=None)).clean

    with fail_after(10):
        async with Hub() as hub:
            hub.register("asker", Asker, per=account)
            hub.register("closer", close)
            assert await hub.request("asker", Deposit("a")) is True


async def test_an_instance_that_is_never_idle_for_long_enough_stays(accounts: type[Account]) -> None:
    clock = VirtualClock()
    async with Hub(clock=clock) as hub:
        hub.register("accounts", accounts, per=account, idle=None)
        await hub.request("accounts", Deposit("ada"))
        await clock.advance(1_000_000)
        assert accounts.log == ["start ada"]


async def test_an_agent_is_unregistered_while_one_instance_follows_another() -> None:
    clock, gate, log = VirtualClock(), Flag(), list[str]()

    class Slow:
        @handles
        async def work(self, deposit: Deposit) -> None:
            log.append(f"work {deposit.amount}")
            if deposit.amount < 0:
                raise ValueError(deposit.amount)

        async def on_stop(self) -> None:
            await gate.wait()
            log.append("stopped")

    with fail_after(10):
        async with Hub(clock=clock) as hub, create_task_group() as tasks:
            hub.register("slow", Slow, per=account, idle=10, supervision="stop")
            await hub.send("slow", Deposit("a", 1))
            await clock.advance(11)
            await hub.send("slow", Deposit("a", -2))
            await hub.send("slow", Deposit("a", 3))
            tasks.start_soon(hub.unregister, "slow")
            await wait_all_tasks_blocked()
            gate.set()
            await until(lambda: "slow" not in hub.agents and hub.metrics().in_flight == 0)
        assert log == ["work 1", "stopped", "work -2", "stopped"]
        assert (hub.metrics().failed, hub.metrics().dead) == (1, 1)


async def test_an_agent_with_keys_may_be_in_a_group() -> None:
    seen: list[str] = []

    async def work(deposit: Deposit, context: Context) -> None:
        seen.append(context.agent)

    async with Hub() as hub:
        for agent in ("one", "two"):
            hub.register(agent, work, per=account, topics="work", group="workers")
        for number in range(10):
            assert len((await hub.publish("work", Deposit(str(number)))).delivered) == 1
        with fail_after(10):
            await idle(hub)
        assert len(seen) == 10
        assert set(seen) == {"one", "two"}
