"""The shop: a store, a runner, and what clerks and customers do with them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from stagepost.checkpoint import SqliteStore, WaitKind, WaitNotFound
from stagepost.workflows import PendingWait, Run, Runner

from .order import Decision, Order
from .outside import Ledger, Outside
from .workflow import fulfilment


class Shop:
    """What can be done in an open shop.

    Attributes:
        outside: Everyone that it deals with.
    """

    def __init__(self, runner: Runner, outside: Outside) -> None:
        self._runner = runner
        self.outside = outside

    async def place(self, number: str, order: Order) -> Run:
        """Take an order; one that was taken before is joined where it stands."""
        return await self._runner.start(fulfilment, order, run_id=number)

    async def inbox(self) -> Sequence[PendingWait]:
        """What waits for a clerk."""
        return await self._runner.waits(kind=WaitKind.ANSWER)

    async def decide(self, number: str, decision: Decision) -> Run:
        """Say yes or no to an expensive order.

        Raises:
            RunNotFound: There is no such order.
            WaitNotFound: It does not wait for a clerk.
        """
        waits = await self._runner.waits(number, kind=WaitKind.ANSWER)
        if not waits:
            raise WaitNotFound(number, "approval")
        await self._runner.answer(waits[0].id, decision)
        return await self._runner.get(number)


@asynccontextmanager
async def open_shop(folder: Path, *, ledger: Ledger | None = None) -> AsyncIterator[Shop]:
    """Open a shop, and go on with every order that a killed process has left.

    Args:
        folder: Where its files are.
        ledger: Where the world outside writes; by default ``ledger.jsonl`` in the folder.
    """
    outside = Outside(ledger or Ledger(folder / "ledger.jsonl"))
    async with (
        SqliteStore(folder / "runs.db") as store,
        Runner(store, workflows=[fulfilment], deps=outside) as runner,
    ):
        report = await runner.recover()
        for run in report.resumed:
            await run.settled()
        yield Shop(runner, outside)
