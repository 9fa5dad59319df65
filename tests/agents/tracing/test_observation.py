"""Contexts: their ids, their JSON, the header that names them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.agents import TraceContext
from stagepost.agents._tracing._ids import iteration_id, parent_run, root_id, span_id_of, trace_id_of
from stagepost.hub import InvalidArgument

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.none() | st.dictionaries(st.text(), st.integers()))
def test_a_context_survives_json_and_its_header(trace: int, span: int, data: dict[str, object] | None) -> None:
    context = TraceContext(f"{trace:032x}", f"{span:016x}", data)  # type: ignore[arg-type]  # JSON values all the same
    assert TraceContext.from_dict(json.loads(json.dumps(context.to_dict()))) == context
    named = TraceContext.from_traceparent(context.traceparent)
    assert named == TraceContext(context.trace_id, context.span_id)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "my trace",
        f"00-{TRACE}-{SPAN}",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
    ],
)
def test_what_is_no_traceparent_names_no_context(header: str | None) -> None:
    assert TraceContext.from_traceparent(header) is None


def test_any_text_has_ids() -> None:
    TraceContext(trace_id_of("half \ud800"), span_id_of("r", "call", "\ud800"))


def test_a_traceparent_of_a_later_version_is_read() -> None:
    assert TraceContext.from_traceparent(f"01-{TRACE}-{SPAN}-01-more") == TraceContext(TRACE, SPAN)


@pytest.mark.parametrize(("trace", "span"), [("1", SPAN), (TRACE, "1"), ("0" * 32, SPAN), (TRACE, "0" * 16)])
def test_ids_that_w3c_does_not_know_are_refused(trace: str, span: str) -> None:
    with pytest.raises(InvalidArgument, match="hexadecimal digits"):
        TraceContext(trace, span)


@pytest.mark.parametrize("given", [{}, {"trace_id": TRACE}, {"trace_id": TRACE, "span_id": SPAN, "provider_data": 1}])
def test_a_mapping_that_is_no_context_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match="trace_id and span_id"):
        TraceContext.from_dict(given)


def test_a_run_takes_the_trace_of_its_traceparent_and_else_one_of_its_own() -> None:
    assert trace_id_of(f"00-{TRACE}-{SPAN}-01") == TRACE
    assert trace_id_of("r1") == trace_id_of("r1") != trace_id_of("r2")
    TraceContext(trace_id_of("r1"), root_id("r1"))


def test_ids_tell_runs_turns_and_places_apart() -> None:
    ids = [
        root_id("r"),
        root_id("r.1"),
        iteration_id("r", 1),
        iteration_id("r", 11),
        span_id_of("r", "iteration", "1", 1),
    ]
    assert len(set(ids)) == len(ids)
    assert iteration_id("r", 1) == iteration_id("r", 1)


def test_the_run_above_is_named_by_the_id() -> None:
    assert (parent_run("r"), parent_run("r.a"), parent_run("r.a.b")) == (None, "r", "r.a")
