"""Agents as data, from which they can be loaded again: objects of code are names there."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from math import inf
from typing import Any, Final

from pydantic import JsonValue

from .._context._policy import ContextPolicy
from .._definition._approvals import Approvals
from .._definition._budget import Budget
from .._definition._definition import AgentDefinition
from .._models._settings import ModelSettings
from .._models._settings_keys import settings_secrets
from .._tools._step_tool import ToolGroup
from .._tools._tool import Tool, as_tool
from ..errors import NamesMissing
from ._loading import Known
from ._program_data import language_data
from ._sameness import meant_model, same_tool

_APPROVALS: Final = Approvals()
_BUDGET: Final = Budget()
_POLICY: Final = ContextPolicy()


def dump_agents(agents: Sequence[AgentDefinition], known: Known) -> dict[str, JsonValue]:
    """Agents as data; what is as usual is left out.

    Args:
        agents: The agents.
        known: What names stand for.

    Raises:
        NamesMissing: Something has no name; all of it is told.
    """
    dumper = _Dumper(known, frozenset(agent.name for agent in agents))
    data: list[JsonValue] = [dumper.agent(agent) for agent in agents]
    if dumper.missing:
        raise NamesMissing(dumper.missing)
    return {"agents": data}


class _Dumper:
    """Writes agents, and notes what has no name.

    Args:
        known: What names stand for.
        listed: Names of the agents that are written for themselves.

    Attributes:
        missing: What has no name.
    """

    def __init__(self, known: Known, listed: frozenset[str]) -> None:
        self.missing: list[str] = []
        self._known = known
        self._listed = listed

    def agent(self, agent: AgentDefinition) -> dict[str, JsonValue]:
        """An agent."""
        prompt = agent.prompt
        made: dict[str, Any] = {
            "name": agent.name,
            "prompt": prompt if isinstance(prompt, str) else {"part": self._part(agent, "prompt", prompt)},
            "description": agent.description,
            "model": self._model(agent),
            "tools": self._tools(agent),
            "sub_agents": [self._below(each) for each in agent.sub_agents],
            "input": self._type(agent, "input", agent.input),
            "output": self._type(agent, "output", agent.output),
            "output_mode": agent.output_mode if agent.output_mode != "tool" else None,
            "programs": self._programs(agent),
            "budget": _changed(agent.budget, _BUDGET),
            "approvals": self._approvals(agent.approvals),
            "hooks": [self._part(agent, "hook", hook) for hook in agent.hooks],
            "settings": self._settings(agent),
            "idle": "inf" if agent.idle == inf else agent.idle,
            "context": None if agent.context is None else self._context(agent, agent.context),
        }
        left_out: tuple[object, ...] = (None, "", [], {})
        return {name: value for name, value in made.items() if name == "prompt" or value not in left_out}

    def _below(self, agent: AgentDefinition | str) -> JsonValue:
        """An agent that it may ask: a name, or the whole of one that is not written for itself."""
        if isinstance(agent, str):
            return agent
        return agent.name if agent.name in self._listed else self.agent(agent)

    def _model(self, agent: AgentDefinition) -> str | None:
        model = agent.model
        if model is None:
            return None
        meant, models = meant_model(agent), self._known.models
        if isinstance(model, str) and models.get(model, model) == meant:
            return model
        shown = model if isinstance(model, str) else type(model).__name__
        return self._name(models, meant, f"model {shown!r}", agent)

    def _tools(self, agent: AgentDefinition) -> list[str]:
        left: list[object] = [*agent.tools, *agent.toolsets, *agent.servers]
        names: list[str] = []
        while left:
            first = left[0]
            name = next((name for name, source in self._known.tools.items() if _begins(source, left)), None)
            taken = 1 if name is None else _count(self._known.tools[name])
            del left[:taken]
            if name is None:
                kind = "tool" if isinstance(first, Tool) else "toolset or server"
                self._miss(f"{kind} {getattr(first, 'name', first)!r}", agent)
            else:
                names.append(name)
        return names

    def _type(self, agent: AgentDefinition, what: str, given: object) -> str | None:
        shown = getattr(given, "__name__", given)
        return None if given is None else self._name(self._known.types, given, f"{what} type {shown}", agent)

    def _part(self, agent: AgentDefinition, what: str, given: object) -> str | None:
        shown = getattr(given, "__name__", type(given).__name__)
        return self._name(self._known.parts, given, f"{what} {shown!r}", agent)

    def _programs(self, agent: AgentDefinition) -> JsonValue:
        if agent.programs is None:
            return None
        data = language_data(agent.programs, lambda given: self._part(agent, "prompt of programs", given))
        return self._part(agent, "language", agent.programs) if data is None else data

    def _approvals(self, approvals: Approvals) -> JsonValue:
        if approvals == _APPROVALS:
            return None
        return {"rules": list(approvals.rules), "within": approvals.within}

    def _settings(self, agent: AgentDefinition) -> dict[str, JsonValue]:
        if any(settings_secrets(agent.settings)):
            self._miss("a key in its settings, which is no data: give it to the model instead", agent)
            return {}
        return _changed(agent.settings, ModelSettings())

    def _context(self, agent: AgentDefinition, policy: ContextPolicy) -> dict[str, JsonValue]:
        made: dict[str, JsonValue] = {
            name: getattr(policy, name)
            for name in ("limit", "messages", "result_limit")
            if getattr(policy, name) != getattr(_POLICY, name)
        }
        if policy.compact != _POLICY.compact:
            made["compact"] = [self._part(agent, "compaction", each) for each in policy.compact]
        return made or {"limit": policy.limit}

    def _name(self, known: Mapping[str, object], given: object, what: str, agent: AgentDefinition) -> str | None:
        for name, value in known.items():
            if value is given or (type(value) is type(given) and value == given):
                return name
        self._miss(what, agent)
        return None

    def _miss(self, what: str, agent: AgentDefinition) -> None:
        self.missing.append(f"{what} of agent {agent.name!r}")


def _begins(source: object, left: Sequence[object]) -> bool:
    """Whether what is left begins with what a name stands for."""
    if isinstance(source, ToolGroup):
        return bool(source.tools) and tuple(left[: len(source.tools)]) == source.tools
    first = left[0]
    if isinstance(first, Tool) and callable(source):
        return same_tool(first, as_tool(source))
    return source is first


def _count(source: object) -> int:
    return len(source.tools) if isinstance(source, ToolGroup) else 1


def _changed(given: Any, usual: Any) -> dict[str, JsonValue]:
    """The fields that are not as usual."""
    told = asdict(given)
    return {
        each.name: told[each.name] for each in fields(given) if getattr(given, each.name) != getattr(usual, each.name)
    }
