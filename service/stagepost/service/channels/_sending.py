"""Sends each part once, in order; what runs again sends only what is missing."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final

from stagepost.workflows import Retry, Step, StepContext, step

from ._errors import NoSender, NotSent
from ._outgoing import OutgoingPart, Sender, Sent
from ._response import FormattedResponse

_ID_LENGTH: Final = 32


async def send_all(
    context: StepContext, response: FormattedResponse, *, to: str, senders: Mapping[str, Sender]
) -> Sequence[Sent]:
    """Send all parts of an answer from within a step, in order.

    Each part that has gone out is saved before the next one is sent, so that a step that runs again, after an error
    or a crash, sends only those that are missing. It is also told to whoever follows the run, as `Sent`.

    - If the sender takes our id, a part of which nobody knows is sent again with the same id: it goes out once.
    - If not, it is an effect of the run (see `StepContext.once`): the run waits until somebody says what became of it.

    Args:
        context: Of the step.
        response: What is sent.
        to: The recipient.
        senders: By channel.

    Raises:
        NoSender: None is given for the channel.
        NotSent: A part has not gone out.
        OutcomeUnknown: Nobody knows whether a part has gone out; the run waits.
    """
    sender = senders.get(response.channel)
    if sender is None:
        raise NoSender(response.channel, senders)
    key = sha256(context.idempotency_key.encode()).hexdigest()[:_ID_LENGTH]
    sent = []
    for part in response.parts:
        delivery = OutgoingPart(
            id=f"{key}-{part.sequence}", channel=response.channel, to=to, part=part, parts=len(response.parts)
        )
        done = Sent(sequence=part.sequence, id=delivery.id, receipt=await _send(context, sender, delivery))
        context.tell(done.model_dump())
        sent.append(done)
    return sent


def send_parts(
    name: str,
    senders: Mapping[str, Sender],
    *,
    response: Callable[[Any], FormattedResponse],
    to: Callable[[Any], str],
    into: str = "sent",
    retry: Retry | None = None,
) -> Step:
    """A step that sends all parts of an answer, for any workflow.

    Args:
        name: The step's name.
        senders: By channel.
        response: Takes the answer from the state.
        to: Takes the recipient from the state.
        into: The key of the state for what has been sent: a list of `Sent`, as JSON.
        retry: When the step is tried again after `NotSent`: only the missing parts are sent then.
    """

    async def send(state: Any, context: StepContext) -> dict[str, Any]:
        sent = await send_all(context, response(state), to=to(state), senders=senders)
        return {into: [each.model_dump() for each in sent]}

    return step(name, send, retry=retry)


async def _send(context: StepContext, sender: Sender, delivery: OutgoingPart) -> str:
    key = f"part-{delivery.part.sequence}"
    if not sender.takes_our_id:
        shown = {"channel": delivery.channel, "to": delivery.to, "text": delivery.part.content}
        return await context.once(key, partial(sender.send, delivery), expect=str, not_done=NotSent, show=shown)
    known = context.noted(key)
    if known is not None:
        return str(known)
    receipt = await sender.send(delivery)
    await context.note(key, receipt)
    return receipt
