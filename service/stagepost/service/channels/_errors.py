"""What channels, senders, style guides and limits refuse.

::

    ChannelError
    ├── UnknownChannel (LookupError)    no formatter has this name
    ├── InvalidReply (ValueError)       nothing in it can be sent
    ├── InvalidFile (ValueError)        a style guide, or limits, that do not fit
    ├── NoSender (LookupError)          nobody sends by this channel
    ├── NotSent                         a part has not gone out: it may be sent again
    └── LoadRefused                     more requests, tokens or money than allowed
"""

from collections.abc import Iterable, Sequence
from math import ceil

from ..errors import ServiceError


class ChannelError(ServiceError):
    """The root of the errors of this package."""


class UnknownChannel(ChannelError, LookupError):
    """No formatter has this name.

    Attributes:
        name: What was asked for.
    """

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"no channel is named {name!r}; known: {names}. Give its formatter: Channels({{{name!r}: …}})")


class InvalidReply(ChannelError, ValueError):
    """A reply holds nothing that can be sent."""

    def __init__(self) -> None:
        super().__init__("the text of a reply is empty: give at least one visible character")


class InvalidFile(ChannelError, ValueError):
    """A file does not fit its schema; the message has a line for each problem.

    Attributes:
        path: The file.
        problems: What is wrong, each with the number of its line where that is known.
    """

    def __init__(self, path: str, problems: Iterable[str]) -> None:
        self.path = path
        self.problems: Sequence[str] = tuple(problems)
        super().__init__("\n".join(f"{path}:{problem}" for problem in self.problems))


class NoSender(ChannelError, LookupError):
    """Nobody sends by this channel.

    Attributes:
        channel: Its name.
    """

    def __init__(self, channel: str, known: Iterable[str]) -> None:
        self.channel = channel
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"no sender is given for the channel {channel!r}; given: {names}")


class NotSent(ChannelError):
    """A part has certainly not gone out, so it may be sent again: raised by senders.

    Args:
        reason: Why, such as that the provider could not be reached, or what it answered.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the part was not sent: {reason}")


class LoadRefused(ChannelError):
    """There is more to do than the limits allow.

    Attributes:
        limit: Which of the limits, such as ``requests of the user``.
        retry_after: Seconds after which to try again.
    """

    def __init__(self, limit: str, allowed: str, retry_after: float) -> None:
        self.limit = limit
        self.retry_after = max(1, ceil(retry_after))
        super().__init__(f"the limit of {limit} is reached ({allowed}); try again in {self.retry_after} s")
