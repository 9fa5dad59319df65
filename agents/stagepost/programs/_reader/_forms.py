"""What a program is read to: atoms are values, all else are forms with a place."""

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class Symbol:
    """A name."""

    name: str
    place: int


@final
@dataclass(frozen=True, slots=True)
class Call:
    """``(f x)``."""

    items: tuple[Any, ...]
    place: int


@final
@dataclass(frozen=True, slots=True)
class Brackets:
    """``[x y]``."""

    items: tuple[Any, ...]
    place: int


@final
@dataclass(frozen=True, slots=True)
class Braces:
    """``{k v}``; keys and values in turn."""

    items: tuple[Any, ...]
    place: int


@final
@dataclass(frozen=True, slots=True)
class SetOf:
    """``#{x y}``."""

    items: tuple[Any, ...]
    place: int


@final
@dataclass(frozen=True, slots=True)
class Short:
    """``#(f % x)``."""

    items: tuple[Any, ...]
    place: int


@final
@dataclass(frozen=True, slots=True)
class Regex:
    """``#"[0-9]+"``."""

    text: str
    place: int


@final
@dataclass(frozen=True, slots=True)
class VarOf:
    """``#'x``."""

    name: str
    place: int


Form = Symbol | Call | Brackets | Braces | SetOf | Short | Regex | VarOf | str | int | float | bool | None
