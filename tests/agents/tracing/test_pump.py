"""Whatever a provider does, it harms no run: it hears in order, within bounds, or not at all."""

import logging
from collections.abc import Callable

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.agents.tracing._noting import Noting, Told, tree

from stagepost.agents import (
    Agent,
    NoOpTracingProvider,
    ScriptedModel,
    TraceContext,
    Tracing,
    TracingProvider,
    TracingStatistics,
    call,
    get_tracing_provider,
    reset_tracing_provider,
    set_tracing_provider,
    tool,
)
from stagepost.agents._tracing._pump import Pump, Pumping
from stagepost.checkpoint import MemoryStore
from stagepost.hub import InvalidArgument
from stagepost.workflows import Chain, Runner, step


@tool(idempotent=True)
async def look(city: str) -> str:
    "Look at a city."
    await checkpoint()
    return f"{city} is fine"


def agent() -> Agent[str]:
    return Agent("lead", "Lead.", model=ScriptedModel([call("look", city="Oslo"), "done"]), tools=[look])


class Bad(Noting):
    """Does something else than it is told."""

    def __init__(self, does: Callable[[], object]) -> None:
        super().__init__()
        self._does = does

    def note(self, told: Told) -> None:
        super().note(told)
        self._does()

    async def flush(self) -> None:
        self._does()


class Broken(BaseException):
    """What nobody expects."""


def raising(error: type[BaseException]) -> Callable[[], object]:
    def does() -> object:
        raise error("a secret thing")

    return does


@pytest.mark.parametrize("error", [ValueError, Broken, SystemExit, GeneratorExit])
async def test_a_provider_that_raises_harms_no_run_and_is_counted(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    tracing = Tracing(Bad(raising(error)))
    with fail_after(30), caplog.at_level(logging.WARNING):
        assert (await agent().run("go", tracing=tracing)).output == "done"
    counted = tracing.statistics()
    assert counted.failed == 15 + counted.told
    assert counted.told == 0
    said = [record.getMessage() for record in caplog.records if "tracing failed" in record.getMessage()]
    assert len(said) == 1
    assert "a secret thing" not in caplog.text


async def test_a_provider_that_hangs_harms_no_run() -> None:
    class Hanging(Noting):
        async def begin_trace(self, *_args: object, **_more: object) -> None:
            await anyio.sleep_forever()

        async def flush(self) -> None:
            await anyio.sleep_forever()

    provider = Hanging()
    tracing = Tracing(provider, patience=0.01, within=0.01)
    with fail_after(30):
        assert (await agent().run("go", tracing=tracing)).output == "done"
    counted = tracing.statistics()
    assert counted.timed_out >= 1
    assert counted.told + counted.timed_out + counted.dropped in {14, 15}  # at the end there may be no time to flush


async def test_a_provider_that_leaves_a_scope_open_harms_no_run() -> None:
    scopes = []

    class Unclean(Noting):
        def note(self, told: Told) -> None:
            super().note(told)
            scopes.append(anyio.CancelScope().__enter__())

    tracing = Tracing(Unclean())
    with fail_after(30):
        assert (await agent().run("go", tracing=tracing)).output == "done"
    assert tracing.statistics().failed == len(scopes)


async def test_a_run_does_not_wait_for_a_slow_provider() -> None:
    goes_on = anyio.Event()

    class Slow(Noting):
        async def begin_trace(self, *_args: object, **_more: object) -> None:
            await goes_on.wait()

    slow = Slow()
    flow = Chain("flow", [step("one", lambda _state: {"one": 1})])
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[flow], tracing=slow) as runner:
            assert (await (await runner.start(flow, {})).result())["one"] == 1
            assert slow.told == []
            goes_on.set()
    assert [each.what for each in slow.told] == ["begin", "begin", "end", "end", "end"]


async def test_what_is_dropped_is_dropped_with_all_that_belongs_to_it() -> None:
    noting = Noting()
    tracing = Tracing(noting, most=3)
    with fail_after(30):
        await agent().run("go", tracing=tracing)
    ended = {each.span for each in noting.told if each.what == "end"}
    begun = {each.span for each in noting.told if each.what == "begin"}
    assert begun == ended
    assert tracing.statistics().told == len(noting.told) + 1


def pump(statistics: TracingStatistics, most: int = 2) -> Pump:
    return Pump(NoOpTracingProvider(), statistics, most=most, patience=5)


async def test_a_full_queue_drops_starts_with_what_is_below_them_and_keeps_ends() -> None:
    said: list[str] = []
    statistics = TracingStatistics()
    queue = pump(statistics)

    def says(text: str) -> Callable[[], object]:
        async def say() -> None:
            said.append(text)

        return say

    queue.start("a", None, says("a begins"))  # type: ignore[arg-type]  # functions that are awaited
    queue.start("b", "a", says("b begins"))  # type: ignore[arg-type]  # as above
    queue.start("c", "b", says("c begins"))  # type: ignore[arg-type]  # as above
    queue.start("d", "c", says("d begins"))  # type: ignore[arg-type]  # as above
    queue.tell("a", says("a says"))  # type: ignore[arg-type]  # as above
    for each in "dcba":
        queue.end(each, says(f"{each} ends"))  # type: ignore[arg-type]  # as above
    queue.close()
    await queue.run()
    assert said == ["a begins", "b begins", "b ends", "a ends"]
    assert (statistics.dropped, statistics.told) == (3, 5)
    queue.start("e", None, says("late"))  # type: ignore[arg-type]  # as above
    queue.tell("a", says("late"))  # type: ignore[arg-type]  # as above
    queue.end("a", says("late"))  # type: ignore[arg-type]  # as above
    assert statistics.dropped == 6


async def test_what_belongs_to_a_dropped_start_is_dropped_later_too() -> None:
    said: list[str] = []
    statistics = TracingStatistics()
    queue = pump(statistics, most=1)

    async def say() -> None:
        said.append("said")

    with fail_after(30):
        async with Pumping(queue, 5):
            queue.start("a", None, say)
            queue.start("b", None, say)  # is dropped
            while len(said) < 1:
                await checkpoint()
            queue.start("c", "b", say)
            queue.tell("b", say)
            queue.end("c", say)
            queue.end("b", say)
            queue.start("b", None, say)  # it goes on, and now there is room
            while len(said) < 2:
                await checkpoint()
            queue.end("b", say)
    assert (len(said), statistics.dropped) == (3, 3)


async def test_an_error_of_the_block_passes_as_it_is() -> None:
    queue = pump(TracingStatistics())
    with fail_after(30), pytest.raises(ZeroDivisionError):
        async with Pumping(queue, 5):
            _ = 1 / 0
    with fail_after(30), anyio.CancelScope() as scope:
        async with Pumping(pump(TracingStatistics()), 5):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Tracing(object()), "this has no start_trace"),  # type: ignore[arg-type]  # what is refused
        (lambda: Tracing(Noting), "class"),  # type: ignore[arg-type]  # what is refused
        (lambda: Tracing(Noting(), most=0), "most"),
        (lambda: Tracing(Noting(), debug=True), "content=True"),
        (lambda: Tracing(Noting(), patience=-1), "patience"),
        (lambda: Runner(MemoryStore(), tracing=Noting), "class"),  # type: ignore[arg-type]  # what is refused
        (lambda: Runner(MemoryStore(), tracing=object()), "BaseTracingProvider"),  # type: ignore[arg-type]  # what is refused
    ],
)
def test_what_cannot_trace_is_refused(make: Callable[[], object], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        make()


async def test_a_run_refuses_what_cannot_trace() -> None:
    with pytest.raises(InvalidArgument, match="BaseTracingProvider"):
        await agent().run("go", tracing=object())  # type: ignore[arg-type]  # what is refused


async def test_the_provider_of_the_process_traces_what_is_given_none_and_an_argument_wins() -> None:
    assert isinstance(get_tracing_provider(), NoOpTracingProvider)
    everywhere, own = Noting(), Noting()
    set_tracing_provider(everywhere)
    try:
        assert get_tracing_provider() is everywhere
        await agent().run("go")
        await agent().run("go", tracing=own)
        async with MemoryStore() as store, Runner(store, workflows=[flow := _flow()]) as runner:
            await (await runner.start(flow, {}, run_id="r")).result()
        await agent().run("go", tracing=NoOpTracingProvider())
    finally:
        reset_tracing_provider()
    await agent().run("go")
    roots = [each.name.split("-")[0] for each in everywhere.told if each.name.startswith(("task", "run"))]
    assert roots == ["task", "run"]
    assert len(tree(own.told)) == 7
    assert isinstance(get_tracing_provider(), NoOpTracingProvider)


def _flow() -> Chain:
    return Chain("flow", [step("one", lambda _state: {"one": 1})])


async def test_a_provider_that_is_no_subclass_is_given_by_tracing() -> None:
    class Literal:
        def __init__(self) -> None:
            self.inner = Noting()

        def __getattr__(self, name: str) -> object:
            if name == "opened":
                raise AttributeError(name)
            return getattr(self.inner, name)

    own = Literal()
    provider: TracingProvider = own  # type: ignore[assignment]  # it has what is needed
    await agent().run("go", tracing=Tracing(provider))
    assert len(tree(own.inner.told)) == 7


async def test_contexts_are_made_by_the_base() -> None:
    provider = Noting()
    trace = provider.create_context()
    child = provider.create_child_context(TraceContext(trace.trace_id, trace.span_id, {"a": 1}))
    assert (child.trace_id, child.provider_data) == (trace.trace_id, {"a": 1})
    assert child.span_id != trace.span_id
    assert provider.create_context(trace.trace_id).trace_id == trace.trace_id
