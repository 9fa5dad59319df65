"""Fields of a form for the value that a wait takes, and the value that was typed into them."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from .._drawing._forms._field import Field
from .._drawing._forms._making import form_of
from .._drawing._forms._reading import read_form
from ..errors import Detail, InvalidBody
from ._questions import Question

_NAME: Final = "value"


def fields_of(question: Question, typed: Mapping[str, Sequence[str]]) -> Field:
    """The fields, with what was typed and what is wrong with it; without anything typed as the schema says."""
    form = _form(question)
    sent = _sent(typed)
    return read_form(form, sent).form if sent else form


def typed_value(question: Question, typed: Mapping[str, Sequence[str]]) -> JsonValue:
    """The value.

    Raises:
        InvalidBody: What was typed is none.
    """
    read = read_form(_form(question), _sent(typed))
    if not read.is_fine:
        raise InvalidBody("The form does not fit", [Detail(name, why) for name, why in read.errors.items()])
    value: JsonValue = read.value
    return value


def _form(question: Question) -> Field:
    return form_of(question.schema or {}, name=_NAME, label="" if question.schema else "Answer, as JSON")


def _sent(typed: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    below = f"{_NAME}/"
    return {name: values[-1] for name, values in typed.items() if name == _NAME or name.startswith(below)}
