"""What the service does behind HTTP."""

from anyio import sleep
from pydantic import BaseModel, ConfigDict

from stagepost.hub import Context, handles


class Order(BaseModel):
    """Somebody orders something."""

    model_config = ConfigDict(frozen=True)

    article: str
    amount: int = 1


class Receipt(BaseModel):
    """What the customer gets for it."""

    model_config = ConfigDict(frozen=True)

    number: int
    article: str


class Desk:
    """Takes orders, one after the other, and lets everybody know who wants to."""

    id = "desk"

    def __init__(self) -> None:
        self.orders = 0

    @handles
    async def take(self, order: Order, context: Context) -> Receipt:
        """Book an order, which takes a moment."""
        self.orders += 1
        receipt = Receipt(number=self.orders, article=order.article)
        await sleep(0.05)
        await context.publish(f"orders.{receipt.number}.booked", receipt)
        return receipt
