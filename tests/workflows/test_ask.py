from collections.abc import Mapping
from typing import Any

import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.workflows._words import PATIENCE

from stagepost.hub import AgentNotFound, Context, Emitter, Hub, Message, RequestTimeout, UnexpectedReply
from stagepost.workflows import Ask, Chain, ChainError, DefinitionError, HubRequired, Parallel, State, StepContext, step
from stagepost.workflows._execution._execution import Execution


class Question(BaseModel):
    text: str


class Answer(BaseModel):
    text: str
    length: int = 0


async def answer(question: Question) -> Answer:
    return Answer(text=question.text.upper(), length=len(question.text))


def ask(state: State) -> Question:
    return Question(text=state["topic"])


async def test_the_answer_stands_in_the_state_as_its_type() -> None:
    seen: list[object] = []
    work = Chain("work", [Ask("oracle", ask, expect=Answer), step("look", lambda s: seen.append(s["oracle"]))])
    with fail_after(PATIENCE):
        async with Hub() as hub:
            hub.register("oracle", answer)
            result = await work.run({"topic": "tides"}, hub=hub)
    assert result["oracle"] == Answer(text="TIDES", length=5) == seen[0]


async def test_name_and_key_can_be_chosen() -> None:
    async def build(state: State, context: StepContext) -> Question:
        return Question(text=context.path)

    work = Chain("work", [Ask("oracle", build, expect=Answer, name="first", into="heard")])
    with fail_after(PATIENCE):
        async with Hub() as hub:
            hub.register("oracle", answer)
            assert (await work.run(hub=hub))["heard"].text == "FIRST"


async def test_a_request_carries_the_key_of_its_step() -> None:
    async def note(message: Message[Question], context: Context) -> str:
        return message.headers["idempotency-key"]

    async def key(value: object, context: StepContext) -> Mapping[str, object]:
        return {"run": context.run_id}

    work = Chain("work", [key, Ask("oracle", lambda _: Question(text=""), expect=str)])
    with fail_after(PATIENCE):
        async with Hub() as hub:
            hub.register("oracle", note)
            result = await work.run(hub=hub)
    assert result["oracle"] == f"{result['run']}/oracle"


async def test_a_worker_may_ask() -> None:
    def build(item: str) -> Question:
        return Question(text=item)

    work = Chain("work", [Parallel("heard", Ask("oracle", build, expect=Answer), over="topics")])
    with fail_after(PATIENCE):
        async with Hub() as hub:
            hub.register("oracle", answer, concurrency=None)
            result = await work.run({"topics": ["a", "bc"]}, hub=hub)
    assert result["heard"] == [Answer(text="A", length=1), Answer(text="BC", length=2)]


@pytest.mark.parametrize(
    ("expect", "cause"),
    [(int, UnexpectedReply), (list[int], ValueError)],
    ids=["class", "type"],
)
async def test_another_answer_fails_the_step(expect: Any, cause: type[Exception]) -> None:
    with fail_after(PATIENCE):
        async with Hub() as hub:
            hub.register("oracle", answer)
            with pytest.raises(ChainError) as caught:
                await Chain("work", [Ask("oracle", ask, expect=expect)]).run({"topic": "x"}, hub=hub)
    assert isinstance(caught.value.__cause__, cause)


async def test_an_answer_may_be_of_a_type_that_is_no_class() -> None:
    async def count(question: Question) -> list[int]:
        return [len(question.text)]

    with fail_after(PATIENCE):
        async with Hub() as hub:
            hub.register("oracle", count)
            result = await Chain("work", [Ask("oracle", ask, expect=list[int] | None)]).run({"topic": "x"}, hub=hub)
    assert result["oracle"] == [1]


async def test_the_timeout_is_that_of_the_request() -> None:
    async with Hub(grace=0) as hub:
        hub.register("oracle", answer)
        with pytest.raises(ChainError) as caught:
            await Chain("work", [Ask("oracle", ask, timeout=0)]).run({"topic": "x"}, hub=hub)
    assert isinstance(caught.value.__cause__, RequestTimeout)


async def test_an_agent_that_is_not_there_fails_the_step() -> None:
    async with Hub() as hub:
        with pytest.raises(ChainError) as caught:
            await Chain("work", [Ask("oracle", ask)]).run({"topic": "x"}, hub=hub)
    assert isinstance(caught.value.__cause__, AgentNotFound)


@pytest.mark.parametrize(
    "work",
    [
        Chain("work", [Ask("oracle", ask)]),
        Chain("work", [Parallel("p", Ask("oracle", ask), over="n")]),
        Chain("work", [Parallel("p", Chain("w", [Ask("oracle", ask)]), over="n")]),
    ],
    ids=["chain", "worker", "pattern as worker"],
)
async def test_without_a_hub_nothing_starts(work: Chain) -> None:
    with pytest.raises(HubRequired, match=r"workflow 'work': a step asks agent 'oracle', so it needs a hub") as caught:
        await work.run({"topic": "x"})
    assert caught.value.agent == "oracle"


async def test_the_step_itself_notices_a_missing_hub() -> None:
    context = StepContext(Execution("run", "work", Emitter(None)), "oracle", 0)
    with pytest.raises(DefinitionError, match="it asks agent 'oracle', and there is no hub"):
        await Ask("oracle", ask).call(State({}, {}), context)
