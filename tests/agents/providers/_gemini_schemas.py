"""Rules of Gemini's generateContent on schemas: the subset of OpenAPI for functions, and JSON schemas."""

from collections.abc import Iterator, Sequence
from typing import Final

from tests.agents.providers._gemini_wire import functions, normal
from tests.agents.providers._rules import Json, Refused, Request, Rule
from tests.agents.providers._schemas import misfit, nodes, target

_SCHEMA: Final = frozenset({
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
})  # fmt: skip
_FORMATS: Final = {"string": ("enum", "date-time"), "integer": ("int32", "int64"), "number": ("float", "double")}


def schema_fields(request: Request) -> None:
    """A schema of parameters has the fields of the subset of OpenAPI, without ``$ref``, ``const``, ``oneOf``,
    ``additionalProperties``.

    Source: https://ai.google.dev/api/caching#Schema, https://github.com/openswarm-ai/openswarm/issues/24,
    https://github.com/zed-industries/zed/issues/44875
    """
    for where, node in _parameters(request):
        for field in sorted(node.keys() - _SCHEMA):
            raise Refused(f"Invalid JSON payload received. Unknown name \"{field}\" at '{where}': Cannot find field.")


def schema_types(request: Request) -> None:
    """Each schema of parameters has one type, unless it is a union.

    Source: https://github.com/danny-avila/LibreChat/issues/6971, https://github.com/zed-industries/zed/issues/53919
    """
    for where, node in _parameters(request):
        if isinstance(node.get("type"), list):
            raise Refused(f"Unknown name \"type\" at '{where}': Proto field is not repeating, cannot start list.")
        if "type" not in node and "anyOf" not in node:
            raise Refused(
                f"* GenerateContentRequest.{where}.type: must be specified when not using one_of, any_of or all_of "
                "fields"
            )


def schema_fits_type(request: Request) -> None:
    """A schema's fields fit its type: items for arrays, which must have them, properties for objects, enum for texts.

    Source: https://github.com/knocklabs/agent-toolkit/pull/24 (items), https://github.com/anomalyco/opencode/issues/11889
    (properties), https://github.com/decolua/9router/issues/359 (enum)
    """
    for where, node in _parameters(request):
        kind = str(node.get("type", "")).lower()
        if kind == "array" and not node.get("items"):
            raise Refused(f"* GenerateContentRequest.{where}.items: missing field.")
        if kind != "array" and "items" in node:
            raise Refused(f"* GenerateContentRequest.{where}.items: field predicate failed: $type == Type.ARRAY")
        if kind != "object" and node.keys() & {"properties", "required"}:
            raise Refused(f"* GenerateContentRequest.{where}.properties: only allowed for OBJECT type")
        if kind != "string" and "enum" in node:
            raise Refused(f"* GenerateContentRequest.{where}.enum: only allowed for STRING type")


def enum_is_text(request: Request) -> None:
    """The values of an enumeration are texts, and there are some.

    Source: https://github.com/microsoft/azure-devops-mcp/issues/145, https://github.com/elastic/kibana/pull/286302
    """
    for where, node in _parameters(request):
        if "enum" in node and not node["enum"]:
            raise Refused(
                f"* GenerateContentRequest.{where}.enum: should be non-empty for STRING type with enum format"
            )
        for index, value in enumerate(node.get("enum") or ()):
            if not isinstance(value, str):
                raise Refused(f"Invalid value at '{where}.enum[{index}]' (TYPE_STRING), {value}")


def formats(request: Request) -> None:
    """The format of a text is ``enum`` or ``date-time``.

    Source: https://github.com/google-gemini/gemini-cli/issues/3178, https://github.com/enechange/collmbo/pull/195
    """
    for where, node in _parameters(request):
        allowed = _FORMATS.get(str(node.get("type", "")).lower(), ())
        if node.get("format") is not None and node["format"] not in allowed:
            raise Refused(
                f"* GenerateContentRequest.{where}.format: only 'enum' and 'date-time' are supported for STRING type"
            )


def required_is_there(request: Request) -> None:
    """What a schema requires is among its properties.

    Source: https://ai.google.dev/api/caching#Schema (required),
    https://github.com/anomalyco/opencode/pull/11888 (filters required fields)
    """
    for where, node in _parameters(request):
        for index, name in enumerate(node.get("required") or ()):
            if name not in (node.get("properties") or {}):
                raise Refused(f"* GenerateContentRequest.{where}.required[{index}]: property is not defined")


def _parameters(request: Request) -> Iterator[tuple[str, Json]]:
    """All schemas in the parameters of all functions, and in the older form of the answer's schema."""
    config = normal(request).get("generationConfig") or {}
    roots = [(f"{where}.parameters", function.get("parameters")) for where, function in functions(request)]
    for where, schema in [*roots, ("generation_config.response_schema", config.get("responseSchema"))]:
        if schema is not None:
            for place, node in nodes(schema):
                yield f"{where}{place}", node


def json_schemas(request: Request) -> None:
    """A JSON schema refers to what is in it, a reference stands alone, and one that leads back is not required.

    Source: https://ai.google.dev/api/generate-content#GenerationConfig (responseJsonSchema),
    https://discuss.ai.google.dev/t/recursive-schema-definition/68607
    """
    for where, schema in _json_schemas(request):
        if misfit(schema) is not None:
            raise Refused(f"{where}{misfit(schema)}: reference to undefined schema")
        for place, node in nodes(schema):
            if "$ref" in node and any(not key.startswith("$") for key in node):
                raise Refused(f"{where}{place}: no other fields may be set beside $ref")
        if _must_recur(schema, schema, ()):
            raise Refused(f"{where}: Cyclic references may only be used within non-required properties")


def _json_schemas(request: Request) -> Iterator[tuple[str, Json]]:
    config = normal(request).get("generationConfig") or {}
    roots = [
        (f"{where}.parameters_json_schema", each.get("parametersJsonSchema")) for where, each in functions(request)
    ]
    for where, schema in [*roots, ("generation_config.response_json_schema", config.get("responseJsonSchema"))]:
        if schema is not None:
            yield where, schema


def _must_recur(root: Json, node: Json, path: Sequence[str]) -> bool:
    """Whether a schema leads back to itself by way of required properties and items alone."""
    reference = node.get("$ref")
    if reference is not None:
        found = target(root, reference)
        return reference in path or (found is not None and _must_recur(root, found, (*path, reference)))
    inner = [(node.get("properties") or {}).get(name, {}) for name in node.get("required") or ()]
    inner += [each for each in (node.get("items"), *(node.get("anyOf") or ())) if isinstance(each, dict)]
    return any(_must_recur(root, each, path) for each in inner)


SCHEMAS: Final[Sequence[Rule]] = (
    schema_fields,
    schema_types,
    schema_fits_type,
    enum_is_text,
    formats,
    required_is_there,
    json_schemas,
)
"""The rules, in the order in which they are checked."""
