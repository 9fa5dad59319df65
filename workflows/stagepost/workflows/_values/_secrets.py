"""Values that steps may use and nobody may keep: never stored, never in an event, masked in errors."""

import re
from collections.abc import Iterable, Iterator, Mapping
from traceback import TracebackException
from typing import Final, NoReturn, TypeAlias
from urllib.parse import quote, quote_plus

from pydantic import SecretStr
from pydantic_core import to_json

from stagepost.checkpoint import CannotStore
from stagepost.hub import traceback_text

from .._pattern_errors import describe
from ..errors import DefinitionError, MaskedError, MissingSecret, PatternError, WorkflowError
from ._state import Values

Given: TypeAlias = Mapping[str, str | SecretStr]

SHORTEST: Final = 6  # characters; a shorter text is found in much that has nothing to do with it
_PIECE: Final = 12  # characters of a secret that are masked by themselves: libraries quote values cut in the middle
_MASK: Final = "***"


class Secrets(Mapping[str, str]):
    """Secrets by name. Knows their text where it sees it, also as JSON, as Python and URLs write it.

    Args:
        given: Text of each, plain or as pydantic's `SecretStr`.

    Raises:
        DefinitionError: One is no text.
    """

    __slots__ = ("_forms", "_pattern", "_pieces", "_stored", "_texts")

    def __init__(self, given: Given | None = None) -> None:
        self._texts = {name: _text(name, value) for name, value in (given or {}).items()}
        known = {name: text for name, text in self._texts.items() if len(text) >= SHORTEST}
        self._forms = {form: name for name, text in known.items() for form in _forms(text)}
        self._pattern = _any_of(self._forms) if self._forms else None
        self._stored = re.compile(self._pattern.pattern.encode()) if self._pattern else None
        self._pieces = {form[i : i + _PIECE] for form in self._forms for i in range(len(form) - _PIECE + 1)}

    def __getitem__(self, name: str) -> str:
        if name not in self._texts:
            raise MissingSecret(name, tuple(self._texts))
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._texts)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("secrets are not pickled: give them to each process")

    def check(self, data: bytes, where: str) -> None:
        """See that what is to be stored holds no secret.

        Raises:
            CannotStore: It does.
        """
        found = self._stored.search(data) if self._stored else None
        if found is not None:
            name = self._forms[found[0].decode()]
            raise CannotStore(where, f"it holds the text of secret {name!r}: leave it out, and read context.secrets")

    def check_values(self, values: Values, step: str) -> None:
        """See that nothing that a step returned holds a secret.

        Raises:
            CannotStore: A value does; the error names its key.
        """
        if self._stored:
            for key, value in values.items():
                self.check(value.data, f"{key!r}, returned by step {step!r},")
                self.check(to_json(key), f"a key that step {step!r} returned")

    def mask(self, text: str) -> str:
        """A text with three stars for each secret in it, and for each longer piece of one."""
        if self._pattern is None:
            return text
        return _without(self._pattern.sub(_MASK, text), self._pieces)

    def cover(self, error: BaseException) -> BaseException:
        """The error; or, if it would show a secret wherever it is printed, one that says the same with stars."""
        if self._pattern is None or self._is_clean(error):
            return error
        covered = MaskedError(type(error).__name__, self.mask(describe(error)))
        covered.add_note(traceback_text(error, self.mask))
        return covered

    def clean(self, error: WorkflowError) -> None:
        """Mask what patterns say about an error inside of them, and cover that error."""
        outer: BaseException | None = error
        while self._pattern is not None and isinstance(outer, PatternError):
            outer.args = (self.mask(str(outer)),)
            cause = outer.__cause__
            if cause is not None and not isinstance(cause, PatternError):
                outer.__cause__ = self.cover(cause)
            outer = cause

    def _is_clean(self, error: BaseException) -> bool:
        printed = "".join(TracebackException.from_exception(error).format())
        return self.mask(printed) == printed


NO_SECRETS: Final = Secrets()  # they cannot change, so those who have none share this


def _text(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if not isinstance(value, str):
        raise DefinitionError("secrets", f"secret {name!r} is {type(value).__name__}, not text")
    return value


def _forms(text: str) -> set[str]:
    """A text as it is, as JSON, as Python and as an URL write it."""
    in_code = {to_json(text).decode()[1:-1], repr(text)[1:-1]}
    in_urls = {quote(text), quote(text, safe=""), quote_plus(text)}
    return {text, *in_code, *in_urls}


def _any_of(forms: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))


def _without(text: str, pieces: set[str]) -> str:
    """The text with stars where pieces overlap it."""
    shown: list[str] = []
    end = 0  # of what is covered
    for start in range(len(text)):
        if text[start : start + _PIECE] in pieces:
            if start >= end:
                shown.append(_MASK)
            end = start + _PIECE
        elif start >= end:
            shown.append(text[start])
    return "".join(shown)
