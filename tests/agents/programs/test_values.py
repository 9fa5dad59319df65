"""Results of tools as values of programs: what a tool returns, not how it is written for models."""

from typing import Any

import pytest
from pydantic import BaseModel
from tests.agents._ways import both_ways
from tests.agents.programs._orders import Asked

from stagepost.agents import Agent, File, ScriptedModel, tool
from stagepost.agents._mcp._remote import RemoteResult
from stagepost.agents._mcp._rounds import told
from stagepost.agents._tools._returned import Json, ToolResult, as_json
from stagepost.programs import Keyword, PtcLisp

RESULTS: dict[str, tuple[Any, str]] = {
    "a text": ("abc", '"abc"'),
    "a text that looks like a number": ("42", '"42"'),
    "a text that looks like JSON": ('{"a": 1}', '"{\\"a\\": 1}"'),
    "a number": (42, "42"),
    "nothing": (None, "nil"),
    "a truth": (True, "true"),
    "a list": ([1, "a", None], '[1 "a" nil]'),
    "a map": ({"a": {"b": 1.5}}, '{"a" {"b" 1.5}}'),
    "a file": (File(data=b"x", media_type="text/plain", name="x.txt"), '"[file 1: x.txt]"'),
    "a result of its own": (ToolResult("[1]"), '"[1]"'),
}


@both_ways
@pytest.mark.parametrize(("returned", "shown"), RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("parks", [False, True], ids=["told", "parked"])
async def test_a_program_gets_what_a_tool_returns(way: Any, returned: Any, shown: str, parks: bool) -> None:  # noqa: FBT001
    @tool(on_unknown="park" if parks else "tell")
    async def give() -> Any:
        """Give it."""
        return returned

    program = "(return {:total 1 :names [(pr-str (tool/give)) (first (pmap (fn [_] (pr-str (tool/give))) [1]))]})"
    result = await way(Asked(program, tools=[give], input=None).agent)
    assert result.output.names == [shown, shown]


class Sorted(BaseModel):
    kind: Keyword
    others: list[Keyword]


@both_ways
async def test_an_output_may_have_keywords(way: Any) -> None:
    model = ScriptedModel(["```clojure\n(return {:kind :late :others [:lost]})\n```"])
    result = await way(Agent("sorter", "Sort it.", model=model, programs=PtcLisp(), output=Sorted))
    assert result.output == Sorted(kind=Keyword("late"), others=[Keyword("lost")])


async def test_a_secret_in_a_result_is_masked_and_the_rest_is_still_a_value() -> None:
    @tool
    async def give(context: Any) -> Any:
        """Give it."""
        return {"key": context.secrets["key"], "n": 1}

    asked = Asked("(let [x (tool/give)] (return {:total (:n x) :names [(:key x)]}))", tools=[give], input=None)
    result = await asked.agent.run("go", secrets={"key": "s3cret-s3cret"})
    assert result.output.names == ["***"]
    assert result.output.total == 1


async def test_a_result_in_which_a_secret_was_a_number_is_a_masked_text() -> None:
    @tool
    async def give() -> Any:
        """Give it."""
        return {"n": 123456}

    asked = Asked("(return {:total 1 :names [(tool/give)]})", tools=[give], input=None)
    result = await asked.agent.run("go", secrets={"key": "123456"})
    assert result.output.names == ['{"n":***}']


@pytest.mark.parametrize(
    ("text", "is_json"),
    [('{"a": 1}', True), ("[1]", True), ("[x.txt]", False), ("42", False), ("", False), ("{", False), ("fine", False)],
)
def test_texts_of_servers_are_values_if_they_are_objects_or_lists(text: str, is_json: bool) -> None:  # noqa: FBT001
    assert isinstance(as_json(text), Json) is is_json
    result = told(RemoteResult(text, is_error=False), "server", "tool")
    assert result == text
    assert isinstance(result, Json) is is_json
