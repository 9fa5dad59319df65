"""Texts as a memory compares them, and queries as words."""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple
from unicodedata import normalize

from pydantic_core import to_json

from .._models._messages import encodable

_WORD: Final = re.compile(r"\w+")
_MOST: Final = 32  # words of a query


class Place(NamedTuple):
    """The memories that belong together: nothing of one place is seen from another.

    Attributes:
        memory: Name of the memory.
        scope: Whose memories: the key that the process gives.
    """

    memory: str
    scope: str

    @property
    def token(self) -> str:
        """A word that stands for it in an index."""
        return _digest(*self)

    def id_of(self, text: str) -> str:
        """The id of a text here. Texts that differ only in case and spaces have the same."""
        return _digest(*self, " ".join(normalize("NFKC", text).casefold().split()))[:12]


def words_of(query: str) -> Sequence[str]:
    """The words of a query, each once; of a query without any, such as one of symbols, what stands between spaces."""
    text = clean(query)
    return tuple(dict.fromkeys(_WORD.findall(text) or text.split()))[:_MOST]


def clean(text: str) -> str:
    """A text in the form in which texts are stored and compared: characters composed, none that SQLite stops at."""
    return normalize("NFC", encodable(text)).replace("\0", "").strip()


def _digest(*texts: str) -> str:
    return sha256(to_json(texts)).hexdigest()
