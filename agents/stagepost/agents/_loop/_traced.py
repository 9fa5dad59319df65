"""What the loop tells of questions and calls, if its run is traced."""

from collections.abc import Awaitable, Mapping, Sequence

from pydantic import JsonValue
from pydantic_core import from_json

from stagepost.workflows import RunTracer, StepContext

from .._delegation._calls import PendingCall
from .._models._messages import ChatMessage, ToolMessage, Usage, UserMessage
from .._models._model import Model, ModelRequest, ModelResponse
from .._tools._invoking import ToolResult
from .._tracing._agent_spans import AgentSpans
from ._member import Member


async def traced_answer(
    answered: Awaitable[ModelResponse],
    tracing: RunTracer,
    request: ModelRequest,
    turn: int,
    context: StepContext,
    *,
    member: Member,
    model: Model,
    what: str = "inference",
) -> ModelResponse:
    """The answer of a model, observed.

    Args:
        answered: Asks it.
        tracing: Traces the run.
        request: The question.
        turn: Number of the turn, from 0.
        context: The step that asks.
        member: The agent that asks.
        model: The model.
        what: ``inference``, or ``summary``.
    """
    if not isinstance(tracing, AgentSpans):
        return await answered
    name = member.agent.name
    if member.agent.programs is not None:
        tracing.hide_fields()
    asked = tracing.question(
        f"{what}-{name}",
        turn,
        context,
        model=model_name(model),
        messages=lambda: [plain(message) for message in request.messages],
        metadata={"agent": name, "path": list(member.path), "tools": len(request.tools), **_prompt(request)},
    )
    with asked:
        response = await answered
        said = _said(response) if tracing.tells_content else {}
        asked.answered(said, usage_of(response.usage))
        return response


async def traced_result(
    made: Awaitable[ToolResult],
    tracing: RunTracer,
    entry: PendingCall,
    context: StepContext,
    *,
    member: Member,
    is_delegated: bool,
) -> ToolResult:
    """The result of a call, observed; if another agent answers it, that one's run is what is observed.

    Args:
        made: Makes the call.
        tracing: Traces the run.
        entry: The call.
        context: The step that makes it.
        member: The agent that wants it.
        is_delegated: Whether another agent answers it.
    """
    if not isinstance(tracing, AgentSpans):
        return await made
    if member.agent.programs is not None:  # it goes on, perhaps in another process, and makes the call
        turn = int(entry.number.partition("-")[0])
        tracing.program(turn, context, source=None, state=None, metadata={"agent": member.agent.name})
    if is_delegated:
        tracing.delegated(entry.number)
        return await made
    calling = tracing.call(
        entry.name,
        entry.number,
        context,
        arguments=_arguments(entry.arguments) if tracing.tells_content else None,
        metadata={"agent": member.agent.name, "path": list(member.path), "call_id": entry.id},
    )
    with calling:
        result = await made
        calling.returned(result.text, result.text if result.is_error else None)
        return result


def model_name(model: Model) -> str:
    """How a model is called: by its own attribute ``name``, or by its class."""
    name = getattr(model, "name", None)
    return name if isinstance(name, str) and name else type(model).__name__


def usage_of(usage: Usage) -> Mapping[str, int | float]:
    """What a question has used, under the names that providers of traces know."""
    told: dict[str, int | float] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
    }
    more = {"cached_tokens": usage.cached_tokens, "reasoning_tokens": usage.reasoning_tokens, "cost": usage.cost}
    return told | {name: value for name, value in more.items() if value}


def plain(message: ChatMessage) -> Mapping[str, object]:
    """A message as JSON values; pictures, sounds and files are only named."""
    told: dict[str, object] = message.model_dump(mode="json", exclude={"parts", "provider"}, exclude_defaults=True)
    told["role"] = message.role
    if isinstance(message, UserMessage | ToolMessage) and message.parts:
        told["parts"] = [{"kind": part.kind, "name": part.name or ""} for part in message.parts]
    return told


def _prompt(request: ModelRequest) -> dict[str, JsonValue]:
    """Where the agent's prompt is from, if a registry has it."""
    prompt = request.prompt
    if prompt is None:
        return {}
    return {"prompt_name": prompt.name, "prompt_version": prompt.version, "prompt_source": prompt.source}


def _said(response: ModelResponse) -> Mapping[str, object]:
    calls: Sequence[object] = [
        {"id": call.id, "name": call.name, "arguments": _arguments(call.arguments)} for call in response.calls
    ]
    told = {"text": response.text, "thinking": response.thinking, "calls": calls}
    return {name: value for name, value in told.items() if value}


def _arguments(written: str) -> object:
    """The arguments of a call; as they were written, where that is no JSON."""
    try:
        return from_json(written)
    except ValueError:
        return written
