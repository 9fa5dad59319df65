"""Messages of text, whole or in parts: SMS, WhatsApp, and plain text for any channel."""

from collections.abc import Sequence
from typing import Final, Literal

from ._flow import Flow
from ._guide import StyleGuide
from ._limits import ChannelLimit
from ._rendering import PLAIN, WHATSAPP, rendered
from ._reply import Action, Reply
from ._response import FormattedResponse, ResponseMetadata, ResponsePart
from ._segments import sms_segments
from ._splitting import Marked, split
from ._summary import summary

_MARKUPS: Final = {"plain": PLAIN, "whatsapp": WHATSAPP}


class TextFormatter:
    """Text with line breaks, split at natural boundaries where it is too long for one message.

    What the reader can do stands at the end: addresses, and what to reply.

    Args:
        markup: ``"plain"`` for none, ``"whatsapp"`` for bold and italic as WhatsApp writes them.
        counts_segments: Whether the segments of an SMS are counted.
    """

    def __init__(self, markup: Literal["plain", "whatsapp"] = "plain", *, counts_segments: bool = False) -> None:
        self._markup: Final = markup
        self._counts_segments = counts_segments

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:
        """Format a reply: see `Formatter`."""
        return self._made(rendered(reply.text, _MARKUPS[self._markup]), reply, guide, limit)

    def _made(self, text: Flow, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:
        flow = with_actions(text, reply.actions, guide)
        parts, is_summary = fitted(flow, guide, limit)
        texts = [part.text for part in parts]
        return FormattedResponse(
            markup=self._markup,
            is_split=len(parts) > 1,
            parts=tuple(
                ResponsePart(sequence=number, content=part.text, continuation_indicator=part.marker)
                for number, part in enumerate(parts, 1)
            ),
            metadata=ResponseMetadata(
                characters=sum(map(len, texts)),
                segments=sms_segments(texts) if self._counts_segments else None,
                is_summary=is_summary,
            ),
        )


class AsItCame(TextFormatter):
    """Text that is not parsed: for an answer whose formatter has failed, or takes too long."""

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:
        """Format a reply: see `Formatter`."""
        return self._made(Flow(reply.text.strip()), reply, guide, limit)


def fitted(flow: Flow, guide: StyleGuide, limit: ChannelLimit) -> tuple[Sequence[Marked], bool]:
    """The parts of a text, and whether they are a summary, because there would be too many."""
    parts = split(flow, limit.max_length, at=limit.split)
    if limit.max_length is None or len(parts) <= limit.max_parts:
        return parts, False
    offer = f"\n\n{guide.texts.too_long}"
    room = limit.max_length - len(offer)
    if room < limit.max_length // 2:  # a limit so small that the offer would be all of it
        return [Marked(summary(flow, limit.max_length))], True
    return [Marked(summary(flow, room) + offer)], True


def with_actions(flow: Flow, actions: Sequence[Action], guide: StyleGuide) -> Flow:
    """A text with what the reader can do, as lines at its end."""
    if not actions:
        return flow
    text, whole = f"{flow.text}\n", [*flow.whole]
    for action in actions:
        line = f"{action.title}: {action.url}" if action.url else f"{guide.texts.reply_with}: {action.title}"
        whole.append((len(text) + 1, len(text) + 1 + len(line)))
        text = f"{text}\n{line}"
    return Flow(text, whole)
