"""How providers say that a prompt is too long."""

import re
from http import HTTPStatus
from typing import Final

# What they write, as far as possible in parts that only this error has. Most send status 400 and a text, few a code.
_WORDINGS: Final = (
    r"context_length_exceeded",  # OpenAI, Azure, and who speaks like them
    r"maximum context length",  # OpenAI, DeepSeek, vLLM, OpenRouter; Mistral: "too large for model with …"
    r"exceeds? the context window",  # OpenAI's responses
    r"exceed the configured limit of \d+ tokens",  # Azure
    r"invalid '(messages|input)\W[^']*': string too long\. expected .{0,40}length \d{6,}",  # OpenAI
    r"invalid '(messages|input)': array too long",  # OpenAI
    r"prompt is too long",  # Anthropic, also at Bedrock and Vertex
    r"exceed context limit",  # Anthropic: with max_tokens
    r"request_too_large",  # Anthropic
    r"input token count .{0,60}exceeds the maximum number of tokens",  # Gemini
    r"input token count is \d+ but (the )?model only supports up to",  # Vertex
    r"input is too long for (the )?requested model",  # Bedrock
    r"too many input tokens",  # Bedrock: Titan
    r"maximum prompt length is",  # xAI
    r"(please )?reduce (the )?(length|size) of (the |your )?(messages|prompt|input)",  # Groq, Cerebras, Bedrock
    r"exceeded model token limit",  # Moonshot
    r"range of input length should be",  # DashScope
    r"prompt exceeds max length|context window exceeds limit",  # Zhipu, MiniMax
    r"total number of tokens in the prompt cannot exceed",  # Cohere
    r"exceeds? the (available|model's|maximum) context (size|length|window)",  # llama.cpp, Ollama, TGI
    r"(is )?(longer|greater) than the (model's |maximum )*(context|model) length",  # vLLM, LM Studio
    r"`inputs` tokens \+ `max_new_tokens` must be|`inputs` must have less than \d+ tokens",  # TGI
)
_ANY: Final = re.compile("|".join(_WORDINGS), re.IGNORECASE)
# A request that is larger than what a minute allows is never taken, however long one waits.
_TOO_LARGE_FOR_A_MINUTE: Final = re.compile(r"request too large for .{0,400}must be reduced", re.IGNORECASE | re.DOTALL)


def is_overflow(status: int | None, text: str) -> bool:
    """Whether a refusal means that the prompt is too long.

    Args:
        status: HTTP status; None if there is none.
        text: What the provider says.
    """
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _TOO_LARGE_FOR_A_MINUTE.search(text) is not None
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
        return False
    return _ANY.search(text) is not None
