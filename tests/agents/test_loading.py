import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel
from tests.agents._weather import REPORT, Query, Report, look, send

from stagepost.agents import (
    Agents,
    Approvals,
    Budget,
    InvalidAgent,
    InvalidAgentData,
    McpServer,
    ScriptedModel,
    call,
)
from stagepost.agents._tools._tool import ToolLike

TOML = """
[[agents]]
name = "lead"
description = "Leads."
prompt = "About {city}."
model = "fast"
tools = ["get_weather", "clock"]
sub_agents = ["mailer"]
input = "Query"
output = "Report"
budget = { turns = 8, tokens = 1000 }
approvals = ["send*"]

[[agents]]
name = "mailer"
prompt = "Send mails."
tools = ["send"]
approvals = { rules = ["send"], within = 60 }
"""
CLOCK = McpServer.stdio("clock")
TOOLS: Mapping[str, ToolLike | McpServer] = {"get_weather": look, "send": send.function, "clock": CLOCK}
TYPES: Mapping[str, type[BaseModel]] = {"Query": Query, "Report": Report}


def test_agents_come_from_data() -> None:
    agents = Agents.load(tomllib.loads(TOML), tools=TOOLS, types=TYPES, models={"fast": "openai/gpt-5-mini"})
    lead, mailer = agents["lead"], agents["mailer"]
    assert list(agents) == ["lead", "mailer"]
    assert (lead.description, lead.prompt, lead.model) == ("Leads.", "About {city}.", "fast")
    assert (lead.tools, lead.servers, lead.sub_agents) == ((look,), (CLOCK,), (mailer,))
    assert (lead.input, lead.output, lead.budget) == (Query, Report, Budget(turns=8, tokens=1000))
    assert (lead.approvals, lead.models) == (Approvals(["send*"]), {"fast": "openai/gpt-5-mini"})
    assert (mailer.input, mailer.output, mailer.budget, mailer.model) == (None, None, Budget(), None)
    assert mailer.approvals == Approvals(["send"], within=60)
    assert [tool.name for tool in mailer.tools] == ["send"]


async def test_agents_from_data_run() -> None:
    data = {"agents": [{"name": "w", "prompt": "", "model": "fast", "tools": ["look"], "output": "Report"}]}
    model = ScriptedModel([call("look", city="Oslo"), REPORT])
    agents = Agents.load(data, tools={"look": look}, models={"fast": model}, types=TYPES)
    assert (await agents["w"].run("Oslo?")).output == Report(city="Oslo", degrees=3)


def lead(**changes: object) -> Mapping[str, Any]:
    return {"agents": [{"name": "mailer", "prompt": ""}, {"name": "lead", "prompt": "", **changes}]}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "agents: Field required"),
        ([], "Input should be a valid dictionary"),
        (lead(name="a b"), r"agents\.1\.name: String should match"),
        (lead(prompt=None), r"agents\.1\.prompt: Input should be a valid string"),
        (lead(model=""), r"agents\.1\.model: String should have at least 1"),
        (lead(tool=["send"]), r"agents\.1\.tool: Extra inputs"),
        (lead(tools=["send", "sendd"]), r"agents\.1\.tools\.1: there is no tool 'sendd'; there are: get_weather, send"),
        (lead(tools=[["send"]]), r"agents\.1\.tools\.0: there is no tool \['send'\]"),
        (lead(output="Query2"), r"agents\.1\.output: there is no type 'Query2'; there are: Query, Report$"),
        (lead(input="x", budget={"turns": 0}), r"agents\.1\.input: .*; agents\.1\.budget: .* a budget of 0 turns"),
        (lead(budget={"turnz": 1}), r"agents\.1\.budget\.turnz: Unexpected"),
        (lead(approvals="send_*"), r"agents\.1\.approvals: "),
        (lead(approvals=[1]), r"agents\.1\.approvals\.rules\.0: Input should be a valid string"),
        (lead(approvals={"within": -1}), r"agents\.1\.approvals\.within: "),
        (lead(sub_agents="mailer"), r"agents\.1\.sub_agents: Input should be a valid tuple"),
    ],
    ids=[
        "nothing",
        "list",
        "name",
        "prompt",
        "model",
        "unknown key",
        "unknown tool",
        "no name",
        "unknown type",
        "two problems",
        "unknown budget",
        "one rule",
        "no rule",
        "no time",
        "one text",
    ],
)
def test_data_that_cannot_be_agents_is_refused_with_the_place(data: Mapping[str, object], why: str) -> None:
    with pytest.raises(InvalidAgentData, match=f"agents cannot be built from this data: {why}"):
        Agents.load(data, tools=TOOLS, types=TYPES)


def test_null_is_as_good_as_nothing_where_there_may_be_nothing() -> None:
    agents = Agents.load(lead(model=None, input=None, output=None, budget={"turns": None}))
    assert (agents["lead"].input, agents["lead"].budget) == (None, Budget(turns=None))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (lead(prompt="{town}", input="Query"), r"agent 'lead': its prompt has the placeholder \{town\}"),
        (lead(sub_agents=["wether"]), "agent 'lead': its sub-agent 'wether' is none of these agents: mailer, lead"),
        (lead(name="mailer"), "agent 'mailer': two agents have this name"),
    ],
    ids=["placeholder", "sub-agent", "twice"],
)
def test_agents_of_data_are_checked_like_others(data: Mapping[str, object], why: str) -> None:
    with pytest.raises(InvalidAgent, match=why):
        Agents.load(data, types=TYPES)
