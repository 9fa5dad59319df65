"""Checks of the arguments that callers give, before anything is done."""

from collections.abc import Iterable
from numbers import Integral
from typing import TypeVar, cast

from ._message import Message, Priority
from ._middleware import Middleware
from ._origin import Carriage, Cause
from ._sending import Sends
from ._topics import check_pattern
from ._wake import Clock
from .errors import InvalidArgument

ChoiceT = TypeVar("ChoiceT", bound=str)
ContextT = TypeVar("ContextT")


def check_choice(what: str, value: object, choices: tuple[ChoiceT, ...]) -> ChoiceT:
    """Return a value that is one of several texts.

    Raises:
        InvalidArgument: It is not one of them.
    """
    if isinstance(value, str) and value in choices:
        return choices[choices.index(value)]
    *most, last = (f'"{choice}"' for choice in choices)
    raise InvalidArgument(what, value, f"use {', '.join(most)} or {last}")


def check_flag(what: str, value: object) -> bool:
    """Return a bool.

    Raises:
        InvalidArgument: The value is not a bool.
    """
    if isinstance(value, bool):
        return value
    raise InvalidArgument(what, value, "use True or False")


def check_text(what: str, value: object) -> str:
    """Return a non-empty text.

    Raises:
        InvalidArgument: The value is not a text, or empty.
    """
    if isinstance(value, str) and value:
        return value
    raise InvalidArgument(what, value, "use a text, or None")


def check_cause(cause: object) -> Cause:
    """Return the cause of a message.

    Raises:
        InvalidArgument: The value is no message and no id of one.
    """
    if isinstance(cause, Message | Carriage) or (isinstance(cause, str) and cause):
        return cause
    raise InvalidArgument("cause", cause, "use a Message, or the id of one, or None")


def check_priority(priority: object) -> Priority:
    """Return a priority, which may be given as its number.

    Raises:
        InvalidArgument: The value is not a priority.
    """
    if type(priority) is Priority:
        return priority
    if isinstance(priority, int) and not isinstance(priority, bool) and priority in tuple(Priority):
        return Priority(priority)
    raise InvalidArgument("priority", priority, "use a member of Priority: LOW, NORMAL, HIGH or CRITICAL")


def check_patterns(topics: object) -> tuple[str, ...]:
    """Return the patterns to subscribe to; a single text is one pattern.

    Raises:
        InvalidArgument: The value cannot be iterated over.
        InvalidTopic: A pattern does not follow the grammar.
    """
    if isinstance(topics, str):
        return (check_pattern(topics),)
    if not isinstance(topics, Iterable):
        raise InvalidArgument("topics", topics, 'use a topic, or a list of them: ["orders.>"]')
    return tuple(check_pattern(topic) for topic in topics)


def check_middleware(
    middleware: Iterable[Middleware[ContextT] | Sends],
) -> tuple[tuple[Middleware[ContextT], ...], tuple[Sends, ...]]:
    """Return the layers around handling, and those around sending; one layer may be both.

    Raises:
        InvalidArgument: The value is not a sequence, or an element is not an async function.
    """
    remedy = "use a list of async functions that take (context, proceed), or objects with a method `sending`"
    if not isinstance(middleware, Iterable):
        raise InvalidArgument("middleware", middleware, remedy)
    handling: list[Middleware[ContextT]] = []
    sending: list[Sends] = []
    for number, layer in enumerate(middleware):
        sends = callable(getattr(layer, "sending", None))
        if isinstance(layer, type) or not (sends or callable(layer)):
            raise InvalidArgument(f"middleware[{number}]", layer, remedy)
        if callable(layer):
            handling.append(layer)
        if sends:
            sending.append(cast("Sends", layer))
    return tuple(handling), tuple(sending)


def check_number(what: str, number: object) -> int:
    """Return a whole number from 0 up.

    Raises:
        InvalidArgument: The value is not such a number.
    """
    if not isinstance(number, bool) and isinstance(number, Integral) and int(number) >= 0:
        return int(number)
    raise InvalidArgument(what, number, "use a whole number from 0 up")


def check_clock(clock: Clock) -> Clock:
    """Return a clock.

    Raises:
        InvalidArgument: The value is not a clock. A class of clocks is taken for a mistake.
    """
    methods = (getattr(clock, name, None) for name in ("now", "wait_until"))
    if all(map(callable, methods)) and not isinstance(clock, type):
        return clock
    raise InvalidArgument("clock", clock, "use an object with now and wait_until")
