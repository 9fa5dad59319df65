"""What every provider promises to whoever calls it."""

from json import dumps, loads

import anyio

from .._observation import ObservationType, TraceContext
from ._words import AT, PATIENCE, TracingCheck, TracingOpened, context, equal, true


class _Broken(Exception):
    """What a block raises."""


async def a_trace_yields_a_context(opened: TracingOpened) -> None:
    """Of a trace and of an observation, awaited or entered."""
    async with opened() as provider:
        async with provider.start_trace("task-a-1") as trace:
            true(isinstance(trace, TraceContext), f"a trace yields {trace!r}")
        awaited = await provider.start_trace("task-a-2")
        true(awaited.trace_id != trace.trace_id, "two traces have one id")
        await provider.end_observation(awaited, "ok")


async def a_given_context_is_taken(opened: TracingOpened) -> None:
    """Whoever derives ids gets those back."""
    async with opened() as provider:
        root = await provider.start_trace("task-a-1", context=context(1), at=AT)
        equal((root.trace_id, root.span_id), (context(1).trace_id, context(1).span_id))
        turn = await provider.start_observation("iteration-0", ObservationType.SPAN, root, context=context(2), at=AT)
        equal(turn.span_id, context(2).span_id)
        asked = await provider.start_generation("inference-a", turn, "m", [], context=context(3), at=AT)
        equal(asked.span_id, context(3).span_id)
        for each in (asked, turn, root):
            await provider.end_observation(each, "ok", at=AT + 1)


async def a_child_stays_in_the_trace(opened: TracingOpened) -> None:
    """With a span of its own."""
    span, tool = ObservationType.SPAN, ObservationType.TOOL
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    async with (
        opened() as provider,
        provider.start_trace("task-a-1") as trace,
        provider.start_observation("iteration-0", span, trace) as turn,
    ):
        asked = await provider.start_generation("inference-a", turn, "m", [])
        await provider.end_generation(asked, {}, usage)
        async with provider.start_observation("tool-x", tool, turn, {"tool": "x"}, {"a": 1}) as called:
            equal({each.trace_id for each in (turn, asked, called)}, {trace.trace_id})
            equal(len({each.span_id for each in (trace, turn, asked, called)}), 4)


async def a_context_survives_json(opened: TracingOpened) -> None:
    """So that it may be stored and sent."""
    async with opened() as provider, provider.start_trace("task-a-1") as trace:
        equal(TraceContext.from_dict(loads(dumps(trace.to_dict()))), trace)


async def ending_twice_is_harmless(opened: TracingOpened) -> None:
    """Of generations, observations and traces."""
    async with opened() as provider:
        trace = await provider.start_trace("task-a-1")
        asked = await provider.start_generation("inference-a", trace, "m", [])
        for _ in range(2):
            await provider.end_generation(asked, {"text": "hello"}, None)
        await provider.end_observation(asked, "error")
        for _ in range(2):
            await provider.end_observation(trace, "ok")


async def what_is_unknown_is_left_alone(opened: TracingOpened) -> None:
    """As after a restart, or if a start was lost."""
    async with opened() as provider:
        await provider.end_generation(context(7), {}, None)
        await provider.end_observation(context(8), "interrupted")
        await provider.add_event(context(9), "recovered", {"epoch": 2})
        await provider.set_error(context(10), _Broken("no"))
        below = await provider.start_observation("tool-x", ObservationType.TOOL, context(11), context=context(12))
        await provider.end_observation(below, "ok")


async def an_error_does_not_end(opened: TracingOpened) -> None:
    """It is said, and the observation goes on."""
    async with opened() as provider, provider.start_trace("task-a-1") as trace:
        call = await provider.start_observation("tool-x", ObservationType.TOOL, trace)
        await provider.set_error(call, _Broken("no"))
        await provider.add_event(call, "again", {"attempt": 2})
        await provider.end_observation(call, "ok")


async def an_error_of_a_block_passes_on(opened: TracingOpened) -> None:
    """The very same one."""
    broken = _Broken("no")
    async with opened() as provider:
        try:
            async with (
                provider.start_trace("task-a-1") as trace,
                provider.start_observation("tool-x", ObservationType.TOOL, trace),
            ):
                raise broken
        except _Broken as error:
            true(error is broken, f"another error came out: {error!r}")
        else:
            raise AssertionError("the error did not come out")


async def a_cancelled_block_ends(opened: TracingOpened) -> None:
    """And is cancelled as it would be without a provider."""
    async with opened() as provider:
        with anyio.fail_after(PATIENCE), anyio.CancelScope() as scope:
            async with provider.start_trace("task-a-1"):
                scope.cancel()
                await anyio.sleep_forever()
        true(scope.cancelled_caught, "the cancellation was swallowed")
        await provider.flush()


async def flush_is_always_harmless(opened: TracingOpened) -> None:
    """Before the first start, after `shutdown`, twice."""
    async with opened() as provider:
        with anyio.fail_after(PATIENCE):
            await provider.flush()
            async with provider.start_trace("task-a-1"):
                await provider.flush()
            for _ in range(2):
                await provider.shutdown()
                await provider.flush()


async def what_comes_after_shutdown_is_ignored(opened: TracingOpened) -> None:
    """Nothing raises."""
    async with opened() as provider:
        await provider.shutdown()
        async with provider.start_trace("task-a-1") as trace:
            asked = await provider.start_generation("inference-a", trace, "m", [])
            await provider.add_event(asked, "late")
            await provider.set_error(asked, _Broken("no"))
            await provider.end_generation(asked, {}, None)


async def calls_at_once_are_kept_apart(opened: TracingOpened) -> None:
    """Observations of several tasks end in any order, also after what they are below."""
    found: list[TraceContext] = []

    async with opened() as provider, provider.start_trace("task-a-1") as trace:

        async def called(number: int) -> None:
            async with provider.start_observation(f"tool-{number}", ObservationType.TOOL, trace) as call:
                for _ in range(number % 3):
                    await anyio.lowlevel.checkpoint()
                found.append(call)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(called, number)
    equal(len({each.span_id for each in found}), 20)
    equal({each.trace_id for each in found}, {trace.trace_id})


TRACING_CHECKS: tuple[TracingCheck, ...] = (
    a_trace_yields_a_context,
    a_given_context_is_taken,
    a_child_stays_in_the_trace,
    a_context_survives_json,
    ending_twice_is_harmless,
    what_is_unknown_is_left_alone,
    an_error_does_not_end,
    an_error_of_a_block_passes_on,
    a_cancelled_block_ends,
    flush_is_always_harmless,
    what_comes_after_shutdown_is_ignored,
    calls_at_once_are_kept_apart,
)
