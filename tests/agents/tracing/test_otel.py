"""Spans of OpenTelemetry: ids, times and parents as they are given; names and attributes by the conventions."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from stagepost.agents._tracing._observation import ObservationStatus, ObservationType, TraceContext
from stagepost.agents._tracing._otel import OpenTelemetry
from stagepost.agents._tracing._telling import ObservedError
from stagepost.workflows import ExtraMissing

pytest.importorskip("opentelemetry.sdk", reason="the extra is not installed")

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import SpanKind, StatusCode
from tests._otlp import receiver

TRACE = "0af7651916cd43dd8448eb211c80319c"
ROOT = TraceContext(TRACE, "00f067aa0ba902b7")
LIFE = TraceContext(TRACE, "1111111111111111")
TURN = TraceContext(TRACE, "2222222222222222")
CHAT = TraceContext(TRACE, "3333333333333333")
CALL = TraceContext(TRACE, "4444444444444444")
BELOW = TraceContext(TRACE, "5555555555555555")
REMOTE = TraceContext(TRACE, "b7ad6b7169203331")
META: dict[str, Any] = {"run_id": "r1", "workflow": "Reporter"}


class Made:
    """A provider of ours, and the spans that it has ended."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self.exporter = InMemorySpanExporter()
        self.sdk = provider or TracerProvider(shutdown_on_exit=False)
        self.sdk.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.otel = OpenTelemetry(self.sdk)

    @property
    def ended(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def by_id(self, context: TraceContext) -> ReadableSpan:
        (span,) = [each for each in self.ended if f"{each.context.span_id:016x}" == context.span_id]
        return span


@pytest.fixture
def made() -> Iterator[Made]:
    there = Made()
    yield there
    there.sdk.shutdown()


async def tell(otel: OpenTelemetry, *, parent: TraceContext | None = None, content: bool = False) -> None:
    """A task of one turn: the model asks for a tool, and an agent below is asked."""
    root = {**META, "agent": "Reporter", "agent_description": "reports"}
    await otel.start_trace("task-Reporter-r1", "s1", "u1", root, ["a"], context=ROOT, parent_context=parent, at=100.0)
    await otel.start_observation("workflow-lifecycle", ObservationType.SPAN, ROOT, META, context=LIFE, at=100.25)
    await otel.start_observation("iteration-0", ObservationType.SPAN, LIFE, {**META, "turn": 0}, context=TURN, at=101.0)
    asked: list[Any] = [{"role": "system", "text": "be brief"}, {"role": "user", "text": "Miami?"}] if content else []
    about = {**META, "agent": "Reporter", "turn": 0, "path": ["Reporter"]}
    await otel.start_generation("inference-Reporter", TURN, "openai/gpt-5", asked, about, context=CHAT, at=101.0)
    call: Any = {"id": "c1", "name": "weather", "arguments": '{"city":"Miami"}'}
    await otel.end_generation(
        CHAT,
        {"role": "assistant", "text": "", "calls": [call]} if content else {},
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cached_tokens": 4, "cost": 0.5},
        at=102.0,
    )
    tool = {**META, "agent": "Reporter", "tool": "weather", "call_id": "c1"}
    given: Any = {"city": "Miami"} if content else None
    await otel.start_observation("tool-weather", ObservationType.TOOL, TURN, tool, given, context=CALL, at=102.0)
    await otel.end_observation(CALL, output_data="sunny" if content else None, at=103.0)
    await otel.start_observation(
        "sub-agent-Poet", ObservationType.AGENT, TURN, {"agent": "Poet"}, context=BELOW, at=103
    )
    await otel.end_observation(BELOW, at=104.0)
    for context in (TURN, LIFE):
        await otel.end_observation(context, at=105.0)
    await otel.end_observation(ROOT, output_data="sunny in Miami" if content else None, at=106.0)


def about(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_spans_have_the_ids_the_times_and_the_parents_that_were_given(made: Made) -> None:
    await tell(made.otel)
    parents = {ROOT: None, LIFE: ROOT, TURN: LIFE, CHAT: TURN, CALL: TURN, BELOW: TURN}
    for context, parent in parents.items():
        span = made.by_id(context)
        assert f"{span.context.trace_id:032x}" == TRACE
        assert (None if span.parent is None else f"{span.parent.span_id:016x}") == (parent and parent.span_id)
    assert (made.by_id(LIFE).start_time, made.by_id(LIFE).end_time) == (100_250_000_000, 105_000_000_000)
    assert len(made.ended) == 6


async def test_names_kinds_and_required_attributes_are_those_of_the_conventions(made: Made) -> None:
    await tell(made.otel)
    named = {
        context.span_id: (made.by_id(context).name, made.by_id(context).kind) for context in (ROOT, CHAT, CALL, BELOW)
    }
    assert list(named.values()) == [
        ("invoke_agent Reporter", SpanKind.INTERNAL),
        ("chat openai/gpt-5", SpanKind.CLIENT),
        ("execute_tool weather", SpanKind.INTERNAL),
        ("invoke_agent Poet", SpanKind.INTERNAL),
    ]
    assert about(made.by_id(ROOT)) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "stagepost",
        "gen_ai.agent.name": "Reporter",
        "gen_ai.agent.description": "reports",
        "gen_ai.conversation.id": "s1",
        "user.id": "u1",
        "stagepost.run_id": "r1",
        "stagepost.workflow": "Reporter",
        "stagepost.tags": ("a",),
        "stagepost.observation": "task-Reporter-r1",
    }
    assert about(made.by_id(CHAT)) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "openai/gpt-5",
        "gen_ai.agent.name": "Reporter",
        "gen_ai.conversation.id": "s1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "stagepost.usage.cost": 0.5,
        "stagepost.run_id": "r1",
        "stagepost.workflow": "Reporter",
        "stagepost.turn": 0,
        "stagepost.path": ("Reporter",),
        "stagepost.observation": "inference-Reporter",
    }
    assert about(made.by_id(CALL)) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.agent.name": "Reporter",
        "gen_ai.conversation.id": "s1",
        "stagepost.run_id": "r1",
        "stagepost.workflow": "Reporter",
        "stagepost.observation": "tool-weather",
    }
    assert {each.status.status_code for each in made.ended} == {StatusCode.UNSET}


async def test_content_has_the_form_of_the_conventions(made: Made) -> None:
    await tell(made.otel, content=True)
    chat, call, root = about(made.by_id(CHAT)), about(made.by_id(CALL)), about(made.by_id(ROOT))
    assert json.loads(chat["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "be brief"}]},
        {"role": "user", "parts": [{"type": "text", "content": "Miami?"}]},
    ]
    assert json.loads(chat["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Miami"}}],
            "finish_reason": "tool_call",
        }
    ]
    assert chat["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert json.loads(call["gen_ai.tool.call.arguments"]) == {"city": "Miami"}
    assert call["gen_ai.tool.call.result"] == "sunny"
    assert json.loads(root["gen_ai.output.messages"])[0]["parts"] == [{"type": "text", "content": "sunny in Miami"}]


async def test_a_plain_workflow_is_invoke_workflow_and_its_steps_keep_their_names(made: Made) -> None:
    await made.otel.start_trace("run-Report-r1", metadata={"workflow": "Report"}, context=ROOT)
    await made.otel.start_observation("load", ObservationType.SPAN, ROOT, {}, {"n": 1}, context=LIFE)
    await made.otel.end_observation(LIFE, output_data=[1])
    await made.otel.end_observation(ROOT)
    root, step = made.by_id(ROOT), made.by_id(LIFE)
    assert (root.name, step.name) == ("invoke_workflow Report", "load")
    assert about(root)["gen_ai.operation.name"] == "invoke_workflow"
    assert about(root)["gen_ai.workflow.name"] == "Report"
    assert (about(step)["stagepost.input"], about(step)["stagepost.output"]) == ('{"n":1}', "[1]")


async def test_the_root_is_below_a_remote_parent_and_follows_its_sampling() -> None:
    made = Made(TracerProvider(sampler=ParentBased(ALWAYS_OFF), shutdown_on_exit=False))
    await tell(made.otel)
    assert made.ended == []
    await tell(made.otel, parent=REMOTE)
    parent = made.by_id(ROOT).parent
    assert parent is not None
    assert (f"{parent.span_id:016x}", parent.is_remote, len(made.ended)) == (REMOTE.span_id, True, 6)
    made.exporter.clear()
    await tell(made.otel, parent=TraceContext(TRACE, REMOTE.span_id, {"sampled": False, "tracestate": "a=b"}))
    assert made.ended == []
    await tell(made.otel, parent=TraceContext(TRACE, REMOTE.span_id, {"tracestate": "a=b"}))
    assert made.by_id(CALL).context.trace_state.get("a") == "b"
    made.sdk.shutdown()


async def test_what_is_current_where_the_provider_is_told_is_nobodys_parent(made: Made) -> None:
    with made.sdk.get_tracer("mine").start_as_current_span("mine"):
        await tell(made.otel)
    assert made.by_id(ROOT).parent is None


async def test_ids_of_other_scopes_stay_random(made: Made) -> None:
    await tell(made.otel)
    OpenTelemetry(made.sdk)
    made.sdk.get_tracer("mine").start_span("mine").end()
    made.sdk.get_tracer("stagepost.agents", schema_url="https://opentelemetry.io/schemas/1.41.0").start_span(
        "ours"
    ).end()
    ids = {f"{each.context.trace_id:032x}" for each in made.ended if each.name in ("mine", "ours")}
    assert len(ids) == 2
    assert TRACE not in ids


@pytest.mark.parametrize(
    ("status", "code", "kind", "told"),
    [
        ("ok", StatusCode.UNSET, None, None),
        ("error", StatusCode.ERROR, "_OTHER", None),
        ("cancelled", StatusCode.UNSET, None, "cancelled"),
        ("waiting", StatusCode.UNSET, None, "waiting"),
        ("interrupted", StatusCode.ERROR, "interrupted", "interrupted"),
    ],
)
async def test_how_it_ended_is_in_the_status(
    made: Made, status: ObservationStatus, code: StatusCode, kind: str | None, told: str | None
) -> None:
    await made.otel.start_trace("run-x-1", context=ROOT)
    await made.otel.end_observation(ROOT, status)
    span = made.by_id(ROOT)
    assert (span.status.status_code, about(span).get("error.type"), about(span).get("stagepost.status")) == (
        code,
        kind,
        told,
    )


async def test_an_error_is_the_status_and_does_not_end_the_span(made: Made) -> None:
    await made.otel.start_trace("run-x-1", context=ROOT)
    await made.otel.set_error(ROOT, ZeroDivisionError("by 0"))
    assert made.ended == []
    await made.otel.end_observation(ROOT, "error")
    span = made.by_id(ROOT)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "by 0")
    assert about(span)["error.type"] == "ZeroDivisionError"


async def test_what_is_suspended_is_exported_once_when_somebody_has_gone_on_with_it(made: Made) -> None:
    await made.otel.start_trace("run-x-1", context=ROOT, at=1.0)
    await made.otel.start_observation("load", ObservationType.SPAN, ROOT, context=LIFE, at=2.0)
    await made.otel.end_observation(LIFE, at=3.0)
    await made.otel.end_observation(ROOT, "suspended", at=3.0)
    assert [each.name for each in made.ended] == ["load"]
    later = OpenTelemetry(made.sdk)
    await later.start_trace("run-x-1", context=ROOT, at=1.0)
    await later.end_observation(ROOT, at=9.0)
    assert [each.name for each in made.ended] == ["load", "run-x-1"]
    assert (made.by_id(ROOT).start_time, made.by_id(ROOT).end_time) == (1_000_000_000, 9_000_000_000)


async def test_events_have_their_time_and_their_attributes(made: Made) -> None:
    await made.otel.start_trace("run-x-1", context=ROOT)
    await made.otel.add_event(ROOT, "recovered", {"epoch": 2, "of": {"a": 1}, "none": None}, at=7.0)
    await made.otel.add_event(LIFE, "nowhere")
    await made.otel.end_observation(ROOT)
    (event,) = made.by_id(ROOT).events
    assert (event.name, event.timestamp) == ("recovered", 7_000_000_000)
    assert dict(event.attributes or {}) == {"stagepost.epoch": 2, "stagepost.of": '{"a":1}'}


async def test_what_is_not_open_is_left_alone_and_nothing_begins_after_the_shutdown(made: Made) -> None:
    otel = made.otel
    await otel.flush()
    await otel.end_observation(ROOT)
    await otel.end_generation(CHAT, {})
    await otel.set_error(CHAT, ValueError())
    await otel.shutdown()
    await otel.shutdown()
    await tell(otel)
    assert made.ended == []
    made.sdk.get_tracer("mine").start_span("mine").end()
    assert [each.name for each in made.ended] == ["mine"]


async def test_without_a_tracer_provider_nothing_is_recorded() -> None:
    assert type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider"
    otel = OpenTelemetry()
    await tell(otel)
    await otel.flush()
    assert otel.ambient() is None


async def test_the_current_span_is_where_a_run_may_belong_below(made: Made) -> None:
    with made.sdk.get_tracer("mine").start_as_current_span("mine") as span:
        found = made.otel.ambient()
    assert found is not None
    ids = span.get_span_context()
    assert (found.trace_id, found.span_id, found.provider_data) == (f"{ids.trace_id:032x}", f"{ids.span_id:016x}", None)
    unsampled = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    with unsampled.get_tracer("mine").start_as_current_span("mine"):
        found = made.otel.ambient()
    assert found is not None
    assert found.provider_data == {"sampled": False}


async def test_what_a_collector_gets_over_http_is_one_tree() -> None:
    with receiver() as collector:
        sdk = TracerProvider(shutdown_on_exit=False)
        sdk.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))
        otel = OpenTelemetry(sdk)
        await tell(otel, parent=REMOTE, content=True)
        await otel.flush()
        assert len(collector.spans) == 6
        sdk.shutdown()
    assert collector.orphans(REMOTE.span_id) == []
    assert {each.trace_id for each in collector.spans} == {TRACE}
    assert collector.children(collector.named("iteration-0")) == [
        "chat openai/gpt-5",
        "execute_tool weather",
        "invoke_agent Poet",
    ]
    assert {each.scope for each in collector.spans} == {"stagepost.agents"}


WITHOUT = """
import sys
sys.modules[{missing!r}] = None
import anyio
from stagepost.agents._tracing._otel import OpenTelemetry
from stagepost.workflows import ExtraMissing
async def main():
    try:
        otel = OpenTelemetry()
    except ExtraMissing as error:
        print(error)
    else:
        async with otel.start_trace("t") as context:
            await otel.start_generation("g", context, "m", [])
        await otel.flush()
        print("nothing recorded")
anyio.run(main)
"""


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("opentelemetry", "OpenTelemetry needs opentelemetry-api, which is not installed: "),
        ("opentelemetry.sdk", "nothing recorded"),
    ],
)
def test_without_the_package_one_sentence_and_without_the_sdk_nothing_recorded(missing: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(missing=missing)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(said)


async def test_an_error_that_a_run_tells_of_has_the_class_of_the_original(made: Made) -> None:
    await made.otel.start_trace("run-x-1", context=ROOT)
    await made.otel.set_error(ROOT, ObservedError("StepFailed", "by 0"))
    await made.otel.end_observation(ROOT, "error")
    span = made.by_id(ROOT)
    assert (about(span)["error.type"], span.status.description) == ("StepFailed", "by 0")


def test_a_traceparent_says_whether_the_trace_is_recorded() -> None:
    for flag in ("00", "01"):
        text = f"00-{TRACE}-{ROOT.span_id}-{flag}"
        context = TraceContext.from_traceparent(text)
        assert context is not None
        assert context.traceparent == text


async def test_what_is_never_ended_is_forgotten_in_the_end(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stagepost.agents._tracing._otel_spans._MOST_OPEN", 2)
    contexts = [TraceContext(f"{number:032x}", f"{number:016x}") for number in range(1, 5)]
    for context in contexts:
        await made.otel.start_trace("run-x-1", context=context)
    for context in contexts:
        await made.otel.end_observation(context)
    assert [each.context.trace_id for each in made.ended] == [3, 4]


@pytest.mark.parametrize(
    ("missing", "error", "said"),
    [
        ("opentelemetry", ExtraMissing, "needs opentelemetry-api, which is not installed"),
        ("stagepost.agents._tracing._conventions", ModuleNotFoundError, "_conventions"),
    ],
)
def test_a_missing_extra_is_told_from_any_other_module(
    missing: str, error: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "stagepost.agents._tracing._otel_spans")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(error, match=said):
        OpenTelemetry()
