"""Whether a text has markup: it is parsed as markdown, since a star is a star in ``2*3`` and a mark in ``*3*``."""

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from stagepost.workflows.errors import ExtraMissing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST: Final = 100_000  # characters: more than any model answers
_DEAREST: Final = 30_000_000  # brackets times characters: each bracket that is not closed is looked for to the end
_OPEN: Final = frozenset({"em_open", "strong_open"})
_CLOSE: Final = frozenset({"em_close", "strong_close"})
_MARKS: Final = {
    "heading_open": "a heading",
    "strong_open": "bold text",
    "em_open": "italic text",
    "s_open": "struck text",
    "code_inline": "code",
    "fence": "a block of code",
    "table_open": "a table",
    "link_open": "a link with a text of its own",
    "image": "a picture",
    "blockquote_open": "a quotation",
}


def markup_in(text: str) -> list[str]:
    """The kinds of markdown that a text has, in the order of their appearance.

    Lists count as plain text: they read well without being rendered.

    Raises:
        ValueError: The text is so long, or has so many brackets, that looking would take seconds.
        ExtraMissing: The extra ``assistant`` is not installed.
    """
    if len(text) > _LONGEST or len(text) * text.count("[") > _DEAREST:
        raise ValueError(
            f"{len(text):,} characters with {text.count('['):,} brackets are too many to look for markdown"
        )
    found: dict[str, None] = {}
    for token in _parser().parse(text):
        inside = token.children or []
        plain = _in_words(inside)
        for place, each in enumerate((token, *inside), -1):
            if each.type in _MARKS and place not in plain:
                found[_MARKS[each.type]] = None
    return list(found)


def _in_words(tokens: "Sequence[Token]") -> set[int]:
    """Places of marks inside of words: in ``2*3 and 4*5`` nobody means italics, though CommonMark reads it so."""
    plain: set[int] = set()
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.type in _OPEN:
            opened.append(place)
        elif token.type in _CLOSE:
            begin = opened.pop()
            before = tokens[begin - 1].content if begin else ""
            after = tokens[place + 1].content if place + 1 < len(tokens) else ""
            if before[-1:].isalnum() and after[:1].isalnum():
                plain.add(begin)
    return plain


@lru_cache(maxsize=1)
def _parser() -> "MarkdownIt":
    try:
        from markdown_it import MarkdownIt  # noqa: PLC0415  # an extra, loaded when it is needed
    except ImportError as error:
        raise ExtraMissing("looking for markdown", "markdown_it", "assistant") from error
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])
