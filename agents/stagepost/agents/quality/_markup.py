"""Whether a text has markup: it is parsed as markdown, since a star is a star in ``2*3`` and a mark in ``*3*``."""

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from stagepost._installing import how_to_install

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

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
        ImportError: The extra ``assistant`` is not installed.
    """
    found: dict[str, None] = {}
    for token in _parser().parse(text):
        for each in (token, *(token.children or ())):
            if each.type in _MARKS:
                found[_MARKS[each.type]] = None
    return list(found)


@lru_cache(maxsize=1)
def _parser() -> "MarkdownIt":
    try:
        from markdown_it import MarkdownIt  # noqa: PLC0415  # an extra, loaded when it is needed
    except ImportError as error:
        raise ImportError(f"looking for markdown needs an extra: {how_to_install('assistant')}") from error
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])
