import dataclasses
from dataclasses import dataclass
from functools import partial

import anyio
import pytest
from hypothesis import given
from tests.workflows._meanings import START, WORKFLOWS, Meant
from tests.workflows._words import NOTHING, Counted, Gate, Recorder, Store, leave_at, running
from tests.workflows.test_graph import COUNT, loop
from tests.workflows.test_laws import QUICK, pattern_of

from stagepost.hub import Context, Hub, Level, Message
from stagepost.workflows import (
    Ask,
    Chain,
    ChainProgress,
    Checkpointed,
    Conditional,
    Graph,
    NodeEntered,
    Parallel,
    PatternEnded,
    PatternError,
    PatternStarted,
    RunEnded,
    RunEvent,
    RunFailed,
    RunStarted,
    State,
    StepContext,
    step,
)


def way(state: State) -> str:
    return "on"


def work(*last: object) -> Chain:
    items = Parallel("items", step("item", lambda item: item, inline=True), over=lambda _: [1, 2], workers=1)
    return Chain("work", [NOTHING, items, Conditional("choice", way, {"on": Counted().adds("a")}), *last])  # type: ignore[list-item]  # steps


STORY = [
    ("RunStarted", None),
    ("PatternStarted", ""),
    ("StepStarted", "nothing"),
    ("Checkpointed", ""),
    ("StepEnded", "nothing"),
    ("ChainProgress", ""),
    ("PatternStarted", "items"),
    ("Checkpointed", ""),
    ("ItemsFrozen", "items"),
    ("Checkpointed", "items[0]"),
    ("ItemEnded", "items"),
    ("Checkpointed", "items[1]"),
    ("ItemEnded", "items"),
    ("Checkpointed", ""),
    ("PatternEnded", "items"),
    ("ChainProgress", ""),
    ("PatternStarted", "choice"),
    ("Checkpointed", ""),
    ("RouteTaken", "choice"),
    ("StepStarted", "choice/on"),
    ("Checkpointed", ""),
    ("StepEnded", "choice/on"),
    ("PatternEnded", "choice"),
    ("ChainProgress", ""),
    ("PatternEnded", ""),
    ("RunEnded", None),
]


def story(recorder: Recorder) -> list[tuple[str, str | None]]:
    return [(type(event).__name__, getattr(event, "path", None)) for event in recorder.events]


async def test_a_run_tells_what_happens() -> None:
    recorder = Recorder()
    await work().run(observer=recorder)
    assert story(recorder) == [told for told in STORY if told[0] != "Checkpointed"]
    events = recorder.of(RunEvent)
    assert {(event.workflow, event.run_id) for event in events} == {("work", events[0].run_id)}
    (ended,) = recorder.of(RunEnded)
    assert ended.status == "completed"
    assert ended.seconds >= 0


async def test_a_stored_run_tells_the_same_and_each_save(store: Store) -> None:
    recorder, workflow = Recorder(), work()
    async with running(store, workflow, observer=recorder) as runner:
        await (await runner.start(workflow)).result()
    assert story(recorder) == STORY
    saved = recorder.of(Checkpointed)
    assert [event.seq for event in saved] == [2, 3, None, None, 4, 5, 6]
    assert all(event.seconds >= 0 for event in saved)


async def test_patterns_say_what_they_are_and_how_long_they_took() -> None:
    recorder = Recorder()
    await work().run(observer=recorder)
    kinds = [("chain", "work"), ("parallel", "items"), ("conditional", "choice")]
    assert [(event.kind, event.name) for event in recorder.of(PatternStarted)] == kinds
    ends = recorder.of(PatternEnded)
    assert [(event.kind, event.name) for event in ends] == [*kinds[1:], kinds[0]]
    assert all(event.ok and event.seconds >= 0 for event in ends)
    assert [(event.index, event.total) for event in recorder.of(ChainProgress)] == [(0, 3), (1, 3), (2, 3)]


async def test_a_graph_tells_which_nodes_it_enters() -> None:
    recorder = Recorder()
    await Chain("work", [loop(2, node=Chain("inner", [COUNT, NOTHING]))]).run(observer=recorder)
    assert story(recorder) == [
        ("RunStarted", None),
        ("PatternStarted", ""),
        ("PatternStarted", "loop"),
        ("NodeEntered", "loop/work"),
        *_inner(),
        ("NodeRevisited", "loop/work"),
        *_inner(),
        ("NodeEntered", "loop/done"),
        ("StepStarted", "loop/done"),
        ("StepEnded", "loop/done"),
        ("PatternEnded", "loop"),
        ("ChainProgress", ""),
        ("PatternEnded", ""),
        ("RunEnded", None),
    ]
    assert [(event.path, event.visits) for event in recorder.of(NodeEntered)] == [
        ("loop/work", 1),
        ("loop/work", 2),
        ("loop/done", 1),
    ]


def _inner() -> list[tuple[str, str]]:
    steps = [f"loop/work/{name}" for name in ("count", "nothing")]
    told = [(kind, path) for path in steps for kind in ("StepStarted", "StepEnded", "ChainProgress")]
    told = [(kind, "loop/work" if kind == "ChainProgress" else path) for kind, path in told]
    return [("PatternStarted", "loop/work"), *told, ("PatternEnded", "loop/work")]


@QUICK
@given(meant=WORKFLOWS)
def test_whatever_begins_ends_within_what_is_around_it(meant: Meant) -> None:
    recorder, path = Recorder(), dict[str, list[str]]()
    anyio.run(partial(pattern_of(meant).run, START, deps=[], observer=recorder))
    positions: dict[str, int] = {}
    for event in recorder.events:
        if isinstance(event, PatternStarted):
            open_ones = path.setdefault(branch_of(event.path), [])
            assert not event.resumed
            assert not open_ones or event.path.startswith(open_ones[-1])
            open_ones.append(event.path)
            positions[event.path] = 0
        elif isinstance(event, ChainProgress):
            assert path[branch_of(event.path)][-1] == event.path
            assert positions[event.path] == event.index < event.total
            positions[event.path] += 1
        elif isinstance(event, PatternEnded):
            assert path[branch_of(event.path)].pop() == event.path
            assert event.ok
    assert not any(path.values())


def branch_of(path: str) -> str:
    """The item that a pattern belongs to; several run at once, each with a story of its own."""
    return path[: path.rfind("]") + 1]


async def test_a_run_that_goes_on_tells_where_it_stands(store: Store) -> None:
    gate, recorder = Gate(), Recorder()
    workflow = Chain("work", [NOTHING, loop(1, node=Chain("inner", [COUNT, gate.step]))])
    await leave_at(gate, store, workflow)
    async with running(store, workflow, observer=recorder) as runner:
        await (await runner.recover()).resumed[0].result()
    started = recorder.of(PatternStarted)
    assert [(event.path, event.resumed) for event in started] == [("", True), ("loop", True), ("loop/work", True)]
    assert [event.path for event in recorder.of(PatternEnded)] == ["loop/work", "loop", ""]
    assert [event.path for event in recorder.of(NodeEntered)] == ["loop/done"]


async def test_what_encloses_a_failure_ends_with_it() -> None:
    recorder = Recorder()
    inner = Chain("inner", [Counted().fails("b")])
    with pytest.raises(PatternError):
        await Chain("work", [Conditional("choice", way, {"on": inner})]).run(observer=recorder)
    ends = [(event.path, event.ok) for event in recorder.of(PatternEnded)]
    assert ends == [("choice/on", False), ("choice", False), ("", False)]


async def test_a_step_that_went_well_is_told_before_the_predicate_behind_it_that_did_not() -> None:
    recorder, graph = Recorder(), Graph("graph")
    graph.add("a", Chain("inner", [NOTHING]))
    graph.edge("a", "a", when=lambda state: state["missing"])
    graph.start("a")
    graph.finish()
    graph.add("b", NOTHING)
    graph.edge("a", "b")
    graph.finish("b")
    with pytest.raises(PatternError):
        await graph.run(observer=recorder)
    assert [(event.path, event.ok) for event in recorder.of(PatternEnded)] == [("a", True), ("", False)]


async def test_one_trace_runs_through_everything_that_a_run_asks_for(store: Store) -> None:
    recorder, seen = Recorder(), list[str]()

    async def relay(message: Message[str], context: Context) -> object:
        seen.append(message.trace)
        return await context.request("served", {})

    async def look(state: State, context: StepContext) -> None:
        seen.append(context.trace)
        await Chain("inside", [NOTHING]).run(observer=recorder, trace=context.trace)

    served = Chain("served", [look])
    asking = Chain("asking", [Ask("relay", lambda _: "hi")])
    async with Hub() as hub, running(store, asking, hub=hub, observer=recorder) as runner:
        await runner.serve(served)
        hub.register("relay", relay)
        await (await runner.start(asking, run_id="r1")).result()
        await (await runner.start(asking, run_id="r2", trace="00-abc-def-01")).result()
    assert seen == ["r1", "r1", "00-abc-def-01", "00-abc-def-01"]
    traces = [(event.workflow, event.trace) for event in recorder.of(RunStarted)]
    names = ("asking", "served", "inside")
    assert traces == [(name, trace) for trace in ("r1", "00-abc-def-01") for name in names]


async def test_a_trace_survives_a_crash(store: Store) -> None:
    gate, recorder = Gate(), Recorder()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1", trace="abc")
        await gate.entered.wait()
    gate.open.set()
    async with running(store, work, observer=recorder) as runner:
        await (await runner.recover()).resumed[0].result()
    assert [(event.trace, event.recovered) for event in recorder.of(RunStarted)] == [("abc", True)]


async def test_steps_may_tell_events_of_their_own() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class PageRead(RunEvent):
        path: str
        page: int

    def read(state: State, context: StepContext) -> None:
        context.emit(PageRead, path=context.path, page=7)

    recorder = Recorder()
    await Chain("work", [read]).run(observer=recorder)
    await Chain("work", [read]).run()
    (told,) = recorder.of(PageRead)
    assert (told.workflow, told.path, told.page) == ("work", "read", 7)


async def test_events_never_hold_a_value_of_the_state() -> None:
    recorder = Recorder()
    await work(step("secret", lambda _: {"password": "hunter2"})).run({"token": "hunter2"}, observer=recorder)
    assert "hunter2" not in repr([dataclasses.asdict(event) for event in recorder.events])


async def test_a_failure_is_told(store: Store) -> None:
    recorder, workflow = Recorder(), Chain("work", [Counted().fails("b")])
    async with running(store, workflow, observer=recorder) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(workflow)).result()
    assert recorder.names == [
        "RunStarted",
        "PatternStarted",
        "StepStarted",
        "StepEnded",
        "PatternEnded",
        "Checkpointed",
        "RunEnded",
    ]
    assert [event.status for event in recorder.of(RunEnded)] == ["failed"]
    assert [event.recovered for event in recorder.of(RunStarted)] == [False]


async def test_an_observer_that_fails_harms_nobody() -> None:
    class Broken:
        def on_event(self, event: object, /) -> None:  # noqa: ARG002  # the protocol's signature
            raise ValueError("broken observer")

    assert (await work().run(observer=Broken()))["items"] == [1, 2]
    with pytest.raises(PatternError, match="b is broken"):
        await Chain("work", [Counted().fails("b")]).run(observer=Broken())


async def test_events_that_the_observer_would_ignore_are_not_built() -> None:
    class Quiet(Recorder):
        def wants(self, level: Level, /) -> bool:
            return level != "debug"

    recorder = Quiet()
    await work().run(observer=recorder)
    assert recorder.names == ["RunStarted", "RunEnded"]
