"""An order, which is the state of its run."""

from typing import Annotated, Final

from pydantic import BaseModel, Field

from stagepost.workflows import Append

PRICES: Final = {"lamp": 3_000, "chair": 9_000, "desk": 40_000}  # cents


class Decision(BaseModel):
    """What a clerk says of an expensive order."""

    approved: bool
    reason: str = ""


class Order(BaseModel):
    """What a customer wants, and what has become of it so far."""

    item: str
    quantity: int = Field(default=1, gt=0)
    card: str = "visa"
    address: str = "Main Street 1"
    reservation: str | None = None
    charge: str | None = None
    approval: Decision | None = None
    parcel: str | None = None
    problems: Annotated[list[str], Append] = []
    refund: str | None = None
    release: str | None = None

    @property
    def cents(self) -> int:
        """What it costs."""
        return PRICES[self.item] * self.quantity

    @property
    def outcome(self) -> str:
        """In a few words, for the customer."""
        if self.parcel is not None:
            return f"on its way as {self.parcel}"
        reasons = [*self.problems, *([self.approval.reason] if self.approval else [])]
        return f"cancelled: {', '.join(reasons) or 'not approved'}"
