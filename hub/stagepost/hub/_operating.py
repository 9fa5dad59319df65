"""What an operator of a hub asks for: who sends to whom, which agents are stuck, and dead letters sent again."""

from functools import partial
from typing import Any, Final

from ._arguments import check_text
from ._dead_letters import DeadLetter
from ._directory import Directory
from ._engine import Engine
from ._headers import NO_HEADERS
from ._limits import TIMEOUT, Duration, seconds
from ._message import Message, MessageType
from ._router import Router, terms_of
from ._sending import SendingLayers, Stamped
from ._stuck import StuckAgent, stuck_agents
from ._time_slice import TimeSlice
from ._traffic import Traffic, traffic_on
from .errors import DeadLetterNotFound, HubNotStarted, InvalidArgument

BY: Final = "resent-by"
"""The header that says who has sent a dead letter again."""


class Operating:
    """The part of a hub that its operators use."""

    _name: str
    _directory: Directory
    _engine: Engine | None
    _router: Router | None
    _sending: SendingLayers | None
    _time_slice: TimeSlice

    def stuck(self, *, longer_than: Duration) -> tuple[StuckAgent, ...]:
        """The agents that have been handling one message longer than that, those that have longest first.

        Such a handler may wait for something that never comes, or work for long on purpose. The messages after it wait
        as long, unless the agent handles several at once.

        Args:
            longer_than: For how long.

        Raises:
            InvalidArgument: That is no duration.
            WrongThread: The hub was entered in another thread or event loop.
        """
        limit, engine = seconds(longer_than, "longer_than"), self._engine
        if engine is None:
            return ()
        engine.check_here("stuck")
        return stuck_agents(self._directory, engine.stamps, limit)

    def traffic(self) -> tuple[Traffic, ...]:
        """Who has messages on their way to whom at this moment, by sender, recipient and topic.

        Messages that are handled within microseconds are seldom seen; looking again and again tells who sends to whom.
        Of an agent's messages at most 100 are looked at.
        """
        return traffic_on(self._directory)

    async def resend(
        self, letter: DeadLetter | str, *, by: str | None = None, timeout: Duration | None = TIMEOUT
    ) -> None:
        """Send a dead letter again to its recipient, and return when its mailbox has the message.

        It is a new one-way message with the same payload, sender, topic, headers and priority. The dead one is its
        cause, whose trace it belongs to. If it was a request, nobody gets the reply, because its requester has had an
        error. Once it is sent, the letter is no longer among the dead ones: it is sent once, whoever else tries.

        Args:
            letter: A letter of `dead_letters`, or the id of its message.
            by: Who wants that; the message then has it in its header ``resent-by``.
            timeout: How long to wait for room; 0 to not wait, None for no limit.

        Raises:
            DeadLetterNotFound: It is not among the dead letters, or somebody else sends it at this moment.
            InvalidArgument: It is a late reply, which nobody waits for any more; or no letter at all.
            AgentNotFound: Its recipient is gone.
            NoHandler: The recipient takes no payload of this class any more.
            MailboxFull: There was no room in time.
            AgentStopped: The recipient is leaving.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: It takes no more work.
        """
        async with self._time_slice:
            message_id = letter.message.id if isinstance(letter, DeadLetter) else check_text("letter", letter)
            engine = self._engine
            if engine is None:
                raise HubNotStarted(message_id, self._name)
            engine.check_here("resend")
            letters = engine.account.dead_letters
            found = letters.take(message_id)
            if found is None:
                raise DeadLetterNotFound(message_id, self._name)
            is_sent = False
            try:
                await self._resend(found.message, None if by is None else check_text("by", by), timeout)
                is_sent = True
            finally:
                letters.give_back(message_id, is_sent=is_sent)

    async def _resend(self, message: Message[Any], by: str | None, timeout: Duration | None) -> None:
        if message.type is MessageType.RESPONSE:
            raise InvalidArgument("letter", message.id, "a late reply cannot be sent: nobody waits for it any more")
        headers = Stamped(message.headers if by is None else {**message.headers, BY: by})
        if self._sending is None:
            await self._send_again(message, timeout, headers=headers)
            return
        again = partial(self._send_again, message, timeout)
        await self._sending(
            again,
            message.data,
            headers,
            type=MessageType.NOTIFICATION,
            recipient=message.recipient,
            topic=message.topic,
            sender=message.sender,
        )

    async def _send_again(self, message: Message[Any], timeout: Duration | None, *, headers: Stamped) -> None:
        assert self._router is not None  # noqa: S101  # it was made with the engine
        terms = terms_of(headers or NO_HEADERS, message.priority, message.topic)
        origin = self._router.origin(message.sender, None, message)
        rest = self._router.send(message.recipient, message.data, origin, terms, timeout, None)
        if rest is not None:
            await rest
