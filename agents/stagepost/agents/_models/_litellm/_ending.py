"""Why an answer has ended, in the words of providers."""

from typing import Final, Literal, TypeAlias

Ending: TypeAlias = Literal["done", "calls", "goes-on", "too-long", "refused", "cut", "unknown"]

# Words of providers, without case. What litellm has of its own stands among them.
_ENDINGS: Final[tuple[tuple[Ending, frozenset[str]], ...]] = (
    ("done", frozenset({"stop", "end_turn", "stop_sequence", "eos", "eos_token", "end", "complete", "completed"})),
    ("calls", frozenset({"tool_calls", "tool_call", "tool_use", "function_call", "function_calls"})),
    (
        "goes-on",
        frozenset({"pause_turn", "malformed_function_call", "malformed_response", "unexpected_tool_call"}),
    ),
    (
        "too-long",
        frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "model_length"}),
    ),
    (
        "refused",
        frozenset(
            {
                "blocklist",
                "content_filter",
                "content_filtered",
                "guardrail_intervened",
                "image_safety",
                "prohibited_content",
                "recitation",
                "refusal",
                "safety",
                "sensitive",
                "spii",
            }
        ),
    ),
    ("cut", frozenset({"error", "network_error"})),
)


def ending(reason: str | None) -> Ending:
    """What a provider's word for the end of an answer means."""
    word = (reason or "stop").lower()
    return next((kind for kind, words in _ENDINGS if word in words), "unknown")
