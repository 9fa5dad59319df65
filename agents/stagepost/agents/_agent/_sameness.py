"""Whether two agents are made of the same parts."""

from collections.abc import Sequence
from typing import Any, Final

from .._definition._definition import AgentDefinition
from .._delegation._handoff import Handoff
from .._tools._tool import Tool

_FIELDS: Final = (
    "name", "prompt", "toolsets", "servers", "sub_agents", "input", "output", "output_mode", "programs", "budget",
    "approvals", "hooks", "description", "settings", "idle", "context",
)  # fmt: skip
_OF_TOOLS: Final = (
    "name", "description", "idempotent", "timeout", "function", "needs_approval", "on_unknown", "retries",
)  # fmt: skip
_OF_HANDOFFS: Final = (*_OF_TOOLS, "target_name", "filter", "limit")


def same_agent(one: AgentDefinition, other: AgentDefinition) -> bool:
    """Whether two agents are made of the same parts; names of models count as what they mean to each."""
    return (
        _equal(one, other, _FIELDS)
        and meant_model(one) == meant_model(other)
        and len(one.tools) == len(other.tools)
        and all(map(same_tool, one.tools, other.tools))
    )


def same_tool(one: Tool[..., object], other: Tool[..., object]) -> bool:
    """Whether two tools call the same function in the same way; tools that are more than a function are themselves."""
    if one is other:
        return True
    fields = _COMPARED.get(type(one))
    return type(one) is type(other) and fields is not None and _equal(one, other, fields)


def meant_model(agent: AgentDefinition) -> object:
    """The model of an agent: what its name means to it, if it is a name."""
    model = agent.model
    return agent.models.get(model, model) if isinstance(model, str) else model


def _equal(one: Any, other: Any, names: Sequence[str]) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)


_COMPARED: Final[dict[type, Sequence[str]]] = {Tool: _OF_TOOLS, Handoff: _OF_HANDOFFS}
