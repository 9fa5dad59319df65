"""Reads a signature from its text.

::

    signature = [ "(" [ field { "," field } ] ")" "->" ] type
    field     = [ ":" ] name type
    type      = base [ "?" ]
    base      = ":" kind | "[" type "]" | "{" [ field { "," field } ] "}"

Commas may be left out, white space is free, and ``;`` begins a comment that ends with the line.
"""

import re
from typing import Final, NamedTuple

from .._errors import InvalidSignature
from ._types import Field, Kind, ListOf, MapOf, Maybe, Type

_TOKEN: Final = re.compile(
    r"(?P<blank>[\s,]+|;[^\n]*)|(?P<arrow>->)|(?P<word>:?[A-Za-z_][A-Za-z0-9_-]*(?<!-))|(?P<mark>[()\[\]{}?])"
)
_NAME: Final = re.compile(r"_?[A-Za-z][A-Za-z0-9_-]*")
_KINDS: Final = ", ".join(f":{kind}" for kind in Kind)
_HINTS: Final = {
    "list": "write `[:type]` for a list",
    "array": "write `[:type]` for a list",
    "tuple": "write `{field :type}` or `:map`",
    "object": "write `{field :type}` or `:map`",
}
_DEEPEST: Final = 64
_END: Final = ""


class _Token(NamedTuple):
    text: str
    place: int


def read(text: str) -> tuple[tuple[Field, ...], Type]:
    """The parameters and the returned type."""
    reader = _Reader(text)
    params: tuple[Field, ...] = ()
    if reader.takes("("):
        params = reader.fields(")", 0)
        if not reader.takes("->"):
            raise reader.refused("`->` and the returned type have to follow the parameters")
    returns = reader.type(0)
    if reader.next.text != _END:
        raise reader.refused("it should have ended here")
    return params, returns


class _Reader:
    def __init__(self, text: str) -> None:
        self._source = text
        self._tokens = iter([*_tokens(text), _Token(_END, len(text))])
        self.next = next(self._tokens)

    def takes(self, text: str) -> bool:
        if self.next.text != text:
            return False
        self._advance()
        return True

    def fields(self, end: str, depth: int) -> tuple[Field, ...]:
        found: dict[str, Field] = {}
        while not self.takes(end):
            name = self._name(end)
            if name in found:
                raise InvalidSignature(f"the name {name} is used twice in one place")
            found[name] = Field(name, self.type(depth))
        return tuple(found.values())

    def type(self, depth: int) -> Type:
        if depth > _DEEPEST:
            raise InvalidSignature(f"types are nested more than {_DEEPEST} deep")
        base = self._base(depth + 1)
        return Maybe(base) if self.takes("?") else base

    def refused(self, why: str) -> InvalidSignature:
        found = f"`{self.next.text}`" if self.next.text else "the end"
        return InvalidSignature(f"{why}, found {found} at {_line_and_column(self._source, self.next.place)}")

    def _base(self, depth: int) -> Kind | ListOf | MapOf:
        if self.takes("["):
            return self._list(depth)
        if self.takes("{"):
            return MapOf(self.fields("}", depth))
        word = self.next.text
        if not word.startswith(":"):
            raise self.refused(f"a type is expected: one of {_KINDS}, `[type]` or `{{name type}}`")
        if word[1:] not in set(Kind):
            hint = _HINTS.get(word[1:], f"types are {_KINDS}, `[type]` and `{{name type}}`")
            raise self.refused(f"there is no type `{word}`: {hint}")
        self._advance()
        return Kind(word[1:])

    def _list(self, depth: int) -> ListOf:
        if self.next.text == "]":
            raise self.refused("`[]` does not say of what: write `[:any]` for a list of anything")
        item = self.type(depth)
        if not self.takes("]"):
            raise self.refused("a list has one type, and `]` is expected after it")
        return ListOf(item)

    def _name(self, end: str) -> str:
        word = self.next.text.removeprefix(":")
        if not _NAME.fullmatch(word):
            raise self.refused(f"a name (a letter, then letters, digits, `_`, `-`) or `{end}` is expected")
        self._advance()
        return word.replace("-", "_")

    def _advance(self) -> None:
        self.next = next(self._tokens)


def _tokens(text: str) -> list[_Token]:
    found = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise InvalidSignature(f"`{text[place]}` means nothing at {_line_and_column(text, place)}")
        if match.lastgroup != "blank":
            found.append(_Token(match.group(), place))
        place = match.end()
    return found


def _line_and_column(text: str, place: int) -> str:
    return f"line {text.count(chr(10), 0, place) + 1}, column {place - (text.rfind(chr(10), 0, place) + 1) + 1}"
