"""Agents whose answers are programs: what the model is told, what is kept, how a run ends."""

from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.agents._ways import both_ways
from tests.agents.programs._orders import Asked, Report, look, send
from typing_extensions import TypedDict

from stagepost.agents import (
    Agent,
    AgentGaveUp,
    Budget,
    BudgetExceeded,
    InvalidAgent,
    ScriptedModel,
    provider_tool,
    tool,
)
from stagepost.programs import Limits, PtcLisp

DONE = "(return {:total 1})"
WEB = provider_tool("web", {"anthropic": {"type": "web_search_20250305", "name": "web_search"}})


async def test_a_program_calls_tools_and_returns_the_result() -> None:
    asked = Asked("(return {:total (sum-by :total data/rows) :names (pmap #(:name (tool/look {:id %})) [1 2])})")
    result = await asked.run()
    assert result.output == Report(total=60, names=["n1", "n2"])
    assert result.turns == 1


async def test_the_model_sees_what_is_printed_and_what_is_stored_and_no_calls() -> None:
    asked = Asked('(def first-name (:name (tool/look {:id 1}))) (println "name:" first-name)', DONE)
    await asked.run()
    assert asked.told == ["name: n1\nStored, to be read by name: first-name\nTurn 2 of 5 (3 remaining)"]
    _, second = asked.model.requests
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[1].text == "Inputs: data/rows"
    assert "first-name" in second.messages[0].text
    assert not second.tools


async def test_stored_values_whose_keys_are_one_in_json_are_shown_as_programs_write_them() -> None:
    result = await Asked('(def both {:total 1 "total" 2}) (def one {:a-b 1})', DONE).run()
    assert result.memory == {"both": '{"total" 2 :total 1}', "one": {"a_b": 1}}


ERRORS = {
    "no program": ("I would say 42.", "no_code_found: the answer has no program"),
    "two programs": ("```clojure\n1\n```\nand\n```clojure\n2\n```", "no_code_found: the answer has 2 blocks"),
    "syntax": ("(+ 1 2", "parse_error: unbalanced parentheses"),
    "unknown name": ("(foo 1)", "undefined_variable: Undefined variable: foo"),
    "unknown tool": ("(tool/buy {})", "tool_not_found: Unknown tool: buy. Available tools: broken, look, send"),
    "unnamed arguments": ("(tool/look 1)", "analysis_error: Tool calls require named arguments"),
    "arguments that do not fit": ('(tool/look {:id "x"})', "tool_error: Tool 'look' failed: the arguments do not fit"),
    "a tool's error": ("(tool/broken)", "tool_error: Tool 'broken' failed: ToolUnavailable: the printer is out of"),
    "a tool's error in a branch": ("(pmap (fn [_] (tool/broken)) [1])", "in branch 1: Tool 'broken' failed"),
    "types": ('(+ 1 "a")', "type_error: "),
    "arity": ("(inc 1 2)", "arity_error: "),
    "division": ("(quot 1 0)", "arithmetic_error: quot: division by zero"),
    "no function": ("(5 1)", "not_callable: "),
    "loops": ("(loop [i 0] (recur (inc i)))", "loop_limit_exceeded: "),
    "memory": ("(range 100000000)", "memory_exceeded: "),
    "calls": ("(doseq [i (range 9)] (tool/look {:id i}))", "tool_call_limit_exceeded: "),
    "keys that are one in JSON": (
        '(return {:total 1 "total" 2})',
        "The returned value has no form in JSON: a map has the keys",
    ),
    "an input as a name": (
        "(def data 1)",
        "analysis_error: data cannot be defined: names such as data/x belong to the",
    ),
    "arguments that are one": ("(tool/look {:id-a 1 :id_a 2})", "type_error: tool/look was not called: a map has the"),
    "a value that does not fit": ('(return {:total "x"})', '- total: expected int, got string "x"'),
}


@pytest.mark.parametrize(("answer", "told"), ERRORS.values(), ids=ERRORS)
async def test_an_error_costs_a_turn_and_goes_back_to_the_model(answer: str, told: str) -> None:
    language = PtcLisp(limits=Limits(seconds=5.0, calls=5))
    asked = Asked(answer, DONE, turns=3, programs=language)
    result = await asked.run()
    assert result.turns == 2
    (first,) = asked.told
    assert told in first
    assert first.endswith(
        "Turn 2 of 3 (1 remaining): the turn after this one is the LAST, so prepare what you will return"
    )


async def test_after_an_error_the_prompt_says_how_to_recover_and_then_no_more() -> None:
    asked = Asked("(foo)", "(def a 1)", DONE)
    await asked.run()
    shown = ["The last program failed" in prompt for prompt in asked.prompts]
    assert shown == [False, True, False]
    assert "undefined_variable: Undefined variable: foo" in asked.prompts[1]


async def test_turns_and_retries_are_counted_in_lines() -> None:
    wrong = '(return {:total "x"})'
    asked = Asked("(def a 1)", "(def a 2)", "(def a 3)", wrong, wrong, DONE, turns=4, retries=2)
    result = await asked.run()
    assert (result.output.total, result.turns) == (1, 6)
    lines = [told.splitlines()[-1] for told in asked.told]
    assert lines[0] == "Turn 2 of 4 (2 remaining)"
    assert lines[1].startswith("Turn 3 of 4 (1 remaining): the turn after this one is the LAST")
    assert asked.told[2].splitlines()[-2] == "Turn 4 of 4 (0 remaining)"
    assert lines[2].startswith("FINAL WORK TURN: there are no tools any more; end with (return value)")
    assert lines[2].endswith("2 corrections may follow.")
    assert lines[3] == "Turn 5: retry 1 of 2 (1 remaining)"
    assert lines[4].startswith("FINAL RETRY (retry 2 of 2): end with (return value)")


async def test_the_last_work_turn_and_retries_have_no_tools() -> None:
    asked = Asked("(tool/look {:id 1})", "(tool/look {:id 1})", "(tool/look {:id 1})", DONE, turns=2, retries=2)
    await asked.run()
    assert "tool/look(id :int) -> :map" in asked.prompts[0]
    for prompt in asked.prompts[1:]:
        assert ";; No tools available" in prompt
        assert "tool/return  ;" in prompt
    assert ["Unknown tool: look. No tools available." in told for told in asked.told] == [False, True, True]


@pytest.mark.parametrize(("retries", "kind"), [(0, "max_turns_exceeded"), (1, "budget_exhausted")])
async def test_a_run_without_result_fails_when_its_turns_are_used_up(retries: int, kind: str) -> None:
    asked = Asked("(def a 1)", "(def a 2)", "(foo)", turns=2, retries=retries)
    with pytest.raises(BudgetExceeded) as raised:
        await asked.run()
    assert raised.value.kind == kind
    assert raised.value.used == 2 + retries


async def test_the_value_of_the_last_program_is_the_result_if_it_fits() -> None:
    asked = Asked("(def a 1)", "```clojure\n{:total (+ a 1)}\n```", turns=2)
    assert (await asked.run()).output.total == 2


async def test_with_one_turn_the_value_is_the_result() -> None:
    asked = Asked("```lisp\n{:total (count data/rows)}\n```", turns=1)
    assert (await asked.run()).output == Report(total=3)
    (prompt,) = asked.prompts
    assert "There is one turn and there are no tools" in prompt
    assert ";; No tools available" in prompt


async def test_fail_ends_the_run_at_once() -> None:
    asked = Asked('(fail {:reason :no-orders :message "there are none"})', DONE, retries=3)
    with pytest.raises(AgentGaveUp, match=r"there are none \(no-orders\)") as raised:
        await asked.run()
    assert (raised.value.reason, raised.value.kind) == ("there are none", "no-orders")
    assert len(asked.model.requests) == 1


async def test_fail_with_a_text_has_the_reason_failed() -> None:
    with pytest.raises(AgentGaveUp) as raised:
        await Asked('(call "fail" "no")').run()
    assert (raised.value.reason, raised.value.kind) == ("no", "failed")


async def test_memory_is_kept_by_def_and_a_failed_program_changes_nothing() -> None:
    asked = Asked(
        '(def a {:n 1 "t" #{:x 2.5}}) (defn twice [x] (* 2 x)) (def k 3) (def f (fn [x] (+ x k)))',
        "(def a 2) (foo)",
        "(def a (assoc a :n 5)) (quot 1 0)",
        "(return {:total (f (twice (:n a))) :names [(str a)]})",
    )
    result = await asked.run()
    assert result.output == Report(total=5, names=['{"t" #{2.5 :x} :n 1}'])
    assert result.memory == {"a": {"t": [2.5, "x"], "n": 1}, "twice": "#fn[x]", "k": 3, "f": "#fn[x]"}


async def test_a_refused_value_keeps_what_its_program_has_stored() -> None:
    asked = Asked("(def x 1)", '(def a 7) (return {:total "x"})', "(return {:total a})", turns=2, retries=1)
    assert (await asked.run()).output.total == 7


async def test_values_of_the_last_programs_can_be_read() -> None:
    asked = Asked("(inc 0)", "(conj [2] 3)", "(range 1000)", "(println *1) (println *2 *3)", DONE, turns=9)
    await asked.run()
    assert asked.told[3].splitlines()[0].startswith("[0 1 2")
    assert len(asked.told[3].splitlines()[0]) <= 512
    assert asked.told[3].splitlines()[1] == "[2 3] 1"


async def test_too_much_memory_fails_the_run_or_undoes_the_program() -> None:
    program = "(def b 1) (def a (range 1000)) (return {:total 1})"
    limits = Limits(seconds=5.0, stored=500)
    with pytest.raises(AgentGaveUp, match="Limits\\(stored=") as raised:
        await Asked(program, programs=PtcLisp(limits=limits)).run()
    assert raised.value.kind == "memory_limit_exceeded"
    asked = Asked(program, "(println b)", DONE, programs=PtcLisp(limits=limits, memory="rollback"))
    assert (await asked.run()).turns == 3
    assert "memory_limit_exceeded" in asked.told[0]
    assert "Undefined variable: b" in asked.told[1]


async def test_printed_text_is_cut() -> None:
    asked = Asked("(println (join (range 500)))", DONE)
    await asked.run()
    first, *_ = asked.told[0].split("...")
    assert len(first) == 512


async def test_programs_use_what_is_under_names_that_begin_with_an_underscore_and_models_do_not_see_it() -> None:
    class Secret(TypedDict):
        name: str
        _key: int

    rows = [{"id": 1, "_token": "s3cret", "more": {"_b": "s3cret"}}]
    asked = Asked(
        '(def row (first data/rows)) (def _own "s3cret") (task "t" {:_id "s3cret"})',
        "(println row (count (:_token row)))",
        '(return {:name "a" :_key (:_token row)})',
        '(return {:name "a" :_key (count (:_token row))})',
        output=Secret,
        programs=PtcLisp(journal=True),
    )
    result = await asked.run(rows)
    assert result.output["_key"] == 6
    assert '{"_token" [Hidden] "id" 1 "more" {"_b" [Hidden]}} 6' in asked.told[1]
    assert 'Received: {"_key" [Hidden] "name" "a"}' in asked.told[2]
    assert "_key: expected int, got [Hidden]" in asked.told[2]
    assert not [text for text in (*asked.told, *asked.prompts) if "s3cret" in text]


@both_ways
async def test_fields_of_the_result_may_have_aliases(way: Any) -> None:
    class Sums(BaseModel):
        total: int = Field(alias="sum-of-all")

    result = await way(Asked("(return {:total 3})", input=None, output=Sums).agent)
    assert result.output.total == 3


async def test_floats_of_the_result_are_rounded() -> None:
    asked = Asked("(return [1.23456 {:a 0.1}])", output=list[object], input=None)
    assert (await asked.agent.run("go")).output == [1.23, {"a": 0.1}]
    asked = Asked("(return [1.23456])", output=list[float], input=None, programs=PtcLisp(float_precision=None))
    assert (await asked.agent.run("go")).output == [1.23456]


async def test_a_text_is_read_as_data_request_and_a_result_without_type_is_a_text() -> None:
    asked = Asked("(return (upper-case data/request))", input=None, output=None)
    assert (await asked.agent.run("hello")).output == "HELLO"
    asked = Asked("(return {:a [1 nil]})", input=None, output=None)
    assert (await asked.agent.run("hello")).output == '{"a":[1,null]}'


async def test_the_budget_can_be_read() -> None:
    asked = Asked(
        "(let [{:keys [turns work-turns retry-turns depth llm-requests]} (budget/remaining)]"
        " (println turns work-turns retry-turns depth llm-requests))",
        DONE,
        turns=3,
        retries=1,
    )
    await asked.run()
    assert asked.told[0].splitlines()[0] == "3 2 1 {:current 0} 1"


async def test_a_conversation_keeps_memory_and_asks_again() -> None:
    asked = Asked("(def seen 1) (return {:total 1})", "(return {:total (+ seen (count data/rows))})")
    first = await asked.run()
    second = await asked.agent.run({"rows": [{}, {}]}, after=first)
    assert second.output.total == 3


async def test_calls_of_programs_count() -> None:
    asked = Asked("(doseq [i (range 3)] (tool/look {:id i}))", DONE, budget=Budget(turns=5, tool_calls=2))
    with pytest.raises(BudgetExceeded) as raised:
        await asked.run()
    assert raised.value.budget == "tool_calls"


class Looked(BaseModel):
    look: int


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"programs": PtcLisp(), "toolsets": [WEB]}, "tools of its provider"),
        ({"programs": "lisp"}, "is not a language"),
        ({"programs": PtcLisp}, "is not a language"),
        ({"programs": PtcLisp(), "output": Report, "output_mode": "prompted"}, "leave output_mode out"),
        ({"budget": Budget(retry_turns=1)}, "is for agents with programs"),
        ({"programs": PtcLisp(), "input": Looked}, "a tool and an input of its programs are named 'look'"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_agent_is_built(given: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidAgent, match=why):
        Agent("a", "", model=ScriptedModel([]), tools=[look], **given)  # type: ignore[call-overload]  # that is tested


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"memory": "keep"}, "memory='keep' is not known"),
        ({"feedback_max_chars": -1}, "feedback_max_chars=-1 is negative"),
    ],
)
def test_options_that_mean_nothing_are_refused_when_the_language_is_made(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        PtcLisp(**given)


LONG = '(reduce (fn [s _] (str s s)) "abc" (range 20))'  # three million characters


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (f"(return {{:total 1 :names [{LONG}]}})", "bytes as JSON, and 2,097,152 can be kept: return less"),
        (f"(tool/send {{:to {LONG}}})", "its arguments have more than 100000 characters; Limits(sent=…) raises it"),
        (f'(task "a" {LONG})', "memory_limit_exceeded: what def and task keep has more than 2097152 bytes as JSON"),
        (f'(task "a" {LONG}) (foo-is "b")'.replace("(foo-is", "(quot 1"), "type_error: quot"),
        (f"(def a {LONG})", "memory_limit_exceeded: what def and task keep has more than 2097152 bytes as JSON"),
        ("(return (map (fn [i] {:total i}) (range 500)))", "expected map, got list"),
        ("(return {:total 1 :names (range 500)})", "- and 480 more"),
        ("(tool/talk)", "Error: tool_error: Tool 'talk' failed: RuntimeError: " + "x" * 1000),
    ],
    ids=["result", "arguments", "task", "task of a program that fails", "memory", "list", "many errors", "long error"],
)
async def test_what_is_too_long_to_be_kept_or_told_is_an_error(program: str, told: str) -> None:
    @tool
    async def talk() -> str:
        """Fail."""
        raise RuntimeError("x" * 100_000)

    language = PtcLisp(journal=True, memory="rollback", limits=Limits(seconds=5.0, stored=None, memory=20_000_000))
    asked = Asked(program, DONE, programs=language, tools=[send, talk])
    result = await asked.run()
    assert told in asked.told[0]
    assert len(asked.told[0]) < 3000
    assert (result.memory, result.journal) == ({}, {})


async def test_a_budget_without_turns_has_no_last_turn() -> None:
    asked = Asked("(def a 1)", DONE, turns=None)
    await asked.run()
    assert asked.told == ["Stored, to be read by name: a\nTurn 2"]
