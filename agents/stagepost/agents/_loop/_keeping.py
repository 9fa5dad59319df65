"""Results of tools, and answers of models, in a form that a run can keep: whatever they say, it fails no run."""

from dataclasses import replace
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from stagepost.workflows import StepContext

from .._models._messages import ToolCall, encodable
from .._models._model import ModelResponse
from .._tools._invoking import ToolResult

_LONGEST: Final = 6  # bytes of JSON that one character can take
_BESIDE: Final = 4096  # bytes for what is kept beside a result


def keepable(result: ToolResult, context: StepContext) -> ToolResult:
    """A result without the secrets that the runner knows and without broken characters, or that it is too large.

    It could not be stored with any of them, and no model needs them.
    """
    execution = context.execution
    text = encodable(execution.secrets.mask(result.text))
    limit = execution.limits.refuse
    if limit is not None and _is_too_large(text, limit - _BESIDE):
        why = f"the result has {len(text):,} characters, which is too much to keep: ask for a smaller part of it"
        return ToolResult(why, is_error=True)
    return result if text == result.text else ToolResult(text, is_error=result.is_error)


def without_secrets(answer: ModelResponse, context: StepContext) -> ModelResponse:
    """An answer without the secrets that the runner knows: what is called is called with stars in their place."""
    mask = context.execution.secrets.mask
    if not mask:
        return answer
    calls = [ToolCall(id=mask(call.id), name=mask(call.name), arguments=mask(call.arguments)) for call in answer.calls]
    return replace(answer, text=mask(answer.text), calls=calls)


def shown(value: JsonValue, context: StepContext) -> JsonValue:
    """A value for whoever is asked about it, without the secrets: hooks may have put them into a call."""
    mask = context.execution.secrets.mask
    match value:
        case dict():
            return {mask(key): shown(inner, context) for key, inner in value.items()}
        case list():
            return [shown(inner, context) for inner in value]
        case str():
            return mask(value)
        case _:
            text = to_json(value).decode()
            return value if (hidden := mask(text)) == text else hidden


def _is_too_large(text: str, limit: int) -> bool:
    return len(text) * _LONGEST > limit and len(to_json(text)) > limit
