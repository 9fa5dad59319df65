"""The workflow: a graph whose nodes deal with the world outside, each at most once."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Final

from stagepost.workflows import EffectNotDone, Graph, Parallel, StepContext, Wait

from .order import Decision, Order
from .outside import Outside, Refused

LIMIT: Final = 50_000  # cents that need no approval

Updates = Mapping[str, object] | None


async def reserve(order: Order, context: StepContext) -> Updates:
    """Put what was ordered aside."""
    outside: Outside = context.deps
    return await book(context, "reservation", lambda key: outside.reserve(key, order.item, order.quantity))


async def charge(order: Order, context: StepContext) -> Updates:
    """Take the money."""
    outside: Outside = context.deps
    return await book(context, "charge", lambda key: outside.charge(key, order.card, order.cents))


async def ship(order: Order, context: StepContext) -> Updates:
    """Send it off."""
    outside: Outside = context.deps
    return await book(context, "parcel", lambda key: outside.ship(key, order.address))


async def refund(order: Order, context: StepContext) -> Updates:
    """Give the money back, if it was taken."""
    outside: Outside = context.deps
    if (taken := order.charge) is None:
        return None
    return await book(context, "refund", lambda key: outside.refund(key, taken, order.cents))


async def release(order: Order, context: StepContext) -> Updates:
    """Put it back, if it was put aside."""
    outside: Outside = context.deps
    if order.reservation is None:
        return None
    return await book(context, "release", lambda key: outside.release(key, order.item, order.quantity))


async def notify(order: Order, context: StepContext) -> None:
    """Tell the customer."""
    outside: Outside = context.deps
    await book(context, "mail", lambda key: outside.mail(key, order.outcome))


async def book(context: StepContext, what: str, effect: Callable[[str], Awaitable[str]]) -> Updates:
    """Have something done outside, at most once; a refusal is a result, too.

    A process that is killed while the effect is under way cannot know whether it has happened. The next one asks: the
    reference is the same whenever this very step runs.

    Args:
        context: The step's.
        what: Key of the state for the number that it is booked under.
        effect: What to do, under a reference.
    """
    outside: Outside = context.deps
    reference = context.idempotency_key

    async def find() -> str:
        number = await outside.find(reference)
        if number is None:
            raise EffectNotDone(f"nobody has heard of {reference}")
        return number

    try:
        number = await context.once(what, partial(effect, reference), not_done=Refused, on_unknown=find)
    except Refused as refusal:
        return {"problems": [str(refusal)]}
    return {what: number}


def summary(order: Order) -> dict[str, object]:
    """What a clerk sees of an order."""
    return {"item": order.item, "quantity": order.quantity, "price": f"{order.cents / 100:.2f}"}


def has_problems(order: Order) -> bool:
    """Whether somebody outside has said no."""
    return bool(order.problems)


def is_expensive(order: Order) -> bool:
    """Whether a clerk has to look at it."""
    return order.cents > LIMIT


def is_approved(order: Order) -> bool:
    """Whether the clerk has said yes."""
    return order.approval is not None and order.approval.approved


fulfilment = Graph("fulfilment", state=Order)
fulfilment.add("secure", Parallel("secure", {"reserve": reserve, "charge": charge}))
fulfilment.add(
    "approval",
    Wait(
        "approval",
        expect=Decision,
        show=summary,
        within=timedelta(days=7),
        otherwise=Decision(approved=False, reason="nobody has approved it in a week"),
    ),
)
fulfilment.add("ship", ship)
fulfilment.add("undo", Parallel("undo", {"refund": refund, "release": release}))
fulfilment.add("notify", notify)

fulfilment.edge("secure", "undo", when=has_problems)
fulfilment.edge("secure", "approval", when=is_expensive)
fulfilment.edge("secure", "ship")
fulfilment.edge("approval", "ship", when=is_approved)
fulfilment.edge("approval", "undo")
fulfilment.edge("ship", "undo", when=has_problems)
fulfilment.edge("ship", "notify")
fulfilment.edge("undo", "notify")

fulfilment.start("secure")
fulfilment.finish("notify")
