"""What is wrong with one run concerns that run: it is left open and told, and all others go on."""

import asyncio
import logging
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, NoReturn

import anyio
import pytest
from pydantic import BaseModel, field_validator
from tests.workflows._doors import Clock
from tests.workflows._words import NOTHING, Gate, Store, leave_at, running, until

from stagepost.checkpoint import (
    CorruptRun,
    MemoryStore,
    OpenWait,
    Owner,
    OwnershipLost,
    Page,
    RunInfo,
    RunNotFound,
    RunStatus,
    Snapshot,
    WaitKind,
)
from stagepost.hub import HandlerFailed, Hub
from stagepost.workflows import (
    Append,
    Chain,
    IncompatibleCheckpoint,
    Parallel,
    Pattern,
    Receive,
    RunLeftOpen,
    RunnerRequired,
    Sleep,
    State,
    StepContext,
    UnknownWorkflow,
    Wait,
    step,
)

LOG: Mapping[str, Any] = {"log": Annotated[list[Any], Append]}
OTHER = Chain("other", [NOTHING])


class Weird(BaseException):
    """No `Exception`, as some libraries raise."""


class Silent(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


RAISED: Mapping[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("bad"),
    "RuntimeError": lambda: RuntimeError("bad"),
    "KeyError": lambda: KeyError("bad"),
    "RecursionError": RecursionError,
    "SystemExit": lambda: SystemExit(3),
    "GeneratorExit": GeneratorExit,
    "StopIteration": StopIteration,
    "CancelledError": asyncio.CancelledError,
    "BaseException": Weird,
    "group": lambda: BaseExceptionGroup("bad", [Weird(), ValueError("bad")]),
    "no text": Silent,
    "ours": lambda: RunnerRequired("work", "step"),
}


def strict(make: Callable[[], BaseException]) -> type[BaseModel]:
    """A model that refuses what is stored, in its own way."""

    class Strict(BaseModel):
        n: int = 0

        @field_validator("n")
        @classmethod
        def refuse(cls, _value: int) -> int:
            raise make()

    return Strict


async def park(store: Store, *workflows: Pattern, **options: Any) -> None:
    """Start a run of each, named after it, and leave them when they rest."""
    async with running(store, *workflows, OTHER, **options) as runner:
        for workflow in workflows:
            run = await runner.start(workflow, {"log": 5, "n": {"n": 1}}, run_id=workflow.name)
            assert await run.settled() is RunStatus.WAITING


async def check_others(runner: Any) -> None:
    """Other runs go on, also those that begin now."""
    await (await runner.start(OTHER)).result()


@pytest.mark.parametrize("make", RAISED.values(), ids=RAISED)
async def test_whatever_reading_a_stored_run_raises_leaves_that_run_open(
    store: Store, make: Callable[[], BaseException]
) -> None:
    gate = Gate()
    await leave_at(gate, store, Chain("work", [gate.step]), {"n": {"n": 1}})
    await park(store, Chain("parked", [Wait("ask")]))
    types = {"n": strict(make)}
    async with running(store, Chain("work", [gate.step], types=types), Chain("parked", [Wait("ask")]), OTHER) as runner:
        report = await runner.recover()
        assert list(report.left_open) == ["r1"]
        assert isinstance(report.left_open["r1"], IncompatibleCheckpoint)
        with pytest.raises(IncompatibleCheckpoint):
            await runner.resume("r1")
        await runner.answer("parked/ask", 1)
        assert (await (await runner.get("parked")).result())["ask"] == 1
        await check_others(runner)
    async with running(store, Chain("work", [gate.step])) as runner:
        await (await runner.recover()).resumed[0].result()


@pytest.mark.parametrize("make", RAISED.values(), ids=RAISED)
async def test_whatever_a_migration_raises_leaves_that_run_open(
    store: Store, make: Callable[[], BaseException]
) -> None:
    def migrate(_run: object) -> Any:
        raise make()

    await park(store, Chain("work", [Wait("ask")]))
    now = Chain("work", [Wait("ask")], version=2)
    async with running(store, now, OTHER, migrations={"work": {1: migrate}}) as runner:
        error = (await runner.recover()).left_open["work"]
        assert isinstance(error, IncompatibleCheckpoint)
        assert "its migration to version 2 failed" in str(error)
        with pytest.raises(IncompatibleCheckpoint):
            await runner.answer("work/ask", 1)
        await check_others(runner)


@pytest.mark.parametrize(
    "made",
    [
        {},
        {"frames": {}, "items": []},
        {"frames": {"": {}}, "items": []},
        {"frames": {"": {"next": 5, "visits": {}, "width": None, "state": {}}}, "items": []},
        {"frames": {"": {"next": "ask", "visits": {"a": "x"}, "width": None, "state": {}}}, "items": []},
        {"frames": {"": {"next": "ask", "visits": {}, "width": "x", "state": {}}}, "items": []},
        {"frames": {"": {"next": "ask", "visits": {}, "width": 3, "state": {}}}, "items": []},
        {"frames": {"": {"next": "ask", "visits": {}, "width": None, "state": {"a": object()}}}, "items": []},
        {"frames": {"": {"next": "ask", "visits": {}, "width": None, "state": {}}}, "items": [{"path": "gone"}]},
    ],
    ids=["no run", "no frame", "no frame's parts", "next", "visits", "width", "no items", "value", "item"],
)
async def test_what_a_migration_makes_is_looked_at(store: Store, made: Mapping[str, Any]) -> None:
    await park(store, Chain("work", [Wait("ask")]))
    now = Chain("work", [Wait("ask")], version=2)
    async with running(store, now, OTHER, migrations={"work": {1: lambda _: made}}) as runner:
        assert isinstance((await runner.recover()).left_open["work"], IncompatibleCheckpoint | CorruptRun)
        await check_others(runner)


async def test_a_key_that_became_a_list_that_grows_leaves_a_run_open_whose_value_is_no_list(store: Store) -> None:
    gate = Gate()
    await leave_at(gate, store, Chain("work", [gate.step]), {"log": 5})
    await park(store, Chain("parked", [Wait("ask")]))
    now = [Chain("work", [gate.step], types=LOG), Chain("parked", [Wait("ask")], types=LOG)]
    async with running(store, *now, OTHER) as runner:
        report = await runner.recover()
        assert sorted(report.left_open) == ["parked", "r1"]
        assert "in key 'log': it only grows (Append) now" in str(report.left_open["r1"])
        with pytest.raises(IncompatibleCheckpoint, match="only grows"):
            await runner.answer("parked/ask", 1)
        await check_others(runner)


@pytest.mark.parametrize("before", [[1, 2], ["x" * 5_000]], ids=["small", "large"])
async def test_a_list_that_becomes_one_that_grows_keeps_what_it_had(store: Store, before: list[Any]) -> None:
    await park(store, old := Chain("work", [step("log", lambda _: {"log": before}, inline=True), Wait("ask")]))
    say = step("say", lambda _: {"log": [3]}, inline=True)
    now = Chain("work", [*old.children.values(), say, Wait("more"), say.__class__("again", say.call)], types=LOG)
    async with running(store, now) as runner:
        await runner.recover()
        await runner.answer("work/ask", 1)
        await (await runner.get("work")).settled()
    async with running(store, now) as runner:
        await runner.recover()
        await runner.answer("work/more", 1)
        assert (await (await runner.get("work")).result())["log"] == [*before, 3, 3]
    async with store:
        assert (await store.load("work")).root.refs["log"].length == len(before) + 2


BROKEN = {"n": strict(lambda: RuntimeError("unreadable"))}


async def test_a_run_that_the_time_wakes_is_left_open_and_told(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    await park(store, Chain("work", [Sleep("nap", timedelta(days=1))]), clock=clock)
    now = Chain("work", [Sleep("nap", timedelta(days=1))], types=BROKEN)
    async with running(store, now, OTHER, clock=clock) as runner:
        run = await runner.get("work")
        clock.pass_(timedelta(days=2))
        report = await runner.recover()
        assert list(report.left_open) == ["work"]
        with pytest.raises(IncompatibleCheckpoint, match="unreadable"):
            await run.result()
        assert list((await runner.recover()).left_open) == ["work"]
        await check_others(runner)
    assert "unreadable" in caplog.text
    async with running(store, Chain("work", [Sleep("nap", timedelta(days=1))]), clock=clock) as runner:
        await (await runner.recover()).resumed[0].result()


def starts(child: Pattern) -> Chain:
    async def start(_state: State, context: StepContext) -> Mapping[str, object]:
        return {"got": (await context.child(child, "kid", {"n": {"n": 1}}))["ask"]}

    return Chain("parent", [step("start", start)], companions=[child])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_parent_waits_for_a_child_that_cannot_go_on_however_often_it_is_recovered() -> None:
    store, child = MemoryStore(), Chain("child", [Wait("ask")])
    await park(store, starts(child))
    changed = Chain("child", [Wait("ask")], types=BROKEN)
    for _ in range(7):
        async with running(store, starts(changed), OTHER) as runner:
            report = await runner.recover()
            assert (list(report.left_open), dict(report.dead)) == (["parent.kid"], {})
            (wait,) = await runner.waits("parent")
            assert "unreadable" in str(wait.blocked)
            assert [found.blocked is None for found in await runner.waits()] == [False, False]
            with pytest.raises(IncompatibleCheckpoint):
                await runner.answer("parent.kid/ask", 1)
            with pytest.raises(IncompatibleCheckpoint):
                await (await runner.resume("parent")).result()
    async with running(store, starts(child)) as runner:
        await runner.recover()
        await runner.answer("parent.kid/ask", 1)
        assert (await (await runner.get("parent")).result())["got"] == 1


async def test_the_end_of_a_child_wakes_a_parent_that_cannot_go_on_and_no_runner_ends(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    child = Chain("child", [Wait("ask")])
    await park(store, starts(child))
    parent = starts(child)
    changed = Chain("parent", list(parent.children.values()), types=BROKEN, companions=[child])
    async with running(store, changed, OTHER) as runner:
        assert list((await runner.recover()).left_open) == ["parent"]
        await runner.answer("parent.kid/ask", 1)
        await (await runner.get("parent.kid")).result()
        await until(lambda: caplog.text.count("unreadable") > 1)  # at the recovery, and when it was woken
        with pytest.raises(IncompatibleCheckpoint):
            await (await runner.get("parent")).result()
        await check_others(runner)
    async with running(store, parent) as runner:
        assert (await (await runner.recover()).resumed[0].result())["got"] == 1


@pytest.mark.parametrize("recovers", [True, False], ids=["recovered", "not recovered"])
async def test_what_waits_and_cannot_go_on_is_refused_and_marked(store: Store, recovers: bool) -> None:  # noqa: FBT001  # a parameter of the test
    await park(store, Chain("work", [Wait("ask")]), Chain("signalled", [Receive("sign")]), Chain("gone", [Wait("ask")]))
    now = [Chain("work", [Wait("approve")]), Chain("signalled", [Receive("sign", signal="other")])]
    async with running(store, *now, OTHER) as runner:
        if recovers:
            report = await runner.recover()
            assert {key: type(error) for key, error in report.left_open.items()} == {
                "work": IncompatibleCheckpoint,
                "signalled": IncompatibleCheckpoint,
                "gone": UnknownWorkflow,
            }
        blocked = {wait.run_id: wait.blocked or "" for wait in await runner.waits()}
        assert "'ask', which the workflow no longer has" in blocked["work"]
        assert "waits at 'sign' for signal 'sign'" in blocked["signalled"]
        assert "version 1, which this runner does not know" in blocked["gone"]
        with pytest.raises(IncompatibleCheckpoint, match="'ask'"):
            await runner.answer("work/ask", 1)
        for name in ("sign", "other"):
            with pytest.raises(IncompatibleCheckpoint, match="'sign'"):
                await runner.signal("signalled", name, 1)
        with pytest.raises(UnknownWorkflow):
            await runner.settle("gone", "key", value=1)
        with pytest.raises(IncompatibleCheckpoint):
            await runner.start(now[0], {"log": 5, "n": {"n": 1}}, run_id="work")
        with pytest.raises(IncompatibleCheckpoint):
            await (await runner.get("work")).settled()
        assert {found.status for found in (await store.find()).items} == {RunStatus.WAITING}
    async with running(store, Chain("work", [Wait("ask")])) as runner:
        await runner.answer("work/ask", 1)
        assert (await (await runner.get("work")).result())["ask"] == 1


async def test_a_request_that_joins_a_run_that_cannot_go_on_is_told(store: Store) -> None:
    def work(name: str) -> Chain:
        return Chain("work", [Wait(name)])

    headers = {"idempotency-key": "one"}
    async with Hub() as hub:
        async with running(store, hub=hub) as runner:
            await runner.serve(work("ask"))
            with pytest.raises(HandlerFailed):
                await hub.request("work", {}, headers=headers)
        async with running(store, hub=hub) as runner:
            await runner.serve(work("approve"))
            with pytest.raises(HandlerFailed, match="'ask', which the workflow no longer has"):
                await hub.request("work", {}, headers=headers)


async def test_many_runs_that_are_left_open_fill_no_log(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    old, new = Chain("work", [Wait("ask")]), Chain("work", [Wait("approve")])
    async with running(store, old) as runner:
        for number in range(25):
            await (await runner.start(old, run_id=f"r{number:02}")).settled()
    with caplog.at_level(logging.WARNING, "stagepost"):
        async with running(store, new) as runner:
            assert len((await runner.recover()).left_open) == 25
    assert len(caplog.records) == 21
    assert "more runs left open runs=5" in caplog.text


async def test_an_answer_that_no_step_has_heeded_is_not_lost_by_a_migration(store: Store) -> None:
    gate = Gate()
    old = Chain("work", [Parallel("both", {"a": Wait("ask", into="answer"), "b": gate.step}), NOTHING])
    async with running(store, old, grace=0) as runner:
        await runner.start(old, run_id="r1")
        await gate.entered.wait()
    async with store:  # while nobody can heed it
        await store.answer("r1", "both[0]/a", b'"yes"')
    new = Chain("work", [Parallel("both", {"c": Wait("ask", into="answer"), "b": gate.step}), NOTHING], version=2)

    def upgrade(run: dict[str, Any]) -> dict[str, Any]:
        run["items"][0]["input"] = "c"
        return run

    gate.open.set()
    async with running(store, new, migrations={"work": {1: upgrade}}) as runner:
        error = (await runner.recover()).left_open["r1"]
        assert "would lose the answer 'ask' that it was sent at 'both[0]/a'" in str(error)
    async with running(store, old) as runner:
        assert (await (await runner.recover()).resumed[0].result())["answer"] == "yes"


async def test_an_effect_of_a_step_under_way_is_not_lost_by_a_migration(store: Store) -> None:
    done: list[str] = []

    async def transfer() -> str:
        done.append("transfer")
        raise TimeoutError

    async def pay(_state: State, context: StepContext) -> Mapping[str, object]:
        return {"receipt": await context.once("transfer", transfer)}

    old = Chain("work", [step("pay", pay)])
    await park(store, old)
    new = Chain("work", [step("charge", pay)], version=2)

    def upgrade(run: dict[str, Any]) -> dict[str, Any]:
        run["frames"][""]["next"] = "charge"
        return run

    async with running(store, new, migrations={"work": {1: upgrade}}) as runner:
        error = (await runner.recover()).left_open["work"]
        assert "would lose what is known of effect 'transfer' at 'pay'" in str(error)
        with pytest.raises(IncompatibleCheckpoint, match="would lose"):
            await runner.settle("work", "transfer", value="receipt")
    async with running(store, old) as runner:
        await runner.recover()
        await runner.settle("work", "transfer", value="receipt")
        assert (await (await runner.get("work")).result())["receipt"] == "receipt"
    assert done == ["transfer"]


async def test_a_migration_that_makes_one_wait_another_opens_the_new_one(store: Store) -> None:
    await park(store, Chain("work", [Sleep("pause", timedelta(days=1)), NOTHING]))
    new = Chain("work", [Wait("pause"), NOTHING], version=2)
    async with running(store, new, migrations={"work": {1: lambda run: run}}) as runner:
        (run,) = (await runner.recover()).resumed
        assert await run.settled() is RunStatus.WAITING
        (wait,) = await runner.waits()
        assert (wait.kind, wait.blocked) == (WaitKind.ANSWER, None)
        await runner.answer(wait.id, "go")
        assert (await run.result())["pause"] == "go"


async def test_branches_that_became_a_worker_on_items_leave_a_run_open(store: Store) -> None:
    old = Chain("work", [Parallel("fan", {"a": Wait("ask"), "b": NOTHING})])
    await park(store, old)
    async with running(store, Chain("work", [Parallel("fan", Wait("ask"), over="log")])) as runner:
        error = (await runner.recover()).left_open["work"]
        assert "it stands at a branch of 'fan', which has one worker for items now" in str(error)


def typed(kind: str, model: Any, gate: Gate) -> Chain:
    """A workflow that reads one kind of value as a type: as another one than before a deploy."""

    async def work(item: Any) -> Any:
        if item == 2:
            await gate.pass_through(None)
        return item

    work.__annotations__ = {"item": model if kind == "input" else int, "return": model if kind == "value" else int}
    ask = Wait("ask", expect=model if kind == "answer" else None)
    own = Chain("own", [step("own", lambda _: {"own": 1}, inline=True), ask, NOTHING])
    item = Chain("item", [Wait("one")], types={"item": model} if kind == "item" else {})
    branches = {
        "own": own,
        "fan": Parallel("fan", step("work", work), over=lambda _: [1, 2], workers=1, into="made"),
        "items": Parallel("items", item, over="n"),
        "fold": Chain.fold("fold", typed_fold(model if kind == "fold" else int, gate), over=lambda _: [2, 2]),
    }
    return Chain("work", [Parallel("both", branches)], types={"own": model} if kind == "own" else {})


def typed_fold(model: Any, gate: Gate) -> Any:
    async def fold(_state: State, item: Any) -> None:
        await gate.pass_through(item)

    fold.__annotations__["item"] = model
    return fold


@pytest.mark.parametrize("kind", ["own", "item", "answer", "input", "value", "fold"])
async def test_values_that_a_step_would_read_are_looked_at_wherever_they_are(store: Store, kind: str) -> None:
    gate = Gate()
    async with running(store, old := typed(kind, int, gate), grace=0) as runner:
        await runner.start(old, {"n": [1]}, run_id="work")
        await until(lambda: gate.calls == 2)
        while len((await store.waits(run_id="work")).items) < 2:
            await anyio.lowlevel.checkpoint()
    if kind == "answer":
        async with store:  # the process ends before anybody heeds it
            await store.answer("work", "both[0]/ask", b"1")
    async with running(store, typed(kind, strict(lambda: RuntimeError("unreadable")), gate), OTHER) as runner:
        assert "Strict" in str((await runner.recover()).left_open["work"])
        await check_others(runner)


async def test_whatever_is_raised_when_a_run_is_worked_on_and_is_no_failure_leaves_it_open(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stagepost.workflows._runner import _executor  # what is replaced here

    gate = Gate()
    work = Chain("work", [gate.step])

    async def broken(*_: object, **__: object) -> None:
        raise LookupError("a defect")

    async with running(store, work, OTHER) as runner:
        run = await runner.start(OTHER)
        await run.result()
        monkeypatch.setattr(_executor, "observed", broken)
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunLeftOpen, match="a defect"):
            await run.result()
        monkeypatch.undo()
        gate.open.set()
        (run,) = (await runner.recover()).resumed
        await run.result()


async def test_a_run_that_cannot_be_stored_for_its_names_ends_no_runner(store: Store) -> None:
    async with running(store, OTHER) as runner:
        with pytest.raises(ValueError, match="key= has characters that are no Unicode"):
            await runner.start(OTHER, key="\ud800")
        with pytest.raises(ValueError, match="trace= has characters that are no Unicode"):
            await runner.start(OTHER, trace="\ud800")
        await check_others(runner)


async def test_a_run_that_rests_though_it_waits_for_nothing_is_taken_up() -> None:
    class Forgetful(MemoryStore):
        """Finds no waits of runs that rest: somebody has deleted them."""

        async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
            snapshot = await super().load(run_id, at=at)
            return snapshot._replace(waits=()) if snapshot.run.status is RunStatus.WAITING else snapshot

        async def waits(self, **options: Any) -> Page[OpenWait]:
            page = await super().waits(**options)
            return page._replace(items=[]) if options.get("limit") == 1 else page

    work, store = Chain("work", [Wait("ask")]), Forgetful()
    await park(store, work)
    async with running(store, work) as runner:
        (run,) = (await runner.recover()).resumed
        await run.settled()
        await runner.answer("work/ask", 1)
        assert (await run.result())["ask"] == 1


async def test_a_child_of_which_nobody_can_say_whether_it_has_ended_is_told_and_holds_up_nobody() -> None:
    class Damaged(MemoryStore):
        """Cannot read the child."""

        is_damaged = False

        async def info(self, run_id: str) -> RunInfo:
            if self.is_damaged and run_id == "parent.kid":
                raise CorruptRun(run_id, "a test")
            return await super().info(run_id)

    store = Damaged()
    await park(store, starts(Chain("child", [Wait("ask")])))
    store.is_damaged = True
    async with running(store, starts(Chain("child", [Wait("ask")])), OTHER) as runner:
        report = await runner.recover()
        assert {key: type(error) for key, error in report.left_open.items()} == {"parent.kid": CorruptRun}
        await check_others(runner)


async def test_what_else_the_store_says_of_one_run_is_that_runs_reason() -> None:
    class Taken(MemoryStore):
        """Somebody else is quicker."""

        async def claim(self, owner: Owner, run_id: str, **options: Any) -> NoReturn:  # noqa: ARG002  # the signature
            raise OwnershipLost(run_id, 1, 2)

    gate, store = Gate(), Taken()
    work = Chain("work", [gate.step])
    await leave_at(gate, store, work)
    async with running(store, work, OTHER) as runner:
        error = (await runner.recover()).left_open["r1"]
        assert isinstance(error, RunLeftOpen)
        await check_others(runner)


async def test_a_run_that_is_gone_when_it_is_looked_at_is_no_matter() -> None:
    class Late(MemoryStore):
        """Knows nothing more of a run that it has just listed."""

        async def load(self, run_id: str, *, at: int | None = None) -> NoReturn:  # noqa: ARG002  # the protocol's signature
            raise RunNotFound(run_id)

    store = Late()
    await park(store, Chain("work", [Wait("ask")]))
    async with running(store, Chain("work", [Wait("approve")])) as runner:
        assert [wait.blocked for wait in await runner.waits()] == [None]
        assert dict((await runner.recover()).left_open) == {}


async def test_a_secret_that_a_migration_raises_is_not_shown(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    def migrate(_run: object) -> Any:
        raise ValueError("sk-live-4711-0815")

    await park(store, Chain("work", [Wait("ask")]))
    now = Chain("work", [Wait("ask")], version=2)
    secrets = {"key": "sk-live-4711-0815"}
    async with running(store, now, secrets=secrets, migrations={"work": {1: migrate}}) as runner:
        error = (await runner.recover()).left_open["work"]
        (wait,) = await runner.waits()
        printed = "".join(traceback.format_exception(error))
    assert "failed: ValueError: ***" in str(error)
    assert all("4711" not in text for text in (str(error), printed, str(wait.blocked), caplog.text))
