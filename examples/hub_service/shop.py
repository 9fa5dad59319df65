"""The agents of the service. They know nothing of HTTP."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import anyio
from pydantic import BaseModel, Field

from stagepost.hub import Context, handles

STOCK: Final = {"lamp": 1_000, "chair": 2}


class Order(BaseModel):
    """What a customer wants."""

    item: str = Field(pattern=r"^[a-z]{1,30}$")
    quantity: int = Field(gt=0, le=100)


class Receipt(BaseModel):
    """What a customer gets."""

    number: int
    item: str
    quantity: int


class OutOfStock(Exception):
    """There is not enough of it.

    Attributes:
        item: What was ordered.
        left: How many there are.
    """

    def __init__(self, item: str, left: int) -> None:
        self.item = item
        self.left = left
        super().__init__(f"{left} of {item!r} left: order no more than that")


class Warehouse:
    """Reserves what is ordered, one order after the other."""

    id: Final = "warehouse"

    def __init__(self, stock: Mapping[str, int] = STOCK) -> None:
        self._stock = dict(stock)
        self._orders = 0

    @handles
    async def reserve(self, order: Order, context: Context) -> Receipt:
        """Take an order from stock.

        The journal must not miss it, so it is sent, and waits for room. Spectators may, so they get a publication.
        """
        left = self._stock.get(order.item, 0)
        if left < order.quantity:
            raise OutOfStock(order.item, left)
        self._stock[order.item] = left - order.quantity
        self._orders += 1
        receipt = Receipt(number=self._orders, item=order.item, quantity=order.quantity)
        await context.send(Journal.id, receipt)
        await context.publish(f"orders.{order.item}.reserved", receipt)
        return receipt


class Journal:
    """Writes each receipt to a file, as slowly as disks and printers are.

    Args:
        file: Where to; a line of JSON is appended for each.
        pause: Seconds that writing takes.
    """

    id: Final = "journal"

    def __init__(self, file: Path, *, pause: float = 0.0) -> None:
        self._file = anyio.Path(file)
        self._pause = pause

    @handles
    async def write(self, receipt: Receipt) -> None:
        """Append a receipt."""
        await anyio.sleep(self._pause)
        async with await self._file.open("a") as file:
            await file.write(receipt.model_dump_json() + "\n")
