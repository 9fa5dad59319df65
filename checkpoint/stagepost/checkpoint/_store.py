"""The protocol that every checkpoint store keeps, in parts by who uses them."""

from types import TracebackType
from typing import Protocol, Self

from ._admissions import Admissions
from ._catalogue import Catalogue
from ._inbox import Inbox
from ._limits import Limits
from ._ownership import Ownership
from ._runs import Runs
from ._schedules import Schedules
from ._tables import Tables
from .errors import StoreError


class CheckpointStore(Runs, Ownership, Inbox, Catalogue, Tables, Schedules, Admissions, Protocol):
    """Keeps runs. Each method is atomic, and what returned has been saved as durably as the store promises.

    A store is an async context manager; outside of it every method raises `StoreClosed`.
    """

    @property
    def limits(self) -> Limits:
        """How large values may be. Whoever makes a commit sees to it, since it knows what to name."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    async def failure(self) -> StoreError:
        """Wait until the store takes nothing more, for good, and say why: its disk has failed, another process owns it.

        For those who wait for what then never comes, and ask the store for nothing meanwhile. Any number of tasks may;
        when the store is left, it is `StoreClosed`.
        """
        ...
