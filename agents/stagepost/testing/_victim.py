"""The process that `kill_and_recover` lets work, and that kills itself after a commit.

python -m stagepost.testing._victim FILE COMMIT MODULE-FILE:MODULE:MAKE_RUNNER MODULE-FILE:MODULE:DRIVE
"""

import os
import signal
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import anyio

from stagepost.checkpoint import Commit, Lease, NewWait, SqliteStore, StoredWait


class _Doomed(SqliteStore):
    """Kills its process when a commit has been acknowledged."""

    def __init__(self, path: str, commit: int) -> None:
        super().__init__(path, durability="process")
        self._left = commit

    async def commit(self, commit: Commit) -> None:
        await super().commit(commit)
        self._count()

    async def wait(self, lease: Lease, wait: NewWait) -> StoredWait:
        opened = await super().wait(lease, wait)
        self._count()
        return opened

    async def park(self, lease: Lease, heard: int) -> bool:
        is_parked = await super().park(lease, heard)
        self._count()
        return is_parked

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _find(where: str) -> Any:
    """The function of a name, from its module or else from the module's file."""
    file, module, name = where.rsplit(":", 2)
    try:
        found = import_module(module)
    except ModuleNotFoundError:
        spec = spec_from_file_location(module, file)
        assert spec is not None and spec.loader is not None  # noqa: PT018, S101  # the other process has imported it
        found = sys.modules[module] = module_from_spec(spec)
        spec.loader.exec_module(found)
    return getattr(found, name)


async def _main(*arguments: str) -> None:
    file, commit, make_runner, drive = arguments
    async with _Doomed(file, int(commit)) as store, _find(make_runner)(store) as runner:
        await runner.recover()
        await _find(drive)(runner)


if __name__ == "__main__":
    anyio.run(_main, *sys.argv[1:])
