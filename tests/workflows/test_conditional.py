from enum import StrEnum
from typing import Literal

import pytest
from tests.workflows._words import NOTHING, Counted, Recorder, nothing

from stagepost.hub import InvalidName
from stagepost.workflows import Chain, Conditional, ConditionalError, DefinitionError, RouteTaken, State, StepContext


class Urgency(StrEnum):
    HIGH = "high"


def triage(counted: Counted, *, default: bool = False) -> Conditional:
    return Conditional(
        "triage",
        lambda_route,
        {"high": counted.adds("page"), "low": Chain("later", [counted.adds("file")])},
        default=counted.adds("other") if default else None,
    )


def lambda_route(state: State) -> object:
    return Urgency.HIGH if state["urgency"] == "enum" else state["urgency"]


@pytest.mark.parametrize(("urgency", "path"), [("high", "page"), ("low", "file"), ("enum", "page")])
async def test_one_way_is_taken(urgency: str, path: str) -> None:
    counted, recorder = Counted(), Recorder()
    result = await triage(counted).run({"urgency": urgency}, observer=recorder)
    assert (result["path"], counted.calls) == ([path], [path])
    assert [(taken.path, taken.route) for taken in recorder.of(RouteTaken)] == [
        ("triage", "low" if urgency == "low" else "high")
    ]


@pytest.mark.parametrize("answer", ["unknown", None, 7, ["high"]], ids=repr)
async def test_other_answers_take_the_default(answer: object) -> None:
    recorder = Recorder()
    result = await triage(Counted(), default=True).run({"urgency": answer}, observer=recorder)
    assert result["path"] == ["other"]
    assert [taken.route for taken in recorder.of(RouteTaken)] == ["default"]


@pytest.mark.parametrize("answer", ["unknown", None, 7], ids=repr)
async def test_other_answers_without_a_default_are_an_error(answer: object) -> None:
    with pytest.raises(ConditionalError) as caught:
        await triage(Counted()).run({"urgency": answer})
    error = caught.value
    assert str(error) == (
        "conditional 'triage' failed at its route: "
        f"LookupError: its route function returned {answer!r}, and its routes are high, low"
        f"{'' if isinstance(answer, str) else ': it has to return the name of one'}"
    )
    assert (error.route, dict(error.state)) == (None, {"urgency": answer})


async def test_a_route_function_may_be_async_and_know_its_context() -> None:
    async def route(state: State, context: StepContext) -> str:
        return context.path.replace("/", "-")

    work = Chain("work", [Conditional("choice", route, {"choice": Counted().adds("found")})])
    assert (await work.run())["path"] == ["found"]


async def test_a_route_function_that_raises_is_an_error_of_the_conditional() -> None:
    with pytest.raises(ConditionalError, match="failed at its route: MissingKey: the state has no key 'urgency'"):
        await triage(Counted()).run()


async def test_a_failure_behind_the_route_names_it() -> None:
    with pytest.raises(ConditionalError) as caught:
        await Conditional("choice", lambda_route, {"high": Counted().fails("page")}).run({"urgency": "high"})
    assert caught.value.route == "high"
    assert str(caught.value) == "conditional 'choice' failed on route 'high': ValueError: page is broken"


def test_a_conditional_has_routes() -> None:
    with pytest.raises(DefinitionError, match="conditional 'choice': it has no routes"):
        Conditional("choice", lambda_route, {})
    assert Conditional("choice", lambda_route, {}, default=nothing).children


def test_default_is_given_once() -> None:
    with pytest.raises(DefinitionError, match="a route 'default' stands beside default=: keep one"):
        Conditional("choice", lambda_route, {"default": nothing}, default=nothing)


def test_names_of_routes_follow_the_one_rule() -> None:
    with pytest.raises(InvalidName, match="route name"):
        Conditional("choice", lambda_route, {"a b": NOTHING})


def literal(state: State) -> Literal["a", "b", "c"]:
    return "c"


def test_a_literal_annotation_is_checked_against_the_routes() -> None:
    with pytest.raises(DefinitionError, match="it may return b, c, and there is no such route: add it, or default="):
        Conditional("choice", literal, {"a": NOTHING})
    Conditional("choice", literal, {"a": NOTHING}, default=NOTHING)
    Conditional("choice", literal, {"a": NOTHING, "b": NOTHING, "c": NOTHING, "d": NOTHING})
