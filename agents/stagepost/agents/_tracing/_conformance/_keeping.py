"""What a provider promises whose spans can be read where it sends them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from .._observation import ObservationType
from .._provider import TracingProvider
from ._words import AT, KeepingCheck, KeepingOpened, KeptSpan, context, equal, true

_SLACK = 0.001  # seconds: what is sent may have times in milliseconds


async def each_span_arrives_once(opened: KeepingOpened) -> None:
    """With its name, its ids, its place in the tree and its times."""
    async with opened() as keeping:
        provider = keeping.provider
        root = await provider.start_trace("task-a-1", context=context(1), at=AT)
        kind = ObservationType.SPAN
        turn = await provider.start_observation("iteration-0", kind, root, context=context(2), at=AT + 1)
        asked = await provider.start_generation("inference-a", turn, "m", [], context=context(3), at=AT + 2)
        usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
        await provider.end_generation(asked, {}, usage, at=AT + 3)
        call = await provider.start_observation("tool-x", ObservationType.TOOL, turn, context=context(4), at=AT + 3)
        await provider.end_observation(call, "ok", at=AT + 4)
        await provider.end_observation(turn, "ok", at=AT + 5)
        await provider.end_observation(root, "ok", at=AT + 6)
        spans = await _arrived(keeping.provider, keeping.spans)
    equal(len(spans), 4)
    by_name = {span.name: span for span in spans}
    places = {name: (span.span_id, span.parent_id) for name, span in by_name.items()}
    equal(places["task-a-1"][0], context(1).span_id)
    equal(places["iteration-0"], (context(2).span_id, context(1).span_id))
    equal(places["inference-a"], (context(3).span_id, context(2).span_id))
    equal(places["tool-x"], (context(4).span_id, context(2).span_id))
    equal({span.trace_id for span in spans}, {context(1).trace_id})
    _took(by_name, {"task-a-1": (0, 6), "iteration-0": (1, 5), "inference-a": (2, 3), "tool-x": (3, 4)})


async def what_is_suspended_arrives_once_it_ends(opened: KeepingOpened) -> None:
    """From its first beginning on, and not each time that a process lets go of it."""
    async with opened() as keeping:
        provider = keeping.provider
        root = await provider.start_trace("task-a-1", context=context(1), at=AT)
        await provider.end_observation(root, "suspended", at=AT + 2)
        equal(await _arrived(keeping.provider, keeping.spans), [])
        root = await provider.start_trace("task-a-1", context=context(1), at=AT)
        await provider.end_observation(root, "ok", at=AT + 9)
        spans = await _arrived(keeping.provider, keeping.spans)
    equal([span.name for span in spans], ["task-a-1"])
    _took({span.name: span for span in spans}, {"task-a-1": (0, 9)})


async def what_was_interrupted_stands_beside_its_repetition(opened: KeepingOpened) -> None:
    """Two spans below one."""
    async with opened() as keeping:
        provider = keeping.provider
        root = await provider.start_trace("task-a-1", context=context(1), at=AT)
        call = await provider.start_observation("tool-x", ObservationType.TOOL, root, context=context(2), at=AT)
        await provider.end_observation(call, "interrupted", at=AT + 1)
        again = await provider.start_observation("tool-x", ObservationType.TOOL, root, context=context(3), at=AT)
        await provider.end_observation(again, "ok", at=AT + 1)
        await provider.end_observation(root, "ok", at=AT + 1)
        spans = await _arrived(keeping.provider, keeping.spans)
    calls = [span for span in spans if span.name == "tool-x"]
    equal(sorted(span.span_id for span in calls), [context(2).span_id, context(3).span_id])
    equal({span.parent_id for span in calls}, {context(1).span_id})


async def an_error_is_told(opened: KeepingOpened) -> None:
    """Of a block that raises."""
    async with opened() as keeping:
        with suppress(ZeroDivisionError):
            async with keeping.provider.start_trace("task-a-1", context=context(1), at=AT):
                _ = 1 / 0
        spans = await _arrived(keeping.provider, keeping.spans)
    equal([(span.name, span.status) for span in spans], [("task-a-1", "error")])


async def ending_twice_sends_nothing_twice(opened: KeepingOpened) -> None:
    """The first end counts."""
    async with opened() as keeping:
        provider = keeping.provider
        root = await provider.start_trace("task-a-1", context=context(1), at=AT)
        asked = await provider.start_generation("inference-a", root, "m", [], context=context(2), at=AT)
        await provider.end_generation(asked, {}, None, at=AT + 1)
        await provider.end_generation(asked, {}, None, at=AT + 5)
        await provider.end_observation(asked, "error", at=AT + 6)
        await provider.end_observation(root, "ok", at=AT + 2)
        await provider.end_observation(root, "error", at=AT + 7)
        spans = await _arrived(keeping.provider, keeping.spans)
    equal(sorted(span.name for span in spans), ["inference-a", "task-a-1"])
    true(all(span.status != "error" for span in spans), "the second end was taken")
    _took({span.name: span for span in spans}, {"inference-a": (0, 1), "task-a-1": (0, 2)})


async def _arrived(provider: TracingProvider, read: Callable[[], Awaitable[Sequence[KeptSpan]]]) -> list[KeptSpan]:
    await provider.flush()
    return list(await read())


def _took(spans: Mapping[str, KeptSpan], expected: Mapping[str, tuple[float, float]]) -> None:
    for name, (begin, end) in expected.items():
        span = spans[name]
        is_so = abs(span.started_at - AT - begin) <= _SLACK and abs(span.ended_at - AT - end) <= _SLACK
        true(is_so, f"{name}: expected {begin} to {end}, and it is {span.started_at - AT} to {span.ended_at - AT}")


KEEPING_CHECKS: tuple[KeepingCheck, ...] = (
    each_span_arrives_once,
    what_is_suspended_arrives_once_it_ends,
    what_was_interrupted_stands_beside_its_repetition,
    an_error_is_told,
    ending_twice_sends_nothing_twice,
)
