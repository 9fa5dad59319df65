"""Any conversation, as each provider wants it worded."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.agents import (
    AssistantMessage,
    ChatMessage,
    Image,
    ModelRequest,
    OutputSchema,
    ProviderContent,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from stagepost.agents._models._litellm._names import sendable
from stagepost.agents._models._litellm._provider import Provider
from stagepost.agents._models._litellm._wording import worded

Json = dict[str, Any]

PROVIDERS = {
    "openai": Provider("openai", "openai/gpt-5-mini"),
    "anthropic": Provider("anthropic", "anthropic/claude-sonnet-4-5"),
    "bedrock": Provider("bedrock", "bedrock/anthropic.claude-sonnet-4-5"),
    "gemini": Provider("gemini", "gemini/gemini-2.5-flash"),
    "gemini-3": Provider("gemini", "gemini/gemini-3-pro-preview"),
    "mistral": Provider("mistral", "mistral/mistral-large-latest"),
    "deepseek": Provider("deepseek", "deepseek/deepseek-reasoner"),
}
FEW = settings(max_examples=40, deadline=None)  # for each provider
EACH = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
PICTURE = Image(data=b"PNG", media_type="image/png", name="a.png")
TEXTS = st.sampled_from(["", " ", "fine", '{"a": 1}'])
CALLS = st.builds(
    ToolCall,
    id=st.sampled_from(["", "a", "call_1", "fc_" + "0" * 50, "tool:1", "ab12ab12a", "***"]),
    name=st.sampled_from(["look", "", "functions.look", "1st", "værlæs", "x" * 99]),
    arguments=st.sampled_from(["{}", '{"city":"Oslo"}', "[1]", '{"a":NaN}', '{"a":"\\ud800"}', '{"a":']),
)
CONTENT = st.builds(
    ProviderContent,
    provider=st.sampled_from(["openai", "anthropic", "bedrock", "gemini", "mistral", "deepseek"]),
    model=st.sampled_from([each.model for each in PROVIDERS.values()]),
    data=st.sampled_from(
        [
            ({"thinking_blocks": [{"type": "thinking", "thinking": "x", "signature": "SECRET"}]},),
            ({"reasoning_items": [{"encrypted_content": "SECRET"}]},),
            ({"thought_signatures": ["SECRET"]}, {"call": 0, "thought_signature": "SECRET"}),
            ({"reasoning_content": True},),
        ]
    ),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[ChatMessage]:
    """Conversations as the loop has them: each answer has the results of its calls after it."""
    said: list[ChatMessage] = [UserMessage(text="Go.")]
    for number in range(draw(st.integers(0, 4))):
        calls = [
            call.model_copy(update={"id": f"{call.id}{index}" if index else call.id})
            for index, call in enumerate(draw(st.lists(CALLS, max_size=3)))
        ]
        calls = list({call.id: call for call in calls}.values())
        said.append(
            AssistantMessage(
                text=draw(TEXTS),
                calls=tuple(calls),
                thinking="SECRET",
                provider=tuple(draw(st.lists(CONTENT, max_size=2))),
            )
        )
        said += [
            ToolMessage(
                call_id=call.id,
                tool=call.name,
                text=f"result {number} {index}",
                is_error=draw(st.booleans()),
                parts=draw(st.sampled_from([(), (PICTURE,)])),
            )
            for index, call in enumerate(calls)
        ]
        said += [UserMessage(text=text) for text in draw(st.lists(TEXTS, max_size=2, min_size=0 if calls else 1))]
    return said


def told(messages: Sequence[ChatMessage], provider: Provider) -> list[Json]:
    made: list[Json] = worded(ModelRequest(messages, [ToolSchema("look", "Look.", {})]), provider, native_schema=False)[
        "messages"
    ]
    return made


def results_of(message: Json) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@EACH
@FEW
@given(conversations())
def test_each_call_keeps_its_result_and_each_rule_is_kept(provider: Provider, messages: list[ChatMessage]) -> None:
    said = told(messages, provider)
    ids = [call["id"] for message in said for call in message.get("tool_calls", ())]
    assert len(ids) == len(set(ids))
    form = r"[a-zA-Z0-9]{9}" if provider.api == "mistral" else r"[a-zA-Z0-9_-]{1,40}"
    assert all(re.fullmatch(form, call_id) for call_id in ids)
    names = [call["function"]["name"] for message in said for call in message.get("tool_calls", ())]
    assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name) for name in names)
    for message, after in zip(said, [*said[1:], {"role": "end"}], strict=True):
        if message["role"] == "user" or (message["role"] == "assistant" and not message.get("tool_calls")):
            assert message["content"]
            assert not isinstance(message["content"], str) or message["content"].strip()
        assert (message["role"], after["role"]) != ("tool", "user") or provider.api != "mistral"
    place = 0
    while place < len(said):
        wanted = [call["id"] for call in said[place].get("tool_calls", ())]
        given_back = [message["tool_call_id"] for message in said[place + 1 : place + 1 + len(wanted)]]
        assert given_back == wanted
        place += 1 + len(wanted)
    every = " ".join(results_of(message) for message in said if message["role"] == "tool")
    assert all(message.text in every for message in messages if isinstance(message, ToolMessage))


@EACH
@FEW
@given(conversations())
def test_nothing_that_belongs_to_a_provider_reaches_another_one(
    provider: Provider, messages: list[ChatMessage]
) -> None:
    foreign = [
        message.model_copy(update={"provider": tuple(one for one in message.provider if one.provider != provider.name)})
        if isinstance(message, AssistantMessage)
        else message
        for message in messages
    ]
    assert "SECRET" not in str(told(foreign, provider))


@EACH
@FEW
@given(conversations(), st.data())
def test_a_conversation_is_worded_the_same_when_it_has_grown(
    provider: Provider, messages: list[ChatMessage], data: st.DataObject
) -> None:
    more = data.draw(conversations())
    before = told(messages, provider)
    assert told([*messages, *more], provider)[: len(before)] == before


LOOK, AGAIN = (ToolCall(id=name, name="look", arguments='{"city":"Oslo"}') for name in "ab")


def test_equal_calls_are_told_one_after_another_to_a_provider_that_cannot_tell_them_apart() -> None:
    messages: list[ChatMessage] = [
        AssistantMessage(calls=(LOOK, AGAIN)),
        ToolMessage(call_id="a", tool="look", text="fine"),
        ToolMessage(call_id="b", tool="look", text="rain"),
    ]
    said = told(messages, PROVIDERS["gemini"])
    assert [message["role"] for message in said] == ["assistant", "tool", "assistant", "tool"]
    assert [message["content"] for message in said] == [None, "fine", None, "rain"]
    assert len(told(messages, PROVIDERS["gemini-3"])) == 3


def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_is_told_as_text() -> None:
    said = told(
        (AssistantMessage(calls=(LOOK,)), ToolMessage(call_id="x", tool="look", text="fine")), PROVIDERS["openai"]
    )
    assert [message["role"] for message in said] == ["assistant", "tool", "user"]
    assert said[1]["content"] == "There is no result of this call."
    assert said[2]["content"] == "Result of look: fine"


@pytest.mark.parametrize(
    ("provider", "text"),
    [("anthropic", "no such city"), ("gemini", '{"error":"no such city"}'), ("openai", "no such city")],
)
def test_an_error_of_a_tool_is_told_as_one(provider: str, text: str) -> None:
    result = ToolMessage(call_id="a", tool="look", text="no such city", is_error=True)
    assert told((AssistantMessage(calls=(LOOK,)), result), PROVIDERS[provider])[1]["content"] == text


def test_there_is_one_prompt_at_most() -> None:
    messages = (SystemMessage(text="Be short."), SystemMessage(text="Be kind."), UserMessage(text="Go."))
    assert told(messages, PROVIDERS["openai"])[0] == {"role": "system", "content": "Be short.\n\nBe kind."}


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("functions.look", "functions_look"),
        ("", "unnamed"),
        ("1st", "_1st"),
        ("look", "look"),
        ("ü", "_"),
        ("x" * 70, "x" * 64),
    ],
)
def test_a_called_name_is_one_that_could_be(written: str, sent: str) -> None:
    assert sendable(written, ()) == sent
    assert sendable(written, {written}) == written


def test_the_form_of_an_answer_is_never_sent_beside_tools() -> None:
    asked = ModelRequest(
        [UserMessage(text="Go.")], [ToolSchema("look", "Look.", {})], OutputSchema("Page[Gen]", {"type": "object"})
    )
    made = worded(asked, PROVIDERS["openai"], native_schema=True)
    assert "response_format" not in made
    assert "Page[Gen]" in made["messages"][0]["content"]
    alone = worded(ModelRequest(asked.messages, output=asked.output), PROVIDERS["openai"], native_schema=True)
    assert alone["response_format"]["json_schema"]["name"] == "Page_Gen_"
    assert [message["role"] for message in alone["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("provider", "roles"),
    [("anthropic", ["tool"]), ("openai", ["tool", "user"]), ("mistral", ["tool", "assistant", "user"])],
)
def test_a_picture_of_a_tool_is_in_its_result_or_follows_the_results(provider: str, roles: list[str]) -> None:
    result = ToolMessage(call_id="a", tool="look", text="", parts=(PICTURE,))
    said = told((AssistantMessage(calls=(LOOK,)), result), PROVIDERS[provider])
    assert [message["role"] for message in said[1:]] == roles
    assert said[-1]["content"][-1]["image_url"]["url"] == "data:image/png;base64,UE5H"
    assert said[1]["content"]
