"""Markdown as the elements of an adaptive card."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from markdown_it.tree import SyntaxTreeNode

from ._markdown import attribute, parse, text_of

Element: TypeAlias = dict[str, Any]

_SIZES: Final = {"h1": "Large", "h2": "Medium"}
_STYLES: Final[Mapping[str, Element]] = {
    "strong": {"weight": "Bolder"},
    "em": {"italic": True},
    "s": {"strikethrough": True},
}
_INDENT: Final = "\xa0" * 4


def elements(text: str) -> list[Element]:
    """The elements of a text in Markdown. Texts are runs with a style, so nothing in them is read as markup again."""
    tree = parse(text)
    if tree is None:
        return [_text([run(text)])]
    return _all(tree.children) or [_text([run(text)])]


def run(text: str, **style: object) -> Element:
    """A run of text."""
    return {"type": "TextRun", "text": text, **style}


def _text(runs: Sequence[Element], **more: object) -> Element:
    return {"type": "RichTextBlock", "inlines": list(runs), **more}


def _all(nodes: Sequence[SyntaxTreeNode], depth: int = 0) -> list[Element]:
    return [element for node in nodes for element in _BLOCKS[node.type](node, depth)]


def _paragraph(node: SyntaxTreeNode, _depth: int) -> list[Element]:
    (inline,) = node.children
    images = [each for each in inline.children if each.type == "image"]
    if images and len(images) == len(
        [each for each in inline.children if text_of(each).strip() or each.type == "image"]
    ):
        return [{"type": "Image", "url": attribute(each, "src"), "altText": text_of(each)} for each in images]
    runs = _runs(inline.children)
    return [_text(runs)] if runs else []


def _heading(node: SyntaxTreeNode, _depth: int) -> list[Element]:
    style = {"weight": "Bolder", "size": _SIZES.get(node.tag, "Default")}
    return [_text([{**each, **style} for child in node.children for each in _runs(child.children)])]


def _code(node: SyntaxTreeNode, _depth: int) -> list[Element]:
    lines = node.content.rstrip("\n").split("\n")
    items = [_text([run(line or " ", fontType="Monospace")], spacing="None") for line in lines]
    return [{"type": "Container", "style": "emphasis", "items": items}]


def _list(node: SyntaxTreeNode, depth: int) -> list[Element]:
    first = int(attribute(node, "start") or 1)
    made: list[Element] = []
    for number, item in enumerate(node.children, first):
        label = f"{number}{item.markup or '.'} " if node.type == "ordered_list" else "• "
        made.extend(_item(f"{_INDENT * depth}{label}", item, depth))
    return made


def _item(label: str, item: SyntaxTreeNode, depth: int) -> list[Element]:
    inner = _all(item.children, depth + 1)
    if not inner or inner[0]["type"] != "RichTextBlock" or item.children[0].type not in {"paragraph", "heading"}:
        return [_text([run(label.rstrip())], spacing="Small"), *inner]
    first = {**inner[0], "spacing": "Small", "inlines": [run(label), *inner[0]["inlines"]]}
    return [first, *inner[1:]]


def _table(node: SyntaxTreeNode, _depth: int) -> list[Element]:
    rows = [row for part in node.children for row in part.children]
    cells = [[_runs(cell.children[0].children) or [run(" ")] for cell in row.children] for row in rows]
    return [
        {
            "type": "Table",
            "firstRowAsHeader": True,
            "columns": [{"width": 1} for _ in cells[0]],
            "rows": [_row(row, is_head=place == 0) for place, row in enumerate(cells)],
        }
    ]


def _row(cells: Sequence[Sequence[Element]], *, is_head: bool) -> Element:
    style = {"weight": "Bolder"} if is_head else {}
    return {
        "type": "TableRow",
        "cells": [{"type": "TableCell", "items": [_text([{**each, **style} for each in cell])]} for cell in cells],
    }


def _quote(node: SyntaxTreeNode, depth: int) -> list[Element]:
    items = _all(node.children, depth)
    return [{"type": "Container", "style": "emphasis", "items": items}] if items else []


def _runs(nodes: Sequence[SyntaxTreeNode], **style: object) -> list[Element]:
    return [each for node in nodes for each in _run(node, style) if each["text"]]


def _run(node: SyntaxTreeNode, style: Mapping[str, object]) -> list[Element]:
    if node.type in {"softbreak", "hardbreak"}:
        return [run("\n", **style)]
    if node.type in {"link", "image"}:
        address = attribute(node, "href") or attribute(node, "src")
        return [run(text_of(node) or address, **style, selectAction={"type": "Action.OpenUrl", "url": address})]
    if node.type == "code_inline":
        return [run(node.content, **{**style, "fontType": "Monospace"})]
    if node.children:
        return _runs(node.children, **{**style, **_STYLES.get(node.type, {})})
    return [run(node.content, **style)]


_BLOCKS: Final[Mapping[str, Callable[[SyntaxTreeNode, int], list[Element]]]] = MappingProxyType(
    {
        "paragraph": _paragraph,
        "heading": _heading,
        "fence": _code,
        "code_block": _code,
        "bullet_list": _list,
        "ordered_list": _list,
        "table": _table,
        "blockquote": _quote,
        "hr": lambda _node, _depth: [],
    }
)
