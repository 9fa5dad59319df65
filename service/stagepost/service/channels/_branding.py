"""What a style guide changes in an answer, by code: greeting, emoji, sign-off."""

import re
from typing import Final

import regex

from stagepost._graphemes import GRAPHEME

from ._guide import StyleGuide
from ._reply import Reply

_ONE: Final = (  # a grapheme; © and ® are letters for most readers, unless they ask to be emoji
    r"(?:(?=\p{Emoji_Presentation}|\p{Regional_Indicator}|\p{Emoji}\uFE0F|[0-9#*]\uFE0F?\u20E3"
    rf"|(?=[\u2300-\U0010FFFF])\p{{Extended_Pictographic}}){GRAPHEME})"
)
_UNREADABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_EMOJI: Final = regex.compile(rf"(?<before>[ \t]*){_ONE}(?:[ \t]*{_ONE})*(?<after>[ \t]*)")


def branded(reply: Reply, guide: StyleGuide) -> Reply:
    """A reply as a style guide wants it.

    Args:
        reply: What is to be said.
        guide: Whether the reader is greeted, emoji are allowed, and the brand signs.
    """
    reply = readable(reply)
    text = reply.text if guide.emojis.enabled else without_emoji(reply.text) or reply.text
    sign = _sign(reply, guide)
    if sign and sign not in text:
        text = _signed(sign, text)
    blocks = [text]
    if reply.is_first and guide.formatting.greeting:
        blocks.insert(0, _greeting(reply, guide))
    if guide.formatting.sign_off:
        blocks.append(f"– {guide.brand.name}")  # noqa: RUF001  # a dash, as under letters
    return reply.model_copy(update={"text": "\n\n".join(blocks)})


def readable(reply: Reply) -> Reply:
    """A reply with a replacement character for each that steers a terminal or cannot be written."""
    name = None if reply.user_name is None else " ".join(_readable(reply.user_name).split()) or None
    subject = None if reply.subject is None else _readable(reply.subject)
    return reply.model_copy(update={"text": _readable(reply.text), "subject": subject, "user_name": name})


def _readable(text: str) -> str:
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))


def without_emoji(text: str) -> str:
    """A text without emoji, and without the spaces that they leave."""
    return str(_EMOJI.sub(_left, text)).strip(" ")


def _left(found: regex.Match) -> str:
    """What stays of emoji and the spaces around them: a space between words, and the beginning of a line as it was."""
    before, after = str(found["before"]), str(found["after"])
    at_start = found.start() == 0 or found.string[found.start() - 1] == "\n"
    at_end = found.end() == len(found.string) or found.string[found.end()] == "\n"
    if at_end:
        return ""
    return before if at_start else before or after or " "


def _sign(reply: Reply, guide: StyleGuide) -> str:
    if reply.kind == "answer" or not guide.emojis.enabled:
        return ""
    return {
        "success": guide.emojis.success,
        "warning": guide.emojis.warning,
        "error": guide.emojis.error,
        "info": guide.emojis.info,
    }[reply.kind]


def _signed(sign: str, text: str) -> str:
    """A text with an emoji before its first words: a heading stays a heading, and a list a list."""
    marks, space, words = text.partition(" ")
    if space and marks and not marks.strip("#"):
        return f"{marks} {sign} {words}"
    return f"{sign} {text}" if text[:1].isalnum() else f"{sign}\n\n{text}"


def _greeting(reply: Reply, guide: StyleGuide) -> str:
    name = reply.user_name if guide.formatting.use_user_name else None
    return f"{guide.texts.hello} {name}," if name else f"{guide.texts.hello},"
