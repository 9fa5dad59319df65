"""Agents as JSON, to look at: what they are made of, and no secrets."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from math import inf
from typing import Any, TypeAlias

from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json, to_json

from .._context._policy import ContextPolicy
from .._definition._budget import Budget
from .._definition._definition import AgentDefinition, Delegating, provider_tools_of, toolsets_of
from .._definition._prompting import prompt_name
from .._delegation._handoff import Handoff
from .._mcp import McpServer
from .._mcp._server import Http, Stdio, Transport
from .._models._addresses import bare_address
from .._models._model import Model
from .._models._settings import ModelSettings
from .._tools._tool import Tool

Description: TypeAlias = dict[str, JsonValue]


def describe(agent: AgentDefinition) -> Description:
    """What an agent is made of, with the agents below it."""
    described: Description = from_json(to_json(_agent(agent)))  # a copy: nothing in it belongs to the agent
    return described


def _agent(agent: AgentDefinition) -> Mapping[str, object]:
    return {
        "name": agent.name,
        "description": agent.description,
        "prompt": agent.prompt if isinstance(agent.prompt, str) else f"<{prompt_name(agent.prompt)}>",
        "model": None if agent.model is None else _model(agent.model),
        "models": {name: _model(model) for name, model in agent.models.items()},
        "tools": [_tool(tool) for tool in agent.tools],
        "toolsets": [each.name or type(each).__name__ for each in toolsets_of(agent)],
        "provider_tools": [asdict(tool) for tool in provider_tools_of(agent)],
        "servers": [_server(server) for server in agent.servers],
        "sub_agents": [each if isinstance(each, str) else _agent(each) for each in agent.sub_agents],
        "input": None if agent.input is None else agent.input.model_json_schema(),
        "output": _schema(agent.output),
        "output_mode": agent.output_mode,
        **({} if agent.programs is None else {"programs": agent.programs.name}),
        "budget": _budget(agent.budget),
        "approvals": asdict(agent.approvals),
        "settings": _settings(agent.settings),
        "context": None if agent.context is None else _context(agent.context),
        "hooks": [type(hook).__name__ for hook in agent.hooks],
        **({} if agent.idle is None else {"idle": "inf" if agent.idle == inf else agent.idle}),
    }


def _budget(budget: Budget) -> Mapping[str, object]:
    """Its limits; the turns for repairs only where there are some."""
    return {name: value for name, value in asdict(budget).items() if name != "retry_turns" or value}


def _model(model: Model | str) -> str:
    """The name of a model, or of its class where it has none."""
    name = model if isinstance(model, str) else getattr(model, "name", None)
    return name if isinstance(name, str) else type(model).__name__


def _context(policy: ContextPolicy) -> Mapping[str, object]:
    """Its numbers, and the classes of its compactions."""
    return {
        "limit": policy.limit,
        "messages": policy.messages,
        "result_limit": policy.result_limit,
        "compact": [type(each).__name__ for each in policy.compact],
    }


def _settings(settings: ModelSettings) -> Mapping[str, object]:
    """What is set; of what the provider is told in its own words, which may be secret, the names."""
    shown = {each.name: value for each in fields(settings) if (value := getattr(settings, each.name)) is not None}
    return {**shown, "extra": sorted(settings.extra)}


def _tool(tool: Tool[..., object]) -> Mapping[str, object]:
    delegated = {"agent": _agent(tool.agent)} if isinstance(tool, Delegating) else {}
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema.parameters,
        "idempotent": tool.idempotent,
        "timeout": tool.timeout,
        "needs_approval": tool.needs_approval,
        **delegated,
        **({"hands_over_to": tool.target_name} if isinstance(tool, Handoff) else {}),
    }


def _server(server: McpServer) -> Mapping[str, object]:
    return {
        "name": server.name,
        **_transport(server.transport),
        "prefix": server.prefix,
        "include": server.include,
        "exclude": server.exclude,
        "needs_approval": server.needs_approval,
    }


def _transport(transport: Transport) -> Mapping[str, object]:
    """Where a server is; of what may be secret, the names."""
    if isinstance(transport, Stdio):
        shown = {"command": transport.command, "args": transport.args, "cwd": transport.cwd}
        return {"kind": "stdio", **shown, "env": list(transport.env)}
    if isinstance(transport, Http):
        auth = {} if transport.auth is None else {"auth": transport.auth.client_id}
        return {"kind": "http", "url": bare_address(transport.url), "headers": list(transport.headers), **auth}
    return {"kind": "memory"}


def _schema(output: Any) -> Mapping[str, object] | None:
    return None if output is None else TypeAdapter(output).json_schema()
