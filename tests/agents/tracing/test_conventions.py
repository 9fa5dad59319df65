"""Names of OpenTelemetry's conventions for generative AI: they are those that the conventions know."""

from typing import Any

import pytest

from stagepost.agents._tracing._conventions import (
    generation_ended,
    observation_ended,
    observation_span,
    provider_of,
    trace_span,
)
from stagepost.agents._tracing._gen_ai_messages import input_messages, output_messages
from stagepost.agents._tracing._observation import ObservationType

pytest.importorskip("opentelemetry.semconv", reason="the extra is not installed")

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as known

FULL: dict[str, Any] = {
    "agent": "A",
    "agent_description": "d",
    "model": "m",
    "call_id": "c",
    "tool": "t",
    "tool_description": "d",
}


def test_every_name_that_begins_with_gen_ai_is_known() -> None:
    names = {value for name, value in vars(known).items() if name.startswith("GEN_AI_")}
    ours: set[str] = set()
    for kind in ObservationType:
        ours |= set(observation_span("x", kind, FULL, ["a"]).attributes)
    for metadata in (FULL, {"workflow": "w"}):
        ours |= set(trace_span("x", session_id="s", user_id="u", metadata=metadata, tags=["t"]).attributes)
    tokens = dict.fromkeys(
        ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_writes", "reasoning_tokens"), 1
    )
    ours |= set(generation_ended({"text": "x"}, tokens))
    for operation in ("execute_tool", "invoke_agent", "invoke_workflow"):
        ours |= set(observation_ended(operation, "x"))
    assert {name for name in ours if name.startswith("gen_ai.")} <= names
    assert len([name for name in ours if name.startswith("gen_ai.")]) == 21


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("openai/gpt-5", "openai"),
        ("anthropic/claude-5", "anthropic"),
        ("bedrock/x", "aws.bedrock"),
        ("gemini/x", "gcp.gemini"),
        ("mistral/x", "mistral_ai"),
        ("my-host/x", "my-host"),
        ("claude-5", "anthropic"),
        ("gpt-5", "openai"),
        ("scripted", "stagepost"),
    ],
)
def test_a_provider_has_the_name_that_the_conventions_give_it(model: str, provider: str) -> None:
    assert provider_of(model) == provider


def test_providers_are_those_that_the_conventions_list() -> None:
    listed = {each.value for each in known.GenAiProviderNameValues} | {"moonshot_ai"}
    prefixes = ("azure", "azure_ai", "bedrock", "gemini", "mistral", "moonshot", "vertex_ai", "watsonx", "xai")
    assert {provider_of(f"{prefix}/x") for prefix in prefixes} <= listed


def test_operations_are_those_that_the_conventions_list() -> None:
    listed = {each.value for each in known.GenAiOperationNameValues}
    spans = [observation_span("x", kind, FULL, None) for kind in ObservationType]
    assert {
        each.attributes["gen_ai.operation.name"] for each in spans if "gen_ai.operation.name" in each.attributes
    } <= listed


def test_all_kinds_of_messages_have_parts() -> None:
    messages: list[Any] = [
        {"role": "system", "text": "be brief"},
        {
            "role": "user",
            "text": "look",
            "parts": [{"kind": "image", "url": "https://a/b.png", "media_type": "image/png"}],
        },
        {"role": "user", "text": "", "parts": [{"kind": "file", "digest": "d1", "media_type": "application/pdf"}]},
        {
            "role": "assistant",
            "text": "so",
            "thinking": "hm",
            "calls": [
                {"id": "1", "name": "t", "arguments": '{"a":1}'},
                {"id": "2", "name": "t", "arguments": "{broken"},
            ],
        },
        {"role": "tool", "call_id": "1", "tool": "t", "text": "result", "is_error": False},
        "no message",
    ]
    assert input_messages(messages) == [
        {"role": "system", "parts": [{"type": "text", "content": "be brief"}]},
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "look"},
                {"type": "uri", "modality": "image", "mime_type": "image/png", "uri": "https://a/b.png"},
            ],
        },
        {
            "role": "user",
            "parts": [{"type": "file", "modality": "file", "mime_type": "application/pdf", "file_id": "d1"}],
        },
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "text", "content": "so"},
                {"type": "tool_call", "id": "1", "name": "t", "arguments": {"a": 1}},
                {"type": "tool_call", "id": "2", "name": "t", "arguments": "{broken"},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "result"}]},
    ]


def test_an_answer_has_the_reason_of_its_end() -> None:
    call: Any = {"id": "1", "name": "t", "arguments": {"a": 1}}
    assert output_messages({"text": "done"})[0]["finish_reason"] == "stop"
    assert output_messages({"message": {"text": "", "calls": [call]}})[0]["finish_reason"] == "tool_call"
    assert output_messages({"text": "cut", "finish_reason": "length"})[0]["finish_reason"] == "length"
    assert output_messages({"message": {"calls": [call]}})[0]["parts"] == [
        {"type": "tool_call", "id": "1", "name": "t", "arguments": {"a": 1}}
    ]


def test_a_result_without_an_operation_of_the_conventions_has_a_name_of_ours() -> None:
    assert observation_ended(None, {"a": 1}) == {"stagepost.output": '{"a":1}'}
    assert observation_ended("execute_tool", None) == {}
