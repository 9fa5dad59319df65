"""Requests of a local server, and its script's entries: answers, and faults that providers show."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Final, TypeAlias

from stagepost._dataclasses import dataclass

from .._script import Answer

_PAGE: Final = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Status:
    """An error in the form of OpenAI's API.

    Attributes:
        code: HTTP status, such as 429 or 503.
        retry_after: Seconds for the header Retry-After; None for none.
        message: The text of the error.
    """

    code: int
    retry_after: float | None = None
    message: str = "told to fail"


@dataclass(frozen=True, slots=True)
class Slow:
    """A delay before the next entry. For lists: a function of the request can sleep by itself.

    Attributes:
        seconds: How much.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """A connection that stays open without any further bytes.

    Attributes:
        after: Chunks of a stream that still come; 0 for no answer at all. What is not streamed hangs from the start.
    """

    after: int = 0


@dataclass(frozen=True, slots=True)
class Drip:
    """Blank lines for ever and no answer, as some busy providers send them.

    Attributes:
        every: Seconds from one to the next.
    """

    every: float = 0.1


@dataclass(frozen=True, slots=True)
class Cut:
    """A connection that is closed in the middle of the answer.

    Attributes:
        after: Chunks of a stream that still come. What is not streamed is cut in half.
        clean: A stream ends as if it was whole, only without its end: what a proxy makes of a provider that went away.
    """

    after: int = 2
    clean: bool = False


@dataclass(frozen=True, slots=True)
class Garbage:
    """A response that is not an answer, with status 200.

    Attributes:
        text: What comes instead.
        type: Its media type.
    """

    text: str = _PAGE
    type: str = "text/html"


Fault: TypeAlias = Status | Slow | Hang | Drip | Cut | Garbage

FAULTS: Final = (Status, Slow, Hang, Drip, Cut, Garbage)


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request that a local server got.

    Attributes:
        path: Where to.
        body: Its JSON: model, messages, tools, options.
        headers: Its headers, the names in small letters.
    """

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)  # a key stands there

    @property
    def turn(self) -> int:
        """How many answers the conversation holds."""
        return sum(message.get("role") == "assistant" for message in self.body.get("messages", ()))

    @property
    def text(self) -> str:
        """Text of the last message."""
        return str(self.body["messages"][-1].get("content") or "")


ServerEntry: TypeAlias = Answer | Fault
"""What a script is made of."""

ServerScript: TypeAlias = Iterable[ServerEntry] | Callable[[ServerRequest], ServerEntry]
"""Entries as for a `ScriptedModel`, or a function of the request."""
