"""Types of what comes from outside: it is checked, also where JSON would keep it as it is."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from stagepost.checkpoint import PLAIN, CannotRead, CannotStore, Codec, TypedCodec, codec_for, plain_form

from ._types import codec_of


def expected(kind: Any) -> Codec[Any]:
    """The codec of an answer, a signal or a result of an effect of which a type is expected; None for plain JSON.

    Raises:
        CannotStore: Pydantic has no schema for the type.
    """
    codec = codec_of(kind)
    if codec is not None:
        return codec
    if any(kind is anything for anything in (None, Any, object)):
        return PLAIN
    try:
        return _checked(codec_for(kind))
    except CannotStore:  # a mapping of somebody's own, of which it can only be said that it is one
        return _checked(codec_for(dict[str, Any]))


def summary_of(codec: Codec[Any]) -> tuple[str, str] | None:
    """A type that is expected, by its name and a digest; None for plain JSON, and for what cannot be told."""
    return codec.summary if isinstance(codec, TypedCodec | CheckedPlain) else None


def schema_of(codec: Codec[Any] | None) -> Mapping[str, Any] | None:
    """JSON schema of a type that is expected; None for plain JSON, and for what cannot be told."""
    return codec.schema if isinstance(codec, TypedCodec | CheckedPlain) else None


class CheckedPlain:
    """JSON values of a type: they are kept as plain JSON is, immutable, and are of that type.

    Args:
        typed: Checks them.
    """

    def __init__(self, typed: TypedCodec[Any]) -> None:
        self._typed = typed

    @property
    def summary(self) -> tuple[str, str]:
        """What is expected; see `TypedCodec`."""
        return self._typed.summary

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of what is expected; see `TypedCodec`."""
        return self._typed.schema

    def dump(self, value: object, where: str, context: object = None) -> bytes:
        """The stored form of a value; see `Codec`.

        Raises:
            CannotStore: It has none, or is not of the type.
        """
        data = PLAIN.dump(value, where, context)
        try:
            self._typed.load(data)
        except CannotRead as error:
            raise CannotStore(where, f"it is no valid {error.kind}: {error.why}") from error
        return data

    def convert(self, value: object, where: str) -> object:
        """A value of the type; see `Codec`.

        Raises:
            CannotStore: It is none.
        """
        return self._typed.convert(value, where)

    def load(self, data: bytes) -> object:
        """A value that was dumped; see `Codec`.

        Raises:
            CannotRead: It is not of the type.
        """
        return plain_form(self._typed.load(data), "what was stored")[0]


@lru_cache(maxsize=1024)
def _checked(typed: TypedCodec[Any]) -> CheckedPlain:  # one for each type: signals are compared by their codecs
    return CheckedPlain(typed)
