"""The command line; without a command it is the demo."""

import argparse
import sys
from pathlib import Path
from uuid import uuid4

import anyio
from pydantic import ValidationError

from stagepost.checkpoint import CheckpointError, RunStatus
from stagepost.workflows import Run, RunConflict, RunFailed

from .demo import run_demo
from .order import PRICES, Decision, Order
from .shop import open_shop


def main() -> int:
    """Run the command line; returns the exit code."""
    options = _parse()
    if options.command in (None, "demo"):
        return run_demo()
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        anyio.run({"place": place, "inbox": inbox, "approve": decide, "refuse": decide}[options.command], options)
    except (CheckpointError, RunConflict, RunFailed, ValidationError) as error:
        print(f"order fulfilment: {error}", file=sys.stderr)
        return 1
    return 0


async def place(options: argparse.Namespace) -> None:
    """Take an order and see how far it gets; an order of the same number and content is not taken twice."""
    order = Order(item=options.item, quantity=options.quantity, card=options.card, address=options.address)
    async with open_shop(options.folder) as shop:
        await _tell(await shop.place(options.number or f"order-{uuid4().hex[:8]}", order))


async def inbox(options: argparse.Namespace) -> None:
    """Show what waits for a clerk."""
    async with open_shop(options.folder) as shop:
        for wait in await shop.inbox():
            facts = ", ".join(f"{key} {value}" for key, value in wait.shown.items())
            print(f"{wait.run_id}: {facts}; by {wait.due_at:%Y-%m-%d}")


async def decide(options: argparse.Namespace) -> None:
    """Say yes or no."""
    decision = Decision(approved=options.command == "approve", reason=options.reason)
    async with open_shop(options.folder) as shop:
        await _tell(await shop.decide(options.number, decision))


async def _tell(run: Run) -> None:
    """Say what has become of an order, as soon as nothing of it goes on."""
    if await run.settled() is RunStatus.WAITING:
        print(f"{run.id}: waits for a clerk")
    else:
        order: Order = await run.result()
        print(f"{run.id}: {order.outcome}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="order_fulfilment", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("shop"), help="where the shop keeps its files")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("demo", help="be killed in the middle, and go on (the default)")
    placing = commands.add_parser("place", help="take an order")
    placing.add_argument("item", choices=PRICES)
    placing.add_argument("--quantity", type=int, default=1)
    placing.add_argument("--card", default="visa", help="the bank declines 'stolen'")
    placing.add_argument("--address", default="Main Street 1", help="nobody delivers to 'the moon'")
    placing.add_argument("--number", help="of the order; by default a new one")
    commands.add_parser("inbox", help="show what waits for a clerk")
    for name, words in (("approve", "say yes to an expensive order"), ("refuse", "say no to it")):
        deciding = commands.add_parser(name, help=words)
        deciding.add_argument("number")
        deciding.add_argument("--reason", default="")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
