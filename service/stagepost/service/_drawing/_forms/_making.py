"""Forms made from a JSON schema."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ._field import Field, FieldKind, below
from ._schemas import Schemas

MISSING: Final = object()
_DEEPEST: Final = 4
_MOST_FIELDS: Final = 200
_MOST_OPTIONS: Final = 500
_LONG: Final = 200  # letters from which on a text has more than a line
_INPUTS: Final = {"email": "email", "uri": "url", "date": "date", "password": "password"}
_FORMATS: Final = {
    "date-time": "a date and time, as 2026-11-28T14:00:00Z",
    "time": "a time, as 14:00:00",
    "duration": "a duration, as P1DT2H or PT30S",
    "uuid": "a UUID",
}


def form_of(schema: Mapping[str, Any], *, name: str = "value", label: str = "", value: object = MISSING) -> Field:
    """The form for a value.

    What no simple field can hold is filled in as JSON: unions, dicts, lists of objects, what is nested too deep.

    Args:
        schema: What the value has to fit: JSON schema as pydantic writes it, with ``$defs``.
        name: Under which it is sent.
        label: What it is called, if the schema has no title.
        value: What the form begins with, as a JSON value; by default what the schema says.
    """
    making = _Making(schema)
    made = making.field(schema, name, label, value, depth=0, is_required=True)
    if sum(1 for _ in made.every()) > _MOST_FIELDS:
        return making.as_json(schema, name, label, value, is_required=True)
    return made


class _Making:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._schemas = Schemas(root)

    def field(self, schema: object, name: str, label: str, value: object, *, depth: int, is_required: bool) -> Field:
        """The field for a value."""
        base = self.as_json(schema, name, label, value, is_required=is_required)
        if value is MISSING:
            value = base.schema.get("default", MISSING)
        if "const" in base.schema:
            return replace(base, kind=FieldKind.FIXED, typed=_typed(base.schema["const"]))
        options = _options(base.schema)
        if options is not None:
            none = [] if base.is_required else [("", "—")]
            typed = "" if value is MISSING or value is None else json.dumps(value)
            return replace(base, kind=FieldKind.CHOICE, options=[*none, *options], typed=typed)
        return self._by_type(base, value, depth)

    def as_json(self, schema: object, name: str, label: str, value: object, *, is_required: bool) -> Field:
        """The field for a value that is typed as JSON."""
        meant, takes_null = self._schemas.meant(schema)
        return Field(
            name=name,
            kind=FieldKind.JSON,
            label=_title(schema, meant, label),
            help=_help(meant),
            is_required=is_required and not takes_null,
            typed=_json(meant.get("default", MISSING) if value is MISSING else value),
            schema=meant,
            takes_null=takes_null,
        )

    def _by_type(self, base: Field, value: object, depth: int) -> Field:
        schema = base.schema
        match schema.get("type"):
            case "string" if value is MISSING or value is None or isinstance(value, str):
                return _text(base, value)
            case "integer" | "number":
                return _number(base, value)
            case "null":
                return replace(base, kind=FieldKind.FIXED, typed="null")
            case "object" if depth < _DEEPEST and _is_plain_object(schema):
                fields = self._fields(schema, base.name, value, depth)
                return replace(base, kind=FieldKind.GROUP, fields=fields, typed="")
            case "array" if self._is_of_lines(schema, value):
                lines = value if isinstance(value, list) else ()
                return replace(base, kind=FieldKind.LINES, typed="\n".join(map(_typed, lines)))
        return base

    def _fields(self, schema: Mapping[str, Any], name: str, value: object, depth: int) -> Sequence[Field]:
        required = schema.get("required") or ()
        known = value if isinstance(value, Mapping) else {}
        return [
            self.field(
                each, below(name, key), key, known.get(key, MISSING), depth=depth + 1, is_required=key in required
            )
            for key, each in schema["properties"].items()
        ]

    def _is_of_lines(self, schema: Mapping[str, Any], value: object) -> bool:
        """Whether each element of a list can be written in a line."""
        if "prefixItems" in schema:
            return False
        element, takes_null = self._schemas.meant(schema.get("items"))
        is_simple = element.get("type") in ("string", "integer", "number") and not takes_null
        values = value if isinstance(value, list) else ()
        return is_simple and all(_is_line(each) for each in values)


def _is_line(value: object) -> bool:
    if isinstance(value, str):
        return value.strip() == value != "" and len(value.splitlines()) == 1
    return isinstance(value, int | float)


def _is_plain_object(schema: Mapping[str, Any]) -> bool:
    """Whether all keys of an object are known."""
    extra = schema.get("additionalProperties", False)
    return isinstance(schema.get("properties"), Mapping) and extra is not True and not isinstance(extra, Mapping)


def _options(schema: Mapping[str, Any]) -> Sequence[tuple[str, str]] | None:
    if schema.get("type") == "boolean":
        return [("true", "Yes"), ("false", "No")]
    values = schema.get("enum")
    if not isinstance(values, list) or not 0 < len(values) <= _MOST_OPTIONS:
        return None
    return [(json.dumps(each), each if isinstance(each, str) else json.dumps(each)) for each in values]


def _text(base: Field, value: object) -> Field:
    known, longest = base.schema.get("format"), base.schema.get("maxLength")
    attributes = {} if longest is None else {"maxlength": str(longest)}
    is_line = known is not None or (longest is not None and longest <= _LONG)
    return replace(
        base,
        kind=FieldKind.LINE if is_line else FieldKind.TEXT,
        input_type=_INPUTS.get(known or "", "text"),
        attributes=attributes,
        typed=_typed(value),
    )


def _number(base: Field, value: object) -> Field:
    """A number. A bound that it must not reach is checked when it is read."""
    bounds = (("min", "minimum"), ("max", "maximum"))
    attributes = {name: _typed(base.schema[word]) for name, word in bounds if word in base.schema}
    attributes["step"] = "1" if base.schema["type"] == "integer" else "any"
    return replace(base, kind=FieldKind.LINE, input_type="number", attributes=attributes, typed=_typed(value))


def _title(schema: object, meant: Mapping[str, Any], label: str) -> str:
    """What a field is called: by its own title, by its name in the object, or by its type."""
    own = schema.get("title") if isinstance(schema, Mapping) and "properties" not in schema else None
    for title in (own, label.replace("_", " ").strip().capitalize(), meant.get("title")):
        if isinstance(title, str) and title:
            return title
    return ""


def _help(schema: Mapping[str, Any]) -> str:
    said = schema.get("description")
    found = [said.strip()] if isinstance(said, str) else []
    if (known := _FORMATS.get(schema.get("format") or "")) is not None:
        found.append(f"({known})")
    return " ".join(found)


def _typed(value: object) -> str:
    """A value as it is typed into a field for one value."""
    if value is MISSING or value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json(value: object) -> str:
    return "" if value is MISSING else json.dumps(value, ensure_ascii=False, indent=2)
