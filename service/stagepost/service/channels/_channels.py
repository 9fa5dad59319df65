"""The channels of an application, by name."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

import anyio

from stagepost.hub import get_logger
from stagepost.workflows import in_thread

from ._email import EmailFormatter
from ._errors import UnknownChannel
from ._formatter import Branded, Formatter
from ._guide import StyleGuide
from ._limits import ChannelLimit, ChannelLimits
from ._reply import Reply
from ._response import FormattedResponse
from ._teams import TeamsFormatter
from ._texting import AsItCame, TextFormatter

_BUILT_IN: Final[Mapping[str, Formatter]] = MappingProxyType(
    {
        "sms": TextFormatter(counts_segments=True),
        "whatsapp": TextFormatter("whatsapp"),
        "email": EmailFormatter(),
        "teams": TeamsFormatter(),
    }
)
_PLAIN: Final = Branded(TextFormatter())
_AS_IT_CAME: Final = Branded(AsItCame())
_DEFAULT_GUIDE: Final = StyleGuide()


class Channels:
    """Formats answers for channels: ``sms``, ``whatsapp``, ``email``, ``teams``, and yours.

    Args:
        formatters: Yours, by the name of their channel. One with the name of a channel of this package replaces it.
        limits: How long messages may be, or a function that says so at each answer, such as
            ``lambda: file.value``; None for the defaults.
    """

    def __init__(
        self,
        formatters: Mapping[str, Formatter] | None = None,
        *,
        limits: ChannelLimits | Callable[[], ChannelLimits] | None = None,
    ) -> None:
        self._formatters = {**_BUILT_IN, **(formatters or {})}
        self._limits = limits if limits is not None else ChannelLimits()

    @property
    def names(self) -> Sequence[str]:
        """The names of the channels, sorted."""
        return sorted(self._formatters)

    def limit(self, channel: str) -> ChannelLimit:
        """The limits of a channel at present.

        Raises:
            UnknownChannel: There is none of this name.
        """
        self._check(channel)
        limits = self._limits() if callable(self._limits) else self._limits
        return limits.of(channel)

    async def format_in_thread(
        self, channel: str, reply: Reply, *, guide: StyleGuide | None = None, seconds: float | None = None
    ) -> FormattedResponse:
        """Format an answer for a channel in a worker thread, so that no task waits for a long or hostile text.

        Args:
            channel: As for `format`.
            reply: As for `format`.
            guide: As for `format`.
            seconds: How long it may take; the answer then goes out as text that is not parsed. None for no limit.

        Raises:
            UnknownChannel: There is none of this name.
        """
        with anyio.move_on_after(seconds):
            work = partial(self.format, channel, reply, guide=guide)
            return await in_thread(work, abandon=True)
        get_logger("service").warning("formatter_too_slow", channel=channel, seconds=seconds)
        guide = guide or _DEFAULT_GUIDE
        work = partial(_AS_IT_CAME.format, reply, guide, self.limit(channel))
        return _named(await in_thread(work, abandon=True), channel, guide, fell_back=True)

    def format(self, channel: str, reply: Reply, *, guide: StyleGuide | None = None) -> FormattedResponse:
        """Format an answer for a channel. In a task, prefer `format_in_thread`: other tasks wait for this one.

        A formatter that fails, or makes a part that is too long, is logged, and the answer is formatted as plain text.

        Args:
            channel: Name of the channel.
            reply: What is to be said.
            guide: How it is to sound; None for the defaults.

        Raises:
            UnknownChannel: There is none of this name.
        """
        limit, guide = self.limit(channel), guide or _DEFAULT_GUIDE
        try:
            made, fell_back = _checked(Branded(self._formatters[channel]).format(reply, guide, limit), limit), False
        except Exception as error:  # whatever it is, the answer goes out
            log = get_logger("service")
            log.warning("formatter_failed", channel=channel, error=type(error).__name__, exc_info=error)
            made, fell_back = _PLAIN.format(reply, guide, limit), True
        return _named(made, channel, guide, fell_back=fell_back)

    def _check(self, channel: str) -> None:
        if channel not in self._formatters:
            raise UnknownChannel(channel, self._formatters)


def _named(made: FormattedResponse, channel: str, guide: StyleGuide, *, fell_back: bool) -> FormattedResponse:
    """What a formatter has made, with what it does not know itself."""
    metadata = made.metadata.model_copy(update={"fell_back": fell_back, "style_version": guide.version})
    return made.model_copy(update={"channel": channel, "metadata": metadata})


def _checked(made: FormattedResponse, limit: ChannelLimit) -> FormattedResponse:
    """What a formatter has made, if each part is short enough to be sent.

    Raises:
        ValueError: One is not.
    """
    longest = max(map(len, made.texts))
    if limit.max_length is not None and longest > limit.max_length:
        raise ValueError(f"a part has {longest} characters, and may have {limit.max_length}")
    return made
