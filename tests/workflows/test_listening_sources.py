"""A run in memory and a stored one show listeners the same, at the same commits."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

import anyio
import pytest
from anyio import fail_after
from tests.workflows._hearing import Ear, all_parts, has_ended, said
from tests.workflows._specimens import specimens
from tests.workflows._words import NOTHING, PATIENCE, Gate, running

from stagepost.checkpoint import CannotStore, MemoryStore, RunNotFound, RunStatus, Snapshot
from stagepost.workflows import (
    Append,
    Chain,
    ChainError,
    DefinitionError,
    Graph,
    Heard,
    ItemOver,
    MemoryRoom,
    Parallel,
    Pattern,
    RunPart,
    Source,
    State,
    StepContext,
    WorkflowError,
    step,
)

Stop: TypeAlias = Callable[[str], Awaitable[None]]
Views: TypeAlias = list[tuple[str, object]]

SPECIMENS = [name for name in specimens(lambda _: None) if name != "others"]  # that one waits for the time


def steps(name: str, *updates: Mapping[str, object]) -> Chain:
    """Steps one after another; each first has it looked at where the run stands."""

    def made(number: int, update: Mapping[str, object]) -> Any:
        async def stop(_state: State, context: StepContext) -> Mapping[str, object]:
            await context.deps(context.place)
            if "error" in update:
                raise ValueError(update["error"])
            return update

        return step(f"{name}-{number}", stop)

    return Chain(name, [made(number, update) for number, update in enumerate(updates)])


async def times(item: int, context: StepContext) -> int:
    await context.deps(context.place)
    return 10 // item


def looped() -> Graph:
    graph = Graph("loop")
    graph.add("fan", Parallel("fan", step("times", times), over="items", into="made", workers=1))
    graph.add("count", steps("count", {"count": 1}, {"round": [1]}))
    graph.edge("fan", "count")
    graph.edge("count", "fan", when=lambda state: len(state["round"]) < 2)
    graph.start("fan")
    graph.finish("count")
    return graph


async def fold(state: State, item: int, context: StepContext) -> Mapping[str, object]:
    await context.deps(context.place)
    return {"sum": state.get("sum", 0) + item}


def parent(of: Pattern) -> Chain:
    async def start(_state: State, context: StepContext) -> None:
        await context.child(of, "one", {"given": 1})
        await context.deps(context.place)

    return Chain("parent", [step("start", start), *steps("after", {"end": 1}).children.values()], companions=[of])


LISTS: Mapping[str, Any] = {"log": Annotated[list[int], Append], "round": Annotated[list[int], Append]}
TEXTS = [f"{number:4}" * 500 for number in range(5)]

CASES: Mapping[str, tuple[Pattern, Mapping[str, object]]] = {
    "values": (steps("work", {"a": 1}, {"a": 2, "b": {"c": [1]}}, {"a": None}), {"given": 1}),
    "large values": (steps("work", {"a": "x" * 5000}, {"b": 1}, {"a": "y" * 6000}, {"a": "small"}), {}),
    "lists": (
        Chain("work", [steps("inner", {"log": [1, 2]}, {"a": 1}, {"log": [3]}, {"log": []})], types=LISTS),
        {"log": []},
    ),
    "a list that is given": (Chain("work", [steps("inner", {"log": [3]}, {})], types=LISTS), {"log": [1, 2]}),
    "items": (
        Chain("work", [Parallel("fan", step("times", times), over="items", into="made", workers=1), steps("z", {})]),
        {"items": [1, 2, 5]},
    ),
    "failed items": (
        Chain(
            "work",
            [
                Parallel("fan", step("times", times), over="items", into="made", workers=1, failures="bad"),
                steps("z", {}),
            ],
        ),
        {"items": [1, 0, 5]},
    ),
    "a failed item": (Parallel("fan", step("times", times), over="items", workers=1), {"items": [1, 0, 5]}),
    "branches": (
        Parallel("fan", {"a": steps("a", {"x": 1}, {"y": 2}), "b": steps("b", {"z": 3})}, workers=1),
        {"given": 1},
    ),
    "a failed branch": (
        Parallel("fan", {"a": steps("a", {"x": 1}, {"error": "broken"}), "b": steps("b", {"z": 3})}, workers=1),
        {},
    ),
    "fan-outs in items": (
        Parallel(
            "outer",
            Chain("each", [steps("first", {"n": 1}), Parallel("in", step("times", times), over="items", workers=1)]),
            over="rows",
            workers=1,
        ),
        {"rows": [1, 2], "items": [5, 2]},
    ),
    "a large list of values": (
        Chain(
            "work",
            [Parallel("fan", step("same", lambda item: item, inline=True), over="items", workers=1), steps("z", {})],
        ),
        {"items": TEXTS},
    ),
    "a cycle": (Chain("work", [looped(), steps("z", {})], types=LISTS), {"items": [1, 2], "round": []}),
    "a fold": (Chain("work", [Chain.fold("fold", fold, over="items"), steps("z", {})]), {"items": [1, 2, 3]}),
    "a failure": (steps("work", {"a": 1}, {"error": "it is broken"}), {}),
    "a child": (parent(steps("child", {"c": 1}, {"d": 2})), {}),
    "a failed child": (parent(steps("child", {"c": 1}, {"error": "broken below"})), {}),
}


class Viewer:
    """What the source of a run shows whenever a step has it looked at, in words that do not depend on where it is."""

    def __init__(self) -> None:
        self.views: Views = []
        self.source: Source
        self.run_id: str

    async def __call__(self, place: str) -> None:
        self.views.append((place, await self._view(self.run_id)))

    async def _view(self, run_id: str) -> object:
        try:
            found = await self.source.snapshot(run_id)
        except RunNotFound:
            return None
        lists = {
            key: await self._list(run_id, key, ref.length)
            for key, ref in sorted(found.root.refs.items())
            if ref.length is not None
        }
        below = [await self._view(info.run_id) for info in await self.source.below(run_id)]
        return (self._shown(found), lists, below)

    async def _list(self, run_id: str, key: str, length: int) -> list[bytes]:
        parts, after = list[bytes](), 0
        while after is not None:
            page = await self.source.elements(run_id, key, after, limit=2)
            parts += page.items
            after = int(page.next) if page.next is not None else None  # type: ignore[assignment]  # the loop's end
        assert len(parts) == length
        return parts

    def _shown(self, found: Snapshot) -> object:
        run = found.run
        frames = {
            path: (*frame[1:3], frame.width, dict(frame.visits), dict(frame.state), {*_names(frame.refs)})
            for path, frame in found.frames.items()
        }
        status = "open" if run.status.is_open else run.status
        error = None if run.error is None else run.error.replace(self.run_id, "RUN")
        about = (run.run_id.replace(self.run_id, "RUN"), run.workflow, run.version, status, error)
        return (*about, (run.finished_at is None), run.input, frames, sorted(found.items))


def _names(refs: Mapping[str, Any]) -> list[tuple[str, int | None]]:
    return [(key, ref.length) for key, ref in refs.items()]


async def in_memory(workflow: Pattern, state: Mapping[str, object]) -> Views:
    viewer, room = Viewer(), MemoryRoom()
    viewer.run_id = room.run_id
    with fail_after(PATIENCE), room.listen() as listening:
        viewer.source = listening.source
        with suppress(WorkflowError):  # the snapshot shows it
            await workflow.run(state, deps=viewer, room=room)
        await Ear().hear(listening, has_ended)
        await viewer("the end")
    return viewer.views


async def in_a_store(workflow: Pattern, state: Mapping[str, object]) -> Views:
    viewer = Viewer()
    viewer.run_id = "run-1234"
    async with running(MemoryStore(), workflow, deps=viewer) as runner:
        with runner.listen(viewer.run_id) as listening:
            viewer.source = listening.source
            await runner.start(workflow, state, run_id=viewer.run_id)
            await Ear().hear(listening, has_ended)
            await viewer("the end")
    return viewer.views


@pytest.mark.parametrize("name", CASES)
async def test_memory_and_stores_show_the_same_wherever_a_run_stands(name: str, anyio_backend: str) -> None:
    workflow, state = CASES[name]
    stored, memory = await in_a_store(workflow, state), await in_memory(workflow, state)
    assert [place for place, _ in memory] == [place for place, _ in stored]
    for (place, mine), (_, theirs) in zip(memory, stored, strict=True):
        assert mine == theirs, place
    assert anyio_backend in ("asyncio", "trio")


@pytest.mark.parametrize("name", SPECIMENS)
async def test_streams_of_memory_and_of_stores_tell_the_same_steps(name: str) -> None:
    made = specimens(lambda _: None)[name]
    async with running(MemoryStore(), made.workflow) as runner:
        stream = runner.stream("r")
        async with stream:
            await runner.start(made.workflow, made.state, run_id="r")
            stored = [part async for part in stream]
    memory = made.workflow.stream(made.state)
    parts = await all_parts(memory)
    assert _steps(parts) == _steps(stored)
    assert _items(parts) == _items(stored)
    assert memory.result == stream.result


def _steps(parts: list[RunPart]) -> list[dict[str, object]]:
    return [said(part) for part in parts if not isinstance(part, ItemOver)]


def _items(parts: list[RunPart]) -> list[tuple[object, ...]]:
    """In an order of their own: workers overtake each other."""
    items = [part for part in parts if isinstance(part, ItemOver)]
    return sorted((part.seq, part.path, part.index, part.status, str(part.value), part.total) for part in items)


# rooms of memory


async def test_who_listens_before_the_run_begins_hears_nothing_until_then(anyio_backend: str) -> None:
    room, gate = MemoryRoom(), Gate()
    assert anyio_backend
    with fail_after(PATIENCE), room.listen() as listening:
        assert listening.buffer.is_empty
        with pytest.raises(RunNotFound):
            await listening.source.snapshot(room.run_id)
        async with anyio.create_task_group() as group:
            group.start_soon(_run, Chain("work", [gate.step]), room)
            assert await listening.next() == Heard((), 0, rung=True)
            assert (await listening.source.snapshot(room.run_id)).run.status is RunStatus.RUNNING
            gate.open.set()


async def _run(workflow: Pattern, room: MemoryRoom) -> None:
    await workflow.run(room=room)


async def test_a_run_that_cannot_begin_ends_listening(anyio_backend: str) -> None:
    room = MemoryRoom()
    assert anyio_backend
    with fail_after(PATIENCE), room.listen() as early:
        with pytest.raises(CannotStore):
            await Chain("work", [NOTHING]).run([("no", "state")], room=room)  # type: ignore[arg-type]  # what is tested
        with pytest.raises(CannotStore):
            await early.next()
        with room.listen() as late, pytest.raises(CannotStore):
            await late.next()


async def test_a_room_is_for_one_run(anyio_backend: str) -> None:
    room, work = MemoryRoom(), Chain("work", [NOTHING])
    assert anyio_backend
    await work.run(room=room)
    with pytest.raises(ValueError, match="for one run"):
        await work.run(room=room)
    with room.listen() as listening:
        assert (await Ear().hear(listening, has_ended)).last.run.status is RunStatus.COMPLETED


async def test_a_run_in_memory_that_is_cancelled_says_so(anyio_backend: str) -> None:
    room, gate = MemoryRoom(), Gate()
    assert anyio_backend
    with fail_after(PATIENCE), room.listen() as listening:
        async with anyio.create_task_group() as group:
            group.start_soon(_run, Chain("work", [gate.step]), room)
            await gate.entered.wait()
            group.cancel_scope.cancel()
        assert (await Ear().hear(listening, has_ended)).last.run.status is RunStatus.CANCELLED


async def test_errors_of_runs_in_memory_show_no_secrets(anyio_backend: str) -> None:
    room = MemoryRoom()
    assert anyio_backend
    with room.listen() as listening:
        with pytest.raises(ChainError):
            await steps("work", {"error": "sk-live-4711"}).run(
                deps=_nowhere, secrets={"key": "sk-live-4711"}, room=room
            )
        run = (await Ear().hear(listening, has_ended)).last.run
    assert run.error is not None
    assert run.traceback is not None
    assert "sk-live" not in run.error + run.traceback


async def _nowhere(_: str) -> None:
    """Nobody looks."""


def test_the_cases_are_workflows() -> None:
    for workflow, _ in CASES.values():
        try:
            assert workflow.plan.places
        except DefinitionError as error:
            pytest.fail(str(error))
