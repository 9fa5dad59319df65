import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import JsonValue
from tests.agents._weather import Query, Report, look

from stagepost.agents import (
    Agent,
    Budget,
    FunctionModel,
    LiteLLM,
    McpServer,
    Model,
    PromptContext,
    ScriptedModel,
)


def prompt(context: PromptContext[Query]) -> str:
    return context.agent


class Guard:
    async def model_call(self, *given: object) -> object:
        return given


LEAD = Agent(
    "lead",
    prompt="About {city}.",
    model=LiteLLM("openai/gpt-5-mini", api_key="sk-hidden"),
    tools=[
        look,
        McpServer.stdio("mcp-clock", "--utc", env={"CLOCK_KEY": "hidden"}, prefix="clock_"),
        McpServer.http("https://ann:hidden@tools.example:8443/mcp?key=hidden", headers={"Authorization": "hidden"}),
        McpServer.memory(object(), name="own", exclude=["drop_*"]),
    ],
    sub_agents=[Agent("leaf", prompt=prompt, input=Query), "other"],
    input=Query,
    output=Report,
    budget=Budget(turns=8),
    approvals=["look"],
    hooks=[Guard()],
    description="Leads.",
    models={"fast": ScriptedModel([]), "slow": "openai/gpt-5"},
)


def test_an_agent_is_described_as_json() -> None:
    described = LEAD.describe()
    assert json.loads(json.dumps(described)) == described
    assert {key: value for key, value in described.items() if key not in ("servers", "sub_agents", "tools")} == {
        "name": "lead",
        "description": "Leads.",
        "prompt": "About {city}.",
        "model": "openai/gpt-5-mini",
        "models": {"fast": "ScriptedModel", "slow": "openai/gpt-5"},
        "input": Query.model_json_schema(),
        "output": Report.model_json_schema(),
        "output_mode": "tool",
        "budget": {"turns": 8, "tool_calls": 100, "tokens": None, "cost": None},
        "settings": {"extra": []},
        "approvals": {"rules": ["look"], "within": 604800.0},
        "context": None,
        "hooks": ["Guard"],
        "toolsets": [],
        "provider_tools": [],
    }


def listed(described: Mapping[str, JsonValue], key: str) -> Sequence[Any]:
    found = described[key]
    assert isinstance(found, list)
    return found


def test_tools_are_described_as_models_see_them() -> None:
    (tool,) = listed(LEAD.describe(), "tools")
    assert (tool["name"], tool["description"], tool["idempotent"]) == ("look", "Weather of a city now.", True)
    assert tool["parameters"] == look.schema.parameters
    assert tool["parameters"] is not look.schema.parameters


def test_servers_are_described_without_what_may_be_secret() -> None:
    described = LEAD.describe()
    stdio, http, memory = listed(described, "servers")
    assert stdio == {
        "name": "mcp-clock",
        "kind": "stdio",
        "command": "mcp-clock",
        "args": ["--utc"],
        "cwd": None,
        "env": ["CLOCK_KEY"],
        "prefix": "clock_",
        "include": ["*"],
        "exclude": [],
        "needs_approval": [],
    }
    assert (http["url"], http["headers"]) == ("https://tools.example:8443/mcp", ["Authorization"])
    assert (memory["name"], memory["kind"], memory["exclude"]) == ("own", "memory", ["drop_*"])
    assert "hidden" not in json.dumps(described)


def test_agents_below_are_nested_and_names_stay_names() -> None:
    leaf, other = listed(LEAD.describe(), "sub_agents")
    assert (leaf["name"], leaf["prompt"], leaf["model"], leaf["output"]) == ("leaf", "<prompt>", None, None)
    assert other == "other"


@pytest.mark.parametrize(
    ("model", "name"),
    [(FunctionModel(lambda _: ""), "FunctionModel"), ("fast", "fast"), (None, None)],
    ids=["object", "name", "none"],
)
def test_a_model_is_described_by_its_name_or_its_class(model: Model | str | None, name: str | None) -> None:
    assert replace(LEAD, model=model).describe()["model"] == name
