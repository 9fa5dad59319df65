"""Lines that a person types, while the event loop goes on."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import anyio
from anyio.from_thread import run_sync
from anyio.lowlevel import EventLoopToken, current_token


@contextmanager
def keyboard() -> Iterator["Keyboard"]:
    """Read lines, and leave the terminal as it was, also if somebody was about to type."""
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415  # lets `input` edit its line
    with _restored():
        yield Keyboard()


class Keyboard:
    """Reads lines from standard input, each in a thread of its own that nobody waits for: it cannot be interrupted."""

    async def line(self, prompt: str) -> str | None:
        """The next line; None at the end of the input.

        Args:
            prompt: What is shown before it, on a terminal.
        """
        answer = _Answer(current_token(), prompt if sys.stdin.isatty() else "")
        Thread(target=answer.read, name="stagepost keyboard", daemon=True).start()
        await answer.came.wait()
        return answer.text


class _Answer:
    """A line on its way from the thread that reads it."""

    def __init__(self, token: EventLoopToken, prompt: str) -> None:
        self.came = anyio.Event()
        self.text: str | None = None
        self._token = token
        self._prompt = prompt

    def read(self) -> None:
        """Read it; what goes wrong with the input is its end."""
        with suppress(EOFError, OSError, ValueError, KeyboardInterrupt):
            self.text = input(self._prompt)
        with suppress(RuntimeError):  # the command has been left
            run_sync(self.came.set, token=self._token)


@contextmanager
def _restored() -> Iterator[None]:
    """Give a terminal back the settings that it has now."""
    if not sys.stdin.isatty():
        yield
        return
    import termios  # noqa: PLC0415  # not everywhere

    settings = termios.tcgetattr(sys.stdin.fileno())
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, settings)
