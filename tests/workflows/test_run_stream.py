"""The stream of a plain workflow's run: its commits, what steps tell, waits, items, and the end."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Annotated, Any, TypeVar

import anyio
import anyio.lowlevel
import pytest
from anyio import fail_after, wait_all_tasks_blocked
from tests.workflows._hearing import all_parts, said
from tests.workflows._words import NOTHING, PATIENCE, Counted, Gate, Store, running

from stagepost.checkpoint import CannotStore, Commit, Keep, MemoryStore, Owner, RunNotFound, RunStatus, WaitStatus
from stagepost.workflows import (
    Append,
    Chain,
    CursorRefused,
    ItemOver,
    Parallel,
    PatternError,
    RunCancelled,
    RunFailed,
    RunLeftOpen,
    Runner,
    RunnerStopped,
    RunOver,
    RunPart,
    RunStream,
    State,
    StateShown,
    StepContext,
    StepSaved,
    StepTold,
    Told,
    ToldMissed,
    Wait,
    WaitBegan,
    WaitOver,
    step,
)

PartT = TypeVar("PartT", bound=RunPart)

LOG: Mapping[str, Any] = {"log": Annotated[list[str], Append]}


def logged() -> Chain:
    """Three steps that change keys and add to a list."""

    def first(_state: State, context: StepContext) -> Mapping[str, object]:
        context.tell({"half": True})
        return {"a": 1, "log": ["first"]}

    def second(_state: State) -> Mapping[str, object]:
        return {"a": 2, "b": {"c": [1.5]}, "log": ["second", "more"]}

    steps = [step("first", first, inline=True), step("second", second, inline=True), NOTHING]
    return Chain("logged", steps, types=LOG)


STEPS = [
    {"type": "step", "seq": 2, "cursor": "2", "step": "first", "changed": {"a": 1}, "added": {"log": ("first",)}}
    | {"next": "second", "items": None},
    {"type": "step", "seq": 3, "cursor": "3", "step": "second", "changed": {"a": 2, "b": {"c": [1.5]}}}
    | {"added": {"log": ("second", "more")}, "next": "nothing", "items": None},
    {"type": "step", "seq": 4, "cursor": "4", "step": "nothing", "changed": {}, "added": {}, "next": None}
    | {"items": None},
]
BEGIN = {"type": "state", "seq": 1, "cursor": "1", "state": {"given": 1, "log": []}, "next": "first", "skipped": 0}
WHOLE = {"given": 1, "a": 2, "b": {"c": [1.5]}, "log": ["first", "second", "more"]}
END = {"type": "end", "seq": 4, "cursor": "4!1", "status": "completed", "error": None}
GIVEN = {"given": 1, "log": list[str]()}


class Reader:
    """Reads a stream beside the test."""

    def __init__(self, stream: RunStream) -> None:
        self.stream = stream
        self.parts: list[RunPart] = []
        self._come = anyio.Event()

    async def read(self) -> None:
        async with self.stream:
            async for part in self.stream:
                self.parts.append(part)
                self._come.set()

    async def has(self, kind: type[PartT], count: int = 1) -> list[PartT]:
        """The parts of a kind, once there are so many."""
        while len(found := [part for part in self.parts if isinstance(part, kind)]) < count:
            self._come = anyio.Event()
            await self._come.wait()
        return found


# what is told


async def test_a_reader_from_the_start_gets_each_commit_and_the_end(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        async with (stream := runner.stream("r")):
            await runner.start(work, GIVEN, run_id="r")
            parts = [said(part) async for part in stream]
        assert [part for part in parts if part["type"] != "told"] == [BEGIN, *STEPS, END]
        assert stream.cursor == "4!1"
        assert stream.result == WHOLE


async def test_what_steps_tell_stands_before_what_they_have_saved(store: Store) -> None:
    async with running(store, work := logged()) as runner, (stream := runner.stream("r")):
        await runner.start(work, GIVEN, run_id="r")
        parts = [part async for part in stream]
    kinds = [type(part) for part in parts]
    told = next(part for part in parts if isinstance(part, StepTold))
    assert kinds == [StateShown, StepTold, StepSaved, StepSaved, StepSaved, RunOver]
    assert (told.run_id, told.place, told.what, told.seq, told.cursor) == ("r", "first", {"half": True}, 1, "1")


async def test_parts_have_a_form_for_json_and_a_time(store: Store) -> None:
    fan = Parallel("fan", step("same", _same, inline=True), over="items", failures="bad")
    work = Chain("work", [fan, Wait("ask", within=3600, otherwise=1), NOTHING])
    async with running(store, work) as runner, anyio.create_task_group() as group:
        reader = Reader((await runner.start(work, {"items": [1, 0]}, run_id="r")).stream())
        group.start_soon(reader.read)
        await runner.answer((await reader.has(WaitBegan))[0].wait_id, {"ok": True}, by="me")
        await reader.has(RunOver)
        run = await runner.runs.info("r")
    assert {part.type for part in reader.parts} >= {"state", "step", "wait", "wait_over", "end"}
    for part in reader.parts:
        assert json.loads(json.dumps(part.to_dict()))["type"] == part.type
        assert run.created_at <= part.timestamp or isinstance(part, StateShown)
    over = next(part for part in reader.parts if isinstance(part, WaitOver))
    assert (over.place, over.status, over.value, over.by) == ("ask", WaitStatus.ANSWERED, {"ok": True}, "me")


async def _same(item: int) -> float:
    return 1 / item


async def test_items_that_have_ended_are_told_while_their_fan_out_is_under_way(store: Store) -> None:
    gates = {name: Gate(name, {name: 1}) for name in "abc"}
    work = Parallel("fan", {name: gate.step for name, gate in gates.items()})
    async with running(store, work) as runner, anyio.create_task_group() as group:
        reader = Reader((await runner.start(work, run_id="r")).stream())
        group.start_soon(reader.read)
        for count, name in enumerate("ca", 1):
            gates[name].open.set()
            await reader.has(ItemOver, count)
        late = runner.stream("r", after="2")
        async with late:
            again = [await anext(late), await anext(late)]
        gates["b"].open.set()
        await reader.has(RunOver)
    items = [part for part in reader.parts if isinstance(part, ItemOver)][:2]
    assert [(item.path, item.index, item.done, item.total, item.value) for item in items] == [
        ("fan", 2, 1, 3, {"c": 1}),
        ("fan", 0, 2, 3, {"a": 1}),
    ]
    assert {part.index for part in again if isinstance(part, ItemOver)} == {0, 2}
    assert isinstance(reader.parts[-2], StepSaved)


async def test_failed_items_that_are_resumed_end_again(store: Store) -> None:
    is_mended = list[bool]()

    def worker(item: int) -> int:
        if item == 1 and not is_mended:
            raise ValueError("broken")
        return item

    work = Chain("work", [Parallel("fan", step("work", worker, inline=True), over="items", workers=1)])
    async with running(store, work) as runner:
        await runner.start(work, {"items": [0, 1, 2]}, run_id="r")
        stream = runner.stream("r")
        parts = await all_parts(stream)
        over = parts[-1]
        assert isinstance(over, RunOver)
        assert over.status is RunStatus.FAILED
        assert "broken" in (over.error or "")
        with pytest.raises(RunFailed):
            stream.result  # noqa: B018  # it raises
        is_mended.append(True)
        run = await runner.resume("r")
        await run.result()
        later = [said(part) for part in await all_parts(runner.stream("r", after=over.cursor))]
    assert later[-1] == {"type": "end", "seq": 3, "cursor": "3!2", "status": "completed", "error": None}
    assert later[0]["seq"] == 3


async def test_told_values_of_runs_below_come_with_their_run(store: Store) -> None:
    def tell(_state: State, context: StepContext) -> None:
        context.tell("from below")

    child = Chain("child", [step("tell", tell, inline=True)])

    async def start(_state: State, context: StepContext) -> None:
        await context.child(child, "one", {})

    work = Chain("work", [step("start", start)], companions=[child])
    async with running(store, work) as runner, (stream := runner.stream("r")):
        await runner.start(work, run_id="r")
        parts = [part async for part in stream]
    told = [part for part in parts if isinstance(part, StepTold)]
    assert [(part.run_id, part.what) for part in told] == [("r.one", "from below")]
    assert {part.run_id for part in parts if part not in told} == {"r"}


# coming back


async def test_a_reader_of_a_run_that_has_ended_gets_the_state_and_the_end(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        run = await runner.start(work, GIVEN, run_id="r")
        await run.result()
        state = {"type": "state", "seq": 4, "cursor": "4", "state": WHOLE, "next": None}
        assert [said(part) for part in await all_parts(run.stream())] == [{**state, "skipped": 3}, END]
        assert [said(part) for part in await all_parts(run.stream(after="1"))] == [{**state, "skipped": 2}, END]
        assert [said(part) for part in await all_parts(run.stream(after="4"))] == [END]
        done = run.stream(after="4!1")
        assert await all_parts(done) == []
        assert done.result == WHOLE


async def test_of_a_run_that_keeps_its_history_each_commit_is_told_once(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        run = await runner.start(work, GIVEN, run_id="r", keep="all")
        await run.result()
        for after, expected in ((None, [BEGIN, *STEPS]), ("1", STEPS), ("3", STEPS[2:]), ("4", [])):
            assert [said(part) for part in await all_parts(run.stream(after=after))] == [*expected, END]


async def test_a_reader_who_comes_back_again_and_again_gets_each_commit_of_a_history_once(store: Store) -> None:
    gates = [Gate(name, {name: 1}) for name in "abcdef"]
    work = Chain("work", [gate.step for gate in gates])
    told, cursor = list[dict[str, object]](), None
    async with running(store, work) as runner:
        await runner.start(work, run_id="r", keep="all")
        for number, gate in enumerate(gates):
            await gate.entered.wait()
            gate.open.set()
            async with runner.stream("r", after=cursor) as stream:
                async for part in stream:
                    told.append(said(part))
                    cursor = part.cursor
                    if number % 2 or isinstance(part, StepSaved):
                        break
        async with runner.stream("r", after=cursor) as stream:
            told += [said(part) async for part in stream]
    assert [part["seq"] for part in told] == [*range(1, 8), 7]
    assert [part["type"] for part in told] == ["state", *["step"] * 6, "end"]


async def test_a_run_of_which_nothing_is_kept_is_told_to_its_end(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        async with (stream := runner.stream("r")):
            run = await runner.start(work, GIVEN, run_id="r", keep=Keep.NONE)
            parts = [said(part) async for part in stream]
        assert [part for part in parts if part["type"] != "told"] == [BEGIN, *STEPS, END]
        assert await run.result() == WHOLE
        with pytest.raises(RunNotFound):
            await all_parts(runner.stream("r", after="1"))


async def test_a_parked_run_of_which_nothing_is_kept_that_is_cancelled_says_so(store: Store) -> None:
    work = Chain("work", [Wait("ask")])
    async with running(store, work) as runner, anyio.create_task_group() as group:
        run = await runner.start(work, run_id="r", keep=Keep.NONE)
        reader = Reader(run.stream())
        group.start_soon(reader.read)
        await reader.has(WaitBegan)
        await runner.cancel("r")
        (over,) = await reader.has(RunOver)
    assert over.status is RunStatus.CANCELLED
    with pytest.raises(RunCancelled):
        reader.stream.result  # noqa: B018  # it raises


async def test_open_waits_are_told_to_each_who_comes_and_those_that_have_ended_are_not(store: Store) -> None:
    work = Chain("work", [Wait("one"), Wait("two", show=lambda _: {"text": "why"})])
    async with running(store, work) as runner:
        await runner.start(work, run_id="r")
        async with (stream := runner.stream("r")):
            while not isinstance(part := await anext(stream), WaitBegan):
                pass
            await runner.answer(part.wait_id, 1)
            while not (isinstance(part := await anext(stream), WaitBegan) and part.name == "two"):
                pass
        assert part.prompt == {"text": "why"}
        async with (again := runner.stream("r", after=stream.cursor)):
            part = await anext(again)
        assert isinstance(part, WaitBegan)
        assert (part.name, part.cursor) == ("two", stream.cursor)


@pytest.mark.parametrize("cursor", ["x", "1!", "!1", "1 ", "-1", "1!2!3", "9" * 30, None.__class__])
async def test_what_is_no_cursor_is_refused(cursor: Any, anyio_backend: str) -> None:
    assert anyio_backend
    async with running(MemoryStore()) as runner:
        with pytest.raises(CursorRefused, match="run 'r'"):
            runner.stream("r", after=cursor)


async def test_an_empty_cursor_is_none_as_browsers_send_one(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        await (await runner.start(work, GIVEN, run_id="r")).result()
        assert await all_parts(runner.stream("r", after="")) == await all_parts(runner.stream("r"))


async def test_a_cursor_of_another_run_is_refused(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        await (await runner.start(work, GIVEN, run_id="r")).result()
        with pytest.raises(CursorRefused, match="number 4"):
            await all_parts(runner.stream("r", after="17"))
        with pytest.raises(RunNotFound):
            await all_parts(runner.stream("nobody knows"))


async def test_whether_a_reader_has_heard_all_of_a_run(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        await (await runner.start(work, GIVEN, run_id="r", keep=Keep.ALL)).result()
        parts = await all_parts(runner.stream("r", after="1"))
        heard = [await runner.heard_all("r", part.cursor) for part in parts]
        assert heard == [False] * (len(parts) - 1) + [True]
        assert not await runner.heard_all("r", None)
        assert not await runner.heard_all("r", "4!9")  # of an end that is not the last one
        for cursor in ("17", "x"):
            with pytest.raises(CursorRefused, match="run 'r'"):
                await runner.heard_all("r", cursor)
        with pytest.raises(RunNotFound):
            await runner.heard_all("nobody", None)


async def test_a_runner_tells_which_workflows_it_knows(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        assert runner.workflows == (work,)


async def test_whatever_a_step_tells_has_a_form_for_json(anyio_backend: str) -> None:
    class Odd:
        __slots__ = ()

    def tell(_state: State, context: StepContext) -> None:
        context.tell({"odd": Odd(), "at": {1}, "half": "\ud800"})
        context.tell(Told("r", "a step", b"\xff"))

    assert anyio_backend
    parts = await all_parts(Chain("work", [step("tell", tell, inline=True)]).stream())
    told = [json.loads(json.dumps(part.to_dict())) for part in parts if isinstance(part, StepTold)]
    assert [part["what"] for part in told] == [{"odd": "<Odd>", "at": [1], "half": "\ud800"}, ["r", "a step", "_w=="]]


# slow, many and leaving readers


async def test_a_slow_reader_misses_only_what_was_told(store: Store) -> None:
    def tell(_state: State, context: StepContext) -> None:
        for number in range(100):
            context.tell(number)

    work = Chain("work", [step("tell", tell, inline=True), *logged().children.values()], types=LOG)
    async with running(store, work) as runner, (stream := runner.stream("r", buffer=5)):
        run = await runner.start(work, GIVEN, run_id="r")
        await run.result()
        parts = [part async for part in stream]
    assert [part.what for part in parts if isinstance(part, StepTold)] == [96, 97, 98, 99, {"half": True}]
    assert sum(part.missed for part in parts if isinstance(part, ToldMissed)) == 96
    assert [part.step for part in parts if isinstance(part, StepSaved)] == ["tell", "first", "second", "nothing"]


async def test_a_reader_who_has_too_many_commits_to_read_gets_the_state_instead(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [counted.adds(f"s{number}") for number in range(20)])
    async with running(store, work) as runner, (stream := runner.stream("r", buffer=3)):
        await (await runner.start(work, run_id="r")).result()
        parts = [part async for part in stream]
    assert isinstance(parts[0], StateShown)
    assert (parts[0].seq, parts[0].skipped) == (21, 20)
    assert [type(part) for part in parts[1:]] == [RunOver]


async def test_any_number_of_readers_read_at_once(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step, *logged().children.values()], types=LOG)
    async with running(store, work) as runner, anyio.create_task_group() as group:
        run = await runner.start(work, GIVEN, run_id="r")
        readers = [Reader(run.stream()) for _ in range(20)]
        for reader in readers:
            group.start_soon(reader.read)
        for reader in readers:
            await reader.has(StateShown)
        gate.open.set()
    assert {json.dumps([said(part) for part in reader.parts]) for reader in readers} == {
        json.dumps([said(part) for part in readers[0].parts])
    }
    assert len(readers[0].parts) == 7


async def test_leaving_early_or_being_cancelled_touches_nothing_and_leaves_nothing(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        async with run.stream() as stream:
            async for _ in stream:
                break
        with anyio.move_on_after(0):
            await all_parts(run.stream())
        rooms = runner._open().presence.rooms
        assert not rooms._rooms
        gate.open.set()
        await run.result()
        assert not rooms._executions


async def test_a_reader_who_is_cancelled_while_it_reads_goes_on_where_that_was() -> None:
    class Slow(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.is_slow = True

        async def head(self, run_id: str) -> Any:
            if self.is_slow:
                await anyio.sleep_forever()
            return await super().head(run_id)

    async with running(store := Slow(), work := logged()) as runner, (stream := runner.stream("r")):
        await (await runner.start(work, GIVEN, run_id="r")).result()
        told = list[RunPart]()
        for _ in range(30):
            with anyio.move_on_after(0.001):
                told.append(await anext(stream))
        store.is_slow = False
        told += [part async for part in stream]
    assert [said(part) for part in told if not isinstance(part, StepTold)] == [BEGIN, *STEPS, END]


async def test_the_result_is_there_once_the_stream_has_ended(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        run = await runner.start(work, GIVEN, run_id="r")
        stream = run.stream()
        with pytest.raises(RuntimeError, match="has not ended"):
            stream.result  # noqa: B018  # it raises
        await all_parts(stream)
        assert stream.result == WHOLE
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


# runners that are left, and runs that cannot go on


async def test_leaving_the_runner_ends_streams(store: Store) -> None:
    work = Chain("work", [Wait("ask")])
    parts = list[RunPart]()

    async def read(stream: RunStream) -> None:
        with pytest.raises(RunnerStopped):
            parts.extend(await all_parts(stream))

    async with store, anyio.create_task_group() as group, Runner(store, workflows=[work]) as runner:
        run = await runner.start(work, run_id="r")
        await run.settled()
        group.start_soon(read, run.stream())
        await wait_all_tasks_blocked()
    async with running(store, work) as runner, anyio.create_task_group() as group:
        await runner.recover()
        reader = Reader(runner.stream("r", after="1"))
        group.start_soon(reader.read)
        await reader.has(WaitBegan)
        await runner.answer("r/ask", 1)
        await reader.has(RunOver)


async def test_a_run_that_nobody_can_go_on_with_says_why(store: Store) -> None:
    gate = Gate()
    async with running(store, Chain("work", [gate.step, NOTHING]), grace=0) as runner:
        await runner.start(runner.workflow("work"), run_id="r")
        await gate.entered.wait()
    async with running(store, Chain("work", [NOTHING])) as runner:
        await runner.recover()
        stream = runner.stream("r")
        async with stream:
            assert isinstance(await anext(stream), StateShown)
            with pytest.raises(RunLeftOpen):
                await anext(stream)


async def test_two_runs_never_mix(store: Store) -> None:
    def tell(state: State, context: StepContext) -> Mapping[str, object]:
        context.tell(state["name"])
        return {"name": state["name"] * 2}

    work = Chain("work", [step(name, tell, inline=True) for name in "abc"])
    async with running(store, work) as runner, AsyncExitStack() as stack:
        streams = {name: await stack.enter_async_context(runner.stream(name)) for name in ("r1", "r2", "r11")}
        for name in streams:
            await runner.start(work, {"name": name}, run_id=name)
        for name, stream in streams.items():
            parts = [part async for part in stream]
            assert {part.run_id for part in parts} == {name}
            assert [part.what for part in parts if isinstance(part, StepTold)] == [name, name * 2, name * 4]


async def test_a_stream_is_read_by_one_task_at_a_time(store: Store) -> None:
    async with (
        running(store, work := Chain("work", [Wait("ask")])) as runner,
        (await runner.start(work, run_id="r")).stream() as stream,
        anyio.create_task_group() as group,
    ):
        group.start_soon(all_that_come, stream)
        await wait_all_tasks_blocked()
        with pytest.raises(anyio.BusyResourceError):
            await anext(stream)
        group.cancel_scope.cancel()


async def all_that_come(stream: RunStream) -> None:
    """Read without entering the block."""
    async for _ in stream:
        pass


# in memory


async def test_a_stream_in_memory_tells_the_run_and_has_its_result(anyio_backend: str) -> None:
    assert anyio_backend
    async with logged().stream(GIVEN) as stream:
        parts = [said(part) async for part in stream]
    assert [part for part in parts if part["type"] != "told"] == [BEGIN, *STEPS, END]
    assert stream.result == WHOLE


async def test_leaving_the_block_of_a_stream_in_memory_early_cancels_the_run(anyio_backend: str) -> None:
    gate = Gate()
    assert anyio_backend
    with fail_after(PATIENCE):
        async with Chain("work", [gate.step]).stream() as stream:
            async for _ in stream:
                break
            await gate.entered.wait()
    assert gate.cancelled
    with pytest.raises(RuntimeError, match="has not ended"):
        stream.result  # noqa: B018  # it raises


async def test_an_interrupt_of_a_run_in_memory_is_raised_as_it_is(anyio_backend: str) -> None:
    def interrupt(_state: State) -> None:
        raise KeyboardInterrupt

    assert anyio_backend
    with fail_after(PATIENCE), pytest.raises(KeyboardInterrupt):
        await all_parts(Chain("work", [step("interrupt", interrupt, inline=True)]).stream())


async def test_a_stream_is_read_within_its_block_which_is_entered_once(store: Store) -> None:
    async with running(store, work := Chain("work", [Wait("ask")])) as runner:
        stream = (await runner.start(work, run_id="r")).stream()
        with fail_after(PATIENCE), pytest.raises(RuntimeError, match="async with"):
            await anext(stream)
        async with stream:
            await anext(stream)
            with pytest.raises(RuntimeError, match="once"):
                await stream.__aenter__()
        with fail_after(PATIENCE), pytest.raises(RuntimeError, match="was left"):
            await all_that_come(stream)


async def test_a_failed_run_in_memory_is_told_and_raised_to_who_wants_the_result(anyio_backend: str) -> None:
    assert anyio_backend
    async with Chain("work", [Counted().fails("bad")]).stream() as stream:
        parts = [part async for part in stream]
    assert isinstance(parts[-1], RunOver)
    assert parts[-1].status is RunStatus.FAILED
    with pytest.raises(PatternError, match="bad is broken"):
        stream.result  # noqa: B018  # it raises


async def test_an_error_in_the_loop_cancels_the_run_in_memory_and_passes_as_it_is(anyio_backend: str) -> None:
    gate = Gate()
    assert anyio_backend

    async def read() -> None:
        async with Chain("work", [gate.step]).stream() as stream:
            async for _ in stream:
                await gate.entered.wait()
                raise ZeroDivisionError

    with fail_after(PATIENCE), pytest.raises(ZeroDivisionError):
        await read()
    assert gate.cancelled


async def test_a_cancelled_reader_cancels_the_run_in_memory(anyio_backend: str) -> None:
    gate = Gate()
    assert anyio_backend
    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(all_parts, Chain("work", [gate.step]).stream())
            await gate.entered.wait()
            group.cancel_scope.cancel()
    assert gate.cancelled


async def test_a_run_in_memory_that_cannot_begin_raises_to_its_reader(anyio_backend: str) -> None:
    assert anyio_backend
    with fail_after(PATIENCE), pytest.raises(CannotStore):
        await all_parts(Chain("work", [NOTHING]).stream({1: 2}))  # type: ignore[dict-item]  # what is tested


# long lists, and what the store says


async def test_long_lists_are_read_page_by_page_and_not_kept(store: Store) -> None:
    work = Chain("work", [Wait("ask")], types=LOG)
    log = [str(number) for number in range(1700)]
    async with running(store, work) as runner:
        await (await runner.start(work, {"log": log}, run_id="r")).settled()
        async with (stream := runner.stream("r")):
            part = await anext(stream)
        assert isinstance(part, StateShown)
        assert part.state == {"log": log}
        with runner.listen("r") as listening:
            for after in range(1000):
                page = await listening.source.elements("r", "log", after, 1)
                assert list(page.items) == [json.dumps(str(after)).encode()]
            assert len(listening.memo) < 100


async def test_a_list_that_is_replaced_while_it_is_read_is_shown_as_it_is_then() -> None:
    values = [f"{number:05}" for number in range(2000)]
    made = Parallel("made", step("same", lambda item: item, inline=True), over="items", workers=1)
    gate = Gate(updates={"made": ["short"]})
    work = Chain("work", [made, gate.step, Wait("ask")])

    class Replacing(MemoryStore):
        async def elements(self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100) -> Any:
            if not gate.open.is_set():
                gate.open.set()
                while (await self.info(run_id)).status is not RunStatus.WAITING:
                    await anyio.lowlevel.checkpoint()
            return await super().elements(run_id, path, key, after=after, limit=limit)

    async with running(Replacing(), work) as runner:
        await runner.start(work, {"items": values}, run_id="r")
        await gate.entered.wait()
        async with (stream := runner.stream("r")):
            part = await anext(stream)
    assert isinstance(part, StateShown)
    assert part.state["made"] == ["short"]


async def test_the_history_of_a_workflow_that_nobody_knows_any_more_is_told(store: Store) -> None:
    async with running(store, work := logged()) as runner:
        await (await runner.start(work, GIVEN, run_id="r", keep="all")).result()
    async with running(store) as runner:
        parts = await all_parts(runner.stream("r"))
    assert [part.seq for part in parts] == [1, 2, 3, 4, 4]
    steps = [part for part in parts if isinstance(part, StepSaved)]
    assert [part.changed.get("log") for part in steps] == [["first"], ["first", "second", "more"], None]


async def test_a_history_that_is_longer_than_a_page_is_told_from_any_cursor(store: Store) -> None:
    counted = Counted()
    fan = Parallel("fan", Chain("each", [NOTHING, counted.adds("x", "p")]), over="items", workers=2)
    work = Chain("work", [*(counted.adds(f"s{number}") for number in range(25)), fan, counted.adds("end")])
    async with running(store, work) as runner:
        await (await runner.start(work, {"items": list(range(20))}, run_id="r", keep="all")).result()
        for cursor in (None, "1", "20", "26", "27", "28", "29"):
            parts = await all_parts(runner.stream("r", after=cursor))
            told = [part.seq for part in parts if isinstance(part, StepSaved | StateShown)]
            assert told == list(range(1 if cursor is None else int(cursor) + 1, 30))


async def test_a_reader_who_falls_behind_in_the_middle_goes_on_from_the_state_or_the_history(store: Store) -> None:
    gate, counted = Gate(), Counted()
    work = Chain("work", [gate.step, *(counted.adds(f"s{number}") for number in range(20))])
    for keep in (Keep.RESULT, Keep.ALL):
        gate.open = anyio.Event()
        async with running(store, work) as runner:
            run = await runner.start(work, run_id=keep.value, keep=keep)
            async with (stream := runner.stream(run.id, buffer=3)):
                assert (await anext(stream)).seq == 1
                gate.open.set()
                await run.result()
                parts = [part async for part in stream]
        told = [(type(part), part.seq) for part in parts]
        if keep is Keep.ALL:
            assert told == [*((StepSaved, seq) for seq in range(2, 23)), (RunOver, 22)]
        else:
            assert told == [(StateShown, 22), (RunOver, 22)]
            assert isinstance(parts[0], StateShown)
            assert parts[0].skipped == 20


async def test_commits_that_were_not_made_by_this_runner_are_seen_with_the_next_ring(store: Store) -> None:
    work = Chain("work", [Wait("ask"), NOTHING])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r")).settled()
        async with (stream := runner.stream("r")):
            assert [type(await anext(stream)) for _ in range(2)] == [StateShown, WaitBegan]
            info = await store.info("r")
            lease = await store.claim(Owner(runner._open().claims.owner.id, "another"), "r", force=True)
            frame = (await store.load("r")).root
            await store.commit(Commit(lease, frame=frame._replace(seq=frame.seq + 1, state={"by": b"1"})))
            runner._open().presence.rooms.ring("r")
            part = await anext(stream)
        assert info.status is RunStatus.WAITING
    assert isinstance(part, StateShown)
    assert (part.state, part.skipped) == ({"by": 1}, 0)
