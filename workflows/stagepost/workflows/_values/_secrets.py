"""Values that steps may use and nobody may keep: never stored, never in an event, masked in errors."""

from collections.abc import Iterable, Iterator, Mapping
from traceback import TracebackException
from typing import Final, NoReturn, TypeAlias

from pydantic import SecretStr

from stagepost.checkpoint import CannotStore
from stagepost.hub import traceback_text

from .._pattern_errors import describe
from ..errors import DefinitionError, MaskedError, MissingSecret, PatternError, WorkflowError
from ._mask import Mask
from ._state import Values

Given: TypeAlias = Mapping[str, str | SecretStr]


class Secrets(Mapping[str, str]):
    """Secrets by name. Knows their text where it sees it, however it is written; see `Mask`.

    Args:
        given: Text of each, plain or as pydantic's `SecretStr`.
        hidden: What nobody may keep either, though steps cannot read it: names for errors, and texts.

    Attributes:
        mask: Puts three stars where a text shows a secret, or a longer piece of one.
        has_any: Whether there is anything to look for.

    Raises:
        DefinitionError: One is no text.
    """

    __slots__ = ("_hidden", "_texts", "has_any", "mask")

    def __init__(self, given: Given | None = None, *, hidden: Iterable[tuple[str, str]] = ()) -> None:
        if not isinstance(given, Mapping | None):
            raise DefinitionError("secrets", f'they are a mapping, and not a {type(given).__name__}: {{"name": text}}')
        self._texts = {name: _text(name, value) for name, value in (given or {}).items()}
        self._look_for(frozenset(hidden))

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

    def beside(self, hidden: Iterable[tuple[str, str]]) -> "Secrets":
        """These, and others that are hidden: itself, if it knows them."""
        more = self._hidden.union(hidden)
        return self if more == self._hidden else Secrets(self._texts, hidden=more)

    def hide(self, hidden: Iterable[tuple[str, str]]) -> None:
        """Look for these texts as well from now on."""
        more = self._hidden.union(hidden)
        if more != self._hidden:
            self._look_for(more)

    def check(self, data: bytes, where: str) -> None:
        """See that what is to be stored holds no secret.

        Raises:
            CannotStore: It does.
        """
        if self.has_any:
            self._check(data.decode(errors="replace"), where)

    def check_bytes(self, data: bytes, where: str) -> None:
        """See that bytes beside the JSON hold no secret as it is. What is compressed in them is not looked into.

        Raises:
            CannotStore: They do.
        """
        if self.has_any:
            for name, text in (*((f"secret {name!r}", text) for name, text in self._texts.items()), *self._hidden):
                if text and text.encode() in data:
                    raise CannotStore(where, f"it holds the text of {name}: leave it out, and read context.secrets")

    def check_text(self, text: str | None, where: str) -> None:
        """See that a text that is stored as it is, such as a key, holds no secret.

        Raises:
            CannotStore: It does.
        """
        if text is not None and self.has_any:
            self._check(text, where)

    def check_values(self, values: Values, step: str) -> None:
        """See that nothing that a step returned holds a secret.

        Raises:
            CannotStore: A value does; the error names its key.
        """
        if self.has_any:
            for key, value in values.items():
                self._check(key, f"a key that step {step!r} returned")
                self._check(value.data.decode(errors="replace"), f"{key!r}, returned by step {step!r},")

    def cover(self, error: BaseException) -> BaseException:
        """The error; or, if it would show a secret wherever it is printed, one that says the same with stars."""
        if not self.has_any or self._is_clean(error):
            return error
        covered = MaskedError(type(error).__name__, self.mask(describe(error)))
        covered.add_note(traceback_text(error, self.mask))
        return covered

    def clean(self, error: WorkflowError) -> None:
        """Mask what patterns say about an error inside of them, and cover that error."""
        outer: BaseException | None = error
        while self.has_any and isinstance(outer, PatternError):
            outer.args = (self.mask(str(outer)),)
            cause = outer.__cause__
            if cause is not None and not isinstance(cause, PatternError):
                outer.__cause__ = self.cover(cause)
            outer = cause

    def _look_for(self, hidden: frozenset[tuple[str, str]]) -> None:
        named = ((f"secret {name!r}", text) for name, text in self._texts.items())
        self._hidden = hidden
        self.mask = Mask([*named, *sorted(hidden)])
        self.has_any = bool(self.mask)  # no property: each step looks at it

    def _check(self, text: str, where: str) -> None:
        found = self.mask.find(text)
        if found is not None:
            raise CannotStore(where, f"it holds the text of {found}: leave it out, and read context.secrets")

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
