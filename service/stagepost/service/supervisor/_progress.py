"""How much of a turn a reader has been told: what the id of each event stands for.

An id has all that is needed to tell what follows, so that whoever comes back, to this process or to the next one, gets
every event once. The stream's cursor moves on with the last event of a part only: a reader that is cut off between two
events of one part is told the part again, and the id says what of it was told.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, TypeAlias
from zlib import crc32

from pydantic import Field, TypeAdapter
from pydantic_core import to_json

from ._errors import InvalidEventId

_LONGEST: Final = 40_000  # characters of an id


class OpenCall(NamedTuple):
    """A call of the supervisor whose result was not told yet.

    Attributes:
        number: Which call of the turn it is, from 1.
        tool: Name of the tool.
        visit: Which run of the stream is the worker's; empty while it has none.
        started: When the worker has begun, in seconds since 1970.
    """

    number: int
    tool: str
    visit: str = ""
    started: float = 0.0

    @property
    def id(self) -> str:
        """What joins the events of the call."""
        return f"call-{self.number}"


class TurnProgress(NamedTuple):
    """What a reader was told.

    Attributes:
        turn: Number of the turn in its session.
        cursor: Of the task's stream; None for its beginning.
        seq: Number of the last event.
        made: How many calls of the supervisor were told.
        settled: How many characters of text whole answers of the supervisor have.
        told: How many characters of the next answer were told.
        check: What these characters add up to.
        calls: The open calls, by the model's ids.
    """

    turn: int
    cursor: str | None = None
    seq: int = 0
    made: int = 0
    settled: int = 0
    told: int = 0
    check: int = 0
    calls: Mapping[str, OpenCall] = MappingProxyType({})

    def has_told(self, text: str) -> bool:
        """Whether what was told of the next answer is how a text begins."""
        return len(text) >= self.told and check_of(text[: self.told]) == self.check

    def call_of(self, call_id: str | None, visit: str) -> OpenCall | None:
        """The open call that something belongs to; None if none is known.

        Args:
            call_id: The model's id of the call, for what belongs to the supervisor's own run.
            visit: The run of a worker, or one below it; empty for the supervisor's own.
        """
        run = visit.partition("#")[0]
        if not run:
            return self.calls.get(call_id or "")
        below = (call for call in self.calls.values() if call.visit)
        return next((call for call in below if run == call.visit or run.startswith(f"{call.visit}.")), None)


_Count: TypeAlias = Annotated[int, Field(ge=0)]
_Call: TypeAlias = tuple[_Count, str, str, float]
_Form: TypeAlias = tuple[_Count, str | None, _Count, _Count, _Count, _Count, _Count, dict[str, _Call]]
_FORM: Final[TypeAdapter[_Form]] = TypeAdapter(_Form)


def check_of(text: str, before: int = 0) -> int:
    """What characters add up to, after those that add up to something."""
    return crc32(text.encode(errors="surrogatepass"), before)


def event_id(progress: TurnProgress) -> str:
    """The id of an event after which a reader was told so much."""
    return urlsafe_b64encode(to_json([*progress[:-1], {**progress.calls}])).decode().rstrip("=")


def read_event_id(text: str) -> TurnProgress:
    """What a reader was told that comes back with an id.

    Raises:
        InvalidEventId: It is none.
    """
    if len(text) > _LONGEST or not text.isascii():
        raise InvalidEventId("it is none that this service has sent")
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        read = _FORM.validate_json(data)
    except ValueError:
        raise InvalidEventId("it is none that this service has sent") from None
    return TurnProgress(*read[:-1], calls={key: OpenCall(*call) for key, call in read[-1].items()})
