"""Predicates for the edges of a graph."""

from collections.abc import Callable, Mapping
from types import GeneratorType
from typing import Any, TypeAlias

from pydantic import BaseModel

from stagepost.checkpoint import CannotStore, freeze

from .._steps._step import is_async
from .._values._state import State
from .._values._unawaited import refuse_unawaited
from ..errors import DefinitionError

Predicate: TypeAlias = Callable[[Any], bool]
"""A sync function of the state that says whether something is so."""

_MISSING: Any = object()


def key_exists(key: str) -> Predicate:
    """Whether the state has a key."""

    def predicate(state: Any) -> bool:
        return _read(state, key) is not _MISSING

    return _named(predicate, f"has {key}")


def key_equals(key: str, value: object) -> Predicate:
    """Whether the state has a key with this value; never true for NaN, which equals nothing.

    The value may be given as a step would return it: a tuple is equal to the list that it is stored as, a member of an
    enum to its value.
    """
    stored = _stored(value)

    def predicate(state: Any) -> bool:
        found = _read(state, key)
        return bool(found == value) or (stored is not value and bool(found == stored))

    return _named(predicate, f"{key} is {value!r}")


def not_(predicate: Predicate) -> Predicate:
    """Whether another predicate says no.

    Raises:
        DefinitionError: It is no sync function.
    """
    check_predicate("not_", predicate)

    def opposite(state: Any) -> bool:
        return not predicate(state)

    return _named(opposite, f"not ({label_of(predicate)})")


def all_of(*predicates: Predicate) -> Predicate:
    """Whether all say yes; they are asked in order, and none behind the first that says no.

    Raises:
        DefinitionError: There are none, or one is no sync function.
    """
    _check_some("all_of", predicates)

    def every(state: Any) -> bool:
        return all(predicate(state) for predicate in predicates)

    return _named(every, f"all of ({_labels(predicates)})")


def any_of(*predicates: Predicate) -> Predicate:
    """Whether one says yes; they are asked in order, and none behind the first that does.

    Raises:
        DefinitionError: There are none, or one is no sync function.
    """
    _check_some("any_of", predicates)

    def some(state: Any) -> bool:
        return any(predicate(state) for predicate in predicates)

    return _named(some, f"any of ({_labels(predicates)})")


def check_predicate(where: str, predicate: object) -> None:
    """See that something can be asked about a state.

    Raises:
        DefinitionError: It cannot.
    """
    if not callable(predicate):
        raise DefinitionError(where, f"{predicate!r} is no predicate: give a function of the state")
    if is_async(predicate):
        raise DefinitionError(
            where, f"predicate {label_of(predicate)!r} is async: decide in a step, and ask its result"
        )


def says_yes(predicate: Callable[[Any], object], state: Any) -> bool:
    """Ask a predicate about a state.

    Raises:
        TypeError: It returned a coroutine or a generator, which always count as true.
    """
    answer = predicate(state)
    if answer is True or answer is False:
        return answer
    refuse_unawaited(answer, f"predicate {label_of(predicate)!r}")
    if isinstance(answer, GeneratorType):
        raise TypeError("it returned a generator, which is always true: return any(…) or all(…) of it")
    return bool(answer)


def label_of(predicate: Callable[..., object]) -> str:
    """What diagrams and the names of combined predicates call it."""
    name = str(getattr(predicate, "__name__", ""))
    return name if name and name != "<lambda>" else "when"


def _check_some(where: str, predicates: tuple[Predicate, ...]) -> None:
    if not predicates:
        raise DefinitionError(where, "it has no predicates: give at least one")
    for predicate in predicates:
        check_predicate(where, predicate)


def _labels(predicates: tuple[Predicate, ...]) -> str:
    return ", ".join(map(label_of, predicates))


def _named(predicate: Predicate, name: str) -> Predicate:
    predicate.__name__ = name  # what diagrams show
    return predicate


def _stored(value: object) -> object:
    try:
        return freeze(value)
    except CannotStore:  # of a type that only a typed state can hold
        return value


def _read(state: Any, key: str) -> Any:
    if isinstance(state, State):  # what it mostly is; to ask for the others takes as long as to read it
        return state.get(key, _MISSING)
    if isinstance(state, BaseModel):
        return getattr(state, key, _MISSING)
    return state[key] if isinstance(state, Mapping) and key in state else _MISSING
