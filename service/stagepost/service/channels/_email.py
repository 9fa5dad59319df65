"""Mails: HTML and plain text, with a subject."""

from collections.abc import Sequence
from html import escape
from typing import Any, Final

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from ._guide import StyleGuide
from ._limits import ChannelLimit
from ._markdown import parser, text_of, tokens_of
from ._rendering import rendered
from ._reply import Reply
from ._response import FormattedResponse, ResponseMetadata, ResponsePart
from ._texting import with_actions

_LONGEST_SUBJECT: Final = 120
_STYLES: Final = {  # in each element: many mail programs drop style sheets
    "table": "border-collapse:collapse;margin:16px 0",
    "th": "border-bottom:2px solid #767676;padding:6px 12px 6px 0;text-align:left",
    "td": "border-bottom:1px solid #d0d0d0;padding:6px 12px 6px 0",
    "code": "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:0.95em",
    "pre": "background:#f4f4f4;padding:12px;overflow:auto",
    "blockquote": "border-left:3px solid #767676;margin:16px 0;padding-left:12px",
}
_PAGE: Final = (
    '<!doctype html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>\n'
    '<body style="font-family:system-ui,Segoe UI,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;'
    'max-width:640px">\n{body}</body></html>\n'
)


class EmailFormatter:
    """HTML with headers, tables, bold, italic, links and code, beside the same as plain text. It is never split.

    HTML in the answer is shown as text, links lead to web pages and addresses only, and pictures are links.
    """

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:  # noqa: ARG002  # mails have no limit
        """Format a reply: see `Formatter`."""
        subject = _subject(reply, guide)
        content = with_actions(rendered(reply.text), reply.actions, guide).text
        html = _PAGE.format(title=escape(subject), body=_body(reply, guide))
        return FormattedResponse(
            markup="html",
            parts=(ResponsePart(sequence=1, content=content, subject=subject, html=html),),
            metadata=ResponseMetadata(characters=len(content)),
        )


def _subject(reply: Reply, guide: StyleGuide) -> str:
    """One line: whatever a subject holds, it adds no header to a mail."""
    chosen = reply.subject or _heading(reply.text) or guide.brand.name
    line = " ".join(chosen.split())
    return line if len(line) <= _LONGEST_SUBJECT else f"{line[: _LONGEST_SUBJECT - 1].rstrip()}…"


def _heading(text: str) -> str:
    tokens = tokens_of(text) or []
    nodes = SyntaxTreeNode(tokens).walk() if tokens else ()
    return next((text_of(node) for node in nodes if node.type == "heading"), "")


def _body(reply: Reply, guide: StyleGuide) -> str:
    tokens = tokens_of(reply.text)
    if tokens is None:
        shown = f'<p style="white-space:pre-wrap">{escape(reply.text)}</p>\n'
    else:
        shown = str(parser().renderer.render(_styled(tokens), parser().options, {}))
    return shown + "".join(_action(action.title, action.url, guide) for action in reply.actions)


def _styled(tokens: Sequence[Token]) -> Sequence[Token]:
    for token in tokens:
        style = _STYLES.get("pre" if token.type in {"fence", "code_block"} else token.tag)
        if style and token.nesting >= 0:
            align: Any = token.attrGet("style")
            token.attrSet("style", f"{style};{align}" if align else style)
        if token.children:
            token.children = [_linked(child) for child in _styled(token.children)]
    return tokens


def _linked(token: Token) -> Token:
    """A picture as a link: mail programs load pictures of strangers only if the reader says so."""
    if token.type != "image":
        return token
    address = str(token.attrGet("src") or "")
    text = token.content or address
    return Token("html_inline", "", 0, content=f'<a href="{escape(address)}">{escape(text)}</a>')


def _action(title: str, url: str | None, guide: StyleGuide) -> str:
    if url is None:
        return f"<p>{escape(guide.texts.reply_with)}: <strong>{escape(title)}</strong></p>\n"
    return f'<p><a href="{escape(url)}"><strong>{escape(title)}</strong></a></p>\n'
