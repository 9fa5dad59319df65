"""The process that does the demo's work: ``python -m order_fulfilment.work FOLDER``.

It can be run again after any death: orders that were placed are joined, and what is booked is not booked again.
"""

import argparse
import os
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from .order import Decision, Order
from .outside import Ledger
from .shop import Shop, open_shop

ORDERS: Final[Mapping[str, Order]] = {
    "order-1": Order(item="lamp", quantity=2),
    "order-2": Order(item="desk", quantity=2),
    "order-3": Order(item="desk", quantity=5),
    "order-4": Order(item="chair", quantity=99),
    "order-5": Order(item="lamp", card="stolen"),
    "order-6": Order(item="chair", address="the moon"),
}
_TOO_MUCH: Final = 4  # desks


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="order_fulfilment.work", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--die-at", type=int, help="SIGKILL itself right behind this entry of the ledger")
    options = parser.parse_args()
    anyio.run(work, options.folder, options.die_at)


async def work(folder: Path, die_at: int | None) -> None:
    """Take all orders, see them through, and say what has become of them."""
    ledger = Ledger(folder / "ledger.jsonl", on_entry=partial(_die, die_at))
    async with open_shop(folder, ledger=ledger) as shop:
        runs = [await shop.place(number, order) for number, order in ORDERS.items()]
        for run in runs:
            await run.settled()
        await be_the_clerk(shop)
        for run in runs:
            order: Order = await run.result()
            print(f"{run.id}  {order.quantity:2} {order.item:5}  {order.outcome}", flush=True)


async def be_the_clerk(shop: Shop) -> None:
    """Decide about everything in the inbox, as a person would."""
    for wait in await shop.inbox():
        fine = wait.shown["quantity"] < _TOO_MUCH
        reason = "" if fine else f"nobody needs {wait.shown['quantity']} {wait.shown['item']}s"
        await shop.decide(wait.run_id, Decision(approved=fine, reason=reason))


def _die(at: int | None, count: int) -> None:
    if count == at:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
