"""Senders without a provider: parts go to a folder, or to a terminal."""

import os
import sys
from pathlib import Path
from typing import Final, TextIO

import anyio
import anyio.to_thread

from ._errors import NotSent
from ._outgoing import OutgoingPart

_NEW: Final = ".new"


class FileOutbox:
    """Writes each part to a file of its own, named by our id: a part that is sent again is there once.

    Args:
        folder: Where; it is made if it does not exist.
    """

    takes_our_id: Final = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, delivery: OutgoingPart) -> str:
        """Write a part, whole or not at all.

        Returns:
            The name of the file.

        Raises:
            NotSent: It cannot be written.
        """
        try:
            return await anyio.to_thread.run_sync(self._write, delivery)
        except OSError as error:
            raise NotSent(f"{type(error).__name__}: {error}") from error

    def sent(self) -> list[OutgoingPart]:
        """All parts in the folder, in the order in which they came."""
        files = sorted(self._folder.glob("*.json"), key=lambda file: (file.stat().st_mtime_ns, file.name))
        return [OutgoingPart.model_validate_json(file.read_bytes()) for file in files]

    def _write(self, delivery: OutgoingPart) -> str:
        file = self._folder / f"{delivery.id}.json"
        if not file.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            new = file.with_suffix(_NEW)
            with new.open("w", encoding="utf-8") as writing:
                writing.write(delivery.model_dump_json(indent=1))
                writing.flush()
                os.fsync(writing.fileno())  # it counts as sent from now on, also after a power cut
            new.replace(file)
        return file.name


class ConsoleOutbox:
    """Writes each part to a terminal. It cannot take anything back, so it does not take our id.

    Args:
        stream: Where; None for standard output.
    """

    takes_our_id: Final = False

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    async def send(self, delivery: OutgoingPart) -> str:
        """Write a part.

        Returns:
            Our id.
        """
        part = delivery.part
        heading = f"{delivery.channel} to {delivery.to}, {part.sequence} of {delivery.parts}"
        subject = f"Subject: {part.subject}\n" if part.subject else ""
        out = sys.stdout if self._stream is None else self._stream
        out.write(f"--- {heading}\n{subject}{part.content}\n")
        out.flush()
        return delivery.id
