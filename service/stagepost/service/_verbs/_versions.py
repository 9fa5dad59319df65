"""Whether anything was committed to a store since somebody has looked."""

from collections.abc import Awaitable, Callable

from stagepost.checkpoint import EncryptedInbox, EncryptedReader, EncryptedStore


def version_of(store: object) -> Callable[[], Awaitable[int]] | None:
    """Reads a number that changes with each commit to a store, encrypted or not; None if the store has none."""
    inner = store.inner if isinstance(store, EncryptedInbox | EncryptedReader | EncryptedStore) else store
    read: Callable[[], Awaitable[int]] | None = getattr(inner, "data_version", None)
    return read
