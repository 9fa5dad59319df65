from collections.abc import Iterator, Mapping

import pytest

from stagepost.agents._mcp._schema import read_schema
from stagepost.agents._models._model import JsonSchema
from stagepost.agents._tools._arguments import InvalidArguments

ANYTHING = [
    {"type": "string"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "object"},
    {"type": "array", "items": {}},
    {"type": "null"},
]
POINT: JsonSchema = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "seen"),
    [
        (POINT, POINT),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        ({}, {"type": "object", "properties": {}}),
        ({"properties": {"x": {}}}, {"type": "object", "properties": {"x": {"anyOf": ANYTHING}}}),
    ],
    ids=["object", "without properties", "empty", "without type"],
)
def test_an_object_stays_what_it_is(schema: JsonSchema, seen: JsonSchema) -> None:
    assert read_schema(schema).schema == seen


TREE = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Tree",
    "type": "object",
    "properties": {"size": {"type": "integer"}, "left": {"$ref": "#"}, "right": {"$ref": "#/properties/left"}},
    "required": ["size", "weight"],
}


def within(schema: object) -> Iterator[Mapping[str, object]]:
    """All objects in a schema."""
    if isinstance(schema, Mapping):
        yield schema
    for inner in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ():
        yield from within(inner)


@pytest.mark.parametrize(
    ("schema", "seen"),
    [
        (
            {"type": "object", "properties": {"at": {"$ref": "#/$defs/P"}}, "$defs": {"P": POINT}},
            {"at": POINT},
        ),
        (
            {"type": "object", "properties": {"at": {"$ref": "#/definitions/a~1b"}}, "definitions": {"a/b": POINT}},
            {"at": POINT},
        ),
        (
            {"type": "object", "properties": {"at": POINT, "to": {"$ref": "#/properties/at"}}},
            {"at": POINT, "to": POINT},
        ),
        (
            {
                "type": "object",
                "properties": {"at": {"items": [POINT], "$id": "x"}, "x": {"$ref": "#/properties/at/items/0"}},
            },
            {"at": {"type": "array", "items": POINT}, "x": POINT},
        ),
        (
            {"type": "object", "properties": {"at": {"$ref": "https://example.org/point.json"}}},
            {"at": {"anyOf": ANYTHING}},
        ),
        ({"type": "object", "properties": {"at": {"$ref": 5}}}, {"at": {"anyOf": ANYTHING}}),
        ({"$ref": "#/$defs/P", "$defs": {"P": POINT}}, POINT["properties"]),
    ],
    ids=["$defs", "escaped", "a property", "an item", "elsewhere", "no text", "the root"],
)
def test_references_are_written_out(schema: JsonSchema, seen: JsonSchema) -> None:
    made = read_schema(schema)
    assert not made.wrapped
    assert made.schema["properties"] == seen


def test_a_schema_that_refers_to_itself_is_written_out_once() -> None:
    again = {"type": "object", "description": "Another Tree, of the same form as the Tree that this schema describes."}
    assert read_schema(TREE).schema == {
        "title": "Tree",
        "type": "object",
        "properties": {"size": {"type": "integer"}, "left": again, "right": again},
        "required": ["size"],
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "object"}], "$defs": {"Point": POINT}},
        {**POINT, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
        {"type": "object", "properties": {"a b": {"type": "string"}}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
    ],
    ids=["a choice", "a choice beside properties", "names", "any names"],
)
def test_what_the_arguments_of_a_tool_may_not_be_becomes_a_property(schema: JsonSchema) -> None:
    made = read_schema(schema)
    assert made.wrapped
    assert made.schema.keys() == {"type", "properties", "required"}
    assert not [node for node in within(made.schema) if "$ref" in node or "$defs" in node]


def nested(levels: int) -> JsonSchema:
    schema: JsonSchema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    ("inner", "more"),
    [
        (nested(70), {}),
        (nested(3000), {}),
        ({"type": "string", "description": "x" * 200_000}, {}),
        ({"properties": ["x"]}, {}),
        ({"anyOf": 5}, {}),
        ({"enum": 5}, {}),
        ({"$ref": "#/$defs/0"}, {"$defs": {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(3000)}}),
    ],
    ids=["deep", "deeper", "long", "properties", "anyOf", "enum", "a chain of references"],
)
def test_of_a_schema_that_cannot_be_sent_the_names_remain(inner: JsonSchema, more: JsonSchema) -> None:
    made = read_schema({"type": "object", "properties": {"a": inner, "b": {}}, "required": ["a"], **more})
    assert not made.wrapped
    assert made.schema == {"type": "object", "properties": {"a": {"anyOf": ANYTHING}, "b": {"anyOf": ANYTHING}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": 5},
        {"type": "object", "properties": {f"p{n}": {} for n in range(30_000)}},
        {"type": "object", "properties": {}, "anyOf": 5},
    ],
    ids=["no properties", "too many", "no list"],
)
def test_of_a_schema_that_is_none_an_object_remains(schema: JsonSchema) -> None:
    assert read_schema(schema).schema == {"type": "object", "properties": {}}


def test_arguments_are_passed_on_as_the_model_wrote_them() -> None:
    arguments = read_schema(POINT)
    assert arguments.parse('{"x": 1, "more": [null]}') == {"x": 1, "more": [None]}
    assert not arguments.takes_context


def test_arguments_of_a_wrapped_schema_are_unwrapped() -> None:
    assert read_schema({"anyOf": [POINT]}).parse('{"input": {"x": 1}}') == {"x": 1}


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
