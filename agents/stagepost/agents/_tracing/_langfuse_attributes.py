"""What Langfuse calls the things that agents do: the attributes of spans that its ingestion understands."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from ._conventions import Described, NewSpan
from ._observation import ObservationStatus, ObservationType
from ._provider import Attributes

TYPE: Final = "langfuse.observation.type"
PROMPT: Final = "langfuse.observation.prompt.name"
PROMPT_VERSION: Final = "langfuse.observation.prompt.version"
LEVEL: Final = "langfuse.observation.level"
MESSAGE: Final = "langfuse.observation.status_message"
METADATA: Final = "langfuse.observation.metadata"
INPUT: Final = "langfuse.observation.input"
OUTPUT: Final = "langfuse.observation.output"
MODEL: Final = "langfuse.observation.model.name"
USAGE: Final = "langfuse.observation.usage_details"
COST: Final = "langfuse.observation.cost_details"
TRACE_NAME: Final = "langfuse.trace.name"
TRACE_TAGS: Final = "langfuse.trace.tags"
SESSION: Final = "session.id"
USER: Final = "user.id"
AS_ROOT: Final = "langfuse.internal.as_root"

_LEVELS: Final[Mapping[ObservationStatus, str]] = {"error": "ERROR", "interrupted": "WARNING", "cancelled": "WARNING"}


def handed_down(
    name: str, *, session_id: str | None, user_id: str | None, metadata: Attributes, tags: Sequence[str]
) -> Described:
    """What all observations of a trace carry: Langfuse finds a trace by any of them."""
    told: Described = {TRACE_NAME: name}
    if session_id is not None:
        told[SESSION] = session_id
    if user_id is not None:
        told[USER] = user_id
    if tags:
        told[TRACE_TAGS] = tuple(tags)
    version = metadata.get("version")
    if isinstance(version, str):
        told["langfuse.version"] = version
    return told


def observation(name: str, kind: ObservationType, metadata: Attributes, content: JsonValue) -> NewSpan:
    """An observation of Langfuse's own type."""
    told: Described = {TYPE: kind.value}
    for key, value in metadata.items():
        if value is not None:
            told[f"{METADATA}.{key}"] = _json(value)
    model = metadata.get("model")
    if kind is ObservationType.GENERATION and isinstance(model, str):
        told[MODEL] = model
    told.update(_prompt(metadata))
    if content is not None:
        told[INPUT] = _text(content)
    return NewSpan(name, "internal", told)


def ended(status: ObservationStatus, output: JsonValue) -> Described:
    """What an end adds."""
    told: Described = {} if output is None or output == {} else {OUTPUT: _text(output)}
    if status in _LEVELS:
        told[LEVEL] = _LEVELS[status]
    if status not in ("ok", "error"):
        told[MESSAGE] = status
    return told


def used(usage: Mapping[str, int | float] | None) -> Described:
    """Tokens and cost. Langfuse adds up what it is told, so tokens from the cache are told apart from other input."""
    if not usage:
        return {}
    read, cached = usage.get("prompt_tokens", 0), usage.get("cached_tokens", 0)
    details = {"input": read - cached, "output": usage.get("completion_tokens", 0)}
    if cached:
        details["input_cached_tokens"] = cached
    if "total_tokens" in usage:
        details["total"] = usage["total_tokens"]
    told: Described = {USAGE: _json(details)}
    if "cost" in usage:
        told[COST] = _json({"total": usage["cost"]})
    return told


def _prompt(metadata: Attributes) -> Described:
    """What leads from a question to a prompt of Langfuse, whose versions are numbers."""
    name, version = metadata.get("prompt_name"), metadata.get("prompt_version")
    if metadata.get("prompt_source") != "registry" or not isinstance(version, str) or not version.isdecimal():
        return {}
    return {PROMPT: str(name), PROMPT_VERSION: int(version)}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
