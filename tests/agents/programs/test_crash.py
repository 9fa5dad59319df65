"""The laws of recovery for programs, at every commit: the process dies before it or right after it."""

from typing import Any

import pytest
from anyio import fail_after
from tests.agents.test_crash import Instant, MortalStore

from stagepost.agents import Agent, ModelRequest, ModelResponse, ScriptedModel, UserMessage, tool
from stagepost.checkpoint import CheckpointError, MemoryStore
from stagepost.programs import PtcLisp
from stagepost.workflows import Runner, RunnerStopped

PROGRAM = """
(def kept (:n (tool/look {:n 1})))
(tool/send {:to "ann"})
(def sent (pmap (fn [to] (tool/send {:to (str to (:n (tool/look {:n 2})))})) ["bob" "eve"]))
(println "done" kept sent)
"""
RETURN = "(return {:kept kept :sent sent})"
FAILED = "(return {:kept nil :sent nil})"
# answer, program, look, program, send, program, and so on: each is a commit, some calls begin by one of their own
COMMITS = 20


class World:
    """What outlives a process: its effects, and how often the model was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.looked: list[int] = []
        self.sent: list[str] = []

    def agent(self) -> Agent[Any]:
        """The agent as a new process would build it."""

        @tool(idempotent=True)
        async def look(n: int) -> dict[str, int]:
            self.looked.append(n)
            return {"n": n}

        @tool
        async def send(to: str) -> str:
            self.sent.append(to)
            return f"sent to {to}"

        world, script = self, ScriptedModel([PROGRAM, RETURN])

        class Asked:
            async def answer(self, request: ModelRequest) -> ModelResponse:
                world.asked.append(request.answers)
                if request.answers and "interrupted" in request.messages[-1].text:
                    return ModelResponse(FAILED)
                return await script.answer(request)

        return Agent("mailer", "", model=Asked(), tools=[look, send], output=dict[str, Any], programs=PtcLisp())


async def live(store: MemoryStore, agent: Agent[Any]) -> tuple[dict[str, Any], str] | None:
    """One process: starts the run or goes on with it. None if it died."""
    loop = agent.as_workflow()
    async with store, Runner(store, workflows=[loop], grace=0) as runner:
        report = await runner.recover()
        try:
            run = report.resumed[0] if report.resumed else await runner.start(loop, loop.accept("go"), run_id="r")
            state = await run.result()
        except (CheckpointError, RunnerStopped):
            return None
        told = [message.text for message in state["messages"] if isinstance(message, UserMessage)]
        return state["output"], told[-1]


async def test_an_uninterrupted_run_takes_so_many_commits() -> None:
    store, world = MortalStore(), World()
    with fail_after(5):
        end = await live(store, world.agent())
    assert end == ({"kept": 1, "sent": ["sent to bob2", "sent to eve2"]}, end[1] if end else "")
    assert store.commits == COMMITS
    assert (world.asked, sorted(world.sent)) == ([0, 1], ["ann", "bob2", "eve2"])


@pytest.mark.in_turns
@pytest.mark.parametrize("instant", ["before", "behind"])
@pytest.mark.parametrize("last", range(COMMITS))
async def test_wherever_a_process_dies_the_next_one_ends_as_it_could_have(last: int, instant: Instant) -> None:
    store, world = MortalStore(), World()
    store.last, store.instant = last, instant
    with fail_after(5):
        assert await live(store, world.agent()) is None
        store.last = None
        end = await live(store, world.agent())
    assert end is not None
    output, told = end
    assert len(world.sent) == len(set(world.sent)), "an effect was made twice"
    assert world.looked.count(1) <= 2
    assert world.looked.count(2) <= 4, "calls that were committed were made again"
    assert len(world.asked) <= 3, "an answer that was committed was asked for again"
    if output["kept"] is None:
        assert "Tool 'send' failed: interrupted, outcome unknown" in told
        assert set(world.sent) <= {"ann", "bob2", "eve2"}
    else:
        assert output == {"kept": 1, "sent": ["sent to bob2", "sent to eve2"]}
        assert sorted(world.sent) == ["ann", "bob2", "eve2"]
        assert told.startswith('done 1 ["sent to bob2" "sent to eve2"]')
