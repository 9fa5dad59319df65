"""Fields of a form for a value, and the value that was typed into them."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from pydantic_core import from_json

from ..errors import Detail, InvalidBody
from ._questions import Question


def form_values(question: Question, typed: Mapping[str, Sequence[str]], problems: Mapping[str, str]) -> str:
    """The fields."""
    return typed.get("value", [""])[-1]


def typed_value(question: Question, typed: Mapping[str, Sequence[str]]) -> JsonValue:
    """The value.

    Raises:
        InvalidBody: What was typed is none.
    """
    try:
        value: JsonValue = from_json(typed.get("value", [""])[-1])
    except ValueError as error:
        raise InvalidBody("The form does not fit", [Detail("value", f"this is no JSON: {error}")]) from None
    return value
