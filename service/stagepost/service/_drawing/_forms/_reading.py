"""Values made from what was typed into a form."""

import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from stagepost._dataclasses import dataclass

from ._field import Field, FieldKind, below
from ._schemas import Schemas

_NONE: Final = object()  # nothing was given


class _Blank(NamedTuple):
    """What an empty field of a kind may stand for."""

    make: Callable[[], object]
    least: str  # the word of a schema that says that it must not be empty


_BLANK: Final = {FieldKind.LINES: _Blank(list, "minItems"), FieldKind.TEXT: _Blank(str, "minLength")}


@dataclass(frozen=True, slots=True)
class Submitted:
    """A form that was sent.

    Attributes:
        form: It, with what was typed and with the errors.
        value: The value; of no use if there are errors.
        errors: Why fields were refused, by their names.
    """

    form: Field
    value: Any = None
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_fine(self) -> bool:
        """Whether there is a value."""
        return not self.errors


def read_form(form: Field, typed: Mapping[str, str]) -> Submitted:
    """The value that was typed into a form.

    What a form can see is checked: what is missing, numbers and their bounds, lengths, JSON. Whoever takes the value
    checks the rest, and `refused` says it in the form.

    Args:
        form: From `form_of`.
        typed: What was sent, by the names of fields; what is not there counts as empty.
    """
    reading = _Reading(typed)
    value = reading.value(form)
    if value is _NONE and not reading.errors:
        value = {} if form.kind is FieldKind.GROUP else None
    return Submitted(_filled(form, typed, reading.errors), value, reading.errors)


def refused(submitted: Submitted, errors: Iterable[tuple[Sequence[str | int], str]]) -> Submitted:
    """A form whose value was refused by whoever takes it.

    Args:
        submitted: The form.
        errors: Where in the value, and why: as ``loc`` and ``msg`` of pydantic's errors. What no field has belongs to
            the one around it.
    """
    names = {each.name for each in submitted.form.every()}
    found: dict[str, str] = dict(submitted.errors)
    for place, why in errors:
        name = submitted.form.name
        rest = [str(part) for part in place]
        while rest and below(name, rest[0]) in names:
            name = below(name, rest.pop(0))
        said = f"{'.'.join(rest)}: {why}" if rest else why
        found[name] = f"{found[name]}; {said}" if name in found else said
    typed = {each.name: each.typed for each in submitted.form.every()}
    return Submitted(_filled(submitted.form, typed, found), submitted.value, found)


def _filled(form: Field, typed: Mapping[str, str], errors: Mapping[str, str]) -> Field:
    fields = [_filled(each, typed, errors) for each in form.fields]
    is_typed = form.kind not in (FieldKind.GROUP, FieldKind.FIXED)
    return replace(
        form,
        fields=fields,
        typed=_lines(typed.get(form.name, "")) if is_typed else form.typed,
        error=errors.get(form.name),
    )


class _Reading:
    def __init__(self, typed: Mapping[str, str]) -> None:
        self._typed = typed
        self.errors: dict[str, str] = {}

    def value(self, form: Field) -> Any:
        """The value of a field; nothing if it is empty and need not be given."""
        if form.kind is FieldKind.FIXED:
            return form.schema.get("const")
        if form.kind is FieldKind.GROUP:
            return self._object(form)
        typed = _lines(self._typed.get(form.name, ""))
        is_empty = not (typed if form.kind is FieldKind.TEXT else typed.strip())
        if is_empty:
            return self._empty(form)
        try:
            return _READERS[form.kind](form, typed)
        except ValueError as error:
            self.errors[form.name] = str(error)
            return _NONE

    def _empty(self, form: Field) -> Any:
        """What an empty field stands for: an empty value, if that is not what leaving it out would mean."""
        if not form.is_required and form.takes_null:
            return None
        blank = _BLANK.get(form.kind)
        if blank is not None and not form.schema.get(blank.least) and (form.is_required or "default" in form.schema):
            return blank.make()
        if form.is_required:
            self.errors[form.name] = "choose one" if form.kind is FieldKind.CHOICE else "fill this in"
        return _NONE

    def _object(self, form: Field) -> Any:
        """An object; of one that need not be given nothing, if nothing is in it."""
        before = dict(self.errors)
        found = {each.key: value for each in form.fields if (value := self.value(each)) is not _NONE}
        if not form.is_required and not any(self._is_filled(each) for each in form.fields):
            self.errors = before
            return None if form.takes_null else _NONE
        return found

    def _is_filled(self, form: Field) -> bool:
        if form.kind is FieldKind.GROUP:
            return any(map(self._is_filled, form.fields))
        return bool(self._typed.get(form.name, "").strip())


def _choice(form: Field, typed: str) -> Any:
    if typed not in {text for text, _ in form.options}:
        raise ValueError("choose one of these")
    return json.loads(typed)


def _json(form: Field, typed: str) -> Any:  # noqa: ARG001  # as the other readers
    try:
        return from_json(typed, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(f"this is no JSON: {error}") from None


def _line(form: Field, typed: str) -> Any:
    kind = form.schema.get("type")
    return _number(form.schema, typed) if kind in ("integer", "number") else _text(form, typed)


def _text(form: Field, typed: str) -> str:
    typed = typed if form.kind is FieldKind.TEXT or form.input_type == "password" else typed.strip()
    least, most = form.schema.get("minLength"), form.schema.get("maxLength")
    if least is not None and len(typed) < least:
        raise ValueError(f"give at least {least:,} characters, not {len(typed):,}")
    if most is not None and len(typed) > most:
        raise ValueError(f"give at most {most:,} characters, not {len(typed):,}")
    return typed


def _list(form: Field, typed: str) -> Sequence[Any]:
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    least, most = form.schema.get("minItems"), form.schema.get("maxItems")
    if least is not None and len(lines) < least:
        raise ValueError(f"give at least {least:,} lines, not {len(lines):,}")
    if most is not None and len(lines) > most:
        raise ValueError(f"give at most {most:,} lines, not {len(lines):,}")
    element, _ = Schemas({}).meant(form.schema.get("items"))
    if element.get("type") == "string":
        return lines
    return [_element(element, number, line) for number, line in enumerate(lines, 1)]


def _element(schema: Mapping[str, Any], number: int, line: str) -> Any:
    try:
        return _number(schema, line)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


_READERS: Final = {
    FieldKind.CHOICE: _choice,
    FieldKind.JSON: _json,
    FieldKind.LINE: _line,
    FieldKind.TEXT: _text,
    FieldKind.LINES: _list,
}


def _number(schema: Mapping[str, Any], typed: str) -> int | float:
    number = _integer(typed) if schema.get("type") == "integer" else _float(typed)
    for word, is_wrong, why in _BOUNDS:
        bound = schema.get(word)
        if isinstance(bound, int | float) and is_wrong(number, bound):
            raise ValueError(f"give {why} {bound:,}")
    return number


_BOUNDS: Final[Sequence[tuple[str, Callable[[float, float], bool], str]]] = (
    ("minimum", operator.lt, "at least"),
    ("maximum", operator.gt, "at most"),
    ("exclusiveMinimum", operator.le, "more than"),
    ("exclusiveMaximum", operator.ge, "less than"),
)


def _integer(typed: str) -> int:
    try:
        return int(typed.strip())
    except ValueError:
        raise ValueError("give a whole number") from None


def _float(typed: str) -> int | float:
    try:
        found = float(typed.strip())
    except ValueError:
        raise ValueError("give a number") from None
    if not math.isfinite(found):
        raise ValueError("give a number")
    return found


def _lines(typed: str) -> str:
    """A text as it was typed: browsers send each end of a line as two characters."""
    return typed.replace("\r\n", "\n")
