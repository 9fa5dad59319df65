"""Whether a JSON value fits a JSON schema."""

import sys
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from stagepost.agents._tools._fits_schema import misfit
from stagepost.workflows import ExtraMissing

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
        ({"type": "string"}, 1, 'it does not fit type: "string"'),
        ({"type": ["string", "null"]}, None, None),
        ({"type": ["string", "null"]}, 1, 'it does not fit type: ["string","null"]'),
        ({"type": "integer"}, True, 'it does not fit type: "integer"'),
        ({"type": "integer"}, 2.0, None),
        ({"type": "a word of later"}, 1, None),
        ({"enum": [1, "a"]}, True, 'it does not fit enum: [1,"a"]'),
        ({"const": 1}, 2, "it does not fit const: 1"),
        (CITY, {"name": "Oslo"}, None),
        (CITY, {}, "name: it is missing (required)"),
        (CITY, {"name": 1}, 'name: it does not fit type: "string"'),
        (CITY, {"name": "Oslo", "n": 1}, "it does not fit additionalProperties: false"),
        ({"additionalProperties": {"type": "integer"}}, {"a": "b"}, 'a: it does not fit type: "integer"'),
        ({"properties": 3}, {"a": 1}, None),
        ({"items": {"type": "integer"}}, [1, "x"], '1: it does not fit type: "integer"'),
        ({"properties": {"a": False}}, {"a": 1}, "nothing is allowed here"),
        ({"pattern": "^a"}, "ba", 'it does not fit pattern: "^a"'),
        ({"pattern": "("}, "ba", None),
        ({"multipleOf": 0.1}, 0.3, None),
        ({"multipleOf": 2}, 3, "it does not fit multipleOf: 2"),
        ({"multipleOf": 2}, "3", None),
        ({"format": "date"}, "2026-02-30", 'it does not fit format: "date"'),
        (
            {"anyOf": [{"type": "string"}, {"minimum": 3}]},
            2,
            'it does not fit anyOf: [{"type":"string"},{"minimum":3}]',
        ),
        (TREE, {"kids": [{"kids": []}]}, None),
        ({"$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": {"type": "string"}}}, 1, 'it does not fit type: "string"'),
        ({"$ref": "#/gone"}, 1, None),
        ({"$ref": "http://localhost/never-fetched.json"}, 1, None),
        ({"$ref": "#"}, 1, None),
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


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ExtraMissing, match=r"needs jsonschema.*schema\]"):
        misfit(1, {"type": "string"})
