"""What a provider is told: content only if asked for, secrets never."""

import json
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.agents.tracing._noting import Noting, tree

from stagepost.agents import (
    Agent,
    AgentFailed,
    Image,
    ModelRequest,
    ModelResponse,
    ProviderContent,
    ScriptedModel,
    ToolContext,
    Tracing,
    call,
    tool,
)
from stagepost.workflows import Chain, PatternError, StepContext, step

KEY = "sk-0123456789abcdef"


@tool(idempotent=True)
async def look(city: str) -> str:
    "Look at a city."
    return f"all is well in {city}"


@tool
async def leak(text: str, context: ToolContext) -> str:
    "Say a secret."
    raise ValueError(f"cannot open {context.secrets['key']}")


def said(noting: Noting) -> str:
    return json.dumps(noting.told)


def agent(*script: Any, **more: Any) -> Agent[str]:
    return Agent("lead", "Be brief.", model=ScriptedModel(script), tools=[look, leak], **more)


async def test_without_content_nothing_of_what_was_said_is_told() -> None:
    noting = Noting()
    await agent(call("look", city="Atlantis"), call("leak", text="Neptune"), "It is sunk.").run(
        "Where is Poseidon?", tracing=noting, secrets={"key": KEY}
    )
    for word in ("Atlantis", "all is well", "Neptune", "sunk", "Poseidon", "brief", "cannot open", KEY):
        assert word not in said(noting)
    assert "ToolError" in said(noting)


async def test_with_content_all_of_it_is_told_and_secrets_are_masked() -> None:
    noting = Noting()
    tracing = Tracing(noting, content=True)
    await agent(call("look", city="Atlantis"), call("leak", text="x"), f"The key is {KEY}.").run(
        "Where is Poseidon?", tracing=tracing, secrets={"key": KEY}
    )
    for word in ("Atlantis", "all is well", "Poseidon", "brief", "cannot open ***", "The key is ***."):
        assert word in said(noting)
    assert KEY not in said(noting)
    calls = [each for each in noting.told if each.name == "tool-look"]
    assert calls[0].more[2] == {"city": "Atlantis"}
    first, *_ = [each for each in noting.told if each.name == "inference-lead"]
    assert [each["role"] for each in first.more[2]] == ["system", "user"]


@pytest.mark.parametrize("content", [False, True])
async def test_a_secret_in_a_name_is_masked(content: bool) -> None:  # noqa: FBT001  # a table
    noting = Noting()
    await agent(call(KEY, city="x"), "done").run("go", tracing=Tracing(noting, content=content), secrets={"key": KEY})
    assert KEY not in said(noting)
    assert "tool-***" in said(noting)


@pytest.mark.parametrize("content", [False, True])
async def test_texts_of_errors_are_content(content: bool) -> None:  # noqa: FBT001  # a table
    class Down:
        async def answer(self, _request: ModelRequest) -> ModelResponse:
            raise ConnectionError(f"{KEY} was refused by Poseidon")

    noting = Noting()
    with pytest.raises(AgentFailed):
        await Agent("lead", "Lead.", model=Down()).run(
            "go", tracing=Tracing(noting, content=content), secrets={"key": KEY}
        )
    assert "ConnectionError" in said(noting) or content
    assert ("Poseidon" in said(noting)) == content
    assert KEY not in said(noting)


async def test_an_error_of_a_step_is_told_by_its_kind() -> None:
    def breaks(_state: object) -> None:
        raise KeyError("Poseidon")

    noting = Noting()
    with pytest.raises(PatternError):
        await Chain("flow", [step("breaks", breaks)]).run({}, tracing=noting)
    assert {each.more for each in noting.told if each.what == "error"} == {"KeyError"}
    assert tree(noting.told)[2:] == ["    step-breaks error"]


async def test_bytes_and_what_belongs_to_the_provider_are_only_named() -> None:
    noting = Noting()
    picture = Image(data=b"\x89PNG" * 1000, media_type="image/png", name="map.png")
    answer = ModelResponse("A map.", provider=(ProviderContent(provider="p", model="m", data=({"signature": "zzz"},)),))
    model = ScriptedModel([answer])
    await Agent("lead", "Look.", model=model).run(["What is it?", picture], tracing=Tracing(noting, content=True))
    assert "map.png" in said(noting)
    assert "iVBOR" not in said(noting)
    assert "zzz" not in said(noting)
    assert len(said(noting)) < 5_000


async def test_what_the_model_writes_as_arguments_is_told_even_if_it_is_no_json() -> None:
    noting = Noting()
    broken = ModelResponse(calls=[call("look", city="x").model_copy(update={"arguments": "{city: x"})])
    await agent(broken, "done").run("go", tracing=Tracing(noting, content=True))
    (began,) = [each for each in noting.told if each.name == "tool-look"]
    assert began.more[2] == "{city: x"


async def test_to_debug_the_state_before_each_turn_is_told() -> None:
    noting = Noting()
    await agent(call("look", city="Atlantis"), f"done {KEY}").run(
        "go", tracing=Tracing(noting, content=True, debug=True), secrets={"key": KEY}
    )
    states = [each.more["state"] for each in noting.told if each.name == "state"]
    assert [len(state["messages"]) for state in states] == [1, 3]
    assert KEY not in said(noting)


class Odd(BaseModel):
    text: str


async def test_texts_are_told_as_something_that_can_be_sent() -> None:
    @tool
    async def cut() -> str:
        return "half a \ud800"

    noting = Noting()
    model = ScriptedModel([call("cut"), "and \udc00"])
    await Agent("lead", "", model=model, tools=[cut]).run("go", tracing=Tracing(noting, content=True))
    json.dumps(noting.told, ensure_ascii=False).encode()
    assert "half a ?" in said(noting)
    assert "and ?" in said(noting)


async def test_a_value_without_a_json_form_harms_nothing() -> None:
    from stagepost.agents._tracing._pump import Pump, TracingStatistics
    from stagepost.agents._tracing._telling import Telling
    from stagepost.workflows import Mask, TracedRun

    class Worse:
        def __repr__(self) -> str:
            raise ValueError

    noting = Noting()
    run = TracedRun(run_id="r", workflow="w", trace="r", clock=lambda: 1.0, mask=Mask, created_at=0, saved_at=0)
    pump = Pump(noting, TracingStatistics(), most=10, patience=5)
    telling = Telling(noting, pump, run, content=True)
    cyclic: list[object] = []
    cyclic.append(cyclic)
    context = noting.create_context()
    for value in (Worse(), cyclic, {1, 2}, Odd(text="x"), anyio):
        telling.end(context, "ok", output_data=value)
    pump.close()
    await pump.run()
    told = [each.more for each in noting.told]
    assert told[0] == "<Worse>"
    assert "has no JSON form" in str(told[1])
    assert told[3] == {"text": "x"}
    assert told[4] == "<module>"


async def test_a_step_sees_what_traces_its_run() -> None:
    seen: list[object] = []

    async def look_around(_state: object, context: StepContext) -> None:
        seen.append(context.tracing)

    flow = Chain("flow", [step("look", look_around)])
    await flow.run({})
    await flow.run({}, tracing=Noting())
    assert [each is None for each in seen] == [True, False]
