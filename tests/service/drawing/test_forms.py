"""Forms made from the schemas of pydantic, and values made from what is typed into them."""

import json
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr, TypeAdapter, ValidationError
from tests._examples import law

from stagepost.service._drawing._forms._field import Field as FormField
from stagepost.service._drawing._forms._field import FieldKind
from stagepost.service._drawing._forms._making import form_of
from stagepost.service._drawing._forms._reading import read_form, refused


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str = Field(min_length=1)
    zip_code: str = Field(max_length=10)


class Order(BaseModel):
    """An order."""

    customer: str
    amount: int = Field(ge=1, le=100, description="How many.")
    price: float | None = None
    express: bool
    colour: Colour = Colour.RED
    size: Literal["S", "M", 4] | None = None
    home: Address
    billing: Address | None = None
    tags: list[str] = []
    counts: list[Annotated[int, Field(gt=0)]] = Field(default=[], max_length=3)
    extra: dict[str, int] = {}
    due: date | None = None


def schema_of(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema()


def form(kind: Any, **options: Any) -> FormField:
    return form_of(schema_of(kind), name="answer", **options)


def fields(made: FormField) -> dict[str, FormField]:
    return {each.name.removeprefix("answer").removeprefix("/"): each for each in made.every()}


ORDER = {
    "answer/customer": "Ada\r\nLovelace",
    "answer/amount": "7",
    "answer/express": "true",
    "answer/colour": '"blue"',
    "answer/size": "4",
    "answer/home/street": "Main",
    "answer/home/zip_code": " 123 ",
    "answer/tags": "one\r\n\r\n two ",
    "answer/counts": "1\n2",
    "answer/extra": '{"a": 1}',
    "answer/due": "2026-11-28",
}


def test_a_model_is_a_group_of_fields_by_the_kinds_of_its_own() -> None:
    found = fields(form(Order))
    assert {name: each.kind.value for name, each in found.items()} == {
        "": "group",
        "customer": "text",
        "amount": "line",
        "price": "line",
        "express": "choice",
        "colour": "choice",
        "size": "choice",
        "home": "group",
        "home/street": "text",
        "home/zip_code": "line",
        "billing": "group",
        "billing/street": "text",
        "billing/zip_code": "line",
        "tags": "lines",
        "counts": "lines",
        "extra": "json",
        "due": "line",
    }
    assert [name for name, each in found.items() if each.is_required and "/" not in name] == [
        "",
        "customer",
        "amount",
        "express",
        "home",
    ]


def test_fields_have_labels_help_bounds_and_what_they_begin_with() -> None:
    found = fields(form(Order))
    assert found[""].label == "Order"
    assert found["home"].label == "Home"
    assert found["home/zip_code"].label == "Zip Code"
    assert found["amount"].help == "How many."
    assert found["amount"].attributes == {"min": "1", "max": "100", "step": "1"}
    assert found["price"].attributes == {"step": "any"}
    assert found["due"].input_type == "date"
    assert found["colour"].typed == '"red"'
    assert found["colour"].options == [("", "—"), ('"red"', "red"), ('"blue"', "blue")]
    assert found["express"].options == [("true", "Yes"), ("false", "No")]
    assert found["size"].options == [("", "—"), ('"S"', "S"), ('"M"', "M"), ("4", "4")]
    assert found["home/zip_code"].attributes == {"maxlength": "10"}
    assert found["extra"].typed == "{}"


def test_what_is_typed_becomes_a_value_of_the_model() -> None:
    made = form(Order)
    read = read_form(made, ORDER)
    assert read.is_fine
    assert read.value == {
        "customer": "Ada\nLovelace",
        "amount": 7,
        "price": None,
        "express": True,
        "colour": "blue",
        "size": 4,
        "home": {"street": "Main", "zip_code": "123"},
        "billing": None,
        "tags": ["one", "two"],
        "counts": [1, 2],
        "extra": {"a": 1},
        "due": "2026-11-28",
    }
    Order.model_validate(read.value)


def test_errors_are_told_by_field_and_what_was_typed_stays() -> None:
    typed = ORDER | {
        "answer/amount": "0",
        "answer/price": "cheap",
        "answer/express": "",
        "answer/home/street": " ",
        "answer/home/zip_code": "12345678901",
        "answer/counts": "1\n-2",
        "answer/extra": "{",
        "answer/size": '"XL"',
    }
    read = read_form(form(Order), typed)
    assert not read.is_fine
    assert {name.removeprefix("answer/"): why.split(":")[0] for name, why in read.errors.items()} == {
        "amount": "give at least 1",
        "price": "give a number",
        "express": "choose one",
        "home/zip_code": "give at most 10 characters, not 11",
        "counts": "line 2",
        "extra": "this is no JSON",
        "size": "choose one of these",
    }
    found = fields(read.form)
    assert found["price"].typed == "cheap"
    assert found["price"].error == "give a number"
    assert found["customer"].typed == "Ada\nLovelace"
    assert found["customer"].error is None


def test_an_object_that_need_not_be_given_is_null_or_whole() -> None:
    read = read_form(form(Order), ORDER | {"answer/billing/zip_code": "1"})
    assert read.errors == {"answer/billing/street": "fill this in"}


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [
        (bool, "false", False),
        (str, "", ""),
        (str, " a ", " a "),
        (int, " 7 ", 7),
        (float, "1e3", 1000.0),
        (int | None, "", None),
        (list[str], "", []),
        (list[float], "1\n2.5", [1.0, 2.5]),
        (dict[str, Any], '{"a": [1]}', {"a": [1]}),
        (int | str, '"a"', "a"),
        (Any, "[1]", [1]),
        (tuple[int, str], '[1, "a"]', [1, "a"]),
        (Literal["one"], "", "one"),
        (None, "", None),
        (datetime, "2026-11-28T14:00:00Z", "2026-11-28T14:00:00Z"),
        (Annotated[str, Field(pattern="^a+$")], "aa", "aa"),
        (SecretStr, " x ", " x "),
        (list[str | None], '["a", null]', ["a", None]),
        (Decimal, '"1.5"', "1.5"),
    ],
)
def test_a_value_may_be_of_any_type(kind: Any, typed: str, value: Any) -> None:
    read = read_form(form(kind), {"answer": typed})
    assert read.errors == {}
    assert read.value == value
    assert type(read.value) is type(value)


@pytest.mark.parametrize(
    ("kind", "typed", "why"),
    [
        (bool, "", "choose one"),
        (int, "", "fill this in"),
        (int, "1.5", "give a whole number"),
        (float, "nan", "give a number"),
        (Annotated[float, Field(gt=1)], "1", "give more than 1"),
        (Annotated[int, Field(lt=1)], "1", "give less than 1"),
        (Annotated[int, Field(le=1)], "2", "give at most 1"),
        (Annotated[str, Field(min_length=3)], "ab", "give at least 3 characters, not 2"),
        (Annotated[list[str], Field(min_length=2)], "a", "give at least 2 lines, not 1"),
        (Annotated[list[str], Field(min_length=2)], "", "fill this in"),
        (Annotated[list[str], Field(max_length=1)], "a\nb", "give at most 1 lines, not 2"),
        (dict[str, int], "", "fill this in"),
        (Any, "NaN", "this is no JSON"),
    ],
)
def test_what_does_not_fit_is_refused(kind: Any, typed: str, why: str) -> None:
    read = read_form(form(kind), {"answer": typed})
    assert read.errors["answer"].startswith(why)


def test_a_form_begins_with_the_value_that_is_given() -> None:
    value = {
        "customer": "Ada",
        "amount": 3,
        "express": False,
        "home": {"street": "Main", "zip_code": "1"},
        "tags": ["a", "b"],
        "counts": [1],
        "extra": {"x": 1},
    }
    found = fields(form(Order, value=value))
    assert found["customer"].typed == "Ada"
    assert found["express"].typed == "false"
    assert found["home/street"].typed == "Main"
    assert found["tags"].typed == "a\nb"
    assert json.loads(found["extra"].typed) == {"x": 1}


def test_a_form_of_which_nothing_need_be_given_may_be_empty() -> None:
    class Options(BaseModel):
        note: str | None = None

    assert read_form(form(Options | None), {}).value is None
    assert read_form(form(Options), {}).value == {"note": None}
    optional = form_of({"type": "object", "properties": {"a": {"type": "integer"}}})
    assert read_form(replace(optional, is_required=False), {}).value == {}
    assert read_form(replace(form(Any), is_required=False), {}).value is None


def test_what_begins_with_something_can_be_emptied() -> None:
    class Note(BaseModel):
        text: str = "begins"
        tags: list[str] = ["a"]
        count: int = 3

    assert read_form(form(Note), {}).value == {"text": "", "tags": []}


def test_what_cannot_be_one_value_a_line_is_json() -> None:
    assert form(list[str], value=["a\nb"]).kind is FieldKind.JSON
    assert form(list[str], value=[" a"]).kind is FieldKind.JSON
    assert form(str, value={"was": "an object"}).kind is FieldKind.JSON


class Tree(BaseModel):
    name: str
    child: "Tree | None" = None


class Odd(BaseModel):
    slash: int = Field(alias="a/b")
    tilde: int = Field(alias="a~c")


def test_recursive_models_end_with_json() -> None:
    found = fields(form(Tree))
    assert found["child/child/child/child"].kind is FieldKind.JSON
    read = read_form(form(Tree), {"answer/name": "a", "answer/child/name": "b"})
    assert read.value == {"name": "a", "child": {"name": "b", "child": None}}


def test_keys_may_contain_what_separates_them() -> None:
    made = form(Odd)
    assert [each.name for each in made.fields] == ["answer/a~1b", "answer/a~0c"]
    assert read_form(made, {"answer/a~1b": "1", "answer/a~0c": "2"}).value == {"a/b": 1, "a~c": 2}


def test_a_form_with_too_many_fields_is_json() -> None:
    schema = {"type": "object", "properties": {f"k{number}": {"type": "string"} for number in range(300)}}
    assert form_of(schema).kind is FieldKind.JSON


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$ref": "#/$defs/Loop", "$defs": {"Loop": {"$ref": "#/$defs/Loop"}}},
        {"$ref": "https://elsewhere.example/schema"},
        {"$ref": "#/$defs/Nothing"},
        {"$ref": 7},
        {"type": ["string", "integer"]},
        {"anyOf": "no list"},
        {"enum": []},
        {"type": "array"},
        {"type": "object"},
    ],
)
def test_a_schema_that_says_little_is_filled_in_as_json(schema: dict[str, Any]) -> None:
    made = form_of(schema)
    assert made.kind is FieldKind.JSON
    assert read_form(made, {"value": '{"a": 1}'}).value == {"a": 1}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": ["string", "null"]}, FieldKind.TEXT),
        ({"enum": ["a", None]}, FieldKind.CHOICE),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, FieldKind.CHOICE),
        ({"anyOf": [{"type": "string"}, {"const": None}]}, FieldKind.TEXT),
        ({"allOf": [{"type": "integer"}], "title": "N"}, FieldKind.LINE),
        ({"type": "string", "format": "email"}, FieldKind.LINE),
    ],
)
def test_schemas_that_others_write_are_understood(schema: dict[str, Any], kind: FieldKind) -> None:
    assert form_of(schema).kind is kind


def test_what_the_model_refuses_is_told_at_its_field() -> None:
    made = form(Order)
    read = read_form(made, ORDER)
    try:
        Order.model_validate({**read.value, "home": {}, "extra": {"a": "x"}, "due": "soon"})
    except ValidationError as error:
        told = refused(read, [(each["loc"], each["msg"]) for each in error.errors()])
    found = fields(told.form)
    assert not told.is_fine
    assert found["home/street"].error == "Field required"
    assert (found["extra"].error or "").startswith("a: Input should be a valid integer")
    assert found["due"].error is not None
    assert found["customer"].typed == "Ada\nLovelace"
    again = refused(told, [((), "no more orders"), (("extra",), "too much")])
    assert again.form.error == "no more orders"
    assert (again.errors["answer/extra"]).endswith("; too much")


VALUES = st.fixed_dictionaries(
    {
        "customer": st.text(alphabet="ab \n<&é", max_size=8),
        "amount": st.integers(1, 100),
        "price": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "express": st.booleans(),
        "colour": st.sampled_from(["red", "blue"]),
        "size": st.sampled_from(["S", "M", 4, None]),
        "home": st.fixed_dictionaries({"street": st.sampled_from(["Main", "a b"]), "zip_code": st.just("12")}),
        "billing": st.none(),
        "tags": st.lists(st.text(alphabet="ab \n", max_size=4), max_size=3),
        "counts": st.lists(st.integers(1, 9), max_size=3),
        "extra": st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
        "due": st.none() | st.just("2026-11-28"),
    }
)


@law(50, 1000)
@given(VALUES)
def test_a_form_that_is_sent_as_it_begins_is_the_value_it_began_with(value: dict[str, Any]) -> None:
    made = form(Order, value=value)
    typed = {each.name: each.typed.replace("\n", "\r\n") for each in made.every()}
    read = read_form(made, typed)
    assert read.errors == {}
    assert read.value == value


@law(50, 1000)
@given(st.dictionaries(st.sampled_from(sorted(ORDER)), st.text(max_size=6)))
def test_whatever_is_typed_gives_a_value_or_errors(typed: dict[str, str]) -> None:
    made = form(Order)
    names = {each.name for each in made.every()}
    read = read_form(made, typed)
    assert read.errors.keys() <= names
    assert {name: each.typed for name, each in fields(read.form).items() if each.error}.items() <= {
        name.removeprefix("answer/"): typed.get(name, "").replace("\r\n", "\n") for name in names
    }.items()
