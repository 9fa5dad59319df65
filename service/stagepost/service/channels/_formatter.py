"""What makes messages of an answer, for one channel."""

from typing import Protocol

from ._branding import branded
from ._guide import StyleGuide
from ._limits import ChannelLimit
from ._reply import Reply
from ._response import FormattedResponse


class Formatter(Protocol):
    """Makes messages of an answer; it keeps nothing between two calls, and asks nobody.

    It may be called in a worker thread, and in several at once.
    """

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:
        """Format a reply.

        Args:
            reply: What is to be said.
            guide: How it is to sound.
            limit: How long messages may be.

        Returns:
            The parts in the order in which they are sent. Raises whatever it likes: `Channels` then falls back to
            plain text.
        """
        ...


class Branded:
    """A formatter whose answers follow the style guide: greeting, emoji, sign-off.

    Args:
        inner: Formats the answer, once it has them.
    """

    def __init__(self, inner: Formatter) -> None:
        self._inner = inner

    def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:
        """Format a reply: see `Formatter`."""
        return self._inner.format(branded(reply, guide), guide, limit)
