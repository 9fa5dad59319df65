"""Programs that a model writes once: who may have one, what the model is told, and what is accepted."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from stagepost.agents import (
    Agent,
    AgentTool,
    Budget,
    CompiledAgent,
    CompileFailed,
    FunctionModel,
    InvalidRequest,
    LLMTool,
    ModelMissing,
    ModelRequest,
    ModelResponse,
    NotCompilable,
    ScriptedModel,
    ScriptEntry,
    Usage,
    handoff,
    tool,
    toolset,
)
from stagepost.programs import InvalidSignature, PtcLisp

SUM = "(do {:total (sum-by :total data/rows)})"
SAMPLE = {"rows": [{"id": 1, "total": 3}]}


class Orders(BaseModel):
    """What is asked."""

    rows: Annotated[list[dict[str, int]], Field(description="all orders")]
    least: int = 0


class Report(BaseModel):
    """What is answered."""

    total: Annotated[int, Field(description="in euros")]


@tool(idempotent=True)
async def look(id: int) -> dict[str, str]:  # noqa: A002 - what it is
    """Look an order up."""
    return {"name": f"n{id}"}


@tool
async def send(to: str) -> str:
    """Send a mail."""
    raise AssertionError(to)


@tool(idempotent=True, needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    raise AssertionError(amount)


def asked(*script: ScriptEntry, **more: Any) -> tuple[Agent[Any], ScriptedModel]:
    """An agent that can be compiled, and its model."""
    model = ScriptedModel(script)
    given: dict[str, Any] = {"input": Orders, "output": Report, "programs": PtcLisp(), "budget": Budget(turns=1)}
    return Agent("sums", "Sum {rows} up.", model=model, **{**given, **more}), model


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_program_is_written_once_and_runs_without_the_model() -> None:
    agent, model = asked(f"```clojure\n{SUM}\n```")
    before = datetime.now(UTC)
    compiled = await CompiledAgent.compile(agent, sample=SAMPLE)
    assert compiled.source == SUM
    assert str(compiled.signature) == "(rows [:map], least :int?) -> {total :int}"
    assert compiled.field_descriptions == {"rows": "all orders", "total": "in euros"}
    metadata = compiled.metadata
    assert metadata is not None
    assert (metadata.turns, metadata.model) == (1, "ScriptedModel")
    assert before <= metadata.compiled_at <= datetime.now(UTC)
    for total in (5, 9):
        assert await compiled.execute({"rows": [{"total": total}]}) == Report(total=total)
    assert len(model.requests) == 1


async def test_tokens_of_all_answers_are_counted() -> None:

    used = Usage(input_tokens=100, output_tokens=10)
    agent, _ = asked(ModelResponse("(foo)", usage=used), ModelResponse(SUM, usage=used), tools=[look])
    compiled = await CompiledAgent.compile(agent)
    assert compiled.metadata is not None
    assert (compiled.metadata.tokens_used, compiled.metadata.turns) == (220, 2)


async def test_the_model_is_told_that_its_program_is_kept() -> None:
    agent, model = asked(SUM, tools=[look])
    await CompiledAgent.compile(agent, sample=SAMPLE)
    (request,) = model.requests
    system, user = (message.text for message in request.messages)
    assert system.startswith("Sum data/rows up.\n")
    for part in ("Your program is kept", "sample: [{:id 1 :total 3}]", "tool/look(id :int) -> :map", "{total :int}"):
        assert part in system
    assert user == "Write the program. Inputs: data/rows, data/least"
    assert not request.tools


MAKES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "prompt tools and agents": (
        {
            "tools": [
                LLMTool("judge", "Judge {text}."),
                AgentTool(Agent("poet", "Write.", description="Writes.")),
                handoff(Agent("other", "Do.", description="Does.", output=Report), name="give"),
                look,
            ],
            "sub_agents": [Agent("below", "Help.", description="Helps."), "named"],
        },
        ["'judge', 'poet', 'give', 'below', 'named': prompts and agents ask a model"],
    ),
    "several turns": ({"budget": Budget(turns=5)}, ["it has 5 turns, and one program is compiled"]),
    "endless turns": ({"budget": Budget(turns=None)}, ["it has any number of turns"]),
    "no programs": ({"programs": None}, ["its answers are no programs"]),
    "a prompt function": ({"prompt": lambda _: "Sum."}, ["its prompt is a function of each run"]),
    "an output without a form": ({"output": int | str}, ["its output has no form in signatures"]),
    "effects": ({"tools": [send, pay, look]}, ["'send', 'pay': the program is checked on a sample"]),
    "all at once": (
        {"tools": [LLMTool("judge", "Judge {text}."), send], "budget": Budget(turns=2)},
        ["it has 2 turns", "'judge': prompts", "'send': the program is checked"],
    ),
}


@pytest.mark.parametrize(("more", "told"), MAKES.values(), ids=MAKES)
async def test_what_cannot_be_compiled_is_refused_before_the_model_is_asked(
    more: dict[str, Any], told: list[str]
) -> None:
    prompt = more.get("prompt", "Sum.")
    model = ScriptedModel([SUM])
    given: dict[str, Any] = {"input": Orders, "output": Report, "programs": PtcLisp(), "budget": Budget(turns=1)}
    rest = {name: value for name, value in more.items() if name != "prompt"}
    agent = Agent("sums", prompt, model=model, **{**given, **rest})
    with pytest.raises(NotCompilable) as raised:
        await CompiledAgent.compile(agent)
    assert not model.requests
    assert len(raised.value.reasons) == len(told)
    for part, reason in zip(told, raised.value.reasons, strict=True):
        assert part in reason
        assert part in str(raised.value)


async def test_toolsets_are_refused() -> None:
    @toolset
    async def some(context: Any) -> list[Any]:
        return []

    agent, model = asked(SUM, tools=[some])
    with pytest.raises(NotCompilable, match="'some': which tools servers and toolsets have is known in a run only"):
        await CompiledAgent.compile(agent)
    assert not model.requests


async def test_signatures_and_stand_ins_that_do_not_fit_are_refused() -> None:
    agent, model = asked(SUM, tools=[look])
    with pytest.raises(NotCompilable, match="'foo' of stand_ins= are none of its tools: 'look'"):
        await CompiledAgent.compile(agent, stand_ins={"foo": print})
    with pytest.raises(NotCompilable, match="signature= takes 'x', and its input 'least', 'rows'"):
        await CompiledAgent.compile(agent, signature="(x :int) -> :int")
    with pytest.raises(InvalidSignature):
        await CompiledAgent.compile(agent, signature="(x :int")
    with pytest.raises(InvalidRequest, match="sample=: rows: expected field, got nil; x: expected no such field"):
        await CompiledAgent.compile(agent, sample={"x": 1})
    assert not model.requests


async def test_the_model_is_that_of_the_agent_or_given() -> None:
    agent, model = asked("(foo)")
    other = ScriptedModel([SUM])
    assert (await CompiledAgent.compile(agent, override_model=other)).source == SUM
    assert not model.requests
    nobody = Agent("nobody", "Sum.", programs=PtcLisp(), budget=Budget(turns=1))
    with pytest.raises(ModelMissing):
        await CompiledAgent.compile(nobody)
    named = Agent(
        "named", "Up.", programs=PtcLisp(), budget=Budget(turns=1), models={"big": ScriptedModel(["(str 1)"])}
    )
    compiled = await CompiledAgent.compile(named, model="big")
    assert compiled.metadata is not None
    assert compiled.metadata.model == "ScriptedModel"


async def test_an_agent_without_tools_has_one_answer() -> None:
    agent, model = asked("(foo data/rows)", SUM)
    with pytest.raises(CompileFailed, match=r"Undefined variable: foo \(line 1, column 2\)") as raised:
        await CompiledAgent.compile(agent)
    assert raised.value.source == "(foo data/rows)"
    assert raised.value.turns == len(model.requests) == 1


WRONG = {
    "no program": ("I would add them up.", "no_code_found: the answer has no program"),
    "undefined name": ("(foo)", "undefined_variable: Undefined variable: foo"),
    "unknown tool": ("(tool/buy)", "tool_not_found: Unknown tool: buy. Available tools: look"),
    "an error": ("(quot 1 0)", "arithmetic_error: quot: division by zero"),
    "a tool's error": ("(tool/look {:id nil})", "tool_error: Tool 'look' failed: the arguments do not fit"),
    "a value that does not fit": ("(do {:total nil})", "- total: expected int, got nil"),
    "the clock": ("(do {:total (System/currentTimeMillis)})", "no_clock: there is no clock"),
    "giving up": ('(fail {:reason :empty :message "no rows"})', "empty: no rows"),
}


@pytest.mark.parametrize(("answer", "told"), WRONG.values(), ids=WRONG)
async def test_an_agent_with_tools_may_repair_its_program(answer: str, told: str) -> None:
    agent, model = asked(answer, SUM, tools=[look])
    compiled = await CompiledAgent.compile(agent)
    assert compiled.source == SUM
    _, second = model.requests
    said = second.messages[-1].text
    assert told in said
    assert said.endswith("Write the whole program again, corrected (answer 2 of 3).")
    assert "The last program failed" in second.messages[0].text


async def test_there_are_two_repairs_and_no_more() -> None:
    agent, model = asked("(foo)", "(bar)", "(baz)", SUM, tools=[look])
    with pytest.raises(CompileFailed, match=r"the last of 3 answers of its model does not pass: .*baz"):
        await CompiledAgent.compile(agent)
    assert len(model.requests) == 3


async def test_tools_with_effects_are_never_called_for_the_sample() -> None:
    calls: list[object] = []

    async def to_nobody(to: str) -> str:
        calls.append(to)
        return "sent"

    def paid(amount: int) -> None:
        calls.append(amount)

    source = '(do {:total (count [(tool/send {:to "ann"}) (tool/pay {:amount 1}) (tool/look {:id 1})])})'
    agent, _ = asked(source, tools=[send, pay, look])
    compiled = await CompiledAgent.compile(agent, stand_ins={"send": to_nobody, "pay": paid})
    assert calls == ["ann", 1]
    assert compiled.source == source
    assert compiled.agent.tools == (send, pay, look)


async def test_an_agent_that_takes_a_text_reads_it_as_request() -> None:
    agent = Agent(
        "up", "Shout.", model=ScriptedModel(["(upcase data/request)"]), programs=PtcLisp(), budget=Budget(turns=1)
    )
    compiled = await CompiledAgent.compile(agent)
    assert str(compiled.signature) == "(request :string) -> :string"
    assert await compiled.execute({"request": "hello"}) == "HELLO"
    assert (await compiled.agent.run("hello")).output == "HELLO"


async def test_a_signature_may_be_given() -> None:
    def write(request: ModelRequest) -> str:
        assert "data/_key" in request.messages[0].text
        assert "secret" not in request.messages[0].text
        return "(vector data/n data/_key)"

    agent = Agent("pair", "Pair.", model=FunctionModel(write), programs=PtcLisp(), budget=Budget(turns=1))
    compiled = await CompiledAgent.compile(
        agent, signature="(n :int, _key :string) -> [:any]", sample={"n": 1, "_key": "secret"}
    )
    assert await compiled.execute({"n": "2", "_key": "k"}) == [2, "k"]
