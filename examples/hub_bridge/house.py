"""The two hubs and their agents. Neither knows that the other one exists."""

from collections.abc import Callable

from pydantic import BaseModel

from stagepost.hub import Context, Hub, Message

Say = Callable[[str], None]


class Article(BaseModel):
    """A question: how many of an article are there?"""

    name: str


class Order(BaseModel):
    """Somebody has bought something."""

    number: int
    article: str


class Parcel(BaseModel):
    """An order is packed."""

    order: Order
    packer: str


class Stock:
    """Knows what lies in the warehouse."""

    def __init__(self, **articles: int) -> None:
        self._articles = articles

    async def count(self, article: Article) -> int:
        """How many there are; a `LookupError` if the warehouse never had any."""
        if article.name not in self._articles:
            raise LookupError(f"there is no {article.name!r} in the warehouse")
        return self._articles[article.name]


async def pack(order: Order, context: Context) -> None:
    """Pack an order, and tell everybody."""
    await context.publish(f"parcels.{order.number}", Parcel(order=order, packer=context.agent))


def warehouse_hub(**articles: int) -> Hub:
    """A hub with the stock, and two packers who share the orders."""
    hub = Hub("warehouse")
    hub.register("stock", Stock(**articles).count)
    for name in ("packer-1", "packer-2"):
        hub.register(name, pack, topics=["orders.>"], group="packers")
    return hub


def shop_hub(say: Say) -> Hub:
    """A hub with a desk that tells customers about their parcels."""
    hub = Hub("shop")

    async def tell(message: Message[Parcel]) -> None:
        parcel = message.data
        order = parcel.order
        say(f"shop: order {order.number} ({order.article}) is packed by {parcel.packer}, says {message.sender}")

    hub.register("desk", tell, topics=["parcels.>"])
    return hub
