"""What only its provider can read: kept of an answer, and put back where it was.

The content of an answer is a list of what litellm calls it, in the order of the answer:

- ``{"thinking_blocks": […]}``: signed thinking of Claude, also hidden one;
- ``{"reasoning_items": […]}``: of OpenAI's responses API, encrypted if it was asked for;
- ``{"reasoning_content": true}``: the answer's own `thinking` is to be sent back, as it is not signed;
- ``{"thought_signatures": […]}``: of Gemini, of the text;
- ``{"call": 0, "thought_signature": "…"}``: of Gemini, of the call with this number;
- ``{"content": […]}``: all of the answer but its calls, as the provider wrote it, if it has used tools of its own;
- ``{"grounding": {…}}``, ``{"annotations": […]}``: its sources, for those who show them; they are not sent back.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from .._messages import AssistantMessage, ProviderContent
from ._provider import Provider
from ._served import content_of, mark

Json = dict[str, Any]

_FOR_BLOCKS: Final = frozenset({"anthropic", "bedrock"})
# Those of whom it is documented that they take their unsigned thinking back. Others refuse the field.
_FOR_TEXT: Final = frozenset({"custom_openai", "dashscope", "deepseek", "hosted_vllm", "lm_studio", "moonshot", "zai"})


def kept(
    provider: Provider,
    *,
    thinking: str,
    blocks: Sequence[Json],
    items: Sequence[Any],
    signatures: Sequence[Any],
    calls: Sequence[str],
    served: Sequence[Json] = (),
) -> tuple[ProviderContent, ...]:
    """What of an answer has to be sent back with it.

    Args:
        provider: Who has made it.
        thinking: The text of the thinking.
        blocks: Blocks of it.
        items: Items of reasoning.
        signatures: Signatures of the answer.
        calls: The signature of each call, empty if it has none.
        served: What the provider's own tools have left.
    """
    data: list[Any] = list(served)
    is_whole = any("content" in one for one in served)  # with thinking and signatures, where they stood
    if is_whole:
        blocks, items, signatures = (), (), ()
    if blocks and provider.api in _FOR_BLOCKS:
        data.append({"thinking_blocks": list(blocks)})
    if provider.api == "chat" and items:
        data.append({"reasoning_items": list(items)})
    elif thinking and _takes_text(provider):
        data.append({"reasoning_content": True})
    if provider.api == "gemini":
        data += _signed(signatures, calls)
    return (ProviderContent(provider=provider.name, model=provider.model, data=tuple(data)),) if data else ()


def put_back(answer: AssistantMessage, told: Json, provider: Provider) -> Json:
    """An answer as it is told to a provider, with what is its own.

    Args:
        answer: The answer.
        told: The answer without it.
        provider: Whom it is told.
    """
    if not answer.provider:
        return told
    own = (content for content in answer.provider if provider.made(content.provider, content.model))
    told = dict(told)
    for item in chain.from_iterable(content.data for content in own):
        match item:
            case {"content": list()}:
                told["content"] = mark(content_of(answer, provider) or ())
            case {"thinking_blocks": blocks}:
                told["thinking_blocks"] = blocks
            case {"reasoning_items": items}:
                told["reasoning_items"] = items
            case {"reasoning_content": True} if answer.calls and answer.thinking and _takes_text(provider):
                told["reasoning_content"] = answer.thinking  # without calls it is ignored, and was once refused
            case {"thought_signatures": signatures}:
                told["provider_specific_fields"] = {"thought_signatures": signatures}
            case {"call": int(number), "thought_signature": signature}:
                told = _with_signature(told, number, signature)
            case _:  # of a later version
                pass
    return told


def filled(told: Json) -> Json:
    """An answer for a model of DeepSeek's that thinks: it wants thinking before all calls, also those of others."""
    return {"reasoning_content": " ", **told} if told.get("tool_calls") else told


def _takes_text(provider: Provider) -> bool:
    return provider.name in _FOR_TEXT or (provider.name == "openai" and provider.has_address)


def _signed(signatures: Sequence[Any], calls: Sequence[str]) -> Iterator[Json]:
    of_text = [signature for signature in signatures if signature not in calls]
    if of_text:
        yield {"thought_signatures": of_text}
    yield from ({"call": number, "thought_signature": one} for number, one in enumerate(calls) if one)


def _with_signature(told: Json, number: int, signature: Any) -> Json:
    calls: Sequence[Mapping[str, Any]] = told.get("tool_calls", ())
    signed = {"provider_specific_fields": {"thought_signature": signature}}
    return {**told, "tool_calls": [{**call, **signed} if index == number else call for index, call in enumerate(calls)]}
