"""A folder of text files as a registry of prompts."""

import hashlib
import os
from pathlib import Path, PurePosixPath
from typing import Final

import anyio

from ..errors import InvalidPrompt, PromptNotFound
from ._registry import RegisteredPrompt

_DIGITS: Final = 12


class PromptFolder:
    """A registry of prompts that is a folder: ``production/weather-worker.md`` is the prompt ``weather-worker``.

    Each label is a folder in it, each prompt a file of UTF-8 text. A version is a digest of the text, such as
    ``sha256-2cf24dba5fb0``. A name may contain ``/`` for folders.

    Args:
        path: The folder. It need not exist: prompts that are created create it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    async def get(self, name: str, label: str) -> RegisteredPrompt:
        """Read the file of a prompt.

        Raises:
            PromptNotFound: There is no such file.
            InvalidPrompt: Name or label lead out of the folder.
        """
        try:
            text = await anyio.Path(self._file(name, label)).read_text("utf-8")
        except FileNotFoundError:
            raise PromptNotFound(name, label) from None
        text = text.removesuffix("\n")
        return RegisteredPrompt(text, f"sha256-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}")

    async def create(self, name: str, text: str, label: str) -> None:
        """Write the file of a prompt, unless there is one with any label.

        Raises:
            InvalidPrompt: Name or label lead out of the folder.
        """
        await anyio.to_thread.run_sync(self._create, name, text, label)

    def _create(self, name: str, text: str, label: str) -> None:
        file = self._file(name, label)
        if any(self._path.glob(f"*/{_glob_free(name)}.md")):
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.with_name(f".{file.name}.{os.getpid()}")  # whoever reads the file finds all of it
        whole.write_text(f"{text}\n", "utf-8")
        whole.replace(file)

    def _file(self, name: str, label: str) -> Path:
        for part in (name, label):
            parts = PurePosixPath(part).parts
            if not parts or "\\" in part or "\0" in part or any(each in ("/", "..") for each in parts):
                raise InvalidPrompt(name, f"{part!r} is no path in a folder: use letters, digits, '-', '_' and '/'")
        return self._path / label / f"{name}.md"


def _glob_free(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
