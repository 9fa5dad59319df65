"""Checks of values that users give where something is defined, so that nothing fails later and elsewhere."""

from collections.abc import Mapping
from numbers import Integral
from typing import TypeVar

from .errors import DefinitionError

KeyT = TypeVar("KeyT")
T = TypeVar("T")


def from_one(where: str, what: str, number: int | None, none: str = "no limit") -> None:
    """See that a number is a whole one from 1 up, or None.

    Args:
        where: What is defined.
        what: The argument.
        number: What was given.
        none: What None stands for.

    Raises:
        DefinitionError: It is something else.
    """
    if number is None or (is_whole(number) and number >= 1):
        return
    wanted = "at least 1" if is_whole(number) else "a whole number from 1 up"
    raise DefinitionError(where, f"{what}={number!r:.80}: give {wanted}, or None for {none}")


def is_whole(number: object) -> bool:
    """Whether something is a whole number."""
    return isinstance(number, Integral) and not isinstance(number, bool)


def flag(where: str, what: str, given: object) -> None:
    """See that something is True or False.

    Raises:
        DefinitionError: It is something else.
    """
    if not isinstance(given, bool):
        raise DefinitionError(where, f"{what}={given!r:.80}: give True or False")


def state_key(where: str, what: str, given: object) -> None:
    """See that something is a key of a state, or None.

    Raises:
        DefinitionError: It is no text, or an empty one.
    """
    if given is not None and not (isinstance(given, str) and given):
        raise DefinitionError(where, f"{what}={given!r:.80}: give the key of the state, a text")


def key_or_function(where: str, what: str, given: object) -> None:
    """See that something is a key, or a function, or None.

    Raises:
        DefinitionError: It is something else.
    """
    if given is not None and not callable(given) and not (isinstance(given, str) and given):
        raise DefinitionError(where, f"{what}={given!r:.80}: give a key, a text, or a function")


def version_of(where: str, given: object) -> None:
    """See that something is a version.

    Raises:
        DefinitionError: It is no whole number.
    """
    if not is_whole(given):
        raise DefinitionError(where, f"version={given!r:.80}: give a whole number, such as 2")


def by_key(where: str, what: str, given: Mapping[KeyT, T] | None) -> Mapping[KeyT, T]:
    """What was given by keys; None for nothing.

    Raises:
        DefinitionError: It is no mapping.
    """
    found: object = given
    if found is not None and not isinstance(found, Mapping):
        raise DefinitionError(where, f'{what} is a mapping, and not a {type(found).__name__}: give {{"key": type, …}}')
    return given or {}
