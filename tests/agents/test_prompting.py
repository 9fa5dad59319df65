from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any

import pytest
from pydantic import BaseModel
from tests.agents._weather import Query, Report, look

from stagepost.agents import (
    Agent,
    InvalidAgent,
    PromptContext,
    PromptFailed,
    PromptFunction,
    ScriptedModel,
    SystemMessage,
    call,
)
from stagepost.checkpoint import MemoryStore
from stagepost.hub import Hub
from stagepost.workflows import RunFailed, Runner


class Other(BaseModel):
    pass


class LongQuery(Query):
    words: int = 100


def about(context: PromptContext[Query]) -> str:
    return "{text}" if context.fields is None else f"{context.fields.city} {{city}}"


async def later(context: PromptContext[Query]) -> str:
    return f"{context.agent}: {about(context)}"


def wrapped(context: PromptContext[Any]) -> Awaitable[str]:
    return later(context)


class Speaker:
    def __call__(self, context: PromptContext[Query]) -> str:
        return about(context)

    def say(self, context: PromptContext[Query]) -> str:
        return about(context)


def toned(tone: str, context: PromptContext[Query]) -> str:
    return f"{about(context)}{tone}"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (about, "Oslo {city}"),
        (later, "w: Oslo {city}"),
        (wrapped, "w: Oslo {city}"),
        (Speaker(), "Oslo {city}"),
        (Speaker().say, "Oslo {city}"),
        (partial(toned, "!"), "Oslo {city}!"),
        (lambda context: f"{context.deps}", "pool"),
    ],
    ids=["function", "async", "returns an awaitable", "object", "method", "partial", "lambda"],
)
async def test_a_function_makes_the_prompt_as_it_stands(prompt: PromptFunction, text: str) -> None:
    model = ScriptedModel(["hi"])
    await Agent("w", prompt=prompt, model=model, input=Query).run({"city": "Oslo"}, deps="pool")
    assert model.requests[0].messages[0] == SystemMessage(text=text)


async def test_a_text_has_no_fields() -> None:
    model = ScriptedModel(["hi"])
    await Agent("w", prompt=about, model=model, input=Query).run("Oslo?")
    assert model.requests[0].messages[0] == SystemMessage(text="{text}")


async def test_each_turn_asks_for_the_prompt_anew() -> None:
    seen: list[PromptContext[BaseModel]] = []

    def counted(context: PromptContext[BaseModel]) -> str:
        seen.append(context)
        return f"turn {len(seen)}"

    model = ScriptedModel([call("look", city="Oslo"), "done"])
    await Agent("w", prompt=counted, model=model, tools=[look]).run("?")
    assert [request.messages[0].text for request in model.requests] == ["turn 1", "turn 2"]
    assert seen[0] == seen[1] == PromptContext[BaseModel]("w", seen[0].run_id, None, None, "ScriptedModel")
    assert seen[0].run_id


def failing(context: PromptContext[Any]) -> str:
    raise LookupError("no such tenant")


async def failing_later(context: PromptContext[Any]) -> str:
    return failing(context)


def numbered(context: PromptContext[Any]) -> Any:
    return 7


@pytest.mark.parametrize(
    ("prompt", "why", "cause"),
    [
        (failing, "LookupError: no such tenant", LookupError),
        (failing_later, "LookupError: no such tenant", LookupError),
        (numbered, "it returned int, not a text", None),
    ],
    ids=["raises", "raises later", "no text"],
)
async def test_a_prompt_that_fails_fails_the_run(prompt: PromptFunction, why: str, cause: type | None) -> None:
    model = ScriptedModel(["hi"])
    with pytest.raises(PromptFailed, match=f"the prompt of agent 'w' has failed: {why}") as caught:
        await Agent("w", prompt=prompt, model=model).run("?")
    assert (caught.value.agent, caught.value.why) == ("w", why)
    assert isinstance(caught.value.__cause__, cause or type(None))
    assert model.requests == ()


async def test_a_served_run_goes_on_when_its_prompt_is_well_again() -> None:
    broken = [True]

    def mended(context: PromptContext[Any]) -> str:
        return failing(context) if broken else context.run_id

    model = ScriptedModel(["hi"])
    agent = Agent("w", prompt=mended, model=model)
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub, workflows=[agent.as_workflow()]) as runner:
        run = await runner.start(agent.as_workflow(), agent.as_workflow().accept("?"), run_id="r")
        with pytest.raises(RunFailed, match="the prompt of agent 'w' has failed: LookupError"):
            await run.result()
        broken.clear()
        assert (await (await runner.resume("r")).result())["output"] == "hi"
    assert model.requests[0].messages[0].text == "r"


def nothing() -> str:
    return ""


def reports(context: PromptContext[Report]) -> str:
    return ""


def either(context: PromptContext[Query | Report]) -> str:
    return ""


def unreadable(context: "PromptContext[Nowhere]") -> str:  # type: ignore[name-defined]  # noqa: F821  # on purpose
    return ""


def bare(context: PromptContext) -> str:  # as people write
    return ""


@pytest.mark.parametrize(
    ("prompt", "fields", "why"),
    [
        (about, Query, None),
        (about, LongQuery, None),
        (either, Report, None),
        (unreadable, Query, None),
        (bare, None, None),
        (str.strip, None, None),
        (partial(toned, "!"), Query, None),
        (str, None, None),
        (reports, Query, r"reports takes PromptContext\[Report\], and the agent has input=Query"),
        (about, None, r"about takes PromptContext\[Query\], and the agent has no input"),
        (Speaker(), Report, r"Speaker takes PromptContext\[Query\], and the agent has input=Report"),
        (either, Other, r"either takes PromptContext\[Query or Report\]"),
        (cache(about), Report, r"about takes PromptContext\[Query\]"),
        (partial(toned, "!"), Report, r"takes PromptContext\[Query\]"),
        (nothing, None, r"nothing\(\) -> str takes one argument: make it \(context: PromptContext\)"),
        (toned, Query, r"toned\(tone.*takes one argument"),
    ],
    ids=[
        "the same",
        "more fields",
        "one of two",
        "unreadable",
        "without fields",
        "not annotated",
        "partial",
        "builtin",
        "another",
        "no input",
        "object",
        "none of two",
        "wrapped",
        "partial of another",
        "no parameter",
        "two parameters",
    ],
)
def test_a_function_that_does_not_fit_the_input_is_refused_where_the_agent_is_built(
    prompt: Callable[..., Any], fields: type[BaseModel] | None, why: str | None
) -> None:
    if why is None:
        assert Agent("w", prompt=prompt, input=fields).prompt is prompt
        return
    with pytest.raises(InvalidAgent, match=why):
        Agent("w", prompt=prompt, input=fields)


def test_a_prompt_is_a_text_or_a_function() -> None:
    with pytest.raises(InvalidAgent, match="prompt=7 is not a prompt: give a text, or a function"):
        Agent("w", prompt=7)  # type: ignore[call-overload]  # what is under test
