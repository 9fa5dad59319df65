"""What a span costs: through our provider for OpenTelemetry, and made by hand with its SDK."""

import argparse
import os
import platform
import sys
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import median
from time import process_time
from typing import Any, Final

import anyio
from benchmarks.page import PAGE, write
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from stagepost.agents import Agent, Budget, ObservationType, OpenTelemetry, ScriptedModel, TraceContext, call, tool

BEGIN: Final = "<!-- benchmarks.tracing writes from here -->"
END: Final = "<!-- tracing ends here -->"
WANTED: Final = 60e-6  # seconds for a span of ours

_ROOT: Final = TraceContext("0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7")
_ABOUT: Final[dict[str, Any]] = {"run_id": "run-1", "workflow": "Reporter", "agent": "Reporter", "turn": 3}
_USAGE: Final = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}

_FREE: Final = Budget(turns=None, tool_calls=None)

Side = Callable[[InMemorySpanExporter, TracerProvider, int], Awaitable[None]]


@tool
async def look(city: str) -> str:
    """Weather of a city."""
    return f"fine in {city}"


async def turns(_: InMemorySpanExporter, provider: TracerProvider, spans: int) -> None:
    """Spans of turns, which carry little."""
    otel = await _ours(provider)
    for number in range(spans):
        context = TraceContext(_ROOT.trace_id, f"{number + 1:016x}")
        await otel.start_observation("iteration-3", ObservationType.SPAN, _ROOT, _ABOUT, context=context, at=1.0)
        await otel.end_observation(context, at=2.0)


async def calls(_: InMemorySpanExporter, provider: TracerProvider, spans: int) -> None:
    """Calls of a tool."""
    otel = await _ours(provider)
    about = {**_ABOUT, "tool": "weather", "call_id": "call-1"}
    for number in range(spans):
        context = TraceContext(_ROOT.trace_id, f"{number + 1:016x}")
        await otel.start_observation("tool-weather", ObservationType.TOOL, _ROOT, about, context=context, at=1.0)
        await otel.end_observation(context, at=2.0)


async def questions(_: InMemorySpanExporter, provider: TracerProvider, spans: int) -> None:
    """Questions to a model, with usage and without content."""
    otel = await _ours(provider)
    for number in range(spans):
        context = TraceContext(_ROOT.trace_id, f"{number + 1:016x}")
        await otel.start_generation("inference-Reporter", _ROOT, "openai/gpt-5", (), _ABOUT, context=context, at=1.0)
        await otel.end_generation(context, {}, _USAGE, at=2.0)


OURS: Final[dict[str, Side]] = {"a turn": turns, "a call of a tool": calls, "a question to a model": questions}
TASK: Final = "a task in memory, by all that it costs more"
_TURNS: Final = 20  # of a task, each with a question and a call
_SPANS: Final = 3 * _TURNS + 4  # with the last turn, its question, the task and its lifecycle


async def _ours(provider: TracerProvider) -> OpenTelemetry:
    otel = OpenTelemetry(provider)
    await otel.start_trace("task-Reporter-run-1", "conversation-1", context=_ROOT)
    return otel


def by_hand(exporter: InMemorySpanExporter, tracer: Tracer, spans: int) -> None:
    """Make spans with the attributes of the last one of ours, as the SDK has it."""
    (*_, like) = exporter.get_finished_spans()
    exporter.clear()
    attributes = dict(like.attributes or {})
    for _ in range(spans):
        tracer.start_span(like.name, kind=like.kind, attributes=attributes, start_time=1_000_000_000).end(2_000_000_000)


def seconds(side: Side, spans: int) -> tuple[float, float]:
    """Processor time of a span: ours, and one by hand with the same attributes."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    anyio.run(side, exporter, provider, 10)  # what is only loaded now does not count

    async def measured() -> float:
        exporter.clear()
        start = process_time()
        await side(exporter, provider, spans)
        return process_time() - start

    ours = anyio.run(measured)
    start = process_time()
    by_hand(exporter, provider.get_tracer("by hand"), spans)
    return ours / spans, (process_time() - start) / spans


def task_seconds(spans: int) -> tuple[float, float]:
    """Processor time of a span of a task, with all that leads to it, and of one by hand with what a call carries."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    otel = OpenTelemetry(provider)

    async def tasks(tracing: OpenTelemetry | None, times: int) -> float:
        start = process_time()
        for _ in range(times):
            model = ScriptedModel([*([call("look", city="Oslo")] * _TURNS), "fine"])
            await Agent("weather", "", model=model, tools=[look], budget=_FREE).run("go", tracing=tracing)
        return process_time() - start

    async def measured() -> float:
        await tasks(otel, 1)
        exporter.clear()
        times = max(1, spans // _SPANS)
        plain = await tasks(None, times)
        traced = await tasks(otel, times)
        return (traced - plain) / len(exporter.get_finished_spans())

    ours = anyio.run(measured)
    start = process_time()
    by_hand(exporter, provider.get_tracer("by hand"), spans)
    return ours, (process_time() - start) / spans


def report(rounds: int, spans: int) -> str:
    """Measure, and return the table as Markdown."""
    load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f} before"
    taken = [
        {**{name: seconds(side, spans) for name, side in OURS.items()}, TASK: task_seconds(spans)}
        for _ in range(rounds)
    ]
    made = (
        f"`python -m benchmarks.tracing {' '.join(sys.argv[1:])}` on {datetime.now(UTC):%Y-%m-%d}: Python "
        f"{platform.python_version()}, opentelemetry-sdk {version('opentelemetry-sdk')}, {platform.system()} "
        f"{platform.machine()}, {load}, medians of {rounds} rounds of {spans:,} spans, exported in memory."
    )
    head = ["| a span of | ours | by hand | ÷ by hand | wanted |", "|---|--:|--:|--:|--:|"]
    return "\n".join([made, "", *head, *_rows(taken)])


def _rows(taken: list[dict[str, tuple[float, float]]]) -> Iterable[str]:
    for name in (*OURS, TASK):
        wanted = f"≤ {WANTED * 1e6:.0f} µs" if name in OURS else ""
        ours, raw = (median(each[name][side] for each in taken) for side in (0, 1))
        ratio = median(each[name][0] / each[name][1] for each in taken)
        yield f"| {name} | {ours * 1e6:.1f} µs | {raw * 1e6:.1f} µs | {ratio:.2f} | {wanted} |"


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracing", description="Measure what a span costs.")
    parser.add_argument("--rounds", type=int, default=9, help="how many times each row has its turn")
    parser.add_argument("--spans", type=int, default=5_000, help="how many spans a round makes")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds, options.spans)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
