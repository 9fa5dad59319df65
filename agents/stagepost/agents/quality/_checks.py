"""Criteria that code decides about: exactly, at once, and at no cost."""

import re
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from ._candidate import Candidate, CodeCheck
from ._markup import markup_in
from ._numbers import is_known, numbers_in, numbers_of

_SMS: Final = 1600  # characters of one message


def at_most(characters: int) -> CodeCheck:
    """A check of the length: each message that goes out has at most so many characters.

    Args:
        characters: The limit, of the answer or, if it is split, of each part.
    """

    def check(candidate: Candidate) -> str | None:
        longest = max(map(len, candidate.parts or (candidate.text,)))
        return None if longest <= characters else f"it has {longest:,} characters: use {characters:,} at most"

    return check


def no_markdown(candidate: Candidate) -> str | None:
    """A check for channels that show plain text: the answer has no markdown, lists aside.

    It was not even written with some (`Candidate.written`): a table or a heading that a formatter has taken apart was
    meant for another channel, and reads badly.
    """
    found = markup_in(candidate.text) or markup_in(candidate.written or "")
    return f"it has {_listed(found)}, which the reader would see as characters: use plain text" if found else None


def has_fields(*names: str) -> CodeCheck:
    """A check for named parts, such as the subject of a mail: each is there and not blank.

    Args:
        names: Keys of `Candidate.fields`.
    """

    def check(candidate: Candidate) -> str | None:
        missing = [name for name in names if _is_blank(candidate.fields.get(name))]
        return f"{_listed(missing)} must not be empty" if missing else None

    return check


def numbers_in_data(candidate: Candidate) -> str | None:
    """A check against invented figures: each number in the answer is in the data, or in the question.

    A number may be rounded. Numbers in texts of the data, and the lengths of its lists, count as well.
    """
    known = sorted(numbers_of(candidate.data) | {value for _, value in numbers_in(candidate.question)})
    unknown = [written for written, value in numbers_in(candidate.text) if not is_known(written, value, known)]
    if not unknown:
        return None
    return f"{_listed(list(dict.fromkeys(unknown)))} cannot be found in the data: use its numbers only"


def without_words(*words: str) -> CodeCheck:
    """A check for words that must not appear, whatever their case.

    Args:
        words: The words or phrases.
    """
    patterns = {word: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE) for word in words}

    def check(candidate: Candidate) -> str | None:
        found = [word for word, pattern in patterns.items() if pattern.search(candidate.text)]
        return f"it has {_listed([repr(word) for word in found])}: say it without" if found else None

    return check


def every(*checks: CodeCheck) -> CodeCheck:
    """Several checks as one, for a criterion that has several sides; it says what all of them say."""

    def check(candidate: Candidate) -> str | None:
        said = [why for each in checks if (why := each(candidate)) is not None]
        return "; ".join(said) or None

    return check


CODE_CHECKS: Final = MappingProxyType(
    {
        "sms_format": every(no_markdown, at_most(_SMS)),
        "plain_text": no_markdown,
        "numbers_in_data": numbers_in_data,
    }
)
"""The checks that a `Judge` has by itself, by the ids of their criteria."""


def _is_blank(value: JsonValue) -> bool:
    return value is None or value in ([], {}) or (isinstance(value, str) and not value.strip())


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
