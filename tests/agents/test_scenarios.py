"""What goes wrong every day in this trade, and what comes of it, in memory and in a store."""

from datetime import timedelta

import anyio
import pytest
from anyio import CancelScope
from tests.agents._ways import Way, both_ways, loop_of, result_of, started, the_wait, told, working
from tests.agents._weather import look, results

from stagepost.agents import (
    Agent,
    Agents,
    Allow,
    AssistantMessage,
    Budget,
    BudgetExceeded,
    InvalidAgent,
    ModelResponse,
    OnUnknown,
    ScriptedModel,
    ToolCall,
    call,
    tool,
)
from stagepost.checkpoint import RunStatus
from stagepost.hub import HandlerFailed, Hub
from stagepost.workflows import RunFailed, RunParked

LOOK = '{"city": "Oslo"}'


def named(call_id: str, name: str, arguments: str) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


@both_ways
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        pytest.param(call("dig", city="Oslo"), "there is no tool 'dig'; there are: look, add", id="unknown tool"),
        pytest.param(call(""), "there is no tool ''; there are: look, add", id="no name"),
        pytest.param(named("c", "look", "Oslo"), "Invalid JSON", id="not JSON"),
        pytest.param(named("c", "look", '{"city": "Os'), "Invalid JSON", id="cut JSON"),
        pytest.param(named("c", "look", "[1]"), "Input should be an object", id="no object"),
        pytest.param(call("add", number="many"), "number: Input should be a valid integer", id="wrong type"),
        pytest.param(call("add"), "number: Field required", id="a field less"),
        pytest.param(call("add", number=1, unit="m"), "unit: Extra inputs are not permitted", id="a field more"),
    ],
)
async def test_wrong_call_is_told_beside_what_was_called_and_costs_a_turn(way: Way, wrong: ToolCall, why: str) -> None:
    added: list[int] = []

    @tool
    async def add(number: int) -> int:
        added.append(number)
        return sum(added)

    model = ScriptedModel([[wrong, call("add", number=2)], call("add", number=3), "done"])
    result = await way(Agent("adder", prompt="Add.", model=model, tools=[look, add]))
    refused, *right = results(result)
    assert (refused.is_error, why in refused.text) == (True, True), refused.text
    assert ([each.text for each in right], added) == (["2", "5"], [2, 3])
    assert (result.output, result.turns) == ("done", 3)


@both_ways
async def test_calls_of_one_id_in_one_answer_and_over_turns_are_calls_of_their_own(way: Way) -> None:
    added: list[int] = []

    @tool
    async def add(number: int) -> int:
        added.append(number)
        return number

    def same(*numbers: int) -> ModelResponse:
        return ModelResponse(calls=[named("x", "add", f'{{"number": {number}}}') for number in numbers])

    model = ScriptedModel([same(1, 2), same(3), same(4), "done"])
    result = await way(Agent("adder", prompt="Add.", model=model, tools=[add]))
    assert sorted(added) == [1, 2, 3, 4]
    assert [each.text for each in results(result)] == ["1", "2", "3", "4"]
    for answer, *said in (result.messages[i : i + 3] for i in (1, 4, 6)):
        assert isinstance(answer, AssistantMessage)
        asked = [each.id for each in answer.calls]
        assert len({*asked}) == len(asked)
        assert [each.call_id for each in results(said)] == asked


@both_ways
async def test_tool_that_hangs_is_given_up_in_its_time_and_the_others_results_stand(way: Way) -> None:
    @tool(timeout=0.05)
    async def hang() -> None:
        await anyio.sleep_forever()

    model = ScriptedModel([[call("hang"), call("look", city="Oslo")], "done"])
    result = await way(Agent("patient", prompt="Wait.", model=model, tools=[hang, look]))
    assert [each.text for each in results(result)] == [
        "timed out after 0.05 s: hang may or may not have taken effect",
        '{"city":"Oslo","degrees":3}',
    ]
    assert result.output == "done"


@both_ways
@pytest.mark.parametrize("beside", [0, 1], ids=["alone", "beside another"])
@pytest.mark.parametrize("on_unknown", ["tell", "park"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("a\ud800b", "a?b", id="half a surrogate pair"),
        pytest.param("x" * 4_200_000, "the result has 4,200,000 characters, which is too much to keep", id="large"),
        pytest.param("\0" * 700_000, "the result has 700,000 characters", id="large as JSON"),
    ],
)
async def test_result_that_cannot_be_kept_is_told_otherwise_and_fails_no_run(
    way: Way, text: str, told: str, beside: int, on_unknown: OnUnknown
) -> None:
    @tool(on_unknown=on_unknown)
    async def read() -> str:
        return text

    model = ScriptedModel([[call("read"), *[call("look", city="Oslo")] * beside], "done"])
    result = await way(Agent("reader", prompt="Read.", model=model, tools=[read, look]))
    first, *others = results(result)
    assert first.text.startswith(told)
    assert [each.text for each in others] == ['{"city":"Oslo","degrees":3}'] * beside
    assert result.output == "done"


async def test_tool_that_ignores_its_cancellation_can_save_nothing_behind_it() -> None:
    begun, end, ended = anyio.Event(), anyio.Event(), anyio.Event()

    @tool
    async def stubborn() -> str:
        with CancelScope(shield=True):
            begun.set()
            await end.wait()
            ended.set()
        return "late"

    model = ScriptedModel([call("stubborn"), "done"])
    agent = Agent("patient", prompt="Wait.", model=model, tools=[stubborn])
    async with working(agent, grace=0.05) as runner:
        run = await started(runner, agent)
        await begun.wait()
        assert (await runner.cancel(run.id)).status is RunStatus.CANCELLED
        end.set()
        await ended.wait()
        assert (await runner.get(run.id)).status is RunStatus.CANCELLED
    assert len(model.requests) == 1


async def test_run_that_ended_with_calls_unanswered_is_followed_by_one_whose_model_sees_a_result_for_each() -> None:
    calls = [call("look", city="Oslo"), call("look", city="Rome")]
    model = ScriptedModel([calls, "what was the question?"])
    agent = Agent("traveller", prompt="Travel.", model=model, tools=[look], budget=Budget(tool_calls=1))
    workflow = loop_of(agent)
    async with working(agent) as runner:
        run = await started(runner, agent)
        with pytest.raises(RunFailed, match=BudgetExceeded.__name__):
            await run.result()
        before = (await runner.runs.get(run.id)).state
        again = await runner.start(workflow, workflow.go_on(before, "And now?"), run_id="s")
        result = await result_of(again, agent)
    assert result.output == "what was the question?"
    assert told(model.requests[-1]) == ["not called: the run ended before"] * 2
    assert [message.role for message in model.requests[-1].messages][-3:] == ["tool", "tool", "user"]


async def test_approval_outlives_every_request_and_asking_again_with_its_key_joins() -> None:
    @tool(needs_approval=True)
    async def mail(to: str) -> str:
        return f"sent to {to}"

    now, key = [1_000_000.0], {"idempotency-key": "mail"}
    agent = Agent("mailer", prompt="Mail.", model=ScriptedModel([call("mail", to="ann"), "done"]), tools=[mail])
    async with Hub("h") as hub, working(agent, hub=hub, clock=now) as runner:
        await runner.serve(agent)
        for _ in range(2):
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("mailer", "go", timeout=5, headers=key)
            now[0] += timedelta(days=3).total_seconds()
        parked = caught.value.__cause__
        assert isinstance(parked, RunParked)
        wait = await the_wait(runner, await runner.get(parked.run_id))
        assert parked.waits == (wait.id,)
        await runner.answer(wait.id, Allow())
        assert await hub.request("mailer", "go", expect=str, timeout=5, headers=key) == "done"


def test_agents_that_would_ask_each_other_in_a_circle_are_refused_where_they_are_built() -> None:
    def knowing(name: str, *others: str) -> Agent[str]:
        return Agent(name, prompt="", model=ScriptedModel([]), sub_agents=others)

    with pytest.raises(InvalidAgent, match="a -> b -> c -> a"):
        Agents([knowing("a", "b"), knowing("b", "c"), knowing("c", "a")])
