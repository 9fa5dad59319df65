"""JSON schemas in a form that every provider accepts.

What providers refuse or misread, although litellm passes it on, and how it is rewritten here:

===============================  ====================================================================================
``$ref``, ``$defs``              replaced by what they refer to. Gemini and Bedrock know neither, OpenAI none at the
                                 root
recursion                        a recursive type is written out once. Elsewhere, and within itself, it is only named:
                                 "Another Node, of the same form as …", with the JSON type that it has
``oneOf``, ``discriminator``     ``anyOf``, which Gemini knows
``allOf`` of one schema          that schema
``const``                        ``enum``, which Gemini knows
``enum`` of several JSON types   ``anyOf`` of one ``enum`` for each type: to Gemini an enum has a type
``prefixItems``                  ``items`` that may be any of them; their order is said in words. OpenAI insists on
                                 ``items``
no ``items``                     ``items`` of anything
several ``type``                 ``anyOf`` of them
anything                         ``anyOf`` of all JSON types: to Gemini a schema without a type is an object's
``required`` without a property  left out, which Gemini refuses; so are words about the schema itself, such as ``$id``
===============================  ====================================================================================

Every value that fits the original schema fits the rewritten one. The opposite does not hold: a schema tells a model
what is wanted, and pydantic checks the answer.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

from .._models._model import JsonSchema
from ._references import ROOT, name_of, recursive, targets_of

Node: TypeAlias = Mapping[str, Any]

LONGEST: Final = 100_000
"""How many bytes of JSON a fitted schema may have: it is sent with each request."""

_MOST_PARTS: Final = 20_000  # schemas within a schema: written out, a few lines can come to millions
_WORDS: Final = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_ABOUT: Final = ("$defs", "definitions", "$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$dynamicRef")
_BY_NAME: Final = ("properties", "patternProperties", "dependentSchemas")
_SEVERAL: Final = ("anyOf", "allOf", "oneOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else")
_IDLE: Final[Mapping[str, Sequence[Any]]] = {"anyOf": ([],), "allOf": ([],), "enum": ([],), "items": (True, {})}
_ANYTHING: Final = (
    {"type": "string"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "object"},
    {"type": "array", "items": {}},
    {"type": "null"},
)
_TYPED: Final = frozenset({"type", "enum", "anyOf", "allOf", "not", "if"})
_DEEPEST: Final = 60  # levels; litellm gives up at 100, and counts more of them
_ROOT: Final = frozenset({"type", "properties", "required", "additionalProperties"}) | _WORDS
_NAMES: Final = {
    NoneType: "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    object: "object",
}
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # Anthropic's rule for the properties at the root


class Unsendable(Exception):
    """A schema has no form that every provider accepts; the text says why, and what to do."""


def fitted(schema: JsonSchema, *, is_foreign: bool = False) -> dict[str, Any]:
    """A schema in a form that every provider accepts; for the root see `is_sendable_root`.

    Args:
        schema: The schema.
        is_foreign: Whether somebody else wrote it and checks the values: dangling references then stand for anything.

    Raises:
        Unsendable: It becomes too large, or refers to what it does not define.
    """
    made = _Fitting(schema, is_foreign=is_foreign).of(schema)
    size = len(to_json(made))
    if size > LONGEST:
        raise Unsendable(f"its schema has {size:,} bytes, and {LONGEST:,} are the limit: make it smaller, or split it")
    return made


def is_sendable_root(schema: JsonSchema) -> bool:
    """Whether the arguments of a tool may have this schema as it is: that of an object with named properties alone."""
    return (
        schema.get("type") == "object"
        and isinstance(properties := schema.get("properties"), Mapping)
        and schema.keys() <= _ROOT
        and isinstance(schema.get("additionalProperties", False), bool)
        and not unsendable_names(properties)
    )


def unsendable_names(names: Iterable[str]) -> Sequence[str]:
    """Those of an object's properties that the arguments of a tool may not have."""
    return [name for name in names if _NAME.fullmatch(name) is None]


class _Fitting:
    """Fits one schema.

    Args:
        root: The schema.
        is_foreign: Whether references to nothing stand for anything.
    """

    def __init__(self, root: Node, *, is_foreign: bool) -> None:
        self._targets = targets_of(root)
        self._recursive = recursive(self._targets)
        self._is_foreign = is_foreign
        self._shown: set[str] = {ROOT}
        self._parts = 0
        self._depth = 0

    def of(self, node: Any) -> dict[str, Any]:
        """A schema, fitted, with all in it."""
        self._depth += 1
        self._check()
        try:
            return self._fit(node if isinstance(node, Mapping) else {})  # it may be True, which stands for {}
        finally:
            self._depth -= 1

    def _fit(self, node: Node) -> dict[str, Any]:
        if "$ref" in node:
            return self._referred(node)
        match node.get("allOf"):
            case [Mapping() as only]:
                return self._fit({**_without(node, "allOf"), **only})
        plain = _plain(node)
        return _typed({**plain, **_inner(plain, self.of)})

    def _referred(self, node: Node) -> dict[str, Any]:
        """What a reference stands for, with what is said beside it."""
        reference, beside = node["$ref"], _without(node, "$ref")
        target = self._targets.get(reference) if isinstance(reference, str) else None
        if target is None and not self._is_foreign:
            raise Unsendable(f"its schema refers to {reference!r}, which it does not define: define it in $defs")
        if target is None:
            return self._fit(beside)
        if reference in self._recursive and reference in self._shown:
            return {**_without(beside, "description"), **_named(target.get("title", name_of(reference)), target)}
        self._shown.add(reference)
        return (self.of if "$ref" in target else self._fit)({**target, **beside})

    def _check(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise Unsendable(
                f"written out, without references, its schema has more than {_MOST_PARTS:,} parts: "
                "use fewer types that hold each other"
            )
        if self._depth > _DEEPEST:
            raise Unsendable(f"its schema has more than {_DEEPEST} levels: make it flatter")


def _plain(node: Node) -> dict[str, Any]:
    """A schema in the words that all know."""
    empty = [key for key in _IDLE if node.get(key) in _IDLE[key]]
    made = _without(node, *_ABOUT, *empty, "oneOf", "discriminator", "const", "prefixItems")
    if "oneOf" in node:
        made["anyOf"] = [*node.get("anyOf", ()), *node["oneOf"]]
    required = [name for name in made.pop("required", ()) if name in made.get("properties", ())]
    if required:
        made["required"] = required
    if "const" in node:
        made["enum"] = [node["const"]]
    several = node.get("prefixItems", node.get("items"))
    if isinstance(several, list):
        made.update(_items(several, node))
    if isinstance(made.get("type"), list):
        words = {key: made.pop(key) for key in list(made) if key in _WORDS}
        kinds = made.pop("type")
        return {**words, "anyOf": [{"type": kind, **({} if kind == "null" else made)} for kind in kinds]}
    return made


def _items(several: Sequence[Any], node: Node) -> dict[str, Any]:
    """What stands for a list of schemas, one for each item."""
    rest = [node["items"]] if isinstance(node.get("items"), Mapping) else []
    different = list({to_json(each): each for each in [*several, *rest]}.values())
    if not different:
        return {"items": {}}
    if len(different) == 1:
        return {"items": different[0]}
    said = f"{node['description']} " if "description" in node else ""
    order = ", ".join(map(_said, several))
    return {"items": {"anyOf": different}, "description": f"{said}The items in their order: {order}."}


def _said(node: Any) -> str:
    """What a sentence says of an item."""
    if not isinstance(node, Mapping):
        return "anything"
    return str(name_of(node.get("$ref", "")) or node.get("title") or node.get("type") or "see there")


def _inner(node: Node, fit: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """The schemas in a schema, fitted."""
    made: dict[str, Any] = {}
    for key, inner in node.items():
        if key in _BY_NAME:
            made[key] = {name: fit(each) for name, each in inner.items()}
        elif key in _SEVERAL:
            made[key] = [fit(each) for each in inner]
        elif key in _SINGLE and isinstance(inner, Mapping):
            made[key] = fit(inner)
    return made


def _typed(node: dict[str, Any]) -> dict[str, Any]:
    """A schema that says which JSON types it is of."""
    if "enum" in node:
        return _enum(node)
    if not node.keys() & _TYPED:
        kind = "object" if node.keys() & {"properties", "additionalProperties"} else "array" if "items" in node else ""
        node = {**node, "type": kind} if kind else {**node, **_anything()}
    return {**node, "items": _anything()} if node.get("type") == "array" and "items" not in node else node


def _enum(node: dict[str, Any]) -> dict[str, Any]:
    """An enum of values of one JSON type, or any of several."""
    groups: dict[str, list[object]] = {}
    for value in node["enum"]:
        groups.setdefault(_type(value), []).append(value)
    made = [_of_type(kind, values) for kind, values in groups.items()]
    around = _without(node, "enum", "type")
    return {**around, **made[0]} if len(made) == 1 else {**around, "anyOf": made}


def _of_type(kind: str, values: Sequence[object]) -> dict[str, Any]:
    if kind == "null":
        return {"type": kind}
    return {"type": kind, "enum": values, **({"items": _anything()} if kind == "array" else {})}


def _type(value: object) -> str:
    return next(name for kind, name in _NAMES.items() if isinstance(value, kind))


def _anything() -> dict[str, Any]:
    return {"anyOf": [dict(each) for each in _ANYTHING]}


def _named(name: str, target: Node) -> dict[str, Any]:
    """A recursive type where its schema stands elsewhere."""
    said = {"description": f"Another {name}, of the same form as the {name} that this schema describes."}
    match target.get("type"):
        case "object":
            return {"type": "object", **said}
        case "array":
            return {"type": "array", "items": _anything(), **said}
        case _:
            return {**_anything(), **said}


def _without(node: Node, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key not in keys}
