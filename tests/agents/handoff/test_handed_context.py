"""What an agent sees of a run that was handed over to it, when its policy leaves a part of that out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.agents.handoff.test_handoff import TO_REFUNDS, TO_TRIAGE, Says

from stagepost.agents import (
    Agent,
    ChatMessage,
    ClearResults,
    ContextPolicy,
    ContextTooLong,
    KeepLast,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    Summarize,
    call,
    converse,
    handoff,
    tool,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@tool(idempotent=True)
async def look(number: int) -> str:
    "Look."
    return f"layer {number} " + "x" * 300


class Writes(Says):
    """Writes summaries as well."""

    async def answer(self, request: ModelRequest) -> ModelResponse:
        return await super().answer(request) if request.tools else ModelResponse("a summary")


def first_of(said: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    return said[:1]


def of_users(said: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    return [message.model_copy() for message in said if message.role == "user"]


POLICIES = {
    "messages": ContextPolicy(messages=6, compact=[KeepLast(turns=1)]),
    "tokens": ContextPolicy(limit=600, compact=[KeepLast()]),
    "summary": ContextPolicy(messages=6, compact=[Summarize(keep_turns=1)]),
}
LOOKS = [call("look", number=number) for number in range(6)]


async def talk_to(folder: Path, request: str, policy: ContextPolicy, filtering: Any, **scripts: Any) -> Any:
    """Send one message in a process of its own, and tell what the agents were asked."""
    models = {name: Writes(*script) for name, script in {"triage": (), "refunds": (), **scripts}.items()}
    back = handoff("triage")
    refunds = Agent("refunds", "R.", model=models["refunds"], tools=[look, back], context=policy)
    over = handoff(refunds, filter=filtering)
    triage = Agent("triage", "T.", model=models["triage"], tools=[look, over], context=policy)
    async with (
        SqliteStore(folder / "runs") as store,
        Runner(store, workflows=[triage]) as runner,
        converse(runner, triage, id="c") as talk,
    ):
        await talk.send(request)
    return {name: [[said.text for said in each.messages[1:]] for each in it.requests] for name, it in models.items()}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("filtering", [None, first_of, of_users], ids=["whole", "first", "users"])
async def test_the_request_of_a_later_turn_stays(tmp_path: Path, policy: ContextPolicy, filtering: Any) -> None:
    await talk_to(tmp_path, "one", policy, filtering, triage=[*LOOKS[:2], TO_REFUNDS], refunds=[*LOOKS, "Done."])
    for request in ("two", "three"):
        asked = (await talk_to(tmp_path, request, policy, filtering, refunds=[*LOOKS, "Done."]))["refunds"]
        assert len(asked) == 7
        assert all(said[0] == "one" and request in said for said in asked)
        assert any("earlier messages" in said[1] for said in asked)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("filtering", [None, of_users], ids=["whole", "users"])
async def test_the_request_stays_that_is_handed_over_and_back(
    tmp_path: Path, policy: ContextPolicy, filtering: Any
) -> None:
    await talk_to(tmp_path, "one", policy, filtering, triage=[*LOOKS, "Done."])
    scripts = {"triage": [TO_REFUNDS, *LOOKS, "Done."], "refunds": [*LOOKS, TO_TRIAGE]}
    asked = await talk_to(tmp_path, "two", policy, filtering, **scripts)
    assert [len(each) for each in asked.values()] == [8, 7]
    assert all(said[0] == "one" and "two" in said for each in asked.values() for said in each)


async def test_a_result_is_read_on_by_its_place_in_what_the_agent_sees() -> None:
    long = "y" * 900 + "the end"

    @tool(idempotent=True)
    async def long_look() -> str:
        "Look."
        return long

    model = Says(call("long_look"), call("read_result", result=4, offset=800), "Done.")
    refunds = Agent("refunds", "R.", model=model, tools=[long_look], context=ContextPolicy(result_limit=500))
    script = Says(*LOOKS[:3], TO_REFUNDS)
    triage = Agent("triage", "T.", model=script, tools=[look, handoff(refunds, filter=lambda said: said[-3:])])
    result = await triage.run("one")
    assert "read_result(result=4, offset=" in model.requests[1].messages[-1].text
    assert "the end" in model.requests[2].messages[-1].text
    assert result.messages[-4].text == long


@pytest.mark.parametrize("below", [False, True], ids=["taker", "below it"])
async def test_the_name_of_a_model_that_writes_is_that_of_the_agent_with_the_policy(below: bool) -> None:  # noqa: FBT001  # a table's column
    writer = ScriptedModel(["a summary"] * 9)
    policy = ContextPolicy(messages=4, compact=[Summarize(keep_turns=1, model="writer")])
    inner = Agent("refunds", "R.", model=Says(*LOOKS, "Done."), tools=[look])
    asks = call("message_agent", agent_name="refunds", message="Look.")
    outer = Agent("lead", "L.", model=Says(asks, "Done."), sub_agents=[inner]) if below else inner
    script = Says(call(f"transfer_to_{outer.name}"))
    triage = Agent("triage", "T.", model=script, tools=[handoff(outer)], context=policy, models={"writer": writer})
    result = await triage.run("one")
    assert (result.output, result.agent) == ("Done.", outer.name)
    assert writer.requests


class ReadsLittle(Writes):
    """Refuses prompts of more than 2,500 characters."""

    async def answer(self, request: ModelRequest) -> ModelResponse:
        if sum(len(message.text) for message in request.messages) > 2_500:
            raise ContextTooLong("m", "too long", attempt=1)
        return await super().answer(request)


@pytest.mark.parametrize(
    "compact", [KeepLast(turns=1), Summarize(keep_turns=1), ClearResults(keep=0)], ids=["last", "summary", "results"]
)
@pytest.mark.parametrize("filtering", [None, lambda said: said[:3]], ids=["whole", "filtered"])
async def test_the_other_agents_model_may_read_less(compact: Any, filtering: Any) -> None:
    @tool(idempotent=True)
    async def long_look(number: int) -> str:
        "Look."
        return f"{number}" + "y" * 900

    looks = [call("long_look", number=number) for number in range(6)]
    model = ReadsLittle(*looks[:3], "Done.", "More.")
    policy = ContextPolicy(compact=[compact])
    refunds = Agent("refunds", "R.", model=model, tools=[long_look], context=policy)
    over = handoff(refunds, filter=filtering)
    triage = Agent("triage", "T.", model=Says(*looks, TO_REFUNDS), tools=[long_look, over])
    result = await triage.run("one")
    assert result.output == "Done."
    assert (await triage.run("two", after=result)).output == "More."
    assert [model.requests[-1].messages[at].text for at in (1, -1)] == ["one", "two"]
