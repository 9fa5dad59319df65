"""A day of a shop and its warehouse: ``python -m hub_bridge``."""

import logging

import anyio

from stagepost.hub import Bridge, HandlerFailed, Hub
from stagepost.hub.testing import idle

from .house import Article, Order, shop_hub, warehouse_hub


async def all_idle(*hubs: Hub) -> None:
    """Wait until nothing is in progress on any hub."""
    while any(hub.metrics().in_flight for hub in hubs):
        for hub in hubs:
            await idle(hub)


async def sell(shop: Hub, number: int, article: str) -> None:
    """Ask for the stock, which is on the other hub, and publish an order."""
    try:
        left = await shop.request("stock", Article(name=article), expect=int, timeout=5)
    except HandlerFailed as error:
        print(f"shop: no order {number}, {error.cause}")
        return
    print(f"shop: order {number}, {left} x {article} in stock")
    await shop.publish(f"orders.{number}", Order(number=number, article=article))


async def main() -> None:
    """Sell three things, one of which does not exist, and close the warehouse."""
    async with shop_hub(print) as shop:
        async with warehouse_hub(lamp=3, chair=1) as warehouse:
            bridge = Bridge(shop, warehouse, topics=["orders.>", "parcels.>"], map=["stock@warehouse"])
            for number, article in enumerate(["lamp", "dragon", "chair"], start=1):
                await sell(shop, number, article)
                await all_idle(shop, warehouse)
            print(f"the bridge carried {', '.join(f'{one.topic} to {one.target}' for one in bridge.deliveries)}")
        print("the warehouse is closed, and the bridge has ended with it")
        while "stock" in shop.agents:
            await anyio.lowlevel.checkpoint()
        delivery = await shop.publish("orders.4", Order(number=4, article="lamp"))
        print(f"shop: order 4 {delivery}")


if __name__ == "__main__":
    logging.disable()  # the hub on which a handler fails logs that, with a traceback
    anyio.run(main)
