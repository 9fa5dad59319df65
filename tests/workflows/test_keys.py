"""Keys outlive the runs that they have started: what was done once is not done again when its run is forgotten."""

from datetime import UTC, datetime, timedelta
from typing import TypedDict

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.workflows._words import Counted, Store, running

from stagepost.checkpoint import MemoryStore, RunNotFound
from stagepost.checkpoint._sqlite._queries import Query
from stagepost.hub import HandlerFailed, Hub
from stagepost.workflows import Ask, Chain, RunFailed, RunForgotten, Runner, RunnerConfig, State, StepContext, step

DAY = 86_400.0
START = 1_800_000_000.0


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(store: Store) -> Clock:
    clock = Clock()
    store._clock = clock
    return clock


async def keys_in(store: Store) -> int:
    ((count,),) = await store._read(Query("SELECT count(*) FROM keys", ()))
    return int(count)


async def swept(store: Store, *workflows: Chain, clock: Clock, days: float, keys: int, **options: object) -> None:
    """Let days pass and a runner sweep, until there is no run any more and as many keys as there should be."""
    clock.now += days * DAY
    async with running(store, *workflows, clock=clock, **options):
        while (await store.find()).items or await keys_in(store) != keys:
            await checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert await keys_in(store) == keys


class Names(TypedDict, total=False):
    """What a run is started by."""

    key: str
    run_id: str


def named(by: str, name: str) -> Names:
    return {"key": name} if by == "key" else {"run_id": name}


def paying() -> tuple[Chain, Counted]:
    counted = Counted()
    return Chain("pay", [counted.adds("paid")]), counted


@pytest.mark.parametrize("by", ["key", "run_id"])
async def test_a_key_is_known_when_its_run_has_been_forgotten(store: Store, clock: Clock, by: str) -> None:
    pay, counted = paying()
    async with running(store, pay, clock=clock) as runner:
        first = await runner.start(pay, {"sum": 1}, **named(by, "order-1"))
        await first.result()
    await swept(store, pay, clock=clock, days=31, keys=1)
    async with running(store, pay, clock=clock) as runner:
        with pytest.raises(RunNotFound):
            await runner.get(first.id)
        for _ in range(2):
            with pytest.raises(RunForgotten, match=r"it ended 2027-01-15 08:00 UTC \(completed\)") as caught:
                await runner.start(pay, {"sum": 1}, **named(by, "order-1"))
        forgotten = caught.value
        assert (forgotten.run_id, forgotten.status, forgotten.is_same) == (first.id, "completed", True)
        assert forgotten.ended_at == datetime.fromtimestamp(START, UTC)
        with pytest.raises(RunForgotten, match="started with another workflow or input") as caught:
            await runner.start(pay, {"sum": 2}, **named(by, "order-1"))
        assert not caught.value.is_same
        await (await runner.start(pay, {"sum": 1}, **named(by, "order-2"))).result()
    assert len(counted.calls) == 2


async def test_keys_are_those_of_a_workflow_and_ids_those_of_the_store(store: Store, clock: Clock) -> None:
    pay, other = paying()[0], Chain("other", [Counted().adds("x")])
    async with running(store, pay, other, clock=clock) as runner:
        await (await runner.start(pay, key="key", run_id="run")).result()
    await swept(store, pay, clock=clock, days=31, keys=2)
    async with running(store, pay, other, clock=clock) as runner:
        with pytest.raises(RunForgotten):
            await runner.start(other, run_id="run")
        await (await runner.start(other, key="key")).result()
        await (await runner.start(other, run_id="key")).result()
        with pytest.raises(RunForgotten):
            await runner.start(pay, key="key", run_id="another")


async def test_keys_are_forgotten_in_their_turn(store: Store, clock: Clock) -> None:
    pay, counted = paying()
    async with running(store, pay, clock=clock) as runner:
        for number in range(50):  # more than one transaction deletes
            await (await runner.start(pay, key=f"order-{number}")).result()
    await swept(store, pay, clock=clock, days=399, keys=50)
    async with running(store, pay, clock=clock) as runner:
        with pytest.raises(RunForgotten):
            await runner.start(pay, key="order-1")
    await swept(store, pay, clock=clock, days=2, keys=0)
    async with running(store, pay, clock=clock) as runner:
        await (await runner.start(pay, key="order-1")).result()
    assert len(counted.calls) == 51


@pytest.mark.parametrize("keep_keys", [timedelta(hours=1), timedelta(0)])
async def test_how_long_keys_are_kept_can_be_chosen(store: Store, clock: Clock, keep_keys: timedelta) -> None:
    pay, counted = paying()
    async with running(store, pay, clock=clock, keep="none") as runner:
        await (await runner.start(pay, key="order-1")).result()
        with pytest.raises(RunForgotten):
            await runner.start(pay, key="order-1")
    await swept(store, pay, clock=clock, days=1, keys=0, keep_keys=keep_keys)
    async with running(store, pay, clock=clock) as runner:
        await (await runner.start(pay, key="order-1")).result()
    assert len(counted.calls) == 2


async def test_keys_can_be_kept_for_ever(store: Store, clock: Clock) -> None:
    pay, _ = paying()
    async with running(store, pay, clock=clock) as runner:
        await (await runner.start(pay, key="order-1")).result()
    await swept(store, pay, clock=clock, days=100_000, keys=1, keep_keys=None)
    async with running(store, pay, clock=clock, keep_keys=None) as runner:
        with pytest.raises(RunForgotten):
            await runner.start(pay, key="order-1")


async def test_a_run_that_keeps_nothing_is_started_once_all_the_same(store: Store, clock: Clock) -> None:
    pay, counted = paying()
    async with running(store, pay, clock=clock, keep="none", keep_for=None, keep_keys=None) as runner:
        await (await runner.start(pay, key="order-1")).result()
        await (await runner.start(pay, run_id="order-2")).result()
        assert (await store.find()).items == ()
        for again in (named("key", "order-1"), named("run_id", "order-2")):
            with pytest.raises(RunForgotten):
                await runner.start(pay, **again)
    assert len(counted.calls) == 2


async def test_the_status_of_a_forgotten_run_is_told(store: Store, clock: Clock) -> None:
    fail = Chain("fail", [Counted().fails("broken")])
    async with running(store, fail, clock=clock) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(fail, key="order-1")).result()
    await swept(store, fail, clock=clock, days=31, keys=1)
    async with running(store, fail, clock=clock) as runner:
        with pytest.raises(RunForgotten) as caught:
            await runner.start(fail, key="order-1")
        assert caught.value.status == "failed"


@pytest.mark.parametrize("forgotten", [False, True])
async def test_deleting_a_run_frees_its_key_and_id(store: Store, clock: Clock, forgotten: bool) -> None:  # noqa: FBT001  # a parameter
    pay, counted = paying()
    async with running(store, pay, clock=clock) as runner:
        await (await runner.start(pay, run_id="run", key="order-1")).result()
    if forgotten:
        await swept(store, pay, clock=clock, days=31, keys=2)
    async with running(store, pay, clock=clock) as runner:
        await store.delete("run")
        with pytest.raises(RunNotFound):
            await store.delete("run")
        await (await runner.start(pay, run_id="run", key="order-1")).result()
    assert len(counted.calls) == 2


async def test_names_that_nobody_gave_go_with_their_runs(store: Store, clock: Clock) -> None:
    kid = Chain("kid", [Counted().adds("x")])

    async def begin(_: State, context: StepContext) -> dict[str, object]:
        return dict(await context.child(kid, "kid", {}))

    parent = Chain("parent", [step("begin", begin)], companions=[kid])
    async with Hub() as hub, running(store, parent, clock=clock, hub=hub) as runner:
        await (await runner.start(parent)).result()
        await runner.serve(Chain("served", [Counted().adds("x")]))
        await hub.request("served", {})
        await (await runner.start(parent, run_id="run-7", remember_id=False)).result()
        assert len((await store.find()).items) == 5
    await swept(store, parent, clock=clock, days=31, keys=0)


async def test_requests_with_a_key_are_answered_once(store: Store, clock: Clock) -> None:
    pay, counted = paying()
    headers = {"idempotency-key": "order-1"}
    async with Hub() as hub, running(store, pay, clock=clock, hub=hub) as runner:
        await runner.serve(pay)
        await hub.request("pay", {}, headers=headers)
    await swept(store, pay, clock=clock, days=31, keys=1)
    asking = Chain("asking", [Ask("pay", lambda _: {})])
    async with Hub() as hub, running(store, pay, asking, clock=clock, hub=hub) as runner:
        await runner.serve(pay)
        with pytest.raises(HandlerFailed) as caught:
            await hub.request("pay", {}, headers=headers)
        assert isinstance(caught.value.cause, RunForgotten)
        await (await runner.start(asking)).result()  # whose key is another one
    assert len(counted.calls) == 2


async def test_what_a_step_asks_for_again_is_not_begun_again(store: Store, clock: Clock) -> None:
    pay, counted = paying()

    async def ask_twice(_: State, context: StepContext) -> None:
        assert context.hub is not None
        for _time in range(2):
            await context.hub.request("pay", {}, headers={"idempotency-key": context.idempotency_key})

    asking = Chain("asking", [ask_twice])
    async with Hub() as hub, running(store, pay, asking, clock=clock, hub=hub, keep={"pay": "none"}) as runner:
        await runner.serve(pay)
        with pytest.raises(RunFailed, match="is over: it ended"):
            await (await runner.start(asking)).result()
    assert len(counted.calls) == 1


def test_how_long_keys_are_kept_is_configuration() -> None:
    config = RunnerConfig.model_validate({"keep_keys": "P1000D"})
    assert config.keep_keys == timedelta(days=1000)
    assert RunnerConfig().keep_keys == timedelta(days=400)
    runner = Runner.from_config(config, MemoryStore())
    assert (runner._keep_for, runner._keep_keys) == (timedelta(days=30), timedelta(days=1000))
