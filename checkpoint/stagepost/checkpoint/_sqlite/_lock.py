"""The lock file: one process owns a store's runs.

`flock` on ``<file>.lock`` is held from opening to closing, and the kernel drops it when the process dies, however it
dies. A forked child would keep it alive beyond its parent's death, so children close their copy at once.

A process that is stopped keeps its lock. Whoever takes over from it puts a lock file of its own in the place of that
one: the stopped process then holds a file that nobody looks at any more. So a lock counts only if its file is the one
at the path, which is looked at behind every successful try.
"""

import fcntl
import os
import socket
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Final, NoReturn

import anyio

from ..errors import StoreLocked, StoreNotWritable, StoreTakenOver

_STEP: Final = 0.001  # seconds between looks at whoever writes beside the owner
_TURN: Final = 25  # looks for which it waits for them
_POLL: Final = 0.05  # seconds between tries: flock cannot be waited for without blocking a thread for good


class FileLock:
    """An exclusive lock on a file between processes.

    Args:
        path: The lock file; made if missing, never deleted (deleting it would let two processes lock two files).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None
        self._previous: int | None = None  # the lock file of the owner that this one has taken over from

    async def acquire(self, timeout: float, store: Path) -> None:
        """Wait at most `timeout` seconds for the lock and write down who holds it.

        Raises:
            StoreLocked: Another process holds it; the error names that process.
            StoreNotWritable: The lock file cannot be made.
        """
        _OPEN.add(self)  # before the lock is ours: a child that is forked meanwhile would share it
        try:
            tries = 0  # are counted, since a clock also counts the time in which this process was stopped
            while not self._try():
                if tries * _POLL >= timeout:
                    self._refuse(store, timeout)
                tries += 1
                await anyio.sleep(_POLL)
        except BaseException:
            self.release()
            raise

    def try_acquire(self) -> bool:
        """Take the lock if nobody holds it.

        Raises:
            StoreNotWritable: The lock file cannot be made.
        """
        _OPEN.add(self)
        if not self._try():
            self.release()
        return self.is_held

    @property
    def is_held(self) -> bool:
        """Whether this object has the lock, unless somebody has taken over since."""
        return self._fd is not None

    def confirm(self, store: Path) -> None:
        """See that the lock is still ours, or take it from its holder; called while nobody else can write to the store.

        Raises:
            StoreTakenOver: It was ours, and somebody has taken over since.
            StoreNotWritable: The lock file cannot be replaced.
        """
        if self._fd is not None and not self._is_at_path(self._fd):
            raise StoreTakenOver(store)
        if not self.is_held and not self.try_acquire():  # unless its holder has ended in the meantime
            self._replace()

    def _replace(self) -> None:
        _OPEN.add(self)
        self._previous = _open(self.path)
        ours = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        self._fd = fd = _open(ours)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _sign(fd)
        with _as_ours(self.path):
            ours.replace(self.path)

    def is_alone(self) -> bool:
        """Whether the process that this one has taken over from has ended, or there was none."""
        previous = self._previous
        if previous is None:
            return True
        if not _try_lock(previous):
            return False
        self._previous = None
        os.close(previous)
        return True

    def release(self) -> None:
        """Let go; also what a forked child does with its copy, which leaves the parent's lock alone."""
        _OPEN.discard(self)
        ours, self._fd = self._fd, None
        previous, self._previous = self._previous, None
        for fd in (ours, previous):
            if fd is not None:
                os.close(fd)

    def _try(self) -> bool:
        """One try, at the file that is at the path now."""
        if self._fd is not None and not self._is_at_path(self._fd):
            os.close(self._fd)
            self._fd = None
        if self._fd is None:
            self._fd = _open(self.path)
        if not _try_lock(self._fd) or not self._is_at_path(self._fd):
            return False
        _sign(self._fd)
        return True

    def _is_at_path(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), self.path.stat())
        except FileNotFoundError:
            return False

    def _refuse(self, store: Path, waited: float) -> NoReturn:
        holder = name_in(self.path)
        raise StoreLocked(store, holder, waited, is_ours=any(map(self._is_same, tuple(_OPEN))))

    def _is_same(self, other: "FileLock") -> bool:
        """Whether another lock of this process holds the file that this one wants."""
        held = other._fd  # noqa: SLF001  # of this class
        return other is not self and held is not None and self._is_at_path(held)


class Beside:
    """Whoever writes to a database beside its owner, as the owner sees it.

    SQLite gives the write lock to whoever asks at the right moment, and an owner that commits without pause leaves
    hardly any. So it looks from time to time whether somebody has signed the lock file, and lets them write first.

    Args:
        path: The database.
    """

    def __init__(self, path: Path) -> None:
        self._path = inbox_lock_of(path)
        self._fd: int | None = None

    def holder(self) -> str | None:
        """Who writes beside the owner at this moment."""
        return held_by(self._path)

    def give_way(self) -> bool:
        """Wait a moment for whoever wants to write; False if they have not done so by then."""
        for _ in range(_TURN):
            if not self._is_there():
                return True
            sleep(_STEP)
        return False

    def close(self) -> None:
        """Look no more."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _is_there(self) -> bool:
        if self._fd is None:
            try:
                self._fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            except OSError:  # nobody has ever written beside an owner, or it is none of our business
                return False
        if not _try_lock(self._fd):
            return True
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        return False


def held_by(path: Path) -> str | None:
    """Who holds the lock on a file, if there is one and somebody does."""
    if not path.exists():
        return None
    fd = _open(path)
    try:
        return None if _try_lock(fd) else name_in(path)
    finally:
        os.close(fd)


def name_in(path: Path) -> str:
    """Who has the lock on a file, or was the last to have it, as written down by the holder."""
    try:
        found = path.read_bytes()[:200].decode(errors="replace")
    except OSError:
        found = ""
    return found or "a process that has not written its name yet"


def lock_of(path: Path) -> Path:
    """The lock file of whoever owns a database."""
    return path.with_name(f"{path.name}.lock")


def inbox_lock_of(path: Path) -> Path:
    """The lock file of whoever writes to a database beside its owner."""
    return path.with_name(f"{path.name}.inbox.lock")


def _open(path: Path) -> int:
    with _as_ours(path):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def _as_ours(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreNotWritable(path, error.strerror or str(error)) from error


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(fd: int) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)


# The one piece of module state: what a fork hook, which cannot be taken back, has to reach.
_OPEN: "weakref.WeakSet[FileLock]" = weakref.WeakSet()


def _release_in_child() -> None:
    for lock in tuple(_OPEN):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)
