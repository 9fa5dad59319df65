"""Functions of all kinds, as the model sees them and as its calls are checked."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from functools import partial, wraps
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self
from uuid import UUID

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from stagepost.agents import InvalidTool, Tool, ToolContext, tool
from stagepost.agents._tools._arguments import InvalidArguments
from stagepost.agents._tools._invoking import invoke

CONTEXT = ToolContext(run_id="r", agent="lead", call_id="c", idempotency_key="r/0-0", deps=None)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Spot(TypedDict):
    x: int


class Range(NamedTuple):
    first: int
    last: int = 9


@dataclass
class Order:
    item: str
    notes: list[str] = field(default_factory=list)


class Tree(BaseModel):
    value: int
    below: list["Tree"] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool


def taking(annotation: object, *default: object) -> Tool[..., object]:
    """A tool with the one parameter `x`."""

    def given(x): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  # it gets its annotation below

    given.__annotations__["x"] = annotation
    given.__defaults__ = default or None
    return tool(given)


ORDER = {
    "additionalProperties": False,
    "properties": {"item": {"type": "string"}, "notes": {"items": {"type": "string"}, "type": "array"}},
    "required": ["item"],
    "title": "Order",
    "type": "object",
}


def described(made: Tool[..., object]) -> Any:
    """What the model sees of `x`."""
    properties: Any = made.schema.parameters["properties"]
    return properties["x"]


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Colour, '"blue"', Colour.BLUE),
        (Literal["a", 1], "1", 1),
        (Spot, '{"x": 1}', {"x": 1}),
        (Order, '{"item": "pen"}', Order("pen")),
        (Range, "[1]", Range(1, 9)),
        (Tree, '{"value": 1, "below": [{"value": 2}]}', Tree(value=1, below=[Tree(value=2)])),
        (int | None, "null", None),
        (int | str | list[int], "[1]", [1]),
        (
            Annotated[Cat | Dog, Field(discriminator="kind")],
            '{"kind": "dog", "good": true}',
            Dog(kind="dog", good=True),
        ),
        (dict[int, date], '{"1": "2026-01-31"}', {1: date(2026, 1, 31)}),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (UUID, '"00000000-0000-0000-0000-000000000001"', UUID(int=1)),
        ("Tree | None", '{"value": 1}', Tree(value=1)),
        (Any, '{"a": [null]}', {"a": [None]}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_call_gets_values_of_the_annotated_types(annotation: object, text: str, value: object) -> None:
    assert taking(annotation).parse(f'{{"x": {text}}}') == {"x": value}


@pytest.mark.parametrize(
    ("annotation", "text", "why"),
    [
        (Colour, '"green"', "x: Input should be 'red' or 'blue'"),
        (Literal["a", 1], '"b"', "x: Input should be 'a' or 1"),
        (Spot, '{"x": "far"}', "x.x: Input should be a valid integer"),
        (Order, "{}", "x.item: Field required"),
        (Tree, '{"value": 1, "below": [{}]}', "x.below.0.value: Field required"),
        (
            Annotated[Cat | Dog, Field(discriminator="kind")],
            '{"kind": "cow"}',
            "does not match any of the expected tags",
        ),
        (Annotated[int, Field(ge=0)], "-1", "x: Input should be greater than or equal to 0"),
        (tuple[int, str], "[1]", "x.1: Field required"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(annotation: object, text: str, why: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        taking(annotation).parse(f'{{"x": {text}}}')
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "default", "seen"),
    [
        (int | None, None, {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}),
        (Order, Order("pen"), {**ORDER, "default": {"item": "pen", "notes": []}}),
        (float, math.nan, {"type": "number"}),
        (str, object(), {"type": "string"}),
    ],
    ids=["none", "dataclass", "nan", "object"],
)
def test_a_default_is_shown_if_json_has_a_form_for_it(annotation: object, default: object, seen: object) -> None:
    made = taking(annotation, default)
    assert described(made) == seen
    assert "required" not in made.schema.parameters
    assert made.parse("{}") == {}


def test_a_field_describes_limits_and_names_of_the_docstring_count_beside_it() -> None:
    def sized(x: Annotated[int, Field(ge=0)] = 3) -> None:
        """Sized.

        Args:
            x: How large.
        """

    assert described(tool(sized)) == {"default": 3, "description": "How large.", "minimum": 0, "type": "integer"}


async def test_a_default_in_the_annotation_is_given_to_the_function() -> None:
    def double(x: Annotated[int, Field(default=4)]) -> int:
        return 2 * x

    made = tool(double)
    assert described(made) == {"default": 4, "type": "integer"}
    assert await invoke(made, made.parse("{}"), CONTEXT) == ("8", False, ())


def test_a_field_with_an_alias_keeps_the_parameters_name() -> None:
    made = taking(Annotated[int, Field(alias="other")])
    assert made.parse('{"x": 1}') == {"x": 1}


class Desk:
    """Callables of all kinds."""

    def meet(self, city: str, when: "date | None" = None) -> str:
        return f"{city} {when}"

    @classmethod
    def open(cls, city: str) -> str:
        return city

    @staticmethod
    def close(city: "str") -> str:
        return city

    async def __call__(self, city: str) -> str:
        return city


def again(function: Callable[..., str]) -> Callable[..., str]:
    @wraps(function)
    def twice(*args: object, **keywords: object) -> str:
        return function(*args, **keywords) + function(*args, **keywords)

    return twice


@again
def wrapped(city: "str") -> str:
    return city


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Desk().meet, "Oslo None"),
        (Desk.open, "Oslo"),
        (Desk().close, "Oslo"),
        (Desk(), "Oslo"),
        (wrapped, "OsloOslo"),
        (partial(Desk().meet, when=date(2026, 1, 31)), "Oslo 2026-01-31"),
        (partial(partial(Desk.meet, Desk()), when=None), "Oslo None"),
        (partial(Desk()), "Oslo"),
    ],
    ids=["method", "class method", "static", "object", "wrapped", "partial", "nested partial", "partial of object"],
)
async def test_every_kind_of_callable_is_called_with_what_it_takes(function: Callable[..., Any], text: str) -> None:
    made: Tool[..., Any] = tool(name="go")(function)
    assert await invoke(made, made.parse('{"city": "Oslo"}'), CONTEXT) == (text, False, ())


async def test_what_a_partial_has_bound_is_neither_shown_nor_changed() -> None:
    def send(to: str, token: str, context: ToolContext) -> str:
        return f"{to} {token} {context.call_id}"

    other = ToolContext(run_id="r", agent="lead", call_id="other", idempotency_key="k", deps=None)
    made: Tool[..., Any] = tool(name="send")(partial(send, token="hunter2", context=other))  # noqa: S106  # one to hide
    assert "hunter2" not in str(made.schema)
    assert not made.takes_context
    with pytest.raises(InvalidArguments, match="token: Extra inputs"):
        made.parse('{"to": "Ada", "token": "mine"}')
    assert await invoke(made, made.parse('{"to": "Ada"}'), CONTEXT) == ("Ada hunter2 other", False, ())


def positional_context(context: ToolContext, /, city: str) -> None: ...
def many_contexts(city: str, *context: ToolContext) -> None: ...
def any_context(city: str, **context: ToolContext) -> None: ...
def field_default(city: str = Field(default="Oslo")) -> None: ...
def of_class(city: ClassVar[str]) -> None: ...  # type: ignore[misc]  # what is under test
def of_self(city: Self) -> None: ...  # type: ignore[misc]  # what is under test
def no_expression(city: "no such type") -> None: ...  # type: ignore[valid-type]  # noqa: F722  # what is under test
def no_attribute(city: "date.nothing") -> None: ...  # type: ignore[name-defined]  # what is under test
def unbound(self, city: str) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001  # what is under test
def odd_name(größe: int) -> None: ...  # noqa: PLC2401  # what is under test
def too_much(city: Literal[tuple(f"city {number}" for number in range(20_000))]) -> None: ...  # type: ignore[valid-type]  # what is under test


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (odd_name, "some provider refuses the name of its parameter 'größe'"),
        (too_much, "its parameters cannot be sent to every provider"),
        (positional_context, "'?context.* cannot be given by name"),
        (many_contexts, r"\*context.* cannot be given by name"),
        (any_context, r"\*\*context.* cannot be given by name"),
        (field_default, r"has a field as default: use Annotated"),
        (of_class, "JSON cannot say: ClassVar and Self"),
        (of_self, "JSON cannot say: ClassVar and Self"),
        (no_expression, "cannot be read at run time"),
        (no_attribute, "cannot be read at run time"),
        (unbound, "'self' has no type"),
        (int, "its parameters cannot be read"),
        (3, "its parameters cannot be read"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_functions_that_a_call_could_not_reach_are_refused(refused: Any, why: str) -> None:
    with pytest.raises(InvalidTool, match=f"tool 'go': .*{why}"):
        tool(name="go")(refused)
