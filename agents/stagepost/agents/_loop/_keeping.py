"""Results of tools in a form that a run can keep: whatever a tool says, it fails no run."""

from typing import Final

from pydantic_core import to_json

from stagepost.workflows import StepContext

from .._models._messages import encodable
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


def _is_too_large(text: str, limit: int) -> bool:
    return len(text) * _LONGEST > limit and len(to_json(text)) > limit
