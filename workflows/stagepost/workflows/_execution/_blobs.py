"""Bytes beside the state of a run: what is to be committed, and what this process has of them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Protocol, TypeAlias

from stagepost.checkpoint import Attachments, BlobNotFound, Limits, Statement

from .._values._secrets import Secrets
from .._values._state import Stored

Fetch: TypeAlias = Callable[[str], Awaitable[bytes]]

LARGEST: Final = 64 * 1024 * 1024
"""How many bytes of one stored run a process keeps in memory."""


class Attached(Attachments):
    """What a step has saved together with its result: bytes, and rows of the application's tables.

    Attributes:
        also: Statements that write these rows.
    """

    __slots__ = ("also",)

    def __init__(self) -> None:
        super().__init__()
        self.also: tuple[Statement, ...] = ()


class BlobStore(Protocol):
    """Where the bytes of stored runs are."""

    async def blob(self, digest: str) -> bytes:
        """Bytes by their digest."""
        ...


class Blobs:
    """The bytes that a run refers to, as far as this process has them.

    Args:
        store: Where they are saved; None for a run in memory, which has all of them here.
        known: Those that are here already; what is kept here goes in there.
        largest: How many bytes of a stored run stay here; those that were not used for the longest time go first.
    """

    def __init__(
        self, store: BlobStore | None, known: dict[str, bytes] | None = None, *, largest: int = LARGEST
    ) -> None:
        self._store = store
        self._known = {} if known is None else known
        self._largest = largest
        self._size = sum(map(len, self._known.values()))

    @property
    def known(self) -> dict[str, bytes]:
        """Those that are here."""
        return self._known

    def keep(self, blobs: Mapping[str, bytes | None]) -> None:
        """Keep bytes that are saved now."""
        for digest, data in blobs.items():
            if data is not None and digest not in self._known:
                self._known[digest] = data
                self._size += len(data)
                self._shrink()

    async def get(self, digest: str) -> bytes:
        """Bytes by their digest.

        Raises:
            BlobNotFound: There are none.
            StoreError: They cannot be read.
        """
        data = self._known.pop(digest, None)
        if data is not None:
            self._known[digest] = data  # as the one used last
            return data
        if self._store is None:
            raise BlobNotFound(digest)
        data = await self._store.blob(digest)
        self.keep({digest: data})
        return data

    def check_known(self, blobs: Mapping[str, bytes | None]) -> None:
        """See that what the input of a run in memory refers to is here.

        Raises:
            BlobNotFound: It is not.
        """
        for digest, data in blobs.items():
            if data is None and digest not in self._known:
                raise BlobNotFound(digest)

    def _shrink(self) -> None:
        while self._store is not None and self._size > self._largest:
            self._size -= len(self._known.pop(next(iter(self._known))))


def blobs_of(values: Iterable[Stored], attached: Attachments | None = None) -> Attachments | None:
    """The bytes that values bring, and those that a step has attached beside; None if there are none."""
    found = attached or None
    for value in values:
        if value.blobs:
            found = (found or Attachments()).with_more(value.blobs)
    return found


def check_blobs(blobs: Mapping[str, bytes | None], where: str, limits: Limits, secrets: Secrets) -> None:
    """See that bytes may be kept.

    Raises:
        BlobTooLarge: There are too many under one digest.
        CannotStore: They hold a secret.
    """
    for data in blobs.values():
        if data is not None:
            limits.check_blob(len(data), f"bytes in {where}")
            secrets.check_bytes(data, f"bytes in {where}")
