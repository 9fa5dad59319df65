"""Where the runs are that a command is about, as it was given."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stagepost._dataclasses import dataclass

from ._errors import UsageError
from ._file_runs import FileRuns
from ._options import KEY_VARIABLE, URL_VARIABLE
from ._target import Target

if TYPE_CHECKING:
    from .._client._http import Service

_PACKAGE: Final = "httpx2"


@dataclass(frozen=True, slots=True)
class Where:
    """Where the runs are.

    Attributes:
        file: The store's file, if it was given.
        url: The address of a service, if it was given.
        key_file: A file with the secret of a key for the service.
        app: What gives the workflows, with a file.
        by: Who answers, with a file.
    """

    file: Path | None = None
    url: str | None = None
    key_file: Path | None = None
    app: str | None = None
    by: str | None = None

    @asynccontextmanager
    async def opened(self, hint: Callable[[str], None]) -> AsyncIterator[Target]:
        """The runs that are there.

        Args:
            hint: Tells people something about what they see.

        Raises:
            UsageError: What was given does not fit together.
        """
        if self.service is None:
            yield FileRuns(self.file, self.app, self.by, hint)
            return
        async with self.connected() as service:
            from .._client._runs import ServiceRuns  # noqa: PLC0415  # only with an address

            yield ServiceRuns(service)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Service"]:
        """The service.

        Raises:
            UsageError: What was given does not fit together, or there is no address.
        """
        for option, value in (("--app", self.app), ("--by", self.by)):
            if value is not None:
                raise UsageError(f"{option} goes with a file: a service has its own workflows, and names of its keys")
        try:
            from .._client._runs import connected  # noqa: PLC0415  # only with an address
        except ModuleNotFoundError as error:
            if error.name != _PACKAGE:
                raise
            from stagepost._installing import how_to_install  # noqa: PLC0415  # only if something is missing

            raise UsageError(f"--url needs {_PACKAGE}, which is not installed: {how_to_install('cli')}") from error
        try:
            opening = connected(self.service or "", self._key())
        except ValueError as error:
            raise UsageError(str(error)) from error
        async with opening as service:
            yield service

    @property
    def service(self) -> str | None:
        """The address of a service; None where a file was given, or nothing.

        Raises:
            UsageError: Both were given.
        """
        if self.url is not None and self.file is not None:
            raise UsageError("give --file or --url, and not both")
        if self.url is not None or self.file is not None:
            return self.url
        return os.environ.get(URL_VARIABLE) or None

    def _key(self) -> str | None:
        """The secret of the key.

        Raises:
            UsageError: The file cannot be read, or is empty.
        """
        if self.key_file is None:
            return os.environ.get(KEY_VARIABLE) or None
        try:
            key = self.key_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise UsageError(f"--key-file {self.key_file} cannot be read: {error}") from error
        if not key:
            raise UsageError(f"--key-file {self.key_file} is empty")
        return key
