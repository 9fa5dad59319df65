"""The OpenAPI document of the JSON routes, made from the table of operations and the models."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from ..._verbs._scopes import SCOPES
from ..._wire._errors import ErrorTold
from ._operation import Operation
from ._operations import OPERATIONS

_EVENTS: Final = "text/event-stream"
_REF: Final = "#/components/schemas/{model}"
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
    "503": "The service or its store does not work now; try again.",
}


class Document:
    """The document as JSON, made when it is asked for first."""

    def __init__(self) -> None:
        self._text: bytes | None = None

    def text(self) -> bytes:
        """It."""
        if self._text is None:
            self._text = json.dumps(described(OPERATIONS), ensure_ascii=False).encode()
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
        "security": [{"key": []}, {"bearer": []}],
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
    scope = SCOPES[operation.verb].value
    found: dict[str, Any] = {
        "operationId": operation.verb,
        "summary": operation.summary,
        "description": f"Takes a key with the scope `{scope}`.",
        "parameters": [*_in_path(operation), *_in_query(operation, schemas, definitions), *_headers(operation)],
        "responses": {**_answer(operation, schemas), **_refusals(operation, schemas)},
    }
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
        yield _header("Idempotency-Key", "A run with this key is started once; the same key joins it.")
    if operation.streams:
        yield _header("Last-Event-ID", "The `id` of the last event that is known: the stream goes on after it.")


def _header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": {"type": "string"}}


def _answer(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if operation.output is not None:
        content["application/json"] = {"schema": schemas[operation.output, "serialization"]}
    if operation.streams:
        content[_EVENTS] = {"schema": {"type": "string"}}
    found = {str(int(operation.status)): {"description": operation.summary, "content": content}}
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
        if not (status == "422" and operation.query is None and operation.body is None)
    }
