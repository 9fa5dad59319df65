"""The world outside: a bank, a warehouse, a carrier and the mail.

They do what they are told, twice if they are told twice. All of them write into one ledger, a file of JSON lines, which
is what the demo is checked against.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

STOCK: Final = {"lamp": 100, "chair": 10, "desk": 20}


class Refused(Exception):
    """Somebody outside says no, and nothing has happened."""


class OutOfStock(Refused):
    """The warehouse has less than was ordered."""


class Declined(Refused):
    """The bank does not take the card."""


class Undeliverable(Refused):
    """The carrier does not go there."""


class Ledger:
    """The books of all of them.

    Args:
        path: The file; a line is appended for each entry, and synced.
        on_entry: Called with the number of entries behind each new one.
    """

    def __init__(self, path: Path, *, on_entry: Callable[[int], None] = lambda _count: None) -> None:
        self.path = path
        self._on_entry = on_entry

    def entries(self) -> list[dict[str, Any]]:
        """All entries so far."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [json.loads(line) for line in lines]

    def add(self, kind: str, reference: str, **facts: object) -> str:
        """Write an entry; returns its number."""
        count = len(self.entries()) + 1
        number = f"{kind}-{count}"
        entry = {"number": number, "kind": kind, "reference": reference, **facts}
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._on_entry(count)
        return number

    def find(self, reference: str) -> str | None:
        """The number of the entry with a reference."""
        return next((entry["number"] for entry in self.entries() if entry["reference"] == reference), None)


class Outside:
    """Everyone that a shop deals with. Each call says under which reference it wants to be found again."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    async def reserve(self, reference: str, item: str, quantity: int) -> str:
        """Ask the warehouse to put something aside."""
        left = STOCK[item] - sum(entry.get("taken", {}).get(item, 0) for entry in self.ledger.entries())
        if left < quantity:
            raise OutOfStock(f"{left} of {item} left")
        return self.ledger.add("reservation", reference, taken={item: quantity})

    async def release(self, reference: str, item: str, quantity: int) -> str:
        """Tell the warehouse that it is not wanted any more."""
        return self.ledger.add("release", reference, taken={item: -quantity})

    async def charge(self, reference: str, card: str, cents: int) -> str:
        """Ask the bank for money."""
        if card == "stolen":
            raise Declined("the bank does not take this card")
        return self.ledger.add("charge", reference, cents=cents)

    async def refund(self, reference: str, charge: str, cents: int) -> str:
        """Give money back."""
        return self.ledger.add("refund", reference, charge=charge, cents=-cents)

    async def ship(self, reference: str, address: str) -> str:
        """Hand a parcel to the carrier."""
        if address == "the moon":
            raise Undeliverable(f"nobody delivers to {address}")
        return self.ledger.add("parcel", reference, address=address)

    async def mail(self, reference: str, text: str) -> str:
        """Write to the customer."""
        return self.ledger.add("mail", reference, text=text)

    async def find(self, reference: str) -> str | None:
        """The number of what is booked under a reference; being able to ask makes interrupted calls safe."""
        return self.ledger.find(reference)
