from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from stagepost.agents import InvalidTool, Retries, Tool, ToolContext, tool
from stagepost.agents._tools._arguments import InvalidArguments
from stagepost.hub import InvalidName

if TYPE_CHECKING:
    from stagepost.nowhere import Unseen  # type: ignore[import-untyped]  # for type checkers only, on purpose


class Unit(Enum):
    CELSIUS = "c"


class Place(BaseModel):
    city: str


class Opaque:
    pass


@tool(idempotent=True, timeout=timedelta(seconds=3))
async def get_weather(place: Place, days: Annotated[int, Field(ge=1)] = 1, *, units: Unit = Unit.CELSIUS) -> str:
    """Weather of a place.

    Args:
        place: Where.
        days: How far ahead.
    """
    return f"{place.city} {days} {units.value}"


def test_the_model_sees_name_docstring_types_and_defaults() -> None:
    schema = get_weather.schema
    assert (schema.name, schema.description) == ("get_weather", "Weather of a place.")
    assert schema.parameters["properties"] == {
        "place": {
            "type": "object",
            "title": "Place",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "description": "Where.",
        },
        "days": {"default": 1, "description": "How far ahead.", "minimum": 1, "type": "integer"},
        "units": {"type": "string", "title": "Unit", "enum": ["c"], "default": "c"},
    }
    assert schema.parameters["required"] == ["place"]
    assert schema.parameters["additionalProperties"] is False


def test_options_are_kept() -> None:
    assert (get_weather.idempotent, get_weather.timeout, get_weather.is_async) == (True, 3, True)
    named = tool(name="weather", description="Now.")(get_weather.function)
    assert (named.name, named.description, named.idempotent, named.timeout) == ("weather", "Now.", False, None)


def test_by_default_the_model_is_told_of_a_call_in_doubt_and_what_passes_is_tried_three_times() -> None:
    assert (get_weather.on_unknown, get_weather.retries) == ("tell", Retries(attempts=3, first=1, most=10))
    own = Retries(attempts=2)
    assert tool(idempotent=True, retries=own)(get_weather.function).retries == own
    assert tool(retries=None)(get_weather.function).retries is None
    assert tool(on_unknown="park")(get_weather.function).on_unknown == "park"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: tool(idempotent=True, on_unknown="park"), "makes no sense with idempotent=True"),
        (lambda: tool(on_unknown="ask"), "give 'tell' or 'park'"),  # type: ignore[call-overload]  # the mistake under test
        (lambda: tool(retries=Retries(attempts=2)), "add idempotent=True"),
    ],
    ids=["park idempotent", "unknown word", "retries without idempotent"],
)
def test_options_that_contradict_each_other_are_refused(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(InvalidTool, match=f"tool 'weather': .*{why}"):
        make()(weather)


def weather(city: str) -> str:
    return city


async def test_a_tool_can_be_called_like_its_function() -> None:
    assert await get_weather(Place(city="Oslo"), units=Unit.CELSIUS) == "Oslo 1 c"


def test_arguments_are_turned_into_their_types_and_defaults_left_to_the_function() -> None:
    assert get_weather.parse('{"place": {"city": "Oslo"}}') == {"place": Place(city="Oslo")}
    assert get_weather.parse('{"place": {"city": "Oslo"}, "days": 2, "units": "c"}')["units"] is Unit.CELSIUS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Invalid JSON"),
        ('{"place": {"city"', "Invalid JSON"),
        ("[]", "Input should be an object"),
        ("null", "Input should be an object"),
        ('{"place": {}}', "place.city: Field required"),
        ('{"place": {"city": "Oslo"}, "days": 0}', "days: Input should be greater"),
        ('{"place": {"city": "Oslo"}, "when": 0}', "when: Extra inputs"),
    ],
    ids=["empty", "cut", "list", "null", "nested", "bound", "unknown"],
)
def test_arguments_that_do_not_fit_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidArguments, match=why):
        get_weather.parse(text)


def test_context_is_hidden_and_its_annotation_not_needed() -> None:
    def send(to: str, context: "Unseen") -> None: ...

    made = tool(send)
    assert made.takes_context
    assert list(made.schema.parameters["properties"]) == ["to"]  # type: ignore[call-overload]  # a mapping here


def test_parameters_may_be_called_like_attributes_of_a_model() -> None:
    def odd(json: str, schema: int, model_config: bool, field_0: Literal["a"] = "a") -> None: ...  # noqa: FBT001  # a name

    parsed = tool(odd).parse('{"json": "x", "schema": 1, "model_config": true, "field_0": "a"}')
    assert parsed == {"json": "x", "schema": 1, "model_config": True, "field_0": "a"}


def test_a_default_that_json_cannot_say_is_left_out_of_the_schema() -> None:
    def look(city: str, cache: str = Opaque()) -> None: ...  # type: ignore[assignment]  # what is under test

    assert tool(look).schema.parameters["required"] == ["city"]


def test_a_function_without_parameters_or_docstring_is_a_tool() -> None:
    def now() -> int:
        return 1

    assert tool(now).schema.description == ""
    assert tool(now).parse("{}") == {}


class Caller:
    async def __call__(self, city: str) -> str:
        return city


@pytest.mark.parametrize(
    ("function", "is_async"),
    [(Caller(), True), (partial(Caller()), True), (partial(str.upper), False)],
    ids=["callable", "partial", "sync partial"],
)
def test_callables_of_other_kinds_need_a_name(function: Callable[..., Any], is_async: bool) -> None:  # noqa: FBT001  # a table's column
    with pytest.raises(InvalidTool, match=r"use tool\(name=…\)"):
        tool(function)
    if is_async:
        made: Tool[..., Any] = tool(name="look")(function)
        assert made.is_async
        assert made.parse('{"city": "Oslo"}') == {"city": "Oslo"}


def untyped(city): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  # what is under test
def positional(city: str, /) -> None: ...
def many(*cities: str) -> None: ...
def keywords(**cities: str) -> None: ...
def opaque(thing: Opaque) -> None: ...
def function(thing: Callable[[], None]) -> None: ...
def unseen(thing: "Unseen") -> None: ...


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (untyped, "'city' has no type: annotate it"),
        (positional, "cannot be given by name"),
        (many, "cannot be given by name"),
        (keywords, "cannot be given by name"),
        (opaque, "JSON cannot say"),
        (function, "JSON cannot say"),
        (unseen, "cannot be read at run time"),
        (lambda: None, "no name of its own"),
    ],
    ids=["untyped", "positional", "many", "keywords", "opaque", "function", "unseen", "lambda"],
)
def test_functions_that_the_model_cannot_be_told_of_are_refused(refused: Callable[..., Any], why: str) -> None:
    with pytest.raises(InvalidTool, match=why):
        tool(refused)


def test_names_follow_the_rule() -> None:
    with pytest.raises(InvalidName, match="tool name"):
        tool(name="send mail")(get_weather.function)


def test_a_context_alone_is_a_tool_too() -> None:
    def where(context: ToolContext) -> str:
        return context.run_id

    assert tool(where).schema.parameters["properties"] == {}
