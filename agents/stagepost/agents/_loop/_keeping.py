"""Results of tools and answers of models in a form that a run can store, so that they never fail the run."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from stagepost.checkpoint import BlobTooLarge, CannotStore
from stagepost.workflows import StepContext

from .._models._messages import ToolCall, encodable
from .._models._model import ModelResponse
from .._tools._invoking import ToolResult
from .._tools._returned import Json

_LONGEST: Final = 6  # bytes of JSON that one character can take
_BESIDE: Final = 4096  # bytes for what is stored besides a result


def keepable(result: ToolResult, context: StepContext) -> ToolResult:
    """A result without the runner's secrets and without broken characters, or a message that it is too large.

    It could not be stored with them, and no model needs them. The bytes of its parts are attached to the step, and
    saved together with the returned result, which only has their digests.
    """
    text = encodable(context.mask(result.text))
    text = Json(text) if isinstance(result.text, Json) else text
    limit = context.limits.refuse
    if limit is not None and _is_too_large(text, limit - _BESIDE):
        why = f"the result has {len(text):,} characters, which is too much to keep: ask for a smaller part of it"
        return ToolResult(why, is_error=True)
    if result.parts:
        return _with_parts(text, result, context)
    return result if text == result.text else result._replace(text=text)


def _with_parts(text: str, result: ToolResult, context: StepContext) -> ToolResult:
    mask = context.mask
    parts = []
    for part in result.parts:
        shown = {name: mask(value) for name in ("name", "url", "media_type") if (value := getattr(part, name))}
        try:
            if part.data is not None:
                context.attach(part.data)
        except BlobTooLarge as error:
            why = f"{error.size:,} bytes, and {error.largest:,} can be kept: ask for a smaller one, or for its address"
            return ToolResult(f"{text}\nThe result has {part.kind} of {why}", is_error=True)
        except CannotStore:
            return ToolResult(f"{text}\nThe result has {part.kind} that shows a secret: it is not kept", is_error=True)
        parts.append(part.model_copy(update={**shown, "data": None}))
    return result._replace(text=text, parts=tuple(parts))


def without_secrets(answer: ModelResponse, mask: Callable[[str], str]) -> ModelResponse:
    """An answer with masked secrets: tools are called with the stars, too."""
    calls = [ToolCall(id=mask(call.id), name=mask(call.name), arguments=mask(call.arguments)) for call in answer.calls]
    return replace(answer, text=mask(answer.text), calls=calls)


def shown(value: JsonValue, context: StepContext) -> JsonValue:
    """A value for a person's decision, without secrets: hooks may have put them into a call."""
    mask = context.mask
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
