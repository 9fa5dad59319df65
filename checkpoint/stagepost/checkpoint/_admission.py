"""One runner at a time on one store object."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .errors import StoreInUse


class Admission:
    """Who works on a store.

    Args:
        name: The store's name, for the error.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._owner: str | None = None

    @asynccontextmanager
    async def admit(self, owner: str) -> AsyncIterator[None]:
        """Hold the store for one runner.

        Raises:
            StoreInUse: Another one holds it.
        """
        if self._owner is not None:
            raise StoreInUse(self._name, self._owner)
        self._owner = owner
        try:
            yield
        finally:
            self._owner = None
