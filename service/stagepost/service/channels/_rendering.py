"""Markdown as text for channels that know little or no markup."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from markdown_it.tree import SyntaxTreeNode

from stagepost._dataclasses import dataclass

from ._emphasis import emphasized, stands_alone
from ._flow import Flow, Piece, indented, joined, plain
from ._markdown import attribute, parse, text_of

_BREAKS: Final = frozenset({"softbreak", "hardbreak"})
_EMPHASES: Final = frozenset({"strong", "em"})


@dataclass(frozen=True, slots=True)
class Markup:
    """The marks of a channel; empty ones for none.

    Attributes:
        bold: Around bold text.
        italic: Around italic text.
    """

    bold: str = ""
    italic: str = ""

    def mark(self, kind: str) -> str:
        """The mark for a kind of node."""
        return self.bold if kind == "strong" else self.italic


PLAIN: Final = Markup()
WHATSAPP: Final = Markup(bold="*", italic="_")


def rendered(text: str, markup: Markup = PLAIN) -> Flow:
    """Markdown as text. Nothing that can be read is lost: what comes out empty is given as it came."""
    tree = parse(text)
    if tree is None:
        return Flow(text.strip())
    flow = Flow.of(joined(_Renderer(markup).blocks(tree.children), "\n\n"))
    return flow if flow.text.strip() else Flow(text.strip())


class _Renderer:
    def __init__(self, markup: Markup) -> None:
        self._markup = markup

    def blocks(self, nodes: Sequence[SyntaxTreeNode]) -> list[list[Piece]]:
        """Each block that shows something."""
        return [block for node in nodes if plain(block := self._block(node))]

    def _block(self, node: SyntaxTreeNode) -> list[Piece]:
        make = _BLOCKS.get(node.type)
        if make is not None:
            return make(self, node)
        if node.children:
            return joined(self.blocks(node.children), "\n\n")
        return [Piece(node.content)]

    def code(self, node: SyntaxTreeNode) -> list[Piece]:
        return [Piece(node.content.rstrip("\n"), is_whole=True)]

    def nothing(self, _node: SyntaxTreeNode) -> list[Piece]:
        return []

    def inline(self, node: SyntaxTreeNode) -> list[Piece]:
        return self.spans(node.children)

    def heading(self, node: SyntaxTreeNode) -> list[Piece]:
        pieces = [piece for child in node.children for piece in self.inline(child)]
        if any(each.type == "strong" for each in node.walk()):
            return pieces  # it is bold already
        return emphasized(pieces, self._markup.bold)

    def items(self, node: SyntaxTreeNode) -> list[Piece]:
        first = int(attribute(node, "start") or 1)
        is_numbered = node.type == "ordered_list"
        is_loose = any(
            not child.hidden for item in node.children for child in item.children if child.type == "paragraph"
        )
        items = []
        for number, item in enumerate(node.children, first):
            label = f"{number}{item.markup or '.'} " if is_numbered else "- "
            blocks = joined(self.blocks(item.children), "\n\n" if is_loose else "\n")
            items.append([Piece(label), *indented(blocks, "  ")])
        return joined(items, "\n")

    def table(self, node: SyntaxTreeNode) -> list[Piece]:
        rows = [row for part in node.children for row in part.children]
        head, *body = [[self.spans(cell.children[0].children) for cell in row.children] for row in rows]
        names = [plain(cell) for cell in head]
        if not body:
            return joined(head, ", ")
        return joined((joined(map(_named, names, row), ", ") for row in body), "\n")

    def spans(self, nodes: Sequence[SyntaxTreeNode]) -> list[Piece]:
        """What stands in a line."""
        made: list[Piece] = []
        shown = [self._span(node) for node in nodes]
        for place, node in enumerate(nodes):
            mark = self._markup.mark(node.type) if node.type in _EMPHASES else ""
            after = plain(shown[place + 1]) if place + 1 < len(shown) else ""
            if mark and stands_alone(plain(made), after):
                made.extend(emphasized(shown[place], mark))
            else:
                made.extend(shown[place])
        return made

    def _span(self, node: SyntaxTreeNode) -> list[Piece]:
        if node.type in _BREAKS:
            return [Piece("\n")]
        if node.type == "link":
            return [_link(text_of(node), attribute(node, "href"))]
        if node.type == "image":
            return [_link(text_of(node) or node.content, attribute(node, "src"))]
        if node.type == "code_inline":
            return [Piece(node.content, is_whole=True)]
        return self.spans(node.children) if node.children else [Piece(node.content)]


_BLOCKS: Final[Mapping[str, Callable[[_Renderer, SyntaxTreeNode], list[Piece]]]] = MappingProxyType(
    {
        "inline": _Renderer.inline,
        "heading": _Renderer.heading,
        "fence": _Renderer.code,
        "code_block": _Renderer.code,
        "hr": _Renderer.nothing,
        "bullet_list": _Renderer.items,
        "ordered_list": _Renderer.items,
        "table": _Renderer.table,
    }
)


def _link(text: str, address: str) -> Piece:
    shown = address.removeprefix("mailto:")
    if not text.strip() or text in {address, shown}:
        return Piece(text if text.strip() else shown, is_whole=True)
    return Piece(f"{text} ({shown})", is_whole=True)


def _named(name: str, cell: list[Piece]) -> list[Piece]:
    return [Piece(f"{name}: "), *cell] if name.strip() else cell
