"""Schemas in the form that every provider takes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

import jsonschema  # type: ignore[import-untyped]  # it has no stubs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, JsonValue, RootModel, TypeAdapter, create_model
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from stagepost.agents._output._fitting import Unsendable, fitted, is_sendable_root
from stagepost.agents._output._output import Output
from stagepost.agents._output._schema import schema_of

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: str | None = None


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(Enum):
    ONE = 1
    WORD = "word"
    NOTHING = None


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Leaf(BaseModel):
    """A leaf."""

    kind: Literal["leaf"]
    weight: float = Field(gt=0)


class Node(BaseModel):
    name: str
    children: list["Node"] = []
    parent: Optional["Node"] = None


class Even(BaseModel):
    next: Optional["Odd"] = None


class Odd(BaseModel):
    next: Even | None = None


class Fork(BaseModel):
    kind: Literal["fork"]
    left: "Twig"
    right: "Twig"


Twig = Annotated[Union[Leaf, Fork], Field(discriminator="kind")]  # noqa: UP007  # it refers to itself
Fork.model_rebuild()


class Words(RootModel[list[str]]):
    pass


class Spot(TypedDict, total=False):
    x: int
    y: int


class Pair(NamedTuple):
    first: int
    second: str = ""


@dataclass
class Order:
    item: str
    notes: list[str] = field(default_factory=list)


UNKNOWN = ("$ref", "$defs", "definitions", "oneOf", "discriminator", "const", "prefixItems", "allOf")


def problems(schema: Any, where: str = "root") -> Iterator[str]:
    """What some provider refuses or misreads in a schema, by the rules that they document or were seen to follow."""
    kind = schema.get("type")
    for word in UNKNOWN:
        if word in schema:  # Bedrock and Gemini know no references, Gemini none of the others
            yield f"{where}: {word}"
    if schema and not isinstance(kind, str) and "anyOf" not in schema:
        yield f"{where}: no single type and no anyOf, which makes an object of it for Gemini"
    if kind == "array" and "items" not in schema:
        yield f"{where}: an array without items, which OpenAI refuses"
    if "enum" in schema and kind not in {"string", "integer", "number", "boolean"}:
        yield f"{where}: an enum without a type"
    for name, inner in inside(schema):
        yield from problems(inner, f"{where}.{name}")


def inside(schema: Any) -> Iterator[tuple[object, Any]]:
    """The schemas in a schema."""
    yield from schema.get("properties", {}).items()
    yield from enumerate(schema.get("anyOf", ()))
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield name, schema[name]


def root_problems(schema: Any) -> Iterator[str]:
    """What some provider refuses in the schema of a tool's arguments as a whole."""
    yield from problems(schema)
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        yield "root: no object with properties"
    for word in ("anyOf", "enum", "not", "patternProperties"):
        if word in schema:
            yield f"root: {word}, which OpenAI and Anthropic refuse"
    for name in schema.get("properties", {}):
        if not re.fullmatch("[a-zA-Z0-9_.-]{1,64}", name):
            yield f"root: the name {name!r}, which Anthropic refuses"


TYPES: dict[str, tuple[Any, list[Any]]] = {
    "text": (str, ["a"]),
    "number": (float, [1.5, 2]),
    "list": (list[int], [[], [1]]),
    "bare list": (list, [[1, "a", [None]]]),
    "dict": (dict[str, int], [{"a": 1}]),
    "anything": (Any, [1, "a", None, [[1]], {"a": [1]}]),
    "json": (JsonValue, [1, "a", None, [[1]], {"a": [1]}]),
    "union": (int | Leaf, [3, {"kind": "leaf", "weight": 1}]),
    "optional": (Leaf | None, [None, {"kind": "leaf", "weight": 1}]),
    "literal": (Literal["a", "b"], ["a"]),
    "mixed literal": (Literal["a", 1, True] | None, ["a", 1, None, True]),
    "enum": (Colour, ["red"]),
    "mixed enum": (Mixed, [1, "word", None]),
    "int enum": (Level, [1]),
    "tuple": (tuple[int, str, Leaf], [[1, "a", {"kind": "leaf", "weight": 1}]]),
    "pair": (tuple[int, int], [[1, 2]]),
    "empty tuple": (tuple[()], [[]]),
    "named tuple": (Pair, [[1], [1, "a"]]),
    "set": (set[int], [[1, 2]]),
    "decimal": (Decimal, ["1.5", 2]),
    "date": (date, ["2026-01-01"]),
    "typed dict": (Spot, [{}, {"x": 1}]),
    "dataclass": (Order, [{"item": "pen"}]),
    "generic": (Page[Leaf], [{"items": [{"kind": "leaf", "weight": 1}]}]),
    "root model": (Words, [["a"]]),
    "annotated": (Annotated[int, Field(ge=1, description="How many.")], [1]),
    "recursive": (Node, [{"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}]),
    "recursive list": (list[Node], [[{"name": "a", "parent": {"name": "b"}}]]),
    "mutual": (Even, [{"next": {"next": {"next": {"next": None}}}}]),
    "recursive union": (
        Twig,
        [{"kind": "fork", "left": {"kind": "leaf", "weight": 1}, "right": {"kind": "leaf", "weight": 2}}],
    ),
    "nothing": (None, [None]),
}


@pytest.mark.parametrize(("kind", "values"), TYPES.values(), ids=TYPES)
def test_any_type_has_a_schema_that_every_provider_takes_and_its_values_fit(kind: Any, values: list[object]) -> None:
    output = Output.of(kind)
    assert list(root_problems(output.schema)) == []
    jsonschema.Draft202012Validator.check_schema(output.schema)
    for value in values:
        jsonschema.validate({"value": value} if output.is_wrapped else value, output.schema)


SCALARS = st.sampled_from([
    *(str, int, float, bool, None, date, Decimal, Any),
    *(Colour, Mixed, Level, Leaf, Node, Spot, Order, Pair, Words, Twig),
    *(Literal["a"], Literal[1, "b"], Annotated[int, Field(ge=0, le=9)], Annotated[str, Field(max_length=5)]),
])  # fmt: skip


def _model(kinds: list[Any]) -> Any:
    fields: Any = {f"field_{index}": (kind, ...) for index, kind in enumerate(kinds)}
    return create_model("Made", **fields)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda kind: list[kind]),  # type: ignore[valid-type]  # made at run time
        inner.map(lambda kind: dict[str, kind]),  # type: ignore[valid-type]  # made at run time
        inner.map(lambda kind: Page[kind]),  # type: ignore[valid-type]  # made at run time
        inner.map(lambda kind: Optional[kind]),  # noqa: UP045  # of whatever it is
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: tuple[tuple(kinds)]),  # type: ignore[misc]  # made at run time
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: Union[tuple(kinds)]),  # noqa: UP007  # of any number
        st.lists(inner, min_size=1, max_size=3).map(_model),
    )


@given(st.recursive(SCALARS, _nested, max_leaves=6))
@settings(max_examples=200, deadline=None)
def test_law_fitted_schema_breaks_no_rule_and_takes_what_the_plain_one_takes(kind: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    output = Output.of(kind)
    assert list(root_problems(output.schema)) == []
    plain = jsonschema.Draft202012Validator(schema_of(adapter))
    whole = jsonschema.Draft202012Validator(output.schema)
    for value in EXAMPLES:
        if plain.is_valid(value):
            assert whole.is_valid({"value": value} if output.is_wrapped else value)


EXAMPLES: list[Any] = [
    *[value for _kind, values in TYPES.values() for value in values],
    *[[value] for _kind, values in TYPES.values() for value in values],
    *[{"items": values} for _kind, values in TYPES.values()],
    *[{"field_0": value} for _kind, values in TYPES.values() for value in values],
    *[{"field_0": value, "field_1": value} for _kind, values in TYPES.values() for value in values],
]


def test_a_recursive_type_is_written_out_once_and_named_elsewhere() -> None:
    schema = fitted(schema_of(TypeAdapter(Node)))
    again = {"type": "object", "description": "Another Node, of the same form as the Node that this schema describes."}
    assert schema["properties"]["children"]["items"] == again
    assert schema["properties"]["parent"]["anyOf"] == [again, {"type": "null"}]


@pytest.mark.parametrize(
    ("inner", "named"),
    [
        ({"type": "array", "items": {"$ref": "#/$defs/It"}}, {"type": "array", "items": fitted({})}),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/It"}]}, fitted({})),
    ],
    ids=["array", "choice"],
)
def test_a_recursive_type_is_named_with_the_json_type_that_it_has(inner: dict[str, Any], named: dict[str, Any]) -> None:
    schema = fitted({"$ref": "#/$defs/It", "$defs": {"It": inner}})
    again = schema["items"] if "items" in schema else schema["anyOf"][1]
    assert again == {**named, "description": "Another It, of the same form as the It that this schema describes."}


def test_items_in_an_order_may_be_anything_or_none() -> None:
    schema = fitted({"type": "array", "prefixItems": [True, {"$ref": "#/$defs/It"}], "$defs": {"It": {"type": "null"}}})
    assert schema["description"] == "The items in their order: anything, It."
    assert fitted({"type": "array", "prefixItems": []}) == {"type": "array", "items": fitted({})}


def test_what_is_said_beside_a_reference_stays() -> None:
    class Both(BaseModel):
        one: Leaf = Field(description="The first.")
        two: Leaf = Field(description="The second.")

    schema = fitted(schema_of(TypeAdapter(Both)))
    assert [each["description"] for each in schema["properties"].values()] == ["The first.", "The second."]


def test_properties_may_have_the_names_of_keywords() -> None:
    kind = create_model("Odd", title=(Leaf, ...), items=(Leaf, ...), enum=(int, ...), type=(str, "a"))
    schema = fitted(schema_of(TypeAdapter(kind)))
    assert list(problems(schema)) == []
    assert schema["properties"]["title"]["properties"].keys() == {"kind", "weight"}
    assert schema["properties"]["enum"] == {"type": "integer"}


def test_a_recursive_type_behind_a_property_named_title_is_found() -> None:
    class Book(BaseModel):
        title: Optional["Book"] = None

    assert list(problems(fitted(schema_of(TypeAdapter(Book))))) == []


def test_the_order_of_a_tuple_is_said_in_words() -> None:
    schema = fitted(schema_of(TypeAdapter(tuple[int, Leaf])))
    assert schema["description"] == "The items in their order: integer, Leaf."


@pytest.mark.parametrize(
    ("schema", "seen"),
    [
        (
            {"type": ["string", "null"], "minLength": 1},
            {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
        ),
        ({"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"type": "integer"}}, "type": "object"}),
        ({"items": {"type": "integer"}}, {"items": {"type": "integer"}, "type": "array"}),
        ({"allOf": [{"type": "integer"}], "title": "A"}, {"title": "A", "type": "integer"}),
        ({"type": "array", "items": [{"type": "integer"}]}, {"type": "array", "items": {"type": "integer"}}),
        ({"definitions": {"A": {"type": "integer"}}, "$ref": "#/definitions/A"}, {"type": "integer"}),
        ({"type": "integer", "anyOf": [], "allOf": [], "enum": []}, {"type": "integer"}),
        ({"type": "array", "items": True, "$id": "x"}, {"type": "array", "items": fitted({})}),
    ],
    ids=["types", "properties", "items", "allOf", "draft 7 tuple", "draft 7 definitions", "empty", "any items"],
)
def test_schemas_by_other_hands_are_fitted_too(schema: dict[str, Any], seen: dict[str, Any]) -> None:
    assert fitted(schema) == seen


def test_a_schema_that_refers_to_nothing_is_refused() -> None:
    with pytest.raises(Unsendable, match=r"refers to '#/\$defs/A', which it does not define"):
        fitted({"$ref": "#/$defs/A"})


def test_types_that_hold_each_other_too_often_are_refused() -> None:
    kind: Any = Leaf
    for index in range(20):
        kind = create_model(f"Level{index}", left=(kind, ...), right=(kind, ...))
    with pytest.raises(Unsendable, match="more than 20,000 parts"):
        fitted(schema_of(TypeAdapter(kind)))


def test_a_schema_that_is_too_long_is_refused() -> None:
    fields: Any = {f"field_{index}": (str, Field(description="x" * 1000)) for index in range(101)}
    kind = create_model("Long", **fields)
    with pytest.raises(Unsendable, match="100,000 are the limit"):
        fitted(schema_of(TypeAdapter(kind)))


def test_a_schema_that_is_too_deep_is_refused() -> None:
    kind: Any = int
    for _ in range(70):
        kind = list[kind]
    with pytest.raises(Unsendable, match="more than 60 levels"):
        fitted(schema_of(TypeAdapter(kind)))


@pytest.mark.parametrize(
    ("kind", "is_sendable"),
    [(Leaf, True), (Spot, True), (dict[str, int], False), (Leaf | None, False), (Words, False)],
)
def test_only_an_object_with_names_may_be_the_arguments_of_a_tool(kind: Any, is_sendable: bool) -> None:  # noqa: FBT001  # a table's column
    assert is_sendable_root(fitted(schema_of(TypeAdapter(kind)))) == is_sendable
