"""The OpenAPI document of the JSON routes, made from the table of operations and the models."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from ..._wire._errors import ErrorTold
from ._operation import Operation
from ._reading import LONGEST_KEY

_EVENTS: Final = "text/event-stream"
_KEY: Final = MappingProxyType({"minLength": 1, "maxLength": LONGEST_KEY})
_REF: Final = "#/components/schemas/{model}"
_SECURITY: Final[Sequence[Mapping[str, Sequence[str]]]] = ({"key": []}, {"bearer": []})
_ERRORS: Final[Mapping[str, str]] = {
    "400": "A cursor, an id or another value makes no sense.",
    "401": "There is no key, or it is not known.",
    "403": "The key has not the scope.",
    "404": "There is no such run, wait, effect, signal, workflow or schedule.",
    "409": "What is stored does not allow it: the run has ended, is open, is another one, or cannot go on.",
    "410": "The run was deleted since.",
    "413": "The body is too large.",
    "422": "A field does not fit; `details` names it.",
    "429": "The caller has asked too often, or too many streams are open.",
    "500": "It has failed; `reference` stands in the log, too.",
    "503": "The service or its store does not work now; try again.",
}


class Document:
    """The document as JSON, made when it is asked for first.

    Args:
        operations: What can be asked for.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = operations
        self._text: bytes | None = None

    def text(self) -> bytes:
        """It."""
        if self._text is None:
            self._text = json.dumps(described(self._operations), ensure_ascii=False).encode()
        return self._text


def described(operations: Sequence[Operation]) -> dict[str, Any]:
    """The document.

    Args:
        operations: What can be asked for.
    """
    schemas, definitions = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(_path(operation), {})[operation.method.lower()] = _operation(operation, schemas, definitions)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "stagepost",
            "version": version("stagepost"),
            "description": "Runs of workflows and agents: start, follow, answer, cancel.",
        },
        "security": _SECURITY,
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


Schemas: TypeAlias = Mapping[tuple[type[BaseModel], JsonSchemaMode], Mapping[str, Any]]
"""Where the schema of each model is."""


def _schemas(operations: Iterable[Operation]) -> tuple[Schemas, dict[str, Any]]:
    """Where each model's schema is, and the schemas by their names."""
    wanted: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(ErrorTold, "serialization"): None}
    for each in operations:
        if each.output is not None:
            wanted[each.output, "serialization"] = None
        for model in (each.query, each.body):
            if model is not None:
                wanted[model, "validation"] = None
    refs, whole = models_json_schema(list(wanted), ref_template=_REF)
    return cast("Schemas", refs), whole["$defs"]


def _operation(operation: Operation, schemas: Schemas, definitions: Mapping[str, Any]) -> dict[str, Any]:
    takes = "Answers without a key, too." if operation.is_open else f"Takes a key with the scope `{operation.needed}`."
    found: dict[str, Any] = {
        "operationId": operation.verb,
        "summary": operation.summary,
        "description": takes,
        "parameters": [*_in_path(operation), *_in_query(operation, schemas, definitions), *_headers(operation)],
        "responses": {**_refusals(operation, schemas), **_answer(operation, schemas)},
    }
    if operation.is_open:
        found["security"] = [{}, *_SECURITY]
    if operation.body is not None:
        schema = schemas[operation.body, "validation"]
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _path(operation: Operation) -> str:
    return operation.path.replace(":path}", "}")


def _in_path(operation: Operation) -> Iterable[dict[str, Any]]:
    for name, convertor in re.findall(r"\{(\w+)(:path)?\}", operation.path):
        slashes = " It may hold slashes, as they are or as `%2F`." if convertor else ""
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": f"The {name.replace('_', ' ')}.{slashes}",
            "schema": {"type": "string"},
        }


def _in_query(operation: Operation, schemas: Schemas, definitions: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    if operation.query is None:
        return
    name = schemas[operation.query, "validation"]["$ref"].rpartition("/")[2]
    model = definitions[name]
    for field, schema in model["properties"].items():
        yield {
            "name": field,
            "in": "query",
            "required": field in model.get("required", ()),
            "description": schema.get("description", ""),
            "schema": {key: value for key, value in schema.items() if key not in ("description", "title")},
        }


def _headers(operation: Operation) -> Iterable[dict[str, Any]]:
    if operation.takes_key:
        yield _header("Idempotency-Key", "What has this key is begun once; the same key joins it.", **_KEY)
    if operation.streams:
        yield _header("Last-Event-ID", "The `id` of the last event that is known: the stream goes on after it.")


def _header(name: str, description: str, **schema: int) -> dict[str, Any]:
    described = {"type": "string", **schema}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": described}


def _answer(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if operation.output is not None:
        content["application/json"] = {"schema": schemas[operation.output, "serialization"]}
    if operation.streams:
        content[_EVENTS] = {"schema": {"type": "string"}}
    found = {str(int(operation.status)): {"description": operation.summary, "content": content}}
    if operation.is_open:
        found["503"] = {"description": _ERRORS["503"], "content": content}
    if operation.output is None:
        found[str(int(HTTPStatus.NO_CONTENT))] = {"description": "Whoever asks was told everything, the end included."}
    elif operation.streams and operation.status != HTTPStatus.OK:
        content.pop("text/event-stream")
        stream = {"text/event-stream": {"schema": {"type": "string"}}}
        found["200"] = {
            "description": "The run's stream, to a client that accepts `text/event-stream`.",
            "content": stream,
        }
    return found


def _refusals(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    content = {"application/json": {"schema": schemas[ErrorTold, "serialization"]}}
    return {
        status: {"description": description, "content": content}
        for status, description in _ERRORS.items()
        if status != "422" or operation.query or operation.body or operation.scope
    }
