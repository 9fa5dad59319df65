"""Where the command writes: tables and lines for people, JSON for programs, errors to standard error."""

import os
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TextIO

from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from .._wire._terminal import CommandFailed
from ._exits import Exit
from ._texts import clean, clean_json

_UNBOUNDED = 1_000_000  # columns of a console that is no terminal: nobody reads it there, and nothing is to be cut


class Screen:
    """The output of one command.

    Args:
        as_json: Whether it is for programs.
        out: Where it goes; by default standard output.
    """

    def __init__(self, *, as_json: bool, out: TextIO | None = None) -> None:
        self.as_json = as_json
        self._out = _console(out or sys.stdout)
        self._error = _console(sys.stderr)

    @property
    def is_terminal(self) -> bool:
        """Whether somebody sees it while it is written."""
        return self._out.is_terminal

    @property
    def width(self) -> int | None:
        """How many columns there are; None if nothing limits them."""
        return None if self._out.width >= _UNBOUNDED else self._out.width

    @property
    def now(self) -> datetime:
        """The time (UTC)."""
        return datetime.now(UTC)

    def show(self, found: BaseModel, render: Callable[["Screen"], Iterable[Text]]) -> None:
        """Show what was found: as JSON, or as lines for people."""
        if self.as_json:
            self.json(found)
        else:
            for line in render(self):
                self.line(line)

    def json(self, found: BaseModel, *, indent: int | None = 2) -> None:
        """Write JSON; with ``indent=None`` in one line."""
        self._write(self._out, f"{clean_json(found.model_dump_json(indent=indent, by_alias=True))}\n")

    def text(self, text: str) -> None:
        """Write a text as it is."""
        self._write(self._out, f"{text}\n")

    def line(self, text: Text | str = "", style: str = "") -> None:
        """Write a line; a longer one than the terminal is wide goes on in the next."""
        self._out.print(Text(clean(text), style) if isinstance(text, str) else text, soft_wrap=True)

    def piece(self, text: str, style: str = "") -> None:
        """Write a part of a line at once."""
        self._out.print(Text(clean(text), style), end="", soft_wrap=True)
        self._out.file.flush()

    def pieces(self, *parts: tuple[str, str]) -> None:
        """Write a line of texts with their styles."""
        self.line(Text.assemble(*((clean(text), style) for text, style in parts)))

    def hint(self, text: str) -> None:
        """Tell people what they may do next; programs are told nothing."""
        if not self.as_json:
            self._error.print(Text(clean(text), "dim"), soft_wrap=True)

    def fail(self, message: str, code: Exit, kind: str) -> None:
        """Say why the command could not do it."""
        if self.as_json:
            failed = CommandFailed(code=int(code), kind=kind, message=message)
            self._write(self._error, f"{clean_json(failed.model_dump_json())}\n")
        else:
            self._error.print(Text.assemble(("error: ", "bold red"), clean(message)), soft_wrap=True)

    def flush(self) -> None:
        """See that all is written."""
        self._out.file.flush()

    @staticmethod
    def _write(console: Console, text: str) -> None:
        console.file.write(text)
        console.file.flush()


class _Console(Console):
    """A console that does not end the process by itself."""

    def on_broken_pipe(self) -> None:
        """Nobody reads any more."""
        raise BrokenPipeError


def _console(file: TextIO) -> Console:
    width = None if file.isatty() or os.environ.get("COLUMNS") else _UNBOUNDED
    return _Console(file=file, width=width, highlight=False, markup=False, emoji=False)
