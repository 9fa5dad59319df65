"""Whether a JSON value fits a JSON schema."""

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from stagepost.agents._tools._fits_schema import misfit

CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
TREE = {"$ref": "#/$defs/Tree", "$defs": {"Tree": {"properties": {"kids": {"items": {"$ref": "#/$defs/Tree"}}}}}}


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({}, {"any": [1]}, None),
        ({"type": "string"}, 1, "it is not of type string (type)"),
        ({"type": ["string", "null"]}, None, None),
        ({"type": ["string", "null"]}, 1, "it is not of type string or null (type)"),
        ({"type": "integer"}, True, "it is not of type integer (type)"),
        ({"type": "integer"}, 2.0, None),
        ({"type": "number"}, False, "it is not of type number (type)"),
        ({"type": "boolean"}, 1, "it is not of type boolean (type)"),
        ({"type": "array"}, {}, "it is not of type array (type)"),
        ({"type": "a word of later"}, 1, None),
        ({"enum": [1, "a"]}, True, 'it is none of [1,"a"] (enum)'),
        ({"const": 1}, 2, "it is not 1 (const)"),
        (CITY, {"name": "Oslo"}, None),
        (CITY, {}, "name: it is missing (required)"),
        (CITY, {"name": 1}, "name: it is not of type string (type)"),
        (CITY, {"name": "Oslo", "n": 1}, "n: there is no such property (additionalProperties)"),
        ({"additionalProperties": {"type": "integer"}}, {"a": "b"}, "a: it is not of type integer (type)"),
        ({"properties": 3}, {"a": 1}, None),
        ({"items": {"type": "integer"}}, [1, "x"], "1: it is not of type integer (type)"),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["x", 1], "1: nothing is allowed here"),
        ({"minItems": 2}, [1], "it has fewer than 2 items (minItems)"),
        ({"maxItems": 1}, [1, 2], "it has more than 1 items (maxItems)"),
        ({"uniqueItems": True}, [1, True], None),
        ({"uniqueItems": True}, [1, 1], "an item is there twice (uniqueItems)"),
        ({"uniqueItems": False}, [1, 1], None),
        ({"minLength": 2}, "a", "it has fewer than 2 characters (minLength)"),
        ({"maxLength": 0}, "a", "it has more than 0 characters (maxLength)"),
        ({"pattern": "^a"}, "ba", "it does not match '^a' (pattern)"),
        ({"pattern": "("}, "ba", None),
        ({"minimum": 1}, 0, "it is less than 1 (minimum)"),
        ({"maximum": 1}, 2, "it is more than 1 (maximum)"),
        ({"exclusiveMinimum": 1}, 1, "it is not more than 1 (exclusiveMinimum)"),
        ({"exclusiveMaximum": 1}, 1, "it is not less than 1 (exclusiveMaximum)"),
        ({"multipleOf": 0.1}, 0.3, None),
        ({"multipleOf": 2}, 3, "it is no multiple of 2 (multipleOf)"),
        ({"minProperties": 1}, {}, "it has fewer than 1 properties (minProperties)"),
        ({"maxProperties": 0}, {"a": 1}, "it has more than 0 properties (maxProperties)"),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, 2, "it fits none of the possible forms (anyOf)"),
        (
            {"oneOf": [{"type": "integer"}, {"minimum": 3}]},
            4,
            "it does not fit exactly one of the possible forms (oneOf)",
        ),
        ({"oneOf": [{"type": "integer"}, {"minimum": 3}]}, 2, None),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 3, "it is more than 2 (maximum)"),
        ({"not": {"type": "string"}}, "a", "it has a form that is excluded (not)"),
        (TREE, {"kids": [{"kids": []}]}, None),
        ({"$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": {"type": "string"}}}, 1, "it is not of type string (type)"),
        ({"$ref": "#/gone"}, 1, None),
        ({"$ref": "#"}, 1, "the value is nested too deep"),
        (False, 1, "nothing is allowed here"),
    ],
)
def test_a_value_is_held_against_a_schema(schema: Any, value: Any, problem: str | None) -> None:
    assert misfit(value, schema) == problem


def test_what_a_type_writes_fits_its_schema() -> None:
    class Node(BaseModel):
        name: str
        kids: "list[Node]" = []
        pair: tuple[int, str] | None = None
        more: dict[str, float] = {}

    schema = TypeAdapter(Node).json_schema()
    node = Node(name="a", kids=[Node(name="b", pair=(1, "x"))], more={"c": 1})
    assert misfit(node.model_dump(mode="json"), schema) is None
    assert misfit({"name": "a", "kids": [{"nam": "b"}]}, schema) == "kids.0.name: it is missing (required)"
