"""The laws of recovery for a team, at every commit: the process dies before it or right behind it."""

from collections import Counter
from typing import Any

import pytest
from anyio import fail_after
from pydantic_core import from_json
from tests.agents._ways import loop_of
from tests.agents._weather import results
from tests.agents.test_crash import Instant, MortalStore

from stagepost.agents import (
    Agent,
    AgentTool,
    Allow,
    AssistantMessage,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    call,
    tool,
)
from stagepost.checkpoint import CheckpointError, RunStatus
from stagepost.workflows import Runner, RunnerStopped

ASK = [
    call("message_agent", agent_name="writer", message="Write to Ann."),
    call("message_agent", agent_name="scout", message="How is Oslo?"),
    call("helper", request="Help!"),
]
AGAIN = [call("message_agent", conversation_id="scout-0-1", message=text) for text in ("And Rome?", "And Bonn?")]
SCRIPTS: dict[str, list[ScriptEntry]] = {
    "lead": [ASK, AGAIN, "done"],
    "writer": [[call("look"), call("mail", to="ann")], "written"],
    "scout": [call("walk", city="Oslo"), "Oslo, fine", "Rome, fine", call("walk", city="Bonn"), "Bonn, fine"],
    "helper": ["helped"],
}
ANSWERS = {f"{name} {turn}" for name, script in SCRIPTS.items() for turn in range(len(script))}
COMMITS = 25


class Workshop:
    """What outlives a process: its effects, and what its models were asked for."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.done: Counter[str] = Counter()

    def model(self, name: str) -> Any:
        script, asked = ScriptedModel(SCRIPTS[name]), self.asked

        class Asked:
            async def answer(self, request: ModelRequest) -> ModelResponse:
                asked[f"{name} {sum(isinstance(said, AssistantMessage) for said in request.messages)}"] += 1
                return await script.answer(request)

        return Asked()

    def lead(self) -> Agent[str]:
        """The agents as a new process would build them."""

        @tool(idempotent=True)
        async def look() -> str:
            self.done["look"] += 1
            return "seen"

        @tool
        async def walk(city: str) -> str:
            self.done[f"walk {city}"] += 1
            return f"walked to {city}"

        @tool(needs_approval=True)
        async def mail(to: str) -> str:
            self.done[f"mail {to}"] += 1
            return f"sent to {to}"

        writer = Agent("writer", prompt="", model=self.model("writer"), tools=[look, mail])
        scout = Agent("scout", prompt="", model=self.model("scout"), tools=[walk])
        helper = AgentTool(Agent("helper", prompt="", model=self.model("helper")))
        return Agent("lead", prompt="", model=self.model("lead"), sub_agents=[writer, scout], tools=[helper])


async def live(store: MortalStore, lead: Agent[str]) -> Any:
    """One process: starts the run or goes on with it, and allows what it asks for. None if it died."""
    loop = loop_of(lead)
    async with store, Runner(store, workflows=[loop], grace=0) as runner:
        try:
            await runner.recover()
            run = await runner.start(loop, loop.accept("go"), run_id="r")
            while await run.settled() is RunStatus.WAITING:
                for wait in await runner.waits("r"):
                    await runner.answer(wait.id, Allow())
            return loop.result(await run.result())
        except (CheckpointError, RunnerStopped):
            return None


async def test_an_uninterrupted_run_of_a_team_takes_so_many_commits() -> None:
    store, workshop = MortalStore(), Workshop()
    with fail_after(5):
        result = await live(store, workshop.lead())
    assert result.output == "done"
    assert workshop.asked == dict.fromkeys(ANSWERS, 1)
    assert workshop.done == {"look": 1, "mail ann": 1, "walk Oslo": 1, "walk Bonn": 1}
    assert store.commits == COMMITS


@pytest.mark.in_turns
@pytest.mark.parametrize("instant", ["before", "behind"])
@pytest.mark.parametrize("last", range(COMMITS))
async def test_p7_wherever_the_process_of_a_team_dies_the_next_one_ends_as_it_could_have(
    last: int, instant: Instant
) -> None:
    store, workshop = MortalStore(), Workshop()
    store.last, store.instant = last, instant
    with fail_after(5):
        assert await live(store, workshop.lead()) is None
        store.last = None
        result = await live(store, workshop.lead())
    assert result.output == "done"
    assert {*workshop.asked} == ANSWERS
    assert sum(workshop.asked.values()) - len(ANSWERS) <= 3, "what was in flight at once, and no more"
    assert all(times == 1 for name, times in workshop.done.items() if name != "look")
    said = [from_json(each.text)["response"] for each in results(result) if each.tool == "message_agent"]
    assert said == ["written", "Oslo, fine", "Rome, fine", "Bonn, fine"]
    assert result.usage.tokens == 0
    assert sum(each["turns"] for each in result.state["nested"].values()) + result.turns == len(ANSWERS)
