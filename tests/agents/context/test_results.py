"""What a long result of a tool takes of the prompt, and how the model reads on."""

from typing import Any

import pytest
from tests.agents._ways import Way, both_ways, told
from tests.agents._weather import results

from stagepost.agents import (
    Agent,
    AgentTool,
    Allow,
    ContextPolicy,
    Image,
    InvalidAgent,
    ScriptedModel,
    ToolCall,
    ToolContext,
    ToolResult,
    call,
    tool,
)
from stagepost.agents._context._excerpt import READ_RESULT_SCHEMA, Place, excerpt

POLICY = ContextPolicy(result_limit=1_000)
BOOK = "".join(f"{number:05}\n" for number in range(2_000))  # 12,000 characters


@tool(idempotent=True)
async def read_book() -> str:
    "A long book."
    return BOOK


@tool(idempotent=True)
async def short() -> str:
    "Short."
    return "short"


def offered(model: ScriptedModel) -> list[bool]:
    return [any(each.name == "read_result" for each in request.tools) for request in model.requests]


@pytest.mark.parametrize("length", [0, 1, 999, 1_000, 1_001, 5_000])
@pytest.mark.parametrize("limit", [0, 500, 1_000])
def test_an_excerpt_is_never_longer_than_its_limit(length: int, limit: int) -> None:
    text = "é" * length
    shown = excerpt(text, limit, 3)
    assert len(shown) <= max(limit, 200)
    assert (shown == text) is (length <= max(limit, 200))


@both_ways
async def test_a_long_result_is_shown_with_head_and_tail_and_kept_whole(way: Way) -> None:
    model = ScriptedModel([call("read_book"), "read"])
    result = await way(Agent("reader", "Read.", model=model, tools=[read_book], context=POLICY))
    (shown,) = told(model.requests[-1])
    assert len(shown) <= 1_000
    assert shown.startswith("00000\n00001")
    assert shown.endswith("01998\n01999\n")
    assert "11,200 of 12,000 characters are missing here; read_result(result=2, offset=600) reads on" in shown
    assert results(result)[0].text == BOOK


@both_ways
async def test_the_tool_that_reads_on_is_offered_only_once_something_was_cut(way: Way) -> None:
    model = ScriptedModel([call("short"), call("read_book"), call("short"), "read"])
    await way(Agent("reader", "Read.", model=model, tools=[read_book, short], context=POLICY))
    assert offered(model) == [False, False, True, True]


@both_ways
@pytest.mark.parametrize("beside", [[], [call("short")]], ids=["alone", "beside another call"])
async def test_the_model_reads_on_to_the_end(way: Way, beside: list[Any]) -> None:
    script: list[Any] = [call("read_book")]
    script += [[call("read_result", result=2, offset=600 + 800 * number), *beside] for number in range(15)]
    model = ScriptedModel([*script, "read"])
    agent = Agent("reader", "Read.", model=model, tools=[read_book, short], context=POLICY)
    result = await way(agent)
    pieces = [each.text for each in results(result) if each.tool == "read_result"]
    assert BOOK[:600] + "".join(piece.partition("\n")[2] for piece in pieces) == BOOK
    assert pieces[0].startswith(
        "[Characters 600 to 1,400 of 12,000 of result 2; read_result(result=2, offset=1400) reads on.]"
    )
    assert "that is its end" in pieces[-1]
    assert all(len(text) <= 1_000 for text in told(model.requests[-1]))


@both_ways
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"result": 1}, "there is no result 1"),
        ({"result": 99}, "there is no result 99"),
        ({"result": 2, "offset": 12_000}, "has 12,000 characters, and none from 12,000 on"),
        ({}, "do not fit, nothing was read"),
        ({"result": "x"}, "do not fit, nothing was read"),
    ],
    ids=["no result", "nothing there", "behind the end", "missing", "no number"],
)
async def test_what_cannot_be_read_is_told(way: Way, arguments: dict[str, Any], why: str) -> None:
    model = ScriptedModel([call("read_book"), [call("read_result", **arguments), call("short")], "read"])
    result = await way(Agent("reader", "Read.", model=model, tools=[read_book, short], context=POLICY))
    _, read, _ = results(result)
    assert read.is_error
    assert why in read.text


async def test_reading_on_needs_no_approval_and_is_seen_by_no_hook() -> None:
    seen: list[str] = []

    class Noting:
        async def tool_call(self, made: ToolCall, context: ToolContext, proceed: Any) -> ToolResult:
            seen.append(f"{made.name} of {context.agent}")
            return ToolResult((await proceed(made)).text)

    async def allow(made: ToolCall) -> Allow:
        assert made.name == "read_book"
        return Allow()

    model = ScriptedModel([call("read_book"), call("read_result", result=2), "read"])
    agent = Agent("reader", "Read.", model=model, tools=[read_book], context=POLICY, approvals=["*"], hooks=[Noting()])
    await agent.run("go", approve=allow)
    assert seen == ["read_book of reader"]


async def test_results_of_servers_agents_and_tools_that_are_agents_are_cut_too() -> None:
    writer = Agent("writer", "Write.", model=ScriptedModel([BOOK]))
    for options, made in (
        ({"tools": [AgentTool(writer, name="ask_writer", description="Writes.")]}, call("ask_writer", request="go")),
        ({"sub_agents": [writer]}, call("message_agent", agent_name="writer", message="go")),
    ):
        model = ScriptedModel([made, "read"])
        result = await Agent("lead", "Lead.", model=model, context=POLICY, **options).run("go")
        (shown,) = told(model.requests[-1])
        assert len(shown) <= 1_000 < len(results(result)[0].text)


async def test_an_answer_with_parts_of_a_cut_result_keeps_the_parts() -> None:
    @tool(idempotent=True)
    async def scan() -> list[Any]:
        "A picture and its text."
        return [BOOK, Image(data=b"png", media_type="image/png")]

    model = ScriptedModel([call("scan"), "read"])
    await Agent("reader", "Read.", model=model, tools=[scan], context=POLICY).run("go")
    shown = model.requests[-1].messages[-1]
    assert shown.role == "tool"
    assert len(shown.text) <= 1_000
    assert [part.kind for part in shown.parts] == ["image"]


async def test_without_a_limit_results_are_shown_whole() -> None:
    model = ScriptedModel([call("read_book"), "read"])
    await Agent("reader", "Read.", model=model, tools=[read_book], context=ContextPolicy(result_limit=None)).run("go")
    assert told(model.requests[-1]) == [BOOK]


async def test_small_runs_are_asked_as_ever() -> None:
    model = ScriptedModel([call("short"), "done"])
    result = await Agent("reader", "Read.", model=model, tools=[short]).run("go")
    assert list(model.requests[-1].messages[1:]) == list(result.messages[:-1])
    assert [each.name for each in model.requests[-1].tools] == ["short"]


def test_the_name_of_the_tool_is_reserved() -> None:
    with pytest.raises(InvalidAgent, match="'read_result' is reserved"):
        Agent("reader", "Read.", tools=[tool(name="read_result", idempotent=True)(lambda: "x")])


async def test_a_follow_up_may_read_on_in_what_an_earlier_run_has_read() -> None:
    model = ScriptedModel([call("read_book"), "read", call("read_result", result=2, offset=11_990), "end"])
    agent = Agent("reader", "Read.", model=model, tools=[read_book], context=POLICY)
    result = await agent.run("go")
    result = await agent.run("and the end?", after=result)
    assert results(result)[-1].text.endswith(BOOK[11_990:])


def test_the_schema_of_the_tool_is_what_its_arguments_are() -> None:
    properties: Any = READ_RESULT_SCHEMA.parameters["properties"]
    assert properties.keys() == Place.model_fields.keys()
