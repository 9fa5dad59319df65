"""Writing what is kept encrypted, beside the owner of the runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from .._inbox import Inbox
from .._limits import Limits
from ._keys import Keys
from ._reader import EncryptedReads, Readable


class Writable(Readable, Inbox, Protocol):
    """What anybody may read of a store and write to it: the store itself, and `SqliteStore.inbox`."""

    @property
    def limits(self) -> Limits:
        """As of `CheckpointStore`."""
        ...


WritableT = TypeVar("WritableT", bound=Writable)


class EncryptedWords(EncryptedReads[WritableT]):
    """What all that writes encrypted values for runs has in common."""

    @property
    def limits(self) -> Limits:
        """How large values may be, before they are encrypted."""
        return self._inner.limits

    async def answer(
        self,
        run_id: str,
        place: str,
        value: bytes,
        *,
        name: str | None = None,
        by: str | None = None,
        checked: bool = True,
    ) -> None:
        """Answer a wait."""
        sealed = self._sealing.of(run_id).word(value)
        await self._inner.answer(run_id, place, sealed, name=name, by=by, checked=checked)

    async def signal(
        self, run_id: str, name: str, value: bytes, *, dedup: str | None = None, checked: bool = True
    ) -> bool:
        """Send a signal to a run."""
        sealed = self._sealing.of(run_id).word(value)
        return await self._inner.signal(run_id, name, sealed, dedup=dedup, checked=checked)

    async def settle(self, run_id: str, place: str, key: str, value: bytes | None, *, checked: bool = True) -> None:
        """Say what became of an effect in doubt."""
        sealed = None if value is None else self._sealing.of(run_id).word(value)
        await self._inner.settle(run_id, place, key, sealed, checked=checked)

    async def cancel(self, run_id: str) -> None:
        """Request the end of an open run and of all below it."""
        await self._inner.cancel(run_id)

    async def release(self, child: str) -> None:
        """End the waits for another run."""
        await self._inner.release(child)

    async def expire(self, now: float, limit: int = 100) -> datetime | None:
        """End the waits that are due."""
        return await self._inner.expire(now, limit)


class EncryptedInbox(EncryptedWords[Writable]):
    """Writes for the runs of an `EncryptedStore`, beside its owner, and reads them.

    ::

        async with SqliteStore.inbox("runs.db") as file:
            await EncryptedInbox(file, keys=key).answer("digest-42", "approval", b"true", by="Ada")

    Args:
        inbox: What `SqliteStore.inbox` gives, or another one.
        keys: One key, or several: the first one encrypts, each of them reads.
        plain: Whether values that are not encrypted are read as they are.

    Raises:
        ValueError: There is no key, or one does not have 16, 24 or 32 bytes.
        EncryptionNotInstalled: The extra ``encryption`` is missing.
    """

    def __init__(self, inbox: Writable, *, keys: bytes | Sequence[bytes], plain: bool = False) -> None:
        super().__init__(inbox, Keys(keys, plain=plain))
