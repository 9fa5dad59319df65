import pytest

from stagepost.agents._mcp._schema import read_schema
from stagepost.agents._models._model import JsonSchema
from stagepost.agents._tools._arguments import InvalidArguments

POINT: JsonSchema = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "seen"),
    [
        (POINT, POINT),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        ({}, {"type": "object", "properties": {}}),
        ({"properties": {"x": {}}}, {"type": "object", "properties": {"x": {}}}),
    ],
    ids=["object", "without properties", "empty", "without type"],
)
def test_an_object_stays_what_it_is(schema: JsonSchema, seen: JsonSchema) -> None:
    assert read_schema(schema).schema == seen


def test_references_inside_an_object_are_kept() -> None:
    schema = {"type": "object", "properties": {"at": {"$ref": "#/$defs/Point"}}, "$defs": {"Point": POINT}}
    assert read_schema(schema).schema == schema


def test_what_is_no_object_becomes_a_property_of_one_and_definitions_stay_at_the_root() -> None:
    schema = {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "object"}], "$defs": {"Point": POINT}}
    assert read_schema(schema).schema == {
        "type": "object",
        "properties": {"input": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "object"}]}},
        "required": ["input"],
        "$defs": {"Point": POINT},
    }


def test_arguments_are_passed_on_as_the_model_wrote_them() -> None:
    arguments = read_schema(POINT)
    assert arguments.parse('{"x": 1, "more": [null]}') == {"x": 1, "more": [None]}
    assert not arguments.takes_context


def test_arguments_of_a_wrapped_schema_are_unwrapped() -> None:
    assert read_schema({"$ref": "#/$defs/P", "$defs": {"P": POINT}}).parse('{"input": {"x": 1}}') == {"x": 1}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (POINT, "{"),
        (POINT, "[1]"),
        (POINT, ""),
        ({"type": "string"}, '{"input": "text"}'),
        ({"type": "string"}, "{}"),
    ],
    ids=["cut", "a list", "nothing", "no object inside", "no input"],
)
def test_arguments_that_are_no_object_are_refused(schema: JsonSchema, text: str) -> None:
    with pytest.raises(InvalidArguments):
        read_schema(schema).parse(text)
