"""A shop and its warehouse: two hubs in one process, joined by a bridge."""

from .house import Article, Order, Parcel, shop_hub, warehouse_hub

__all__ = ["Article", "Order", "Parcel", "shop_hub", "warehouse_hub"]
