from typing import Any

import pytest

from stagepost.agents import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    OutputSchema,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from stagepost.agents._models._litellm._provider import Provider
from stagepost.agents._models._litellm._wording import worded

OPENAI = Provider("openai", "openai/gpt-5-mini")
USER = UserMessage(text="Miami?")
SCHEMA = OutputSchema("Report", {"type": "object"})


def said(*messages: ChatMessage, output: OutputSchema | None = None) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = worded(ModelRequest(messages, output=output), OPENAI, native_schema=False)["messages"]
    return made


def test_a_conversation_is_told_in_order() -> None:
    call = ToolCall(id="c1", name="look", arguments='{"city":"Oslo"}')
    told = said(
        SystemMessage(text="Be short."),
        USER,
        AssistantMessage(calls=(call,)),
        ToolMessage(call_id="c1", tool="look", text="fine"),
        AssistantMessage(text="It is fine."),
    )
    function = {"name": "look", "arguments": '{"city":"Oslo"}'}
    assert told == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Miami?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "fine"},
        {"role": "assistant", "content": "It is fine."},
    ]


@pytest.mark.parametrize("written", ['{"city":', "[1]", "", "Oslo"], ids=["cut", "list", "nothing", "text"])
def test_arguments_that_are_no_object_go_back_as_the_text_of_one(written: str) -> None:
    told, _ = said(AssistantMessage(calls=(ToolCall(id="c1", name="look", arguments=written),)))
    quoted = written.replace('"', '\\"')
    assert told["tool_calls"][0]["function"]["arguments"] == f'{{"unreadable":"{quoted}"}}'


def test_tools_are_told_with_their_parameters() -> None:
    tool = ToolSchema("look", "Look out.", {"type": "object", "properties": {}})
    function = {"name": "look", "description": "Look out.", "parameters": {"type": "object", "properties": {}}}
    assert worded(ModelRequest([USER], [tool]), OPENAI, native_schema=False)["tools"] == [
        {"type": "function", "function": function}
    ]
    assert "tools" not in worded(ModelRequest([USER]), OPENAI, native_schema=False)


def test_the_form_of_the_answer_is_told_in_the_prompt() -> None:
    told = said(SystemMessage(text="Be short."), USER, output=SCHEMA)
    assert [message["role"] for message in told] == ["system", "user"]
    assert told[0]["content"].startswith("Be short.\n\nGive your final answer as JSON")
    assert told[0]["content"].endswith('Report:\n{"type":"object"}')
    assert [message["role"] for message in said(USER, output=SCHEMA)] == ["system", "user"]


def test_a_provider_that_knows_schemas_gets_it() -> None:
    request = ModelRequest([USER], output=SCHEMA)
    assert worded(request, OPENAI, native_schema=True)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Report", "schema": {"type": "object"}, "strict": False},
    }
    assert "response_format" not in worded(request, OPENAI, native_schema=False)
    assert "response_format" not in worded(ModelRequest([USER]), OPENAI, native_schema=True)
