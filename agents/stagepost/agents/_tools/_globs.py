"""Shell patterns of names: ``*``, ``?`` and ``[abc]``, case-sensitive."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase


def read_globs(what: str, patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns as they are kept.

    Raises:
        TypeError: It is a single text, or contains something other than texts.
    """
    if isinstance(patterns, str):
        raise TypeError(f"{what}={patterns!r} is one text: use a list of patterns, [{patterns!r}]")
    kept = tuple(patterns)
    for pattern in kept:
        if not isinstance(pattern, str):
            raise TypeError(f"{what} contains {pattern!r}, which is not a pattern: use texts such as 'send_*'")
    return kept


def first_match(name: str, patterns: Sequence[str]) -> str | None:
    """The first pattern that a name fits."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name fits one of the patterns."""
    return first_match(name, patterns) is not None
