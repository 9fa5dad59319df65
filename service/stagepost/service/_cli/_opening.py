"""Opening a file with what ``--app`` gives, which has the keys of an encrypted one; keys are given in no other way."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stagepost.checkpoint import EncryptedInbox, EncryptedReader, EncryptedStore, SqliteInbox, SqliteStore, StoreReader
from stagepost.workflows import Runner

from .._verbs._files import Made, decrypted, encrypted
from ._access import check_free, existing, owning
from ._definitions import path_of


@asynccontextmanager
async def reading(file: Path | None, made: Made = ()) -> AsyncIterator[StoreReader | EncryptedReader]:
    """Read a file, whoever owns it."""
    keys = encrypted(made)
    async with SqliteStore.reader(existing(file)) as reader:
        yield reader if keys is None else keys.reader(reader)


@asynccontextmanager
async def beside(file: Path | None, made: Made = ()) -> AsyncIterator[SqliteInbox | EncryptedInbox]:
    """Write beside the owner of a file: answers, signals, cancellations and words about effects."""
    async with SqliteStore.inbox(existing(file)) as inbox:
        yield decrypted(inbox, made)


@asynccontextmanager
async def owned(file: Path | None, made: Made, action: str) -> AsyncIterator[SqliteStore | EncryptedStore]:
    """Own a file for as long as a block lasts, without working on its runs; raises as `owning` does."""
    if isinstance(made, Runner) and (keys := encrypted(made)) is not None:
        check_free(existing(path_of(made, file)), action)
        async with keys:
            yield keys
        return
    async with owning(file, action) as store:
        yield store
