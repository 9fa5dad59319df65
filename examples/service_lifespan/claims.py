"""Expense claims: an agent that knows exchange rates, and the workflow. Nothing here knows of HTTP."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, Field

from stagepost.workflows import Ask, Chain, Conditional, StepContext, Wait

RATES: Final = {"EUR": 1.0, "USD": 0.9, "GBP": 1.2}
LIMIT: Final = 100.0  # euros that nobody needs to look at


class Money(BaseModel):
    """What the agent is asked."""

    amount: float
    currency: str


class Decision(BaseModel):
    """What a person says of a large claim."""

    approved: bool
    by: str = ""


class Claim(BaseModel):
    """What somebody wants to have paid back, and what has become of it: the state of the run."""

    who: str = Field(min_length=1)
    amount: float = Field(gt=0)
    currency: Literal["EUR", "USD", "GBP"] = "EUR"
    euros: float | None = None
    approval: Decision | None = None
    payment: str | None = None


async def rates(money: Money) -> float:
    """The agent: so much in euros."""
    return round(money.amount * RATES[money.currency], 2)


def as_money(claim: Claim) -> Money:
    """What the agent is asked about a claim."""
    return Money(amount=claim.amount, currency=claim.currency)


def size(claim: Claim) -> Literal["small", "large"]:
    """Whether a person has to look at it."""
    return "small" if (claim.euros or 0) <= LIMIT else "large"


def shown(claim: Claim) -> Mapping[str, object]:
    """What that person sees."""
    return {"who": claim.who, "euros": claim.euros}


async def pay(claim: Claim, context: StepContext) -> Mapping[str, str] | None:
    """Pay it, unless it was refused. The key is the same after a crash, so nobody is paid twice."""
    bank: Bank = context.deps
    if claim.approval is not None and not claim.approval.approved:
        return None
    return {"payment": await context.once("pay", lambda: bank.pay(claim.who, claim.euros or 0))}


async def accept(_claim: Claim) -> None:
    """A small claim needs no more than this."""


class Bank:
    """Pays, and keeps a list of it.

    Args:
        file: A line is appended for each payment.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def pay(self, who: str, euros: float) -> str:
        """Pay; returns the receipt."""
        with self._file.open("a") as payments:
            payments.write(f"{who} {euros:.2f}\n")
        return f"{euros:.2f} paid to {who}"


claims = Chain(
    "claims",
    [
        Ask("rates", as_money, expect=float, into="euros"),
        Conditional(
            "size",
            size,
            {
                "small": accept,
                "large": Wait(
                    "approval",
                    expect=Decision,
                    show=shown,
                    within=timedelta(days=7),
                    otherwise=Decision(approved=False, by="nobody"),
                ),
            },
        ),
        pay,
    ],
    state=Claim,
)
