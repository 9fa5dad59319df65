"""Conversations between agents: addresses that are wrong, time that passes, runs that go on, and who hears what."""

from typing import Any

import pytest
from pydantic_core import from_json
from tests.agents._ways import Way, both_ways, in_memory, loop_of, result_of, started, working
from tests.agents._weather import REPORT, Report, results
from tests.agents.test_messaging import lead

from stagepost.agents import (
    Agent,
    Allow,
    Approvals,
    FunctionModel,
    ModelRequest,
    ScriptedModel,
    ScriptEntry,
    ToolCall,
    call,
    tool,
)
from stagepost.checkpoint import MemoryStore
from stagepost.hub import Event
from stagepost.workflows import PendingWait, Runner


def first(message: str = "one", agent: str = "echo") -> ToolCall:
    return call("message_agent", agent_name=agent, message=message)


def then(message: str, conversation: str = "echo-0-0", **more: object) -> ToolCall:
    return call("message_agent", conversation_id=conversation, message=message, **more)


def responses(messages: Any) -> list[object]:
    return [from_json(each.text)["response"] for each in results(messages)]


@both_ways
@pytest.mark.parametrize(
    ("script", "why"),
    [
        pytest.param([first(agent="nobody")], "agent_name: Input should be 'echo'", id="unknown agent"),
        pytest.param([then("hi")], "there is no conversation 'echo-0-0'; there are: none", id="unknown conversation"),
        pytest.param([first(), then("hi", "echo-9-9")], "'echo-9-9'; there are: echo-0-0", id="another conversation"),
        pytest.param([first(), then("bye", end=True), then("hi")], "'echo-0-0' has ended: start another", id="ended"),
        pytest.param([first(), [then("bye", end=True), then("hi")]], "has ended", id="ended in the same answer"),
        pytest.param([call("message_agent", message="hi")], "give either agent_name", id="no address"),
    ],
)
async def test_message_that_reaches_nobody_is_told_and_the_next_one_arrives(
    way: Way, script: list[ScriptEntry], why: str
) -> None:
    result = await way(lead(*script, first("again"), "done"))
    *_, refused, right = results(result)
    assert (refused.is_error, why in refused.text) == (True, True), refused.text
    assert from_json(right.text)["response"] == "again"
    assert result.output == "done"


@both_ways
@pytest.mark.parametrize(
    ("script", "answer"),
    [
        pytest.param([call("return", city="Oslo", degrees=3)], {"city": "Oslo", "degrees": 3}, id="typed output"),
        pytest.param(["?", REPORT], {"city": "Oslo", "degrees": 3}, id="typed output, corrected"),
        pytest.param([call("fail", reason="no map")], "no map", id="gives up"),
        pytest.param([OSError("no net")], "no net", id="fails"),
    ],
)
async def test_answer_of_an_agent_below_is_what_it_gives_or_why_it_gives_none(
    way: Way, script: list[ScriptEntry], answer: object
) -> None:
    weather = Agent("weather", prompt="", model=ScriptedModel(script), output=Report)
    result = await way(lead(first(agent="weather"), "done", sub_agents=[weather]))
    ((conversation,), (said,)) = result.conversations, results(result)
    (exchange,) = conversation.exchanges
    assert (exchange.is_error, conversation.is_complete, said.is_error) == (isinstance(answer, str),) * 3
    assert exchange.response == answer or (isinstance(answer, str) and answer in str(exchange.response))


async def wait_for(runner: Runner, message: str) -> PendingWait:
    """The wait for a message to be allowed."""
    while True:
        for wait in await runner.waits("r"):
            if wait.shown["arguments"]["message"] == message:
                return wait


@pytest.mark.parametrize(
    ("seconds", "arrives"), [pytest.param(300, True, id="five minutes"), pytest.param(301, False, id="a second more")]
)
async def test_conversation_in_which_nobody_has_spoken_for_five_minutes_has_ended(
    seconds: int, *, arrives: bool
) -> None:
    now = [1_000_000.0]

    @tool
    async def rest() -> None:
        now[0] += seconds

    agent = lead(first(), call("rest"), then("two"), then("three"), "done", tools=[rest])
    async with working(agent, clock=now) as runner:
        result = await result_of(await started(runner, agent), agent)
    _, _, late, later = results(result)
    if arrives:
        assert [from_json(each.text)["response"] for each in (late, later)] == ["one / two", "one / two / three"]
    else:
        assert "has ended: nobody has written for more than 5 minutes" in late.text
        assert "has ended: start another one" in later.text
    assert result.conversations[0].is_complete is not arrives


async def test_message_that_a_person_allows_later_was_written_in_time() -> None:
    now = [1_000_000.0]
    agent = lead(first(), then("two"), "done", approvals=Approvals(["message_agent"]))
    async with working(agent, clock=now) as runner:
        run = await started(runner, agent)
        for message in ("one", "two"):
            wait = await wait_for(runner, message)
            now[0] += 3600
            await runner.answer(wait.id, Allow())
        result = await result_of(run, agent)
    assert responses(result) == ["one", "one / two"]


async def test_conversation_goes_on_in_another_process_and_in_the_run_that_follows() -> None:
    script = (first(), OSError("down"), then("two"), "done", then("three"), "done again")
    async with MemoryStore() as store:
        broken = lead(*script)
        async with working(broken, store=store) as runner:
            run = await started(runner, broken)
            with pytest.raises(Exception, match="down"):
                await run.result()
        agent = lead(*(each for each in script if not isinstance(each, OSError)))
        async with working(agent, store=store) as runner:
            before = await (await runner.resume("r")).result()
            follower = await runner.start(loop_of(agent), loop_of(agent).go_on(before, "more"), run_id="s")
            result = await result_of(follower, agent)
    assert responses(result) == ["one", "one / two", "one / two / three"]
    (conversation,) = result.conversations
    assert [each.message for each in conversation.exchanges] == ["one", "two", "three"]


async def test_in_memory_a_conversation_of_an_earlier_run_is_said_to_have_ended() -> None:
    agent = lead(first(), "done", then("two"), "done again")
    before = await in_memory(agent)
    result = await agent.run("more", after=before)
    assert "has ended" in results(result)[-1].text
    assert result.output == "done again"


class Recorder:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> None:
        self.events.append(event)


async def test_two_conversations_with_one_agent_at_once_never_mix_what_they_hear_nor_their_events() -> None:
    heard: dict[str, set[str]] = {}

    @tool(idempotent=True)
    async def note(word: str) -> str:
        return f"noted {word}"

    def answer(request: ModelRequest) -> Any:
        name = request.messages[1].text
        heard.setdefault(name, set()).update(message.text for message in request.messages[1:])
        return "noted" if request.messages[-1].role == "tool" else call("note", word=name)

    noting = Agent("noting", prompt="", model=FunctionModel(answer), tools=[note])
    names = ["a", "b", "c"]
    agent = lead([first(each, "noting") for each in names], "done", sub_agents=[noting])
    seen = Recorder()
    async with working(agent, observer=seen) as runner:
        await (await started(runner, agent)).result()
    assert heard == {name: {name, "", f"noted {name}"} for name in names}
    runs = {event.run_id for event in seen.events if hasattr(event, "run_id")}
    assert runs == {"r", *(f"r.noting-0-{index}-0" for index in range(3))}
    told = [
        sorted(type(event).__name__ for event in seen.events if getattr(event, "run_id", "") == run) for run in runs
    ]
    below = [kinds for run, kinds in zip(runs, told, strict=True) if run != "r"]
    assert below[0] == below[1] == below[2]
    assert below[0].count("RunStarted") == below[0].count("RunEnded") == 1
