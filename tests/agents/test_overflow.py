"""How a prompt that is too long is told from all else that is refused."""

import pytest

from stagepost.agents import ContextTooLong, ModelRejected, RateLimitReached
from stagepost.agents._models._litellm._failing import Failures
from stagepost.agents._models._overflow import is_overflow
from stagepost.agents._models._statuses import status_error
from stagepost.agents.models import KeyMask

TOO_LONG = {
    "openai": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130002 tokens. "
    "Please reduce the length of the messages.",
    "openai code": '{"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}}',
    "openai responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "openai characters": "Invalid 'messages[1].content': string too long. Expected a string with maximum length "
    "10485760, but got a string with length 12000000 instead.",
    "openai messages": "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got 2050",
    "azure": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    "anthropic": "prompt is too long: 215000 tokens > 200000 maximum",
    "anthropic with max_tokens": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "gemini": "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    "gemini without a number": "The input token count exceeds the maximum number of tokens allowed (1048576).",
    "vertex": "Unable to submit request because the input token count is 40000 but model only supports up to 32768.",
    "mistral": "Prompt contains 40959 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "deepseek": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
    "bedrock": "Input is too long for requested model.",
    "bedrock claude": "The model returned the following errors: prompt is too long: 203253 tokens > 200000 maximum",
    "titan": "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9000",
    "xai": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "groq": "Please reduce the length of the messages or completion.",
    "moonshot": "Invalid request: Your request exceeded model token limit: 8192",
    "dashscope": "Range of input length should be [1, 98304]",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
    "lm studio": "The number of tokens to keep from the initial prompt is greater than the context length",
    "vllm": "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    "openrouter": "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens",
}
OTHERS = {
    "an answer's limit": "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
    "a completion's limit": "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "a user's name": "Invalid 'user': string too long. Expected a string with maximum length 64, but got 80 instead.",
    "tools": "Invalid 'tools': array too long. Expected at most 128.",
    "a name": "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64",
    "no model": "The model `gpt-9` does not exist or you do not have access to it.",
    "a role": "messages: roles must alternate",
}


@pytest.mark.parametrize("text", TOO_LONG.values(), ids=TOO_LONG)
def test_each_provider_says_it_in_its_own_words(text: str) -> None:
    error = status_error("m", 400, {}, text)
    assert type(error) is ContextTooLong
    assert error.status == 400
    assert "API key" not in str(error)
    assert text[:40] in str(error)


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_other_refusals_are_others(text: str) -> None:
    assert type(status_error("m", 400, {}, text)) is ModelRejected


def test_a_request_that_a_proxy_does_not_take_is_too_long() -> None:
    assert type(status_error("m", 413, {}, "Request Entity Too Large")) is ContextTooLong


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "Request too large for gpt-4o on tokens per min (TPM): Limit 3, Requested 4. The tokens must be reduced.",
            ContextTooLong,
        ),
        ("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000", RateLimitReached),
    ],
    ids=["larger than a minute allows", "later"],
)
def test_what_no_minute_allows_is_too_long_and_what_a_later_one_does_is_not(text: str, kind: type[Exception]) -> None:
    assert type(status_error("m", 429, {}, text)) is kind


@pytest.mark.parametrize("status", [401, 403, 404])
def test_who_may_not_ask_is_told_so(status: int) -> None:
    assert not is_overflow(status, "the key for prompt is too long tests is wrong")


def test_an_error_without_headers_is_read_by_its_text() -> None:
    error = type("BadRequestError", (Exception,), {})(
        "litellm.BadRequestError: prompt is too long: 3 tokens > 2 maximum"
    )
    assert type(Failures("m", KeyMask()).read(error, 2)) is ContextTooLong
