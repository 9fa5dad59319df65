"""A hub inside of an HTTP service: requests, a stream of events, and a stop that loses nothing.

``python -m hub_service`` serves it on 127.0.0.1. `create_app` is all that another server needs.
"""

from .app import create_app
from .shop import Journal, Order, OutOfStock, Receipt, Warehouse

__all__ = ["Journal", "Order", "OutOfStock", "Receipt", "Warehouse", "create_app"]
