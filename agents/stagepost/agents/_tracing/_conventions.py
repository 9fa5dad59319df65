"""What OpenTelemetry calls the things that agents do: its semantic conventions for generative AI, version 1.41.

The conventions are in development: whatever a later version names otherwise is changed here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from ._gen_ai_messages import input_messages, output_messages
from ._observation import ObservationStatus, ObservationType
from ._provider import Attributes

Kind: TypeAlias = Literal["internal", "client"]
Value: TypeAlias = str | bool | int | float | Sequence[str]
Described: TypeAlias = dict[str, Value]

SCHEMA: Final = "https://opentelemetry.io/schemas/1.41.0"
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
ERROR_TYPE: Final = "error.type"
STATUS: Final = "stagepost.status"
"""How a span ended, if neither well nor by an error: ``cancelled``, ``waiting``, ``interrupted``."""

_OURS: Final = "stagepost"
_KNOWN: Final[Mapping[str, str]] = {  # what litellm calls a provider: what the conventions call it, where they differ
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_FAMILIES: Final = (("claude", "anthropic"), ("gemini", "gcp.gemini"), ("gpt-", "openai"), ("o1", "openai"))
_USAGE: Final = (
    ("prompt_tokens", "gen_ai.usage.input_tokens"),
    ("completion_tokens", "gen_ai.usage.output_tokens"),
    ("cached_tokens", "gen_ai.usage.cache_read.input_tokens"),
    ("cache_writes", "gen_ai.usage.cache_creation.input_tokens"),
    ("reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"),
    ("cost", "stagepost.usage.cost"),
)
_NAMED: Final[Mapping[str, str]] = {  # keys of metadata that have a name in the conventions
    "agent": AGENT,
    "agent_description": "gen_ai.agent.description",
    "model": "gen_ai.request.model",
    "call_id": "gen_ai.tool.call.id",
    "tool": "gen_ai.tool.name",
    "tool_description": "gen_ai.tool.description",
}


class NewSpan(NamedTuple):
    """A span that is about to begin.

    Attributes:
        name: Its name.
        kind: Its kind.
        attributes: What is known of it.
    """

    name: str
    kind: Kind
    attributes: Described


def trace_span(
    name: str, *, session_id: str | None, user_id: str | None, metadata: Attributes, tags: Sequence[str]
) -> NewSpan:
    """The root of a trace: an agent's task, or a run of another workflow."""
    told = metadata_attributes(metadata)
    if session_id is not None:
        told[CONVERSATION] = session_id
    if user_id is not None:
        told["user.id"] = user_id
    if tags:
        told["stagepost.tags"] = tuple(tags)
    told["stagepost.observation"] = name
    agent, workflow = metadata.get("agent"), metadata.get("workflow")
    if isinstance(agent, str):
        return _agent(agent, told)
    if isinstance(workflow, str):
        told |= {OPERATION: "invoke_workflow", "gen_ai.workflow.name": workflow}
        return NewSpan(f"invoke_workflow {workflow}", "internal", told)
    return NewSpan(name, "internal", told)


def observation_span(name: str, kind: ObservationType, metadata: Attributes, content: JsonValue) -> NewSpan:
    """An observation: a turn, a question to a model, a call of a tool, an agent below."""
    told = metadata_attributes(metadata)
    told["stagepost.observation"] = name
    if kind is ObservationType.GENERATION:
        return _chat(metadata, content, told)
    if kind is ObservationType.TOOL:
        return _tool(str(metadata.get("tool") or name.removeprefix("tool-")), content, told)
    if kind is ObservationType.AGENT:
        return _agent(str(metadata.get("agent") or name.removeprefix("sub-agent-")), told)
    if content is not None:
        told["stagepost.input"] = _json(content)
    return NewSpan(name, "internal", told)


def generation_ended(output: Mapping[str, JsonValue], usage: Mapping[str, int | float] | None) -> Described:
    """What an answer adds."""
    told: Described = {there: usage[here] for here, there in _USAGE if here in usage} if usage else {}
    if output:
        messages = output_messages(output)
        told["gen_ai.output.messages"] = _json(messages)
        told["gen_ai.response.finish_reasons"] = tuple(str(each["finish_reason"]) for each in messages)
    return told


def observation_ended(operation: object, output: JsonValue) -> Described:
    """What a result adds, by the operation that the span stands for."""
    if output is None:
        return {}
    if operation == "execute_tool":
        return {"gen_ai.tool.call.result": _text(output)}
    if operation in ("invoke_agent", "invoke_workflow"):
        return {"gen_ai.output.messages": _json(output_messages({"text": _text(output)}))}
    return {"stagepost.output": _json(output)}


def status_ended(status: ObservationStatus) -> Described:
    """What a status adds; an error also has its type, see `ERROR_TYPE`."""
    return {} if status in ("ok", "error") else {STATUS: status}


def provider_of(model: str) -> str:
    """Who serves a model, as far as its name tells: ``openai/gpt-5`` is served by ``openai``."""
    prefix, slash, _ = model.partition("/")
    if slash:
        return _KNOWN.get(prefix, prefix)
    return next((provider for family, provider in _FAMILIES if model.startswith(family)), _OURS)


def _agent(agent: str, told: Described) -> NewSpan:
    told |= {OPERATION: "invoke_agent", PROVIDER: _OURS, AGENT: agent}
    return NewSpan(f"invoke_agent {agent}", "internal", told)


def _chat(metadata: Attributes, content: JsonValue, told: Described) -> NewSpan:
    model = str(metadata.get("model") or "")
    told |= {OPERATION: "chat", PROVIDER: provider_of(model)}
    if isinstance(content, list):
        told["gen_ai.input.messages"] = _json(input_messages(content))
    return NewSpan(f"chat {model}".rstrip(), "client", told)


def _tool(tool: str, content: JsonValue, told: Described) -> NewSpan:
    told |= {OPERATION: "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.type": "function"}
    if content is not None:
        told["gen_ai.tool.call.arguments"] = _text(content)
    return NewSpan(f"execute_tool {tool}", "internal", told)


def metadata_attributes(metadata: Attributes) -> Described:
    """Metadata as attributes; what the conventions do not know gets a name of ours."""
    return {_NAMED.get(key) or f"{_OURS}.{key}": _value(value) for key, value in metadata.items() if value is not None}


def _value(value: JsonValue) -> Value:
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(str(each) for each in value)
    return _json(value)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
