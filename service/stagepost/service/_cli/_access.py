"""Which file a command works on, and owning it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stagepost.checkpoint import SqliteStore, StoreFile, StoreLocked

from ._errors import NoStore, Refused
from ._options import DEFAULT_FILE, FILE_VARIABLE


def chosen(file: Path | None) -> Path:
    """The file that a command works on."""
    if file is not None:
        return file
    named = os.environ.get(FILE_VARIABLE)
    return Path(named) if named else DEFAULT_FILE


@asynccontextmanager
async def owning(file: Path | None, action: str) -> AsyncIterator[SqliteStore]:
    """Own a file for as long as a block lasts.

    Args:
        file: The file.
        action: What needs it, for the error: ``"delete a run"``.

    Raises:
        Refused: Another process owns it.
        NoStore: It is no store.
    """
    check_free(existing(file), action)
    try:
        async with SqliteStore(chosen(file), lock_timeout=0) as store:
            yield store
    except StoreLocked as error:
        raise owned_by(error.path, error.holder, action) from error


def existing(file: Path | None, given: str = "with --file") -> Path:
    """The file, if there is one.

    Args:
        file: What was given.
        given: How a file is given to the command.

    Raises:
        NoStore: There is none.
    """
    path = chosen(file)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise NoStore(f"{path} {what}: give a store's file {given}, or in the environment as {FILE_VARIABLE}")
    return path


def check_free(path: Path, action: str) -> None:
    """See that a file is a store that nobody owns.

    Raises:
        Refused: Another process owns it.
        NoStore: It is no store.
    """
    found = StoreFile.at(path)
    if found.problem is not None:
        raise NoStore(found.problem)
    if not found.is_store:
        raise NoStore(f"{path} is no store: no store was ever opened on it; give the file of one with --file")
    if found.owner is not None:
        raise owned_by(path, found.owner, action)


def owned_by(path: Path, holder: str, action: str) -> Refused:
    """Why something is refused on the file of a living owner: the one place that says what to do instead."""
    return Refused(
        f"{path} is owned by {holder}: only its owner can {action}; if it serves runs over HTTP, "
        "ask it with --url URL, else stop that process, and try again"
    )


def owner_of(file: Path | None) -> str | None:
    """The process that owns a file at this moment."""
    return StoreFile.at(chosen(file)).owner
