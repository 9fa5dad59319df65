"""What observed code runs in, as a provider has it, and what a run belongs below: a provider's failures do no harm."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from anyio import fail_after

from stagepost.agents import Agent, Recorder, ScriptedModel, TraceContext, Tracing, call, current_trace_context, tool

ABOVE = TraceContext("0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7")


def asking() -> Agent[str]:
    @tool
    async def where() -> str:
        """Say where it runs."""
        there = current_trace_context()
        return "nowhere" if there is None else there.trace_id

    return Agent("asker", "", model=ScriptedModel([call("where"), "done"]), tools=[where])


class Noting(Recorder):
    """Notes what is run within what, and knows what runs belong below."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[str] = []

    def ambient(self) -> TraceContext | None:
        return ABOVE

    @contextmanager
    def within(self, context: TraceContext) -> Iterator[None]:
        self.noted.append(f"enter {context.span_id}")
        yield
        self.noted.append(f"leave {context.span_id}")


async def test_each_question_and_call_is_made_within_its_own_observation() -> None:
    noting = Noting()
    with fail_after(10):
        await asking().run("go", tracing=noting)
    (log,) = noting.traces
    leaves = [span.span_id for span in log.spans if span.name in {"inference-asker", "tool-where"}]
    assert len(leaves) == 3
    assert noting.noted == [f"{how} {each}" for each in leaves for how in ("enter", "leave")]


async def test_a_run_is_below_what_the_provider_says_unless_its_starter_does() -> None:
    noting = Noting()
    with fail_after(10):
        await asking().run("go", tracing=noting)
        await asking().run("go", tracing=noting, trace="mine")
    above, alone = ({(span.name, span.parent_id) for span in log.spans} for log in noting.traces)
    assert ABOVE.span_id in {parent for _, parent in above}
    assert ABOVE.span_id not in {parent for _, parent in alone}


class Aborting(BaseException):
    """What only a library raises that means to end more than a call."""


class Broken(Recorder):
    def ambient(self) -> TraceContext | None:
        raise ValueError("open-sesame-4711")

    def within(self, context: TraceContext) -> AbstractContextManager[object]:
        raise ValueError(f"open-sesame-4711 {context}")


class Worse(Recorder):
    def ambient(self) -> TraceContext | None:
        raise Aborting("open-sesame-4711")

    def within(self, context: TraceContext) -> AbstractContextManager[object]:
        raise Aborting(f"open-sesame-4711 {context}")


class BrokenLater(Recorder):
    @contextmanager
    def within(self, context: TraceContext) -> Iterator[None]:
        yield
        raise ValueError(context)


@pytest.mark.parametrize("broken", [Broken, Worse, BrokenLater])
async def test_a_provider_that_fails_there_harms_no_run_is_counted_and_logged_once(
    broken: type[Recorder], caplog: pytest.LogCaptureFixture
) -> None:
    recorder = broken()
    tracing = Tracing(recorder)
    with fail_after(10), caplog.at_level(logging.WARNING):
        assert (await asking().run("go", tracing=tracing)).output == "done"
    assert len(recorder.traces) == 1
    assert tracing.statistics().failed > 1
    assert caplog.text.count("tracing failed") == 1
    assert "open-sesame-4711" not in caplog.text
