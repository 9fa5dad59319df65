"""The types of signatures, as frozen values."""

from dataclasses import field
from enum import StrEnum
from typing import TypeAlias

from stagepost._dataclasses import dataclass


class Kind(StrEnum):
    """The types that have no parts; the value is how they are written, without the colon."""

    STRING = "string"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    KEYWORD = "keyword"
    ANY = "any"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, each element of one type."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class Field:
    """A named value: a parameter of a signature, or a field of a map.

    Attributes:
        name: In snake_case. With a leading underscore, programs can use the value and models are not shown it.
        type: Its type.
        description: For whoever has to fill it in. It is not part of the text of a signature, so that two fields
            that differ in it only are equal.
    """

    name: str
    type: "Type"
    description: str | None = field(default=None, compare=False)

    @property
    def hidden(self) -> bool:
        """Whether models are not shown the value."""
        return self.name.startswith("_")


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map with known fields; without fields, any map."""

    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Maybe:
    """A value that may be nil or absent."""

    type: "Kind | ListOf | MapOf"


Type: TypeAlias = Kind | ListOf | MapOf | Maybe


def bare(type_: Type) -> Kind | ListOf | MapOf:
    """The type without its ``?``."""
    return type_.type if isinstance(type_, Maybe) else type_


def label(type_: Type) -> str:
    """The type in one word, as errors say it."""
    match bare(type_):
        case Kind() as kind:
            return kind.value
        case ListOf():
            return "list"
        case MapOf():
            return "map"
