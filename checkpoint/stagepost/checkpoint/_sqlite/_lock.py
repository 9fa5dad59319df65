"""The lock file: one process owns a store's runs.

`flock` on ``<file>.lock`` is held from opening to closing, and the kernel drops it when the process dies, however it
dies. A forked child would keep it alive beyond its parent's death, so children close their copy at once.
"""

import fcntl
import os
import socket
import weakref
from pathlib import Path
from typing import Final, NoReturn

import anyio

from ..errors import StoreLocked, StoreNotWritable

_POLL: Final = 0.05  # seconds between tries: flock cannot be waited for without blocking a thread for good


class FileLock:
    """An exclusive lock on a file between processes.

    Args:
        path: The lock file; made if missing, never deleted (deleting it would let two processes lock two files).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    async def acquire(self, timeout: float, store: Path) -> None:
        """Wait at most `timeout` seconds for the lock and write down who holds it.

        Raises:
            StoreLocked: Another process holds it; the error names that process.
            StoreNotWritable: The lock file cannot be made.
        """
        self._fd = fd = self._open()
        _OPEN.add(self)  # before the lock is ours: a child that is forked meanwhile would share it
        try:
            with anyio.move_on_after(timeout) as waiting:
                while not _try_lock(fd):  # noqa: ASYNC110  # another process can set no event
                    await anyio.sleep(_POLL)
            if waiting.cancelled_caught:
                _refuse(store, fd, timeout)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let go; also what a forked child does with its copy, which leaves the parent's lock alone."""
        if self._fd is not None:
            _OPEN.discard(self)
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreNotWritable(self.path, error.strerror or str(error)) from error


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refuse(store: Path, fd: int, waited: float) -> NoReturn:
    holder = os.pread(fd, 200, 0).decode(errors="replace")
    raise StoreLocked(store, holder or "a process that has not written its name yet", waited)


# The one piece of module state: what a fork hook, which cannot be taken back, has to reach.
_OPEN: "weakref.WeakSet[FileLock]" = weakref.WeakSet()


def _release_in_child() -> None:
    for lock in tuple(_OPEN):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)
