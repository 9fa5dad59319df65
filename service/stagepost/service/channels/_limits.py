"""How long the messages of channels may be."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

_CARD: Final = 28 * 1024


class ChannelLimit(BaseModel):
    """The limits of one channel.

    Attributes:
        max_length: Characters of a part, marker included; None for no limit.
        max_parts: How many parts there may be; an answer that needs more is a summary.
        max_bytes: Bytes of a card; None for no limit.
        split: Where a text is cut, if it can be cut there.
        refine: Whether an answer that fails its scorecard is refined.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_length: Annotated[int, Field(ge=40)] | None = None
    max_parts: Annotated[int, Field(ge=1, le=99)] = 12
    max_bytes: Annotated[int, Field(ge=1024)] | None = None
    split: Literal["sentence", "paragraph"] = "sentence"
    refine: bool = True


_DEFAULTS: Final[Mapping[str, ChannelLimit]] = MappingProxyType(
    {
        "sms": ChannelLimit(max_length=1600, split="sentence"),
        "whatsapp": ChannelLimit(max_length=4000, split="paragraph"),
        "email": ChannelLimit(),
        "teams": ChannelLimit(max_bytes=_CARD),
    }
)
_ANY: Final = ChannelLimit()


class ChannelLimits(BaseModel):
    """The limits of all channels; what a file does not say is as here.

    Attributes:
        version: Of the form of the file.
        channels: By name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = "1.0"
    channels: dict[str, ChannelLimit] = Field(default_factory=dict)

    def of(self, channel: str) -> ChannelLimit:
        """The limits of a channel: what is set here, over the defaults of the channel.

        Args:
            channel: Its name. A channel of your own has no limits but those that you set.
        """
        default = _DEFAULTS.get(channel, _ANY)
        own = self.channels.get(channel)
        return default if own is None else default.model_copy(update=own.model_dump(exclude_unset=True))
