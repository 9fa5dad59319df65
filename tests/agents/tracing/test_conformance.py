"""The providers of the package keep what every provider promises."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
from pydantic import JsonValue
from tests.agents.tracing._noting import Noting

from stagepost.agents import NoOpTracingProvider, ObservationStatus, Recorder, Starting, TraceContext, TracingProvider
from stagepost.agents.testing import KEEPING_CHECKS, TRACING_CHECKS, KeepingCheck, KeptSpan, TracingCheck


def opening(make: Callable[[], TracingProvider]) -> Callable[[], AbstractAsyncContextManager[TracingProvider]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[TracingProvider]:
        yield make()

    return opened


@pytest.mark.parametrize("check", TRACING_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("make", [NoOpTracingProvider, Noting, Recorder], ids=["no-op", "a subclass", "recorder"])
async def test_a_provider_conforms(make: Callable[[], TracingProvider], check: TracingCheck) -> None:
    await check(opening(make))


class KeepingRecorder:
    def __init__(self) -> None:
        self.recorder = Recorder()

    @property
    def provider(self) -> TracingProvider:
        return self.recorder

    async def spans(self) -> Sequence[KeptSpan]:
        return [
            KeptSpan(
                span.name,
                span.trace_id,
                span.span_id,
                span.parent_id,
                span.status or "ok",
                span.started_at,
                span.ended_at,
            )
            for log in self.recorder.traces
            for span in log.spans
            if span.status not in {None, "suspended"} and span.ended_at is not None
        ]


@asynccontextmanager
async def keeping() -> AsyncIterator[KeepingRecorder]:
    yield KeepingRecorder()


@pytest.mark.parametrize("check", KEEPING_CHECKS, ids=lambda check: check.__name__)
async def test_the_recorder_keeps_what_it_is_told(check: KeepingCheck) -> None:
    await check(keeping)


class Careless(Recorder):
    """Says that all went well."""

    async def set_error(self, context: TraceContext, error: Exception) -> None:
        pass

    async def end_observation(
        self,
        context: TraceContext,
        status: ObservationStatus = "ok",
        *,
        output_data: JsonValue = None,
        at: float | None = None,
    ) -> None:
        await super().end_observation(
            context, "suspended" if status == "suspended" else "ok", output_data=output_data, at=at
        )


async def test_a_check_fails_where_the_promise_is_broken() -> None:
    class KeepingCareless(KeepingRecorder):
        def __init__(self) -> None:
            self.recorder = Careless()

    @asynccontextmanager
    async def careless() -> AsyncIterator[KeepingRecorder]:
        yield KeepingCareless()

    failed = []
    for check in KEEPING_CHECKS:
        try:
            await check(careless)
        except AssertionError:
            failed.append(check.__name__)
    assert failed == ["an_error_is_told"]


class Greedy(Noting):
    """Keeps the errors of blocks for itself."""

    @asynccontextmanager
    async def _swallowed(self) -> AsyncIterator[TraceContext]:
        with suppress(Exception):
            yield TraceContext("1" * 32, "2" * 16)

    def start_trace(self, *_given: object, **_more: object) -> Starting:
        return self._swallowed()  # type: ignore[return-value]  # a context manager that cannot be awaited


async def test_a_check_fails_where_errors_are_swallowed() -> None:
    check = next(check for check in TRACING_CHECKS if check.__name__ == "an_error_of_a_block_passes_on")
    with pytest.raises(AssertionError, match="did not come out"):
        await check(opening(Greedy))
