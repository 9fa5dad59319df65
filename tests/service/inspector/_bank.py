"""A hub with agents of each kind: those that work, one that is stuck, one that fails, timers, tasks, dead letters."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from pydantic import BaseModel

from stagepost.checkpoint import MemoryStore
from stagepost.hub import Context, Hub
from stagepost.workflows import Runner

HOSTILE = "<script>alert(1)</script>\x00\x1b[31m\u202e"


class Deposit(BaseModel):
    amount: int
    note: str = ""


class Bank:
    """The agents, and what lets those go on that wait.

    Attributes:
        opened: Lets the vault go on.
        booked: What the account was given.
    """

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self.booked: list[Deposit] = []
        self.by: list[str | None] = []

    async def account(self, deposit: Deposit, context: Context) -> None:
        self.booked.append(deposit)
        self.by.append(context.message.headers.get("resent-by"))
        await context.publish("bookings.eur", deposit)

    async def teller(self, deposit: Deposit, context: Context) -> None:
        await context.send("account", deposit)

    async def vault(self, _: Deposit) -> None:
        await self.opened.wait()

    async def checker(self, _: Deposit) -> None:
        raise ValueError("the sum is odd")

    async def audit(self, _: Deposit) -> None:
        pass


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    with anyio.fail_after(10):
        while not is_so():  # noqa: ASYNC110  # there is nothing that would tell
            await anyio.sleep(0.005)


def register(hub: Hub, bank: Bank) -> None:
    hub.register("account", bank.account)
    hub.register("teller", bank.teller)
    hub.register("vault", bank.vault)
    hub.register("checker", bank.checker, topics=["bookings.*"])
    hub.register("audit", bank.audit, topics=["bookings.>"])


async def fill(hub: Hub, bank: Bank) -> None:
    """Work, a message that is stuck, others that wait or are dead, a timer and a task."""
    for number in range(20):
        await hub.send("teller", Deposit(amount=number))
    await hub.send("vault", Deposit(amount=101), sender="teller")
    await hub.send("vault", Deposit(amount=102), ttl=0.01, headers={"branch": "Lyon"})
    await hub.send("vault", Deposit(amount=103, note=HOSTILE))
    await hub.every(3600, "audit", Deposit(amount=0))
    hub.spawn("audit", anyio.sleep_forever)
    await until(lambda: bool(hub.dead_letters))


@asynccontextmanager
async def served() -> AsyncIterator[Runner]:
    """A runner that is entered, on a hub that is filled and goes on working."""
    async with opened() as (runner, hub, _), runner.store, runner:
        await hub.every(0.05, "teller", Deposit(amount=7))
        yield runner


@asynccontextmanager
async def opened(**options: Any) -> AsyncIterator[tuple[Runner, Hub, Bank]]:
    """A runner on a hub that is filled."""
    bank = Bank()
    async with Hub("bank", grace=0) as hub:
        register(hub, bank)
        await fill(hub, bank)
        yield Runner(MemoryStore(), hub=hub, **options), hub, bank
