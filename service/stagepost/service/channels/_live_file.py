"""A file that may be edited while the service runs; a bad edit changes nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from pydantic import BaseModel

from stagepost._dataclasses import dataclass
from stagepost.hub import get_logger

from ._errors import InvalidFile
from ._yaml import read_yaml

M = TypeVar("M", bound=BaseModel)
_Signature: TypeAlias = tuple[int, int, int, int]

_DIGEST: Final = 8


@dataclass(frozen=True, slots=True)
class Edition(Generic[M]):
    """What a file said at one moment: take it once for a request, and use it throughout.

    Attributes:
        value: The values.
        version: Which one it is, to be recorded with what was made by it: the version that the file gives itself, and
            the beginning of its digest; ``1.0+defaults`` where there was no good file.
    """

    value: M
    version: str


class LiveFile(Generic[M]):
    """A YAML file with a schema, read again whenever it changes.

    What does not fit is logged, with its lines, and the last good edition stays; so it does if the file is deleted.
    Without any good one, the defaults of the schema hold. The file is looked at by its path, each `every` seconds, and
    read once it has stayed as it is for that long: so it may be replaced, be a link, or stand on a network drive.

    Args:
        path: The file.
        schema: What it has to be; every value needs a default.
        every: Seconds between two looks.
    """

    def __init__(self, path: Path, schema: type[M], *, every: float = 1.0) -> None:
        self._path = path
        self._schema = schema
        self._every = every
        self._edition = Edition(schema(), "1.0+defaults")
        self._problem: str | None = f"{path}: it has not been read yet"
        self._seen: _Signature | None = None
        self._read: _Signature | None = None
        self.reread()

    @property
    def edition(self) -> Edition[M]:
        """The last good one."""
        return self._edition

    @property
    def value(self) -> M:
        """The values of the last good edition."""
        return self._edition.value

    @property
    def problem(self) -> str | None:
        """What is wrong with the file as it is now; None if nothing is."""
        return self._problem

    async def look(self) -> str:
        """For a `HealthCheck`: which edition is used.

        Raises:
            InvalidFile: The file does not fit, or is missing; the last good edition is used.
        """
        if self._problem is not None:
            raise InvalidFile(self._path.name, [f" {self._edition.version} is used, because: {self._problem}"])
        return self._edition.version

    @asynccontextmanager
    async def watched(self) -> AsyncIterator["LiveFile[M]"]:
        """Look for changes until the block is left."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch)
            yield self
            group.cancel_scope.cancel()

    def reread(self) -> None:
        """Read the file now."""
        try:
            before = self._signature()
            data = self._path.read_bytes()
            if self._signature() == before:
                self._seen = self._read = before
                self._take(data)
        except OSError as error:
            self._seen = self._read = None
            self._refuse(f"{self._path} cannot be read: {error.strerror or type(error).__name__}")

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(self._every)
            await anyio.to_thread.run_sync(self._look)

    def _look(self) -> None:
        """Read the file if it has changed, and has stayed as it is since the last look."""
        try:
            found: _Signature | None = self._signature()
        except OSError:
            found = None
        has_settled, self._seen = found == self._seen, found
        if has_settled and found != self._read:
            self.reread()

    def _signature(self) -> _Signature:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev

    def _take(self, data: bytes) -> None:
        try:
            value = read_yaml(str(self._path), data, self._schema)
        except InvalidFile as error:
            self._refuse(str(error))
            return
        version = f"{getattr(value, 'version', '1.0')}+{sha256(data).hexdigest()[:_DIGEST]}"
        self._problem = None
        if version != self._edition.version:
            get_logger("service").info("file_taken", path=str(self._path), version=version)
            self._edition = Edition(value, version)

    def _refuse(self, problem: str) -> None:
        if problem != self._problem:
            get_logger("service").warning(
                "file_refused", path=str(self._path), problem=problem, used=self._edition.version
            )
        self._problem = problem
