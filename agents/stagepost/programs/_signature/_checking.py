"""Checks values against the types of a signature, with errors that a model can act on."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from stagepost._dataclasses import dataclass

from .._keyword import Keyword
from .._values._hidden import HIDDEN, is_firewalled
from ._texts import path_of, received
from ._types import Kind, ListOf, MapOf, Type, bare, label

_TOLD: Final = 20


class Validation(StrEnum):
    """What becomes of a value that does not fit its signature.

    ``ENABLED`` refuses it and lets extra fields pass, ``STRICT`` refuses those, too, ``WARN`` lets everything pass and
    says what is wrong, ``OFF`` does not look.
    """

    ENABLED = "enabled"
    STRICT = "strict"
    WARN = "warn"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Validated:
    """A value that was checked.

    Attributes:
        value: The value, which inputs may have been coerced to.
        errors: Why it is refused, each with the path of what is wrong: ``results[0].id: expected int, got nil``.
        warnings: What was coerced; with `Validation.WARN`, what would have been refused.
    """

    value: Any
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the value may be used."""
        return not self.errors


def problems(adapter: TypeAdapter[Any], type_: Type, value: object) -> tuple[str, ...]:
    """What is wrong with the value; at most 20 errors, then how many more."""
    try:
        adapter.validate_python(value)
    except ValidationError as refused:
        found = refused.errors(include_url=False, include_context=False)
        told = [_told(type_, error) for error in found[:_TOLD]]
        more = len(found) - _TOLD
        return (*told, f"and {more} more") if more > 0 else tuple(told)
    return ()


def snake_case(value: Any) -> Any:
    """The value with the keys of its maps as texts without hyphens, at each level; a key that has none wins."""
    if isinstance(value, dict):
        made = {_name(key): snake_case(of) for key, of in value.items()}
        return made | {key: made[key] for key in value if key in made} if len(made) < len(value) else made
    if isinstance(value, (list, tuple)):
        return [snake_case(each) for each in value]
    return value


def _name(key: object) -> str:
    return (key.twin if isinstance(key, Keyword) else str(key)).replace("-", "_")


def _told(type_: Type, error: ErrorDetails) -> str:
    path = path_of(error["loc"])
    where = f"{path}: " if path else ""
    got = HIDDEN if any(map(is_firewalled, error["loc"])) else received(error["input"])
    if error["type"] == "missing":
        return f"{where}expected field, got nil"
    if error["type"] == "extra_forbidden":
        return f"{where}expected no such field, got {got}"
    return f"{where}expected {label(_at(type_, error['loc']))}, got {got}"


def _at(type_: Type, loc: Sequence[str | int]) -> Type:
    for part in loc:
        plain = bare(type_)
        type_ = plain.item if isinstance(plain, ListOf) else _named(plain, part)
    return type_


def _named(type_: Type, name: str | int) -> Type:
    fields = type_.fields if isinstance(type_, MapOf) else ()
    return next((field.type for field in fields if field.name == name), Kind.ANY)
