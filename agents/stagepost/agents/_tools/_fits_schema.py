"""Whether a JSON value fits a JSON schema, for values whose type is known by its schema only.

The library `jsonschema` checks, by the draft that the schema names, or else 2020-12. It is imported when it is first
needed. A schema that is wrong itself lets every value pass: nobody who is asked could do anything about it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from stagepost.workflows import ExtraMissing

from .._models._model import JsonSchema

_LONGEST: Final = 200  # characters of a schema in a message
_CLOSE: Final = 1e-9  # 0.3 is three times 0.1


def misfit(value: JsonValue, schema: JsonSchema) -> str | None:
    """What is wrong with a value and where, without the value itself; None if it fits, or if the schema is wrong.

    Args:
        value: The value.
        schema: The schema. References lead into itself only: nothing is fetched.

    Raises:
        ExtraMissing: `jsonschema` is not installed.
    """
    library = imported()
    from referencing.exceptions import Unresolvable  # noqa: PLC0415  # comes with jsonschema

    wrong = (library.SchemaError, library.exceptions.UnknownType, Unresolvable, re.error, RecursionError)
    try:
        error = library.exceptions.best_match(_validator(to_json(schema)).iter_errors(value))
    except wrong:
        return None
    return None if error is None else _told(error)


def imported() -> Any:
    """The library.

    Raises:
        ExtraMissing: It is not installed.
    """
    try:
        import jsonschema  # type: ignore[import-untyped]  # noqa: PLC0415  # it has no stubs, and few need it
    except ImportError as error:
        raise ExtraMissing("a JSON schema for values", "jsonschema", "schema") from error
    return jsonschema


@lru_cache(maxsize=128)
def _validator(schema: bytes) -> Any:
    from referencing import Registry  # noqa: PLC0415  # comes with jsonschema; an empty one fetches nothing

    library, parsed = imported(), from_json(schema)
    kind = library.validators.validator_for(parsed, default=library.Draft202012Validator)
    kind.check_schema(parsed)
    tolerant = library.validators.extend(kind, {"multipleOf": _multiple_of})
    return tolerant(parsed, registry=Registry(), format_checker=kind.FORMAT_CHECKER)


def _multiple_of(validator: Any, step: float, value: Any, _: object) -> Iterator[Exception]:
    """As `jsonschema` does, but not more exact than floats are."""
    if validator.is_type(value, "number") and abs(value / step - round(value / step)) > _CLOSE:
        yield imported().ValidationError("it is no multiple")


def _told(error: Any) -> str:
    """A message: where something is wrong, and which keyword of the schema says so."""
    where, keyword, limit = [*map(str, error.absolute_path)], error.validator, error.validator_value
    if keyword == "required":
        where.append(next(name for name in limit if name not in error.instance))
        problem = "it is missing (required)"
    elif keyword is None:  # the schema is False
        problem = "nothing is allowed here"
    else:
        problem = f"it does not fit {keyword}: {to_json(limit).decode()[:_LONGEST]}"
    return f"{'.'.join(where)}: {problem}" if where else problem
