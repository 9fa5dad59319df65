"""``return`` and ``fail``: the tools that end a run."""

import pytest
from pydantic import BaseModel
from tests.agents._weather import results

from stagepost.agents import Agent, AgentGaveUp, Budget, ScriptedModel, call, tool
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import RunFailed, Runner


class Report(BaseModel):
    city: str
    degrees: int


@tool(idempotent=True)
async def look(city: str) -> str:
    return f"{city} is fine"


def reporter(*script: object, budget: Budget | None = None) -> Agent[Report]:
    model = ScriptedModel(script)  # type: ignore[arg-type]  # entries of all kinds
    return Agent("reporter", prompt="", model=model, tools=[look], output=Report, budget=budget or Budget())


async def test_return_gives_the_answer() -> None:
    result = await reporter(call("look", city="Oslo"), call("return", city="Oslo", degrees=3)).run("?")
    assert result.output == Report(city="Oslo", degrees=3)
    assert [message.text for message in results(result)] == ["Oslo is fine", "accepted"]


async def test_a_return_that_does_not_fit_goes_back_to_the_model() -> None:
    script = [call("return", city="Oslo"), call("return", city="Oslo", degrees=3)]
    result = await reporter(*script).run("?")
    first, second = results(result)
    assert first.is_error
    assert "degrees" in first.text
    assert (second.text, result.output.degrees, result.turns) == ("accepted", 3, 2)


async def test_return_ends_the_run_whatever_is_called_beside_it() -> None:
    called: list[str] = []

    @tool
    async def send(to: str) -> None:
        called.append(to)

    both = [call("send", to="ann"), call("return", city="Oslo", degrees=3)]
    agent = Agent("reporter", prompt="", model=ScriptedModel([both]), tools=[send], output=Report)
    result = await agent.run("?")
    assert [message.text for message in results(result)] == ["not called: return ended the run", "accepted"]
    assert called == []


async def test_fail_ends_the_run_with_the_models_reason() -> None:
    with pytest.raises(AgentGaveUp, match="agent 'reporter' has given up: there is no such city") as caught:
        await reporter(call("fail", reason="there is no such city")).run("?")
    assert caught.value.reason == "there is no such city"


async def test_a_fail_without_a_reason_goes_back_to_the_model() -> None:
    result = await reporter(call("fail"), call("return", city="Oslo", degrees=3)).run("?")
    first, _ = results(result)
    assert "the arguments do not fit" in first.text


async def test_a_failure_is_committed_and_not_asked_for_again() -> None:
    agent = reporter(call("fail", reason="no"))
    loop = agent.as_workflow()
    async with MemoryStore() as store, Runner(store, workflows=[loop]) as runner:
        run = await runner.start(loop, loop.accept("?"), run_id="r")
        with pytest.raises(RunFailed, match="has given up: no"):
            await run.result()
        again = await runner.resume("r")
        with pytest.raises(RunFailed, match="has given up: no"):  # the script has one answer
            await again.result()


async def test_on_the_last_turn_only_the_ends_are_left() -> None:
    model = ScriptedModel([call("look", city="Oslo"), call("return", city="Oslo", degrees=3)])
    agent = Agent("reporter", prompt="", model=model, tools=[look], output=Report, budget=Budget(turns=2))
    await agent.run("?")
    assert [schema.name for schema in model.requests[1].tools] == ["return", "fail"]


async def test_without_an_output_there_are_no_such_tools() -> None:
    model = ScriptedModel([call("fail", reason="x"), "done"])
    result = await Agent("talker", prompt="", model=model, tools=[look]).run("?")
    assert [schema.name for schema in model.requests[0].tools] == ["look"]
    assert [message.text for message in results(result)] == ["there is no tool 'fail'; there are: look"]
