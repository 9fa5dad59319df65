"""A process dies in a run that is handed over while its agents have summaries written: the next one asks the same."""

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from anyio import fail_after
from tests.agents.test_crash import MortalStore

from stagepost.agents import (
    Agent,
    ChatMessage,
    ContextPolicy,
    FunctionModel,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Summarize,
    Tasks,
    Usage,
    call,
    handoff,
    tool,
)
from stagepost.checkpoint import CheckpointError
from stagepost.workflows import Runner, RunnerStopped

TURNS: list[Any] = [
    *[call("look", number=number) for number in range(3)],
    call("transfer_to_refunds"),
    *[[call("look", number=number), call("look", number=-number)] for number in range(4, 7)],
    call("transfer_to_triage"),
    *[call("look", number=number) for number in range(8, 11)],
    "Done.",
]
POLICY = ContextPolicy(messages=6, compact=[Summarize(keep_turns=1)])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@tool(idempotent=True)
def look(number: int) -> str:
    "Look."
    return f"layer {number}"


class Asked:
    """A hook that answers by the number of the turn, and notes what was asked."""

    inherited = True

    def __init__(self) -> None:
        self.asked: dict[tuple[int, bool], list[str]] = {}
        self.summaries = 0

    async def model_call(self, request: ModelRequest, context: ModelContext, _go_on: Any) -> ModelResponse:
        texts = [f"{message.role} {message.text}" for message in request.messages]
        known = self.asked.setdefault((context.turn, context.is_summary), texts)
        assert known == texts, "another process has asked something else"
        usage = Usage(input_tokens=1, output_tokens=1)
        if context.is_summary:
            self.summaries += 1
            return ModelResponse(f"summary {context.turn}", usage=usage)
        said = TURNS[context.turn - 1]
        if isinstance(said, str):
            return ModelResponse(said, usage=usage)
        calls = [
            made.model_copy(update={"id": f"c{context.turn}-{index}"})
            for index, made in enumerate(said if isinstance(said, list) else [said])
        ]
        return ModelResponse(calls=calls, usage=usage)


def last_of(said: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    return said[-5:]


def desk(asked: Asked, filtering: Any) -> Agent[str]:
    model = FunctionModel(lambda _: "nobody is asked")
    refunds = Agent("refunds", "R.", model=model, tools=[look, handoff("triage")], context=POLICY)
    over = handoff(refunds, filter=filtering)
    return Agent("triage", "T.", model=model, tools=[look, over], context=POLICY, hooks=[asked])


async def served(store: MortalStore, agent: Agent[str]) -> Any:
    async with store, Runner(store, workflows=[agent], grace=0) as runner:
        await runner.recover()
        await (await Tasks(runner).start(agent, "My money back!", task_id="t")).result()
        return await Tasks(runner).get("t")


@pytest.mark.parametrize("instant", ["before", "behind"])
@pytest.mark.parametrize("filtering", [None, last_of], ids=["whole", "filtered"])
async def test_wherever_a_process_dies_the_agents_see_the_same(
    filtering: Any, instant: Literal["before", "behind"]
) -> None:
    with fail_after(60):
        whole, asked = MortalStore(), Asked()
        expected = await served(whole, desk(asked, filtering))
        assert (expected.output, expected.agent) == ("Done.", "triage")
        assert asked.summaries >= 3
        for last in range(1, whole.commits):
            store, again = MortalStore(), Asked()
            again.asked = asked.asked
            store.last, store.instant = last, instant
            with pytest.raises((CheckpointError, RunnerStopped)):
                await served(store, desk(again, filtering))
            store.last = None
            task = await served(store, desk(again, filtering))
            assert (task.messages, task.usage) == (expected.messages, expected.usage)
