from typing import Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel, SecretStr
from tests.agents._weather import REPORT, Query, Report, look, results, send

from stagepost.agents import (
    Agent,
    AgentError,
    AgentFailed,
    AssistantMessage,
    Budget,
    BudgetExceeded,
    InvalidRequest,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEnded,
    SystemMessage,
    ToolCall,
    ToolContext,
    Usage,
    UserMessage,
    call,
    tool,
)
from stagepost.checkpoint import CannotStore
from stagepost.hub import Event


@tool(name="break")
async def break_down(reason: str) -> None:
    raise ValueError(reason)


async def test_a_text_is_answered_with_a_text() -> None:
    model = ScriptedModel(["30 °C"])
    result = await Agent("weather", prompt="Be brief.", model=model).run("Miami?")
    assert (result.output, result.turns, result.usage) == ("30 °C", 1, Usage())
    assert result.messages == (UserMessage(text="Miami?"), AssistantMessage(text="30 °C"))
    assert model.requests == (ModelRequest((SystemMessage(text="Be brief."), UserMessage(text="Miami?"))),)


async def test_tools_are_called_until_the_model_has_answered() -> None:
    model = ScriptedModel([call("look", city="Oslo"), call("send", to="ann"), REPORT])
    result = await Agent("weather", prompt="", model=model, tools=[look, send], output=Report).run("Oslo?")
    assert result.output == Report(city="Oslo", degrees=3)
    assert [message.text for message in results(result)] == ['{"city":"Oslo","degrees":3}', "sent to ann"]
    assert result.turns == 3
    assert [schema.name for schema in model.requests[0].tools] == ["look", "send", "return", "fail"]
    assert model.requests[2].messages[1:] == result.messages[:-1]


async def test_override_model_stands_in_for_the_agents_own() -> None:
    agent = Agent("weather", prompt="", model=ScriptedModel([]))
    assert (await agent.run("?", override_model=ScriptedModel(["hi"]))).output == "hi"


async def test_tools_run_at_once_and_results_stand_in_the_order_of_the_calls() -> None:
    meeting = [anyio.Event() for _ in range(20)]

    @tool
    async def meet(number: int) -> int:
        "Wait for all others; the first call ends last."
        meeting[number].set()
        for event in meeting[number:]:
            await event.wait()
        return number

    model = ScriptedModel([[call("meet", number=number) for number in reversed(range(20))], "met"])
    with fail_after(5):
        result = await Agent("host", prompt="", model=model, tools=[meet]).run("go")
    assert [message.text for message in results(result)] == [str(number) for number in reversed(range(20))]
    assert [message.call_id for message in results(result)] == [f"call-0-{index}" for index in range(20)]


async def test_one_failing_tool_harms_no_other() -> None:
    model = ScriptedModel([[call("look", city="Oslo"), call("break", reason="no"), call("send", to="ann")], "done"])
    result = await Agent("weather", prompt="", model=model, tools=[look, break_down, send]).run("go")
    assert [(message.text, message.is_error) for message in results(result)] == [
        ('{"city":"Oslo","degrees":3}', False),
        ("ValueError: no", True),
        ("sent to ann", False),
    ]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (call("dig", city="Oslo"), "there is no tool 'dig'; there are: look, send"),
        (call("look", town="Oslo"), "nothing was called: city: Field required; town: Extra"),
        (ToolCall(id="x", name="look", arguments='{"city": "Os'), "nothing was called: Invalid JSON"),
        (ToolCall(id="x", name="look", arguments=""), "nothing was called: Invalid JSON"),
    ],
    ids=["unknown", "arguments", "malformed", "empty"],
)
async def test_a_wrong_call_is_told_to_the_model_and_costs_a_turn(wrong: ToolCall, why: str) -> None:
    model = ScriptedModel([wrong, "sorry"])
    result = await Agent("weather", prompt="", model=model, tools=[look, send]).run("go")
    (told,) = results(result)
    assert told.is_error
    assert why in told.text
    assert (result.output, result.turns) == ("sorry", 2)


async def test_a_tool_gets_its_context_and_a_key_of_its_own() -> None:
    seen: list[ToolContext] = []

    @tool
    async def note(context: ToolContext) -> None:
        seen.append(context)

    model = ScriptedModel([[call("note"), call("note")], call("note"), "done"])
    await Agent("lead", prompt="", model=model, tools=[note]).run("go", deps="pool")
    assert {(context.agent, context.deps) for context in seen} == {("lead", "pool")}
    assert sorted(context.call_id for context in seen) == ["call-0-0", "call-0-1", "call-1-0"]  # two at once
    assert len({context.idempotency_key for context in seen}) == 3
    assert all(context.idempotency_key.startswith(context.run_id) for context in seen)


async def test_an_output_that_does_not_fit_goes_back_to_the_model() -> None:
    model = ScriptedModel(["3 degrees", REPORT])
    result = await Agent("weather", prompt="", model=model, output=Report).run("Oslo?")
    assert (result.output, result.turns) == (Report(city="Oslo", degrees=3), 2)
    complaint = model.requests[1].messages[-1]
    assert isinstance(complaint, UserMessage)
    assert "not a valid Report: Invalid JSON" in complaint.text
    assert complaint in result.messages
    assert model.requests[0].output is None  # the tool `return` says it


@pytest.mark.parametrize("request_", [Query(city="Oslo"), {"city": "Oslo"}], ids=["model", "mapping"])
async def test_the_input_fills_the_prompt_and_is_what_the_model_is_asked(request_: object) -> None:
    model = ScriptedModel(["3 °C"])
    await Agent("weather", prompt="{city}, {days} days: {{x}}", model=model, input=Query).run(request_)
    assert model.requests[0].messages == (
        SystemMessage(text="Oslo, 1 days: {x}"),
        UserMessage(text='{"city":"Oslo","days":1}'),
    )


async def test_a_text_will_do_where_the_prompt_needs_no_fields() -> None:
    model = ScriptedModel(["3 °C"])
    await Agent("weather", prompt="Weather.", model=model, input=Query).run("Oslo?")
    assert model.requests[0].messages[1] == UserMessage(text="Oslo?")


@pytest.mark.parametrize(
    ("agent", "asked", "why"),
    [
        (Agent("w", prompt=""), {"city": "Oslo"}, "takes a text, or a list .* not dict: give the agent input="),
        (Agent("w", prompt="", input=Query), 3, "takes Query, a mapping of its fields, a text, or a list .* not int"),
        (Agent("w", prompt="", input=Query), {"days": "x"}, "not a valid Query: city: Field required; days: Input"),
        (
            Agent("w", prompt="In {city}", input=Query),
            "Oslo?",
            "needs city, which .*: ask with Query or a mapping",
        ),
        (Agent("w", prompt="", input=Query), Report(city="Oslo", degrees=3), "not Report"),
    ],
    ids=["no input", "number", "fields", "text", "other model"],
)
async def test_a_request_of_another_form_is_refused(agent: Agent[str], asked: object, why: str) -> None:
    with pytest.raises(InvalidRequest, match=f"agent 'w' cannot be asked like this: .*{why}"):
        await agent.run(asked, model=ScriptedModel([]))


async def test_on_the_last_turn_the_model_is_told_to_answer_and_gets_no_tools() -> None:
    model = ScriptedModel([call("look", city="Oslo"), "3 °C"])
    result = await Agent("weather", prompt="", model=model, tools=[look], budget=Budget(turns=2)).run("go")
    first, last = model.requests
    assert (len(first.tools), len(last.tools)) == (1, 0)
    assert "last turn" in last.messages[-1].text
    assert not any("last turn" in message.text for message in (*first.messages, *result.messages))


@pytest.mark.parametrize(
    ("budget", "entry", "what", "used"),
    [
        (Budget(turns=3), call("look", city="Oslo"), "turns", 3),
        (Budget(turns=3), "no json", "turns", 3),
        (Budget(turns=None, tool_calls=2), call("look", city="Oslo"), "tool_calls", 3),
        (Budget(turns=None, tool_calls=2), call("dig"), "tool_calls", 3),
        (Budget(tokens=20), ModelResponse("no json", usage=Usage(input_tokens=8, output_tokens=2)), "tokens", 20),
    ],
    ids=["turns", "repairs", "calls", "refused calls", "tokens"],
)
async def test_a_budget_that_is_exceeded_says_which_and_how_much(
    budget: Budget, entry: str | ToolCall | ModelResponse, what: str, used: int
) -> None:
    agent = Agent("weather", prompt="", model=ScriptedModel([entry] * 9), tools=[look], output=Report, budget=budget)
    with pytest.raises(BudgetExceeded, match=what.replace("_", " ")) as caught:
        await agent.run("go")
    assert (caught.value.agent, caught.value.budget, caught.value.used) == ("weather", what, used)


async def test_calls_on_the_last_turn_are_not_made() -> None:
    made: list[str] = []

    @tool
    async def note(text: str) -> None:
        made.append(text)

    model = ScriptedModel([call("note", text="early"), call("note", text="late")])
    with pytest.raises(BudgetExceeded):
        await Agent("lead", prompt="", model=model, tools=[note], budget=Budget(turns=2)).run("go")
    assert made == ["early"]


async def test_an_answer_that_used_up_the_tokens_still_counts() -> None:
    model = ScriptedModel([ModelResponse("hi", usage=Usage(input_tokens=90, output_tokens=10))])
    result = await Agent("lead", prompt="", model=model, budget=Budget(tokens=10)).run("go")
    assert (result.output, result.usage.tokens) == ("hi", 100)


async def test_an_error_of_the_model_is_the_cause_of_the_agents() -> None:
    with pytest.raises(AgentFailed, match="agent 'lead' failed: ConnectionError: refused") as caught:
        await Agent("lead", prompt="", model=ScriptedModel([ConnectionError("refused")])).run("go")
    cause: BaseException = caught.value
    while cause.__cause__ is not None:
        cause = cause.__cause__
    assert isinstance(cause, ConnectionError)


async def test_an_error_of_this_layer_is_raised_as_it_is() -> None:
    with pytest.raises(ScriptEnded) as caught:
        await Agent("lead", prompt="", model=ScriptedModel([])).run("go")
    assert caught.value.__cause__ is None
    assert isinstance(caught.value, AgentError)


async def test_an_output_that_cannot_be_stored_is_an_error() -> None:
    class Odd(Report):
        def __init__(self, **fields: Any) -> None:
            super().__init__(**fields)
            self.__dict__["degrees"] = float("nan")

    model = ScriptedModel([REPORT])
    with pytest.raises(AgentFailed, match="CannotStore"):
        await Agent("lead", prompt="", model=model, output=Odd).run("go")


class Login(BaseModel):
    password: SecretStr


async def test_a_secret_in_a_request_is_refused_before_the_model_sees_it() -> None:
    model = ScriptedModel([])
    with pytest.raises(CannotStore, match="secret"):
        await Agent("lead", prompt="", model=model, input=Login).run({"password": "x"})
    assert model.requests == ()


class Recorder:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> None:
        self.events.append(event)


async def test_a_run_can_be_observed() -> None:
    seen = Recorder()
    await Agent("weather", prompt="", model=ScriptedModel([call("look", city="a"), "x"]), tools=[look]).run(
        "go", observer=seen
    )
    kinds = [type(event).__name__ for event in seen.events]
    assert (kinds[0], kinds[-1]) == ("RunStarted", "RunEnded")
    assert kinds.count("StepEnded") == 3, "an answer, a call, an answer"


def test_the_loop_can_be_drawn() -> None:
    drawing = Agent("weather", prompt="", model=ScriptedModel([])).as_workflow().mermaid()
    assert "infer" in drawing
    assert "has failure" in drawing
