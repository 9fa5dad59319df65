"""The values that Python has no type for."""

from collections.abc import Callable
from typing import Any, final

from stagepost._dataclasses import dataclass


@final
@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function that a program has made; it belongs to the run that has made it.

    Attributes:
        call: Takes as many arguments as it accepts.
        low: The least number of arguments.
        high: The greatest; None for any.
        shown: How it is printed.
        form: What it was made of, to be made again in another run; None for one that built-in functions have made.
        held: The names and values of the surroundings that it uses.
        frames: What a call adds to the depth of the evaluation.
    """

    call: Callable[..., Any]
    low: int
    high: int | None
    shown: str
    form: Any = None
    held: tuple[tuple[str, Any], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Var:
    """The value of ``(def x 1)``: ``#'x``."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression.

    Attributes:
        text: As it was written.
        compiled: By the engine.
    """

    text: str
    compiled: Any


@final
@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the language.

    Attributes:
        name: Its first name.
        low: The least number of arguments.
        high: The greatest; None for any.
        act: Takes the machine and the arguments.
        about: What it does, for the documentation.
        family: Where the documentation lists it.
        odd: Whether the number of arguments has to be odd.
        also: Its other names.
    """

    name: str
    low: int
    high: int | None
    act: Callable[..., Any]
    about: str
    family: str = ""
    also: tuple[str, ...] = ()


def accepts(function: "Function | Builtin", count: int) -> bool:
    """Whether it can be called with so many arguments."""
    return function.low <= count and (function.high is None or count <= function.high)
