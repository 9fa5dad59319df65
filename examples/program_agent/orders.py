"""The orders of a shop, the same ones each time."""

from collections.abc import Sequence
from random import Random

from pydantic import BaseModel
from typing_extensions import TypedDict

COUNTRIES = ("DE", "FR", "IT", "NO", "PL")
STATES = ("paid", "paid", "paid", "open", "open", "refunded")
NAMES = ("Ada", "Bo", "Cleo", "Dag", "Edda", "Finn", "Gro", "Hugo", "Ida", "Jon")


class Order(TypedDict):
    """One row."""

    id: int
    customer: int
    country: str
    state: str
    total: float


class Orders(BaseModel):
    """What the agents are asked with."""

    orders: list[Order]


class Debtor(BaseModel):
    """Somebody who owes money."""

    name: str
    owes: float


class Report(BaseModel):
    """What they answer."""

    open_orders: int
    owed: float
    debtors: list[Debtor]


def orders_of(month: int, count: int) -> list[Order]:
    """The orders of a month."""
    random = Random(month)  # noqa: S311  # a shop, and no secret
    return [
        {
            "id": month * 100_000 + number,
            "customer": random.randint(1, 300),
            "country": random.choice(COUNTRIES),
            "state": random.choice(STATES),
            "total": random.randint(500, 40_000) / 100,
        }
        for number in range(count)
    ]


def name_of(customer: int) -> str:
    """The name of a customer."""
    return f"{NAMES[customer % len(NAMES)]} {customer}"


def report_on(orders: Sequence[Order], most: int = 3) -> Report:
    """What is right: the same in Python."""
    owed: dict[int, float] = {}
    for order in orders:
        if order["state"] == "open":
            owed[order["customer"]] = owed.get(order["customer"], 0.0) + order["total"]
    count = sum(order["state"] == "open" for order in orders)
    first = sorted(owed.items(), key=lambda each: -each[1])[:most]
    debtors = [Debtor(name=name_of(customer), owes=round(amount, 2)) for customer, amount in first]
    return Report(open_orders=count, owed=round(sum(owed.values()), 2), debtors=debtors)
