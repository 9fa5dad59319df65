"""Texts that somebody gives to be stored beside a run: keys, traces, who answers."""

from typing import Final

LONGEST: Final = 1_000
"""How many characters one may have. They stand in indexes, in lists and in errors; what is longer belongs in a state."""


def check_given(name: str, given: object, *, may_be_empty: bool = False) -> None:
    """See that something is a text that can be stored, or None.

    Args:
        name: What the parameter is called.
        given: What it was given.
        may_be_empty: Whether an empty text is one.

    Raises:
        TypeError: It is something else.
        ValueError: It is empty, too long, or has characters that are no Unicode.
    """
    if not isinstance(given, str | None):
        raise TypeError(f"{name}={given!r:.80}: give a text")
    if given is None:
        return
    if not (given or may_be_empty):
        raise ValueError(f"{name}='': give a text that is not empty, or None for no {name}")
    if len(given) > LONGEST:
        raise ValueError(
            f"{name}= has {len(given):,} characters, and at most {LONGEST:,} are taken: give a shorter text, such as a "
            "digest of this one"
        )
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}= has characters that are no Unicode: give a text without them") from None
