"""A publication: one record that lies in the mailboxes of all its recipients."""

from typing import Final, final

from ._envelope import Envelope, EnvelopeState, Occupant, Recipient, Terms, Trail
from ._handlers import Handler, Handlers
from ._message import MessageType

_NONE_INHERITED: Final[dict[Handlers, Handler]] = {}  # most need no more; nobody adds to it


@final
class Publication:
    """One payload for many recipients, each of which handles it by itself.

    It has what its deliveries have in common. Each of them gets an `Envelope` of its own, once, when something about it
    is asked or goes wrong: its handler takes a context or sends messages, it fails or is dropped, somebody waits for
    it, an observer wants its events. Most never need one.

    The numbers of its recipients follow one another, from `number` on. Envelopes get them in the order in which they
    are made.

    Attributes:
        payload: The payload.
        kind: Its class when it was published, by which handlers are chosen.
        inherited: The handlers of those recipients that have none for exactly this class.
        type: The type of its messages.
        sender: The agent that published it, if any.
        terms: The terms of its messages, with a normal priority unless all of them have envelopes.
        trail: What they inherit.
        number: The number of the first one.
        sent: When it was published.
    """

    __slots__ = (
        "_next",
        "_opened",
        "inherited",
        "kind",
        "number",
        "payload",
        "sender",
        "sent",
        "terms",
        "trail",
        "type",
    )

    def __init__(  # noqa: PLR0917 - what an envelope is made of, but for its recipient
        self,
        payload: object,
        type_: MessageType,
        sender: str | None,
        terms: Terms,
        trail: Trail,
        number: int,
        sent: float,
    ) -> None:
        self.payload = payload
        self.kind = type(payload)
        self.type = type_
        self.sender = sender
        self.terms = terms
        self.trail = trail
        self.number = self._next = number
        self.sent = sent
        self.inherited = _NONE_INHERITED
        self._opened: dict[Occupant, Envelope] | None = None

    def continued(self, number: int) -> "Publication":
        """The same for further recipients, from this number on: other messages were sent meanwhile."""
        more = Publication(self.payload, self.type, self.sender, self.terms, self.trail, number, self.sent)
        more.kind = self.kind
        return more

    def handler_of(self, handlers: Handlers) -> Handler:
        """The handler of a recipient, the one that it had when this was published."""
        return handlers.exact.get(self.kind) or self.inherited[handlers]

    def keep(self, handlers: Handlers, handler: Handler) -> None:
        """Keep an inherited handler: whoever looks for it again might find another one."""
        if self.inherited is _NONE_INHERITED:
            self.inherited = {}
        self.inherited[handlers] = handler

    def envelope(self, recipient: Recipient, handler: Handler, kind: type[Envelope] = Envelope) -> Envelope:
        """The envelope for one recipient, which must not have one yet."""
        number = self._next
        self._next = number + 1
        return kind(recipient, handler, self.payload, self.type, self.sender, self.terms, self.trail, number, self.sent)

    def opened(self, worker: Occupant) -> Envelope | None:
        """The envelope that was made for a worker."""
        return None if self._opened is None else self._opened.get(worker)

    def open(self, worker: Occupant, recipient: Recipient, handler: Handler) -> Envelope:
        """Make the envelope for a worker that handles the publication for its agent, or has done so.

        It is kept for all who ask later, for example a task that the handler has started.
        """
        if self._opened is None:
            self._opened = {}
        envelope = self._opened[worker] = self.envelope(recipient, handler)
        envelope.worker, envelope.state = worker, EnvelopeState.ENDED
        return envelope
