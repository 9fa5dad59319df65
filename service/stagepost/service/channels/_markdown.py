"""Markdown as a tree, read by markdown-it: CommonMark with tables, struck text, and addresses as links."""

from functools import lru_cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

_DEEPEST: Final = 60  # lists in lists and quotes in quotes; what is deeper the parser would leave out
_LONGEST: Final = 100_000  # characters: more than any model answers; the parser takes a second for so much
_DEAREST: Final = 30_000_000  # brackets times characters: each bracket that is not closed is looked for to the end

_OPEN: Final = frozenset({"em_open", "strong_open"})
_CLOSE: Final = frozenset({"em_close", "strong_close"})


def parse(text: str) -> SyntaxTreeNode | None:
    """The tree of a text; None if it has so many characters, brackets or levels that it is better taken as it is."""
    tokens = tokens_of(text)
    return None if tokens is None else SyntaxTreeNode(tokens)


def tokens_of(text: str) -> list[Token] | None:
    """The tokens of a text; None as for `parse`."""
    if len(text) > _LONGEST or len(text) * text.count("[") > _DEAREST:
        return None
    tokens = parser().parse(text)
    inside = (child for token in tokens for child in token.children or ())
    if any(token.level >= _DEEPEST - 1 for token in (*tokens, *inside)):
        return None
    for token in tokens:
        if token.children:
            _keep_stars(token.children)
    return tokens


def _keep_stars(tokens: list[Token]) -> None:
    """Make emphasis that nobody means text again, or its signs would be lost: in ``2*3*4`` and in ``__init__``."""
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.type in _OPEN:
            opened.append(place)
        elif token.type in _CLOSE and opened:
            begin = opened.pop()
            if _is_in_a_word(tokens, begin, place) or _is_a_name(tokens, begin, place):
                for at in (begin, place):
                    tokens[at] = Token("text", "", 0, content=token.markup, level=token.level)


def _is_in_a_word(tokens: list[Token], begin: int, end: int) -> bool:
    before = tokens[begin - 1].content if begin else ""
    after = tokens[end + 1].content if end + 1 < len(tokens) else ""
    return before[-1:].isalnum() and after[:1].isalnum()


def _is_a_name(tokens: list[Token], begin: int, end: int) -> bool:
    """Whether it is a name such as ``__init__``."""
    inside = tokens[begin + 1].content
    return tokens[end].markup == "__" and end == begin + 2 and inside.isidentifier() and inside.islower()


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The parser. HTML is text for it, and definitions of links, which vanish from the text, are text, too."""
    made = MarkdownIt("commonmark", {"html": False, "linkify": True, "maxNesting": _DEEPEST})
    made.enable(["table", "strikethrough", "linkify"]).disable("reference")
    assert made.linkify is not None  # noqa: S101  # or the option would have been refused
    made.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return made


def text_of(node: SyntaxTreeNode) -> str:
    """All text below a node, without markup."""
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    if not node.children:
        return node.content
    return "".join(text_of(child) for child in node.children)


def attribute(node: SyntaxTreeNode, name: str) -> str:
    """An attribute of a node as text; empty if it has none."""
    value = node.attrGet(name)
    return "" if value is None else str(value)
