"""A shop and its warehouse, on two hubs."""

import pytest
from anyio import fail_after
from hub_bridge import Order, Parcel, shop_hub, warehouse_hub
from hub_bridge.__main__ import all_idle, main

from stagepost.hub import Bridge

STORY = """\
shop: order 1, 3 x lamp in stock
shop: order 1 (lamp) is packed by packer-1, says bridge
shop: no order 2, there is no 'dragon' in the warehouse
shop: order 3, 1 x chair in stock
shop: order 3 (chair) is packed by packer-2, says bridge
the bridge carried orders.1 to warehouse, parcels.1 to shop, orders.3 to warehouse, parcels.3 to shop
the warehouse is closed, and the bridge has ended with it
shop: order 4 reached nobody: nobody subscribes to this
"""


async def test_the_example_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    with fail_after(20):
        await main()
    assert capsys.readouterr().out == STORY


async def test_the_packers_share_the_orders() -> None:
    said: list[str] = []
    with fail_after(20):
        async with shop_hub(said.append) as shop, warehouse_hub(lamp=9) as warehouse:
            Bridge(shop, warehouse, topics=["orders.>", "parcels.>"])
            for number in range(6):
                await shop.publish(f"orders.{number}", Order(number=number, article="lamp"))
                await all_idle(shop, warehouse)
    assert [sum(name in line for line in said) for name in ("packer-1", "packer-2")] == [3, 3]


async def test_each_hub_works_without_the_other() -> None:
    said: list[str] = []
    with fail_after(20):
        async with shop_hub(said.append) as shop, warehouse_hub() as warehouse:
            order = Order(number=1, article="lamp")
            assert (await warehouse.publish("orders.1", order)).delivered == ("packer-1",)
            await shop.publish("parcels.1", Parcel(order=order, packer="nobody"))
            await all_idle(shop, warehouse)
    assert said == ["shop: order 1 (lamp) is packed by nobody, says None"]
