"""Compiled agents at work: what they take and give, wherever an agent may stand."""

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests._examples import law
from tests.agents.compiled.test_compiling import Orders, Report, look, pay, send

from stagepost.agents import (
    Agent,
    AgentGaveUp,
    Agents,
    AgentTool,
    Allow,
    Budget,
    ChainedFailure,
    CompiledAgent,
    InvalidProgram,
    InvalidRequest,
    LLMTool,
    NobodyToAsk,
    Recorder,
    ScriptedModel,
    ScriptEntry,
    ToolCall,
    ToolContext,
    call,
    tool,
)
from stagepost.checkpoint import MemoryStore
from stagepost.hub import HandlerFailed, Hub
from stagepost.programs import PtcLisp, Signature, Surroundings, Validation
from stagepost.programs._running._strands import Strands
from stagepost.workflows import Runner

RANKED = """
; the names of those with the most points, the best first
(->> (group-by :name data/rows)
     (map (fn [[name rows]] {:name name :points (sum-by :points rows)}))
     (sort-by :points >)
     (filter (where :points >= data/least))
     (pluck :name))
"""
SIGNATURE = "(rows [{name :string, points :float}], least :int?) -> [:string]"


def ranking() -> CompiledAgent[Any]:
    """A program without tools."""
    return CompiledAgent.load(RANKED, SIGNATURE, name="ranking")


async def test_a_program_is_loaded_from_its_text_and_its_signature() -> None:
    compiled = ranking()
    rows = [{"name": "ann", "points": 1.5}, {"name": "bob", "points": 2}, {"name": "ann", "points": 1}]
    assert await compiled.execute({"rows": rows, "least": 2}) == ["ann", "bob"]
    again = CompiledAgent.load(compiled.source, str(compiled.signature), name="ranking")
    assert again == compiled
    assert await again.execute({"rows": rows, "least": 2}) == ["ann", "bob"]
    assert (await compiled.run({"rows": [], "least": 1})).output == []


REFUSED = {
    "missing": ({}, "rows: expected field, got nil"),
    "unknown": ({"rows": [], "row": 1}, "row: expected no such field, got int 1"),
    "of another type": (
        {"rows": [{"name": "a", "points": "many"}]},
        'rows[0].points: expected float, got string "many"',
    ),
    "unknown inside": ({"rows": [{"name": "a", "points": 1, "x": 1}]}, "rows[0].x: expected no such field"),
    "not a mapping": ([], "it takes one mapping of named arguments, not list"),
}


@pytest.mark.parametrize(("arguments", "told"), REFUSED.values(), ids=REFUSED)
async def test_inputs_that_do_not_fit_are_refused_by_name(arguments: Any, told: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        await ranking().execute(arguments)
    assert told in str(raised.value)
    assert str(raised.value).endswith(f"Its signature is {SIGNATURE}")


async def test_inputs_are_checked_on_each_way_to_the_program() -> None:
    with pytest.raises(AgentGaveUp, match="rows: expected field, got nil") as raised:
        await ranking().agent.run("a text has no rows")
    assert raised.value.kind == "validation_error"


async def test_inputs_are_coerced_as_those_of_all_signatures() -> None:
    compiled = CompiledAgent.load("(vector data/n data/kind)", "(n :int, kind :keyword) -> [:any]")
    assert await compiled.execute({"n": "42", "kind": "big"}) == [42, "big"]


async def test_outputs_are_checked_and_not_coerced() -> None:
    compiled = CompiledAgent.load('(do {:a "1"})', "() -> {a :int}")
    with pytest.raises(AgentGaveUp, match='a: expected int, got string "1"') as raised:
        await compiled.execute({})
    assert raised.value.kind == "validation_error"
    strict = CompiledAgent.load("(do {:a 1 :b 2})", "() -> {a :int}", language=PtcLisp(validation=Validation.STRICT))
    with pytest.raises(AgentGaveUp, match="b: expected no such field"):
        await strict.execute({})


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('(fail {:reason :empty :message "no rows"})', "empty"),
        ("(quot 1 0)", "arithmetic_error"),
        ("(loop [] (recur))", "loop_limit_exceeded"),
        ("(System/currentTimeMillis)", "no_clock"),
    ],
)
async def test_failures_of_the_program_have_their_kind(source: str, kind: str) -> None:
    with pytest.raises(AgentGaveUp) as raised:
        await CompiledAgent.load(source, "() -> :any").execute({})
    assert raised.value.kind == kind


async def test_a_number_that_cannot_be_stored_is_no_result() -> None:
    with pytest.raises(AgentGaveUp, match="expected float, got float nan") as raised:
        await CompiledAgent.load("(/ 0 0)", "() -> :float").execute({})
    assert raised.value.kind == "validation_error"


async def test_there_is_no_earlier_turn_and_no_budget() -> None:
    assert await CompiledAgent.load("(vector *1 (budget/remaining))", "() -> :any").execute({}) == [None, {}]


def test_all_problems_of_a_program_are_told_at_once() -> None:
    source = "(let [a (foo 1)] (+ a b (tool/buy) (tool/look {:id 1})))"
    problems = CompiledAgent.validate(source, [look])
    assert [problem.text.partition(".")[0] for problem in problems] == [
        "Undefined variable: foo",
        "Undefined variable: b",
        "Unknown tool: buy",
    ]
    assert CompiledAgent.validate("(tool/look {:id data/x})", [look]) == ()
    assert [problem.kind for problem in CompiledAgent.validate("(+ 1")] == ["parse_error"]
    with pytest.raises(InvalidProgram) as raised:
        CompiledAgent.load(source, "() -> :any", [look, LLMTool("judge", "Judge {text}.")], name="bad")
    assert len(raised.value.problems) == 4
    assert "'judge': prompts and agents ask a model" in str(raised.value)


async def test_tools_get_what_the_caller_gives() -> None:
    @tool(idempotent=True)
    async def whose(context: ToolContext) -> str:
        return f"{context.deps} {context.secrets['key']}"

    compiled = CompiledAgent.load("(tool/whose)", "() -> :string", [whose])
    assert await compiled.execute({}, deps="mine", secrets={"key": "k-4711"}) == "mine ***"


async def test_tools_that_need_approval_ask_for_it() -> None:
    compiled = CompiledAgent.load('(tool/ask {:what "x"})', "() -> :string", [_asking()], name="asker")
    with pytest.raises(NobodyToAsk):
        await compiled.execute({})
    assert await compiled.execute({}, approve=allow) == "did x"


async def allow(_: ToolCall) -> Allow:
    """Whatever it is."""
    return Allow()


def _asking() -> Any:
    @tool(needs_approval=True)
    async def ask(what: str) -> str:
        return f"did {what}"

    return ask


SUM = "(do {:total (sum-by :total data/rows)})"


def summing() -> CompiledAgent[Any]:
    """A program with types of Python."""
    return CompiledAgent.load(SUM, Signature.of(Report, params=Orders), name="sums", input=Orders, output=Report)


async def test_it_stands_anywhere_in_a_chain() -> None:
    maker = Agent("maker", "Make.", model=ScriptedModel([call("return", rows=[{"total": 4}])] * 2), output=Orders)
    told = Agent("teller", "Tell {total}.", model=ScriptedModel(["It is 4."] * 2), input=Report)
    middle = maker.then(summing().agent).then(told)
    assert (await middle.run("Go.")).output == "It is 4."
    first = summing().agent.then(told, name="first")
    assert (await first.run({"rows": [{"total": 4}]}, override_model=ScriptedModel(["Always."]))).output == "Always."
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
        await runner.serve(middle)
        assert await hub.request(middle.name, "Go.") == "It is 4."
    with pytest.raises(ChainedFailure) as raised:
        await maker.then(CompiledAgent.load('(fail "no")', "(rows :any, least :any) -> :any", input=Orders).agent).run(
            "Go."
        )
    assert isinstance(raised.value.__cause__, AgentGaveUp)


async def test_it_is_served_on_the_hub() -> None:
    compiled = CompiledAgent.load("(inc data/n)", "(n :int) -> :int", name="adder")
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
        await runner.serve(compiled)
        assert await hub.request("adder", {"n": 1}) == 2
        with pytest.raises(HandlerFailed, match="n: Field required; m: Extra inputs are not permitted"):
            await hub.request("adder", {"m": 1})


async def test_it_is_a_tool_and_a_sub_agent_of_others() -> None:
    script: list[ScriptEntry] = [call("sums", rows=[{"total": 2}, {"total": 3}]), "5."]
    lead = Agent("lead", "Ask.", model=ScriptedModel(script), tools=[AgentTool(summing().agent, description="Sums.")])
    result = await lead.run("How much?")
    assert [message.text for message in result.messages if message.role == "tool"] == ['{"total":5}']
    agents = Agents([Agent("boss", "Ask.", sub_agents=["sums"], model=ScriptedModel(["x"])), summing().agent], idle=9)
    assert (await agents["sums"].run({"rows": []})).output == Report(total=0)
    program = '(tool/ranking {:rows [{:name "a" :points 1.0}] :least 1})'
    other = Agent(
        "other", "Ask.", model=ScriptedModel([f"(return {program})"]), output=list[str], programs=PtcLisp(),
        tools=[AgentTool(ranking().agent, description="Ranks.")],
    )  # fmt: skip
    assert (await other.run("Go.")).output == ["a"]


async def test_the_calls_are_traced() -> None:
    recorder = Recorder(content=True)
    compiled = CompiledAgent.load("(tool/look {:id 7})", "() -> :map", [look])
    await compiled.execute({}, tracing=recorder)
    assert [span.input for span in recorder.last.find("tool-look")] == [{"id": 7}]


ROWS = st.lists(
    st.fixed_dictionaries({"name": st.text(max_size=3), "points": st.floats(-1e6, 1e6) | st.integers(-9, 9)}),
    max_size=6,
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@law(15, 300)
@given(ROWS, st.integers(-5, 5))
async def test_the_same_inputs_give_the_same_result(rows: list[dict[str, Any]], least: int) -> None:
    compiled, again = ranking(), ranking()
    first = await compiled.execute({"rows": rows, "least": least})
    assert await compiled.execute({"rows": rows, "least": least}) == first
    turned = [dict(reversed(row.items())) for row in rows]
    assert await again.execute({"least": least, "rows": turned}) == first


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.long)])
async def test_executions_leave_nothing_in_memory(count: int) -> None:
    compiled = CompiledAgent.load(
        "(pmap (fn [i] (tool/look {:id i})) data/ids)", "(ids [:int]) -> [:map]", [look], name="looking"
    )

    async def times(number: int) -> int:
        for index in range(number):
            await compiled.execute({"ids": [index, 2]})
            with pytest.raises(InvalidRequest):
                await compiled.execute({"ids": "x"})
        gc.collect()
        gc.collect()
        return len(gc.get_objects())

    before = await times(count // 2)
    assert await times(count) - before < count // 2
    assert not [each for each in gc.get_objects() if isinstance(each, Strands) and not each.is_over]


class Wanted(BaseModel):
    """What a compiled agent is asked with."""

    city: str


async def test_an_agent_that_was_compiled_keeps_its_types_rules_and_hooks() -> None:
    seen = []

    class Noting:
        async def tool_call(self, call: Any, context: Any, proceed: Any) -> Any:  # noqa: ARG002 - as of all hooks
            seen.append(call.name)
            return await proceed(call)

    agent = Agent(
        "mailer", "Mail.", model=ScriptedModel(['(str (tool/send {:to "a"}) (tool/pay {:amount 1}))']), input=Wanted,
        tools=[send, pay], approvals=["send"], hooks=[Noting()], programs=PtcLisp(), budget=Budget(turns=1),
        description="Mails.",
    )  # fmt: skip
    compiled = await CompiledAgent.compile(agent, stand_ins={"send": lambda to: to, "pay": lambda amount: f"p{amount}"})
    assert compiled.agent.description == "Mails."
    assert compiled.agent.input is Wanted
    assert not seen
    with pytest.raises(NobodyToAsk):
        await compiled.execute({"city": "Oslo"})
    with pytest.raises(AgentGaveUp, match="Tool 'send' failed: AssertionError: a"):
        await compiled.execute({"city": "Oslo"}, approve=allow)
    assert seen == ["send"]


async def test_its_language_is_that_of_its_program() -> None:
    own = PtcLisp(float_precision=1)
    language = CompiledAgent.load("(do 1.25)", "() -> :float", language=own).agent.programs
    assert language is not None
    assert (language.name, language.limits, language.validation) == (own.name, own.limits, own.validation)
    assert (language.memory, language.keeps_tasks) == ("strict", False)
    assert language.check("(foo)", ()) == own.check("(foo)", ())
    assert language.load(language.dump({"a": [1]})) == {"a": [1]}
    assert (language.shortened("x"), language.show([1])) == (own.shortened("x"), "[1]")
    outcome = await language.run("(+ 1 1)", data={}, memory={}, tools={}, limits=own.limits, around=Surroundings())
    assert outcome.value == 2
    late = await language.run(
        "(System/currentTimeMillis)", data={}, memory={}, tools={}, limits=own.limits, around=Surroundings()
    )
    assert late.error is not None
    assert late.error.kind == "no_clock"


async def test_a_value_whose_keys_are_one_in_json_fails_and_says_which() -> None:
    compiled = CompiledAgent.load('{:total 1 "total" 2}', "(rows [:int]) -> :map", name="both")
    with pytest.raises(AgentGaveUp, match='a map has the keys "total" and :total'):
        await compiled.execute({"rows": []})
