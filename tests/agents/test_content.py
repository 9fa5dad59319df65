"""What only its provider can read, through the real litellm: out of an answer, and back in the next request."""

from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import pytest
from anyio import fail_after
from pydantic import JsonValue
from tests.agents._speaking import Json, Said, blocks, chunks, completion, message, speaking, streamed, tool_call, whole

from stagepost.agents import (
    AssistantMessage,
    LiteLLM,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    ProviderContent,
    Retries,
    Token,
    ToolMessage,
    ToolSchema,
    UserMessage,
)

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs litellm: pip install 'stagepost[llm]'"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
]

LOOK = ToolSchema("look", "Look out.", {"type": "object", "properties": {"city": {"type": "string"}}})
USER = UserMessage(text="Miami?")
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])

SIGNED: dict[str, JsonValue] = {"type": "thinking", "thinking": "Let me see.", "signature": "SIG1"}
HIDDEN = {"type": "redacted_thinking", "data": "HIDDEN"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"city": "Miami"}}
ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Let me see."}],
    "encrypted_content": "ENC",
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """One event loop for all tests: litellm keeps connections of the one in which it is first used."""
    async with LiteLLM("openai/none"):
        yield


def claude(*, stream: bool) -> Said:
    if not stream:
        return message(SIGNED, HIDDEN, USE, reason="tool_use")
    return blocks(
        [
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Let me "},
            {"type": "thinking_delta", "thinking": "see."},
            {"type": "signature_delta", "signature": "SIG1"},
        ],
        [HIDDEN],
        [{**USE, "input": {}}, {"type": "input_json_delta", "partial_json": '{"city": "Miami"}'}],
        reason="tool_use",
    )


def gemini(*, stream: bool) -> Said:
    parts = [
        {"text": "Let me see.", "thought": True},
        {"functionCall": {"name": "look", "args": {"city": "Miami"}}, "thoughtSignature": "U0lHMQ=="},
        {"functionCall": {"name": "look", "args": {"city": "Oslo"}}},
    ]
    counted = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}
    body = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": counted,
    }
    return streamed(body) if stream else whole(body)


def deepseek(*, stream: bool) -> Said:
    call = tool_call("look", '{"city": "Miami"}')
    if stream:
        return chunks(
            {"role": "assistant", "reasoning_content": "Let me "},
            {"reasoning_content": "see."},
            {"tool_calls": [call]},
            reason="tool_calls",
        )
    return completion({"reasoning_content": "Let me see.", "tool_calls": [call]}, reason="tool_calls")


def responses(*, stream: bool, items: Sequence[Json] = (ITEM,)) -> Said:
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "look",
        "arguments": '{"city":"Miami"}',
        "status": "completed",
    }
    counted = {
        "input_tokens": 9,
        "output_tokens": 5,
        "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-5-mini",
        "output": [*items, call],
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "usage": counted,
    }
    if not stream:
        return whole(body)
    events: list[Json] = [{"type": "response.created", "response": {**body, "status": "in_progress", "output": []}}]
    events += [
        {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "summary": []}},
        {
            "type": "response.reasoning_summary_text.delta",
            "item_id": "rs_1",
            "output_index": 0,
            "summary_index": 0,
            "delta": "Let me see.",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        {"type": "response.output_item.added", "output_index": 1, "item": {**call, "arguments": ""}},
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "fc_1",
            "output_index": 1,
            "delta": call["arguments"],
        },
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_1",
            "output_index": 1,
            "arguments": call["arguments"],
        },
        {"type": "response.output_item.done", "output_index": 1, "item": call},
        {"type": "response.completed", "response": body},
    ]
    return streamed(*({**event, "sequence_number": number} for number, event in enumerate(events)))


def of_claude(asked: Json) -> object:
    return asked["messages"][1]["content"][:2]


def of_gemini(asked: Json) -> object:
    return [part.get("thoughtSignature") for part in asked["contents"][1]["parts"]]


def of_deepseek(asked: Json) -> object:
    return asked["messages"][1]["reasoning_content"]


def of_responses(asked: Json) -> object:
    return [(one.get("type"), one.get("encrypted_content")) for one in asked["input"][1:3]]


PROVIDERS = {
    "anthropic": ("anthropic/claude-sonnet-4-5", claude, of_claude, [SIGNED, HIDDEN]),
    "gemini": ("gemini/gemini-3-pro-preview", gemini, of_gemini, ["U0lHMQ==", None]),
    "deepseek": ("deepseek/deepseek-reasoner", deepseek, of_deepseek, "Let me see."),
    "responses": (
        "openai/responses/gpt-5-mini",
        responses,
        of_responses,
        [("reasoning", "ENC"), ("function_call", None)],
    ),
}


def model_of(name: str, url: str, *, stream: bool = False) -> LiteLLM:
    settings = ModelSettings(max_tokens=9000, reasoning_effort="low" if name.startswith("anthropic") else None)
    return LiteLLM(name, api_base=url, api_key="sk-none", stream=stream, settings=settings, retries=Retries(attempts=1))


def transcript(response: ModelResponse) -> list[Any]:
    answer = AssistantMessage(
        text=response.text, calls=tuple(response.calls), thinking=response.thinking, provider=tuple(response.provider)
    )
    results = [ToolMessage(call_id=call.id, tool=call.name, text="hot") for call in response.calls]
    return [USER, AssistantMessage.model_validate_json(answer.model_dump_json()), *results]


async def asked_once(name: str, said: Said, messages: list[Any], *, stream: bool = False) -> tuple[ModelResponse, Json]:
    with fail_after(60), speaking(said) as speaker:
        async with model_of(name, speaker.url, stream=stream) as model:
            response = await model.answer(ModelRequest(messages, (LOOK,)))
        return response, speaker.asked[-1]


@STREAMED
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_what_belongs_to_a_provider_goes_back_to_it_as_it_came(provider: str, stream: bool) -> None:  # noqa: FBT001  # a table's column
    name, say, read, expected = PROVIDERS[provider]
    response, _ = await asked_once(name, say(stream=stream), [USER], stream=stream)
    assert response.thinking == "Let me see."
    assert all("__thought__" not in call.id for call in response.calls)
    assert response.is_final
    _, asked = await asked_once(name, say(stream=stream), transcript(response), stream=stream)
    assert read(asked) == expected


@pytest.mark.parametrize("to", PROVIDERS)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_what_belongs_to_a_provider_goes_to_no_other(provider: str, to: str) -> None:
    if provider == to:
        return
    name, say, _, _ = PROVIDERS[provider]
    response, _ = await asked_once(name, say(stream=False), [USER])
    assert response.provider
    other, answer, _, _ = PROVIDERS[to]
    _, asked = await asked_once(other, answer(stream=False), transcript(response))
    told = str(asked)
    assert not [sign for sign in ("SIG1", "HIDDEN", "ENC", "U0lHMQ", "Let me see") if sign in told]


async def test_thinking_is_streamed_as_its_own_kind() -> None:
    heard: list[Token] = []
    with fail_after(60), speaking(claude(stream=True)) as speaker:
        async with model_of("anthropic/claude-sonnet-4-5", speaker.url) as model:
            await model.answer(ModelRequest([USER], (LOOK,), on_token=heard.append))
    assert [(token.number, token.text, token.kind) for token in heard] == [
        (0, "Let me ", "thinking"),
        (1, "see.", "thinking"),
        (2, '{"city": "Miami"}', "arguments"),
    ]


async def test_a_model_of_deepseek_that_thinks_gets_a_blank_where_the_calls_of_another_one_have_no_thinking() -> None:
    response, _ = await asked_once("anthropic/claude-sonnet-4-5", claude(stream=False), [USER])
    _, asked = await asked_once("deepseek/deepseek-reasoner", deepseek(stream=False), transcript(response))
    assert asked["messages"][1]["reasoning_content"] == " "
    _, asked = await asked_once("deepseek/deepseek-chat", deepseek(stream=False), transcript(response))
    assert "reasoning_content" not in asked["messages"][1]


@STREAMED
async def test_all_items_of_reasoning_go_back(stream: bool) -> None:  # noqa: FBT001  # a table's column
    said = responses(stream=stream, items=[{**ITEM, "id": f"rs_{n}", "encrypted_content": f"ENC{n}"} for n in range(3)])
    response, _ = await asked_once("openai/responses/gpt-5-mini", said, [USER], stream=stream)
    _, asked = await asked_once("openai/responses/gpt-5-mini", said, transcript(response), stream=stream)
    assert [one.get("encrypted_content") for one in asked["input"][1:4]] == ["ENC0", "ENC1", "ENC2"]


async def test_claude_is_asked_without_thinking_where_the_calls_of_another_model_have_none() -> None:
    response, _ = await asked_once("deepseek/deepseek-reasoner", deepseek(stream=False), [USER])
    _, asked = await asked_once("anthropic/claude-sonnet-4-5", claude(stream=False), transcript(response))
    assert "thinking" not in asked
    _, before = await asked_once("anthropic/claude-sonnet-4-5", claude(stream=False), [USER])
    assert before["thinking"]["type"] == "enabled"


@pytest.mark.parametrize(
    ("made", "asked", "goes"),
    [
        ("bedrock/anthropic.claude-a", "bedrock/anthropic.claude-b", True),
        ("bedrock/anthropic.claude-a", "bedrock/amazon.nova-pro", False),
        ("bedrock/amazon.nova-pro", "bedrock/amazon.nova-pro", True),
        ("bedrock/deepseek.r1", "bedrock/amazon.nova-pro", False),
    ],
)
def test_a_provider_of_many_makers_gives_content_back_to_its_maker(made: str, asked: str, goes: bool) -> None:  # noqa: FBT001  # a table's column
    from stagepost.agents._models._litellm._content import put_back
    from stagepost.agents._models._litellm._provider import Provider

    content = ProviderContent(provider="bedrock", model=made, data=({"thinking_blocks": list[JsonValue]([SIGNED])},))
    told: Mapping[str, Any] = put_back(AssistantMessage(provider=(content,)), {}, Provider("bedrock", asked))
    assert ("thinking_blocks" in told) is goes


async def test_items_of_reasoning_go_to_the_api_that_has_made_them_only() -> None:
    response, _ = await asked_once("openai/responses/gpt-5-mini", responses(stream=False), [USER])
    _, asked = await asked_once("openai/gpt-4.1", completion({"content": "fine"}), transcript(response))
    assert "ENC" not in str(asked)
    assert "reasoning" not in str(asked["messages"])
