"""Traces at a server that takes what Langfuse's does: OTLP over HTTP, under its path, with its keys."""

import base64
import json
import subprocess
import sys
from typing import Any

import pytest

from stagepost.agents._tracing import _langfuse_attributes as names
from stagepost.agents._tracing._langfuse import Langfuse
from stagepost.agents._tracing._observation import ObservationStatus, ObservationType, TraceContext
from stagepost.hub import InvalidArgument
from stagepost.workflows import ExtraMissing

pytest.importorskip("langfuse", reason="the extra is not installed")

from langfuse import LangfuseOtelSpanAttributes
from tests._otlp import Receiver, receiver
from tests.agents.tracing.test_otel import BELOW, CALL, CHAT, LIFE, META, REMOTE, ROOT, TRACE, TURN


def langfuse(collector: Receiver) -> Langfuse:
    return Langfuse(public_key="pk-1", secret_key="sk-1", host=collector.url)  # noqa: S106  # a test's


async def tell(provider: Langfuse, *, parent: TraceContext | None = None, content: bool = False) -> None:
    """A task of one turn, in which an agent and a tool are asked."""
    root = {**META, "agent": "Reporter", "version": "7"}
    await provider.start_trace("task-Reporter-r1", "s1", "u1", root, ["a"], context=ROOT, parent_context=parent, at=1.0)
    await provider.start_observation("workflow-lifecycle", ObservationType.SPAN, ROOT, META, context=LIFE, at=2.0)
    await provider.start_observation("iteration-0", ObservationType.SPAN, LIFE, {"turn": 0}, context=TURN, at=3.0)
    asked: list[Any] = [{"role": "user", "text": "Miami?"}] if content else []
    await provider.start_generation(
        "inference-Reporter", TURN, "openai/gpt-5", asked, {"turn": 0}, context=CHAT, at=3.0
    )
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cached_tokens": 4, "cost": 0.5}
    await provider.end_generation(CHAT, {"role": "assistant", "text": "hi"} if content else {}, usage, at=4.0)
    given: Any = {"city": "Miami"} if content else None
    await provider.start_observation("tool-weather", ObservationType.TOOL, TURN, {"call_id": "c1"}, given, context=CALL)
    await provider.set_error(CALL, ValueError("no such city"))
    await provider.add_event(CALL, "asked again", {"attempt": 2})
    await provider.end_observation(CALL, "error", output_data="no such city" if content else None)
    await provider.start_observation("sub-agent-Poet", ObservationType.AGENT, TURN, {"agent": "Poet"}, context=BELOW)
    for context in (BELOW, TURN, LIFE, ROOT):
        await provider.end_observation(context)


async def test_a_trace_arrives_with_its_keys_ids_and_types() -> None:
    with receiver() as server:
        provider = langfuse(server)
        await tell(provider, parent=REMOTE)
        await provider.shutdown()
    (path, headers), *_ = server.requests
    assert path == "/api/public/otel/v1/traces"
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"pk-1:sk-1"
    assert server.orphans(REMOTE.span_id) == []
    assert {each.trace_id for each in server.spans} == {TRACE}
    assert {each.name: (each.span_id, each.attributes[names.TYPE]) for each in server.spans} == {
        "task-Reporter-r1": (ROOT.span_id, "agent"),
        "workflow-lifecycle": (LIFE.span_id, "span"),
        "iteration-0": (TURN.span_id, "span"),
        "inference-Reporter": (CHAT.span_id, "generation"),
        "tool-weather": (CALL.span_id, "tool"),
        "sub-agent-Poet": (BELOW.span_id, "agent"),
    }
    assert server.named("task-Reporter-r1").attributes[names.AS_ROOT] is True


async def test_all_observations_carry_the_session_the_user_and_the_trace() -> None:
    with receiver() as server:
        provider = langfuse(server)
        await tell(provider)
        await provider.shutdown()
    for span in server.spans:
        told = {key: span.attributes[key] for key in (names.SESSION, names.USER, names.TRACE_NAME, names.TRACE_TAGS)}
        assert told == {
            names.SESSION: "s1",
            names.USER: "u1",
            names.TRACE_NAME: "task-Reporter-r1",
            names.TRACE_TAGS: ["a"],
        }
        assert span.attributes["langfuse.version"] == "7"
    assert json.loads(server.named("iteration-0").attributes[f"{names.METADATA}.turn"]) == 0
    assert json.loads(server.named("task-Reporter-r1").attributes[f"{names.METADATA}.run_id"]) == "r1"


async def test_usage_cost_and_model_are_langfuses_own() -> None:
    with receiver() as server:
        provider = langfuse(server)
        await tell(provider)
        await provider.shutdown()
    about = server.named("inference-Reporter").attributes
    assert about[names.MODEL] == "openai/gpt-5"
    assert json.loads(about[names.USAGE]) == {"input": 6, "output": 5, "input_cached_tokens": 4, "total": 15}
    assert json.loads(about[names.COST]) == {"total": 0.5}


async def test_an_error_is_a_level_and_a_message() -> None:
    with receiver() as server:
        provider = langfuse(server)
        await tell(provider)
        await provider.shutdown()
    span = server.named("tool-weather")
    assert (span.attributes[names.LEVEL], span.attributes[names.MESSAGE]) == ("ERROR", "no such city")
    assert (span.status, span.message, span.attributes["error.type"]) == ("error", "no such city", "ValueError")
    assert span.events == [("asked again", {"stagepost.attempt": 2})]


@pytest.mark.parametrize(
    ("status", "level", "message", "code"),
    [
        ("ok", None, None, "unset"),
        ("error", "ERROR", None, "error"),
        ("waiting", None, "waiting", "unset"),
        ("cancelled", "WARNING", "cancelled", "unset"),
        ("interrupted", "WARNING", "interrupted", "unset"),
    ],
)
async def test_how_it_ended_is_the_level(
    status: ObservationStatus, level: str | None, message: str | None, code: str
) -> None:
    with receiver() as server:
        provider = langfuse(server)
        await provider.start_trace("run-x-1", context=ROOT)
        await provider.end_observation(ROOT, status)
        await provider.shutdown()
    (span,) = server.spans
    assert (span.attributes.get(names.LEVEL), span.attributes.get(names.MESSAGE), span.status) == (level, message, code)


async def test_content_is_sent_if_there_is_any() -> None:
    with receiver() as server:
        provider = langfuse(server)
        await tell(provider, content=True)
        await provider.shutdown()
    chat, call = server.named("inference-Reporter").attributes, server.named("tool-weather").attributes
    assert json.loads(chat[names.INPUT]) == [{"role": "user", "text": "Miami?"}]
    assert json.loads(chat[names.OUTPUT]) == {"role": "assistant", "text": "hi"}
    assert (json.loads(call[names.INPUT]), call[names.OUTPUT]) == ({"city": "Miami"}, "no such city")


async def test_without_content_there_is_none() -> None:
    with receiver() as server:
        provider = langfuse(server)
        await tell(provider)
        await provider.shutdown()
    assert not [each for each in server.spans if {names.INPUT, names.OUTPUT} & set(each.attributes)]


async def test_what_is_suspended_is_sent_once_when_somebody_has_gone_on_with_it() -> None:
    with receiver() as server:
        provider, later = langfuse(server), langfuse(server)
        await provider.start_trace("run-x-1", context=ROOT, at=1.0)
        await provider.end_observation(ROOT, "suspended", at=2.0)
        await provider.shutdown()
        assert server.spans == []
        await later.start_trace("run-x-1", context=ROOT, at=1.0)
        await later.end_observation(ROOT, at=9.0)
        await later.shutdown()
    (span,) = server.spans
    assert (span.begun, span.ended) == (1_000_000_000, 9_000_000_000)


async def test_flushing_sends_and_after_the_shutdown_nothing_is_sent() -> None:
    with receiver() as server:
        provider = langfuse(server)
        await provider.flush()
        await provider.start_trace("run-x-1", context=ROOT)
        await provider.end_observation(ROOT)
        await provider.flush()
        assert len(server.spans) == 1
        await provider.shutdown()
        await provider.shutdown()
        await provider.flush()
        await tell(provider)
        await provider.end_observation(ROOT)
    assert len(server.spans) == 1


async def test_keys_and_host_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as server:
        for name, value in (("PUBLIC_KEY", "pk-2"), ("SECRET_KEY", "sk-2"), ("HOST", f"{server.url}/")):
            monkeypatch.setenv(f"LANGFUSE_{name}", value)
        monkeypatch.setenv("LANGFUSE_TRACING_ENVIRONMENT", "staging")
        provider = Langfuse()
        await provider.start_trace("run-x-1", context=ROOT)
        await provider.end_observation(ROOT)
        await provider.shutdown()
    ((path, headers),) = server.requests
    assert path == "/api/public/otel/v1/traces"
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"pk-2:sk-2"
    assert server.spans[0].resource["langfuse.environment"] == "staging"


@pytest.mark.parametrize("missing", ["public_key", "secret_key"])
def test_a_missing_key_is_refused_with_what_to_set(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    keys = {"public_key": "pk", "secret_key": "sk"} | {missing: None}
    with pytest.raises(InvalidArgument, match=f"{missing}.*LANGFUSE_{missing.upper()}"):
        Langfuse(**keys)


def test_names_are_those_of_the_sdk() -> None:
    theirs = LangfuseOtelSpanAttributes
    assert (names.TYPE, names.LEVEL, names.MESSAGE) == (
        theirs.OBSERVATION_TYPE,
        theirs.OBSERVATION_LEVEL,
        theirs.OBSERVATION_STATUS_MESSAGE,
    )
    assert (names.METADATA, names.INPUT, names.OUTPUT, names.MODEL, names.USAGE, names.COST) == (
        theirs.OBSERVATION_METADATA,
        theirs.OBSERVATION_INPUT,
        theirs.OBSERVATION_OUTPUT,
        theirs.OBSERVATION_MODEL,
        theirs.OBSERVATION_USAGE_DETAILS,
        theirs.OBSERVATION_COST_DETAILS,
    )
    assert (names.TRACE_NAME, names.TRACE_TAGS, names.SESSION, names.USER, names.AS_ROOT) == (
        theirs.TRACE_NAME,
        theirs.TRACE_TAGS,
        theirs.TRACE_SESSION_ID,
        theirs.TRACE_USER_ID,
        theirs.AS_ROOT,
    )


@pytest.mark.parametrize("missing", ["langfuse", "opentelemetry"])
def test_without_the_package_there_is_one_sentence(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from stagepost.agents._tracing._langfuse import Langfuse\n"
        "from stagepost.workflows import ExtraMissing\n"
        "try:\n    Langfuse(public_key='p', secret_key='s')\n"
        "except ExtraMissing as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Langfuse needs langfuse, which is not installed: ")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("missing", "error"),
    [
        ("langfuse._client.span_processor", ExtraMissing),
        ("stagepost.agents._tracing._langfuse_sdk", ModuleNotFoundError),
    ],
)
def test_a_missing_extra_is_told_from_any_other_module(
    missing: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "stagepost.agents._tracing._langfuse_sdk", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(error):
        Langfuse(public_key="p", secret_key="s")  # noqa: S106  # a test's
