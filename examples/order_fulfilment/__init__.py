"""Orders that are paid, shipped or undone, and charged once whatever happens to the process.

``python -m order_fulfilment`` is the demo: six orders, a process that is killed with SIGKILL right behind a charge, so
that it never hears the answer, a second one that goes on, a clerk who approves what is expensive, and the books.

Stock is reserved and the card charged at once; above a limit somebody has to approve; whatever goes wrong afterwards is
undone by a refund and a release. To play it yourself, one process at a time::

    python -m order_fulfilment place desk --quantity 2 --number order-1
    python -m order_fulfilment inbox
    python -m order_fulfilment approve order-1
"""

from .order import Decision, Order
from .outside import Declined, Ledger, OutOfStock, Outside, Undeliverable
from .shop import Shop, open_shop
from .workflow import fulfilment

__all__ = [
    "Decision",
    "Declined",
    "Ledger",
    "Order",
    "OutOfStock",
    "Outside",
    "Shop",
    "Undeliverable",
    "fulfilment",
    "open_shop",
]
