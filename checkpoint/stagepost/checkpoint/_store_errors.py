"""What concerns a store as a whole."""

import os
from pathlib import Path

from ._root_error import CheckpointError


class StoreError(CheckpointError):
    """Root of what concerns the store as a whole."""


class StoreClosed(StoreError):
    """The store was used outside its ``async with``."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the store {name} is not open: use it inside `async with`")
        self.name = name


class StoreInUse(StoreError):
    """A store object serves one Runner at a time."""

    def __init__(self, name: str, owner: str) -> None:
        super().__init__(f"the store {name} already serves runner {owner}: leave that one first, or share it")
        self.name = name
        self.owner = owner


class StoreLocked(StoreError, TimeoutError):
    """Another process, or another store of this process, owns the file, or writes to it, and did not let go in time.

    Attributes:
        path: The database file.
        holder: Who holds it, as written by the holder.
        waited: Seconds spent waiting.
        is_ours: Whether this process holds it.
        is_writing: Whether the holder only writes to it, and does not own it.
    """

    def __init__(
        self, path: Path, holder: str, waited: float, *, is_ours: bool = False, is_writing: bool = False
    ) -> None:
        remedy = (
            "wait for it or end it, raise lock_timeout=, pass take_over=True if it is stopped and will not go on, or "
            "open another file"
        )
        what = f"is owned by {holder}"
        if is_writing:
            what, remedy = (
                f"is being written to by {holder}",
                "nothing was saved; try again, or end it if it hangs",
            )
        elif is_ours:
            what = f"is open in this process already ({holder})"
            remedy = "use that store wherever the file is needed, or leave its `async with` first"
        super().__init__(f"{path} {what}, which did not let go within {waited:g} s: {remedy}")
        self.path = path
        self.holder = holder
        self.waited = waited
        self.is_ours = is_ours
        self.is_writing = is_writing


class StoreTakenOver(StoreError):
    """Another process has opened the file since: this one owns none of its runs any more."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} was taken over by another process: nothing of this was saved, and this process must not go on "
            "with the store's runs; leave the store",
        )
        self.path = path


class StoreLost(StoreError):
    """The file was deleted, moved, replaced or overwritten while it was open: nobody would find what is saved.

    Attributes:
        path: The database file.
        reason: What has become of it.
        is_whole: Whether the database itself is still there, so that leaving the store copies all into it.
    """

    def __init__(self, path: Path, reason: str, *, is_whole: bool = False) -> None:
        remedy = (
            "leave the store, which copies into the file what was saved"
            if is_whole
            else "put the file back (one that was moved goes together with its -wal; one that was deleted can be "
            f"copied from /proc/{os.getpid()}/fd with its -wal, on Linux and while this process lives), or restore a "
            "copy"
        )
        super().__init__(
            f"{path} is no longer the file that this process has open ({reason}): nothing of this was acknowledged, "
            f"and the store takes no more. To go on, {remedy}; then open the store again and recover the runs",
        )
        self.path = path
        self.reason = reason
        self.is_whole = is_whole


class StoreNotWritable(StoreError, OSError):
    """The database file or its folder refuses to be written."""

    def __init__(self, path: Path, reason: str) -> None:
        hint = "give a file in a folder that this user may write"
        if not path.parent.exists():
            hint = f"there is no folder {path.parent}: make it first, or give a file in another one"
        super().__init__(f"{path} cannot be written ({reason}): {hint}")
        self.path = path
        self.reason = reason


class StoreNotReadable(StoreError, OSError):
    """The database file is missing, or refuses to be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} cannot be read ({reason}): give the file of a store that this user may read, in a folder that it "
            "may write (SQLite keeps an index for readers beside the file)",
        )
        self.path = path
        self.reason = reason


class StoreFull(StoreError, OSError):
    """There was no space for a commit: nothing of it is on disk, and the store stays usable."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"no space left for {path}: the commit was not saved; free some space and resume the run")
        self.path = path


class StoreFailed(StoreError):
    """The disk failed or fell silent: only reopening the store tells what was saved.

    Attributes:
        path: The database file.
        reason: What was seen.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} failed ({reason}) and takes no more commits: check the disk, reopen the store, recover the runs",
        )
        self.path = path
        self.reason = reason


class NotAStore(StoreError, ValueError):
    """The file is not a checkpoint store that this version can work with."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is not usable as a checkpoint store: {reason}")
        self.path = path
        self.reason = reason


class SqliteTooOld(StoreError):
    """The SQLite library of this interpreter lacks what the store needs."""

    def __init__(self, found: str, needed: str) -> None:
        super().__init__(f"SQLite {found} is too old, the store needs {needed}: use a Python built with a newer SQLite")
        self.found = found
        self.needed = needed


class SqliteWithoutFts5(StoreError):
    """The SQLite library of this interpreter was built without FTS5, which indexes the words of errors."""

    def __init__(self, found: str) -> None:
        super().__init__(f"SQLite {found} was built without FTS5, which the store needs: use another build of Python")
        self.found = found


class BackendNotSupported(StoreError):
    """The store runs on asyncio only."""

    def __init__(self) -> None:
        super().__init__("SqliteStore needs asyncio: under trio use MemoryStore")
