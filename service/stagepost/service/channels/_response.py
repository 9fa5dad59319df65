"""An answer as a channel takes it: parts, each of which is sent by itself."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from ._segments import SmsSegments


class ResponsePart(BaseModel):
    """What is sent as one message.

    Attributes:
        sequence: Its number, from 1.
        content: Its text, marker included; for a card, what is shown where cards are not.
        continuation_indicator: Its marker, such as ``(1/3)``; None if it is the only one.
        subject: Of a mail.
        html: Of a mail, beside the plain text in `content`.
        card: An adaptive card.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: Annotated[int, Field(ge=1)]
    content: Annotated[str, Field(min_length=1)]
    continuation_indicator: str | None = None
    subject: str | None = None
    html: str | None = None
    card: dict[str, JsonValue] | None = None


class ResponseMetadata(BaseModel):
    """How an answer was formatted.

    Attributes:
        characters: Of all parts, markers included.
        segments: What an SMS costs: the segments of all parts, and their encoding; None for other channels.
        size: Bytes of a card; None for other channels.
        is_summary: Whether it was too long even for several parts: it is a summary, and offers the whole by mail.
        is_cut: Whether the end is missing, because it does not fit into a card.
        fell_back: Whether the formatter failed, so that this is plain text.
        style_version: The version of the style guide.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    characters: int
    segments: SmsSegments | None = None
    size: int | None = None
    is_summary: bool = False
    is_cut: bool = False
    fell_back: bool = False
    style_version: str = ""


class FormattedResponse(BaseModel):
    """An answer as a channel takes it.

    Attributes:
        channel: Name of the channel; `Channels` sets it.
        markup: What its texts may hold.
        is_split: Whether it has more than one part.
        parts: In the order in which they are sent; at least one.
        metadata: How it was formatted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    channel: str = ""
    markup: Literal["plain", "whatsapp", "html", "card"] = "plain"
    is_split: bool = False
    parts: Annotated[tuple[ResponsePart, ...], Field(min_length=1)]
    metadata: ResponseMetadata

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if [part.sequence for part in self.parts] != [*range(1, len(self.parts) + 1)]:
            raise ValueError("the parts are not numbered from 1 on, in order")
        if self.is_split != (len(self.parts) > 1):
            raise ValueError("is_split has to say whether there is more than one part")
        if self.is_split and not all(part.continuation_indicator for part in self.parts):
            raise ValueError("each part of a split answer needs a continuation_indicator")
        return self

    @property
    def texts(self) -> Sequence[str]:
        """The texts of the parts, markers included."""
        return [part.content for part in self.parts]

    @property
    def text(self) -> str:
        """The texts of all parts, without markers."""
        return "\n".join(
            part.content.removesuffix(part.continuation_indicator or "").rstrip() if self.is_split else part.content
            for part in self.parts
        )
