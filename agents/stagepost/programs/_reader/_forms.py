"""What a program is read to: atoms are values, all else are forms with a place. They are never changed."""

from typing import Any, TypeAlias, final


class Nested:
    """A form with forms inside.

    Attributes:
        items: The forms inside; of a map, keys and values in turn.
        place: Offset of its beginning in the text.
    """

    __match_args__ = ("items", "place")
    __slots__ = ("items", "place")

    def __init__(self, items: tuple[Any, ...], place: int) -> None:
        self.items = items
        self.place = place


@final
class Call(Nested):
    """``(f x)``."""

    __slots__ = ()


@final
class Brackets(Nested):
    """``[x y]``."""

    __slots__ = ()


@final
class Braces(Nested):
    """``{k v}``."""

    __slots__ = ()


@final
class SetOf(Nested):
    """``#{x y}``."""

    __slots__ = ()


@final
class Short(Nested):
    """``#(f % x)``."""

    __slots__ = ()


class Named:
    """A form that is one word.

    Attributes:
        name: The word.
        place: Offset of its beginning in the text.
    """

    __match_args__ = ("name", "place")
    __slots__ = ("name", "place")

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self.place = place


@final
class Symbol(Named):
    """A name."""

    __slots__ = ()


@final
class Regex(Named):
    """``#"[0-9]+"``; its name is the expression."""

    __slots__ = ()


@final
class VarOf(Named):
    """``#'x``."""

    __slots__ = ()


def symbols(form: Any) -> list[Symbol]:
    """All symbols in a form."""
    if isinstance(form, Symbol):
        return [form]
    return [found for item in form.items for found in symbols(item)] if isinstance(form, Nested) else []


Form: TypeAlias = Nested | Named | str | int | float | bool | None
