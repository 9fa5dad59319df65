"""What a server tells, in words of our own: its tools, what becomes of a call, and what it asks meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from pydantic import BaseModel, JsonValue

from stagepost._dataclasses import dataclass

from .._models._model import JsonSchema
from .._models._parts import Audio, File, Image
from .._tools._outside import Tell

Action: TypeAlias = Literal["accept", "decline", "cancel"]

How: TypeAlias = Literal["again", "repeat", "open", "task"]
"""How a call goes on that has asked something.

- ``again``: it is made again, with the responses and what the server has said of its state.
- ``repeat``: it is made again as it was: the server could not do anything before.
- ``open``: it is still open, and goes on in the same connection.
- ``task``: the server works on a task, whose id is the state, and is asked for it.
"""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it.

    Attributes:
        name: Its name there.
        description: What it does.
        schema: JSON schema of its arguments.
        marked_idempotent: Whether the server says that calls may be repeated, or that they only read.
    """

    name: str
    description: str
    schema: JsonSchema
    marked_idempotent: bool


class RemoteResult(NamedTuple):
    """What a server has answered to a call.

    Attributes:
        text: The result as the model gets it.
        is_error: Whether the server calls it an error.
        parts: Pictures, sounds and files.
    """

    text: str
    is_error: bool
    parts: Sequence[Image | Audio | File] = ()


class Elicitation(BaseModel, frozen=True):
    """What a server asks a person.

    Attributes:
        message: What it says.
        form: JSON schema of the value that it wants; None if it wants the person to visit `url`.
        url: Where the person has to go; None if it wants a value.
    """

    message: str
    form: dict[str, JsonValue] | None = None
    url: str | None = None


class Response(BaseModel, frozen=True):
    """What a person has said to that.

    Attributes:
        action: Whether the person has given the value or consented, has declined, or has not chosen.
        content: The value.
    """

    action: Action
    content: Any = None


class Refusal(BaseModel, frozen=True):
    """A server wants a person to let this process in.

    Attributes:
        status: What it answered.
        challenge: What it said that is needed.
    """

    status: int
    challenge: str


class Asked(BaseModel, frozen=True):
    """What a server has answered instead of a result.

    Attributes:
        how: How the call goes on.
        requests: What it asks, by names that it has chosen; nothing if it only wants to be asked again.
        state: What the server has to be told again.
        pause: Seconds to wait before it is asked again.
        refusal: What it said, if it let nobody in; who asks people makes a question of it.
    """

    how: How
    requests: dict[str, Elicitation] = {}
    state: str | None = None
    pause: float = 0
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Continuation:
    """What the call that is made next has to do with its run, and with what was said before.

    Attributes:
        key: Names the call among all calls of the process.
        before: What the server has answered last; None if the call begins.
        responses: What people have said to that.
        earlier: All that people have said in this call, to be said again at once if the server asks the same.
        must_be_open: Whether the call is to go on where it was left, and must not begin again.
        can_ask: Whether there is anybody to ask.
        progress: Is told how far the call is; None if nobody wants to know.
        traceparent: What the server's work belongs below, in the form of W3C Trace Context; None if nothing traces.
    """

    key: str = ""
    before: Asked | None = None
    responses: Mapping[str, Response] = field(default_factory=dict)
    earlier: Sequence[tuple[Elicitation, Response]] = ()
    must_be_open: bool = False
    can_ask: bool = False
    progress: Tell | None = None
    traceparent: str | None = None


ALONE: Final = Continuation()
"""That of a call that nobody can be asked about."""


class Remote(Protocol):
    """The connection to a server, as its tools need it."""

    async def call(
        self, tool: str, arguments: Mapping[str, object], continuation: Continuation = ALONE
    ) -> RemoteResult | Asked:
        """Call a tool by the server's name for it, or go on with a call."""
        ...

    async def cancel(self, task: str) -> None:
        """Have the server end a task, if it can still be told."""
        ...

    def holds(self, key: str) -> bool:
        """Whether a call is open that waits for what people say."""
        ...
