"""The command as a process of its own: what only a process, a pipe or a terminal shows."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("hub", "checkpoint", "workflows", "agents", "service", "")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")},
    "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in FOLDERS),
    "TERM": "xterm-256color",
}
COMMAND = (sys.executable, "-m", "stagepost.service")
LONG = 60  # seconds after which something hangs


def test_importing_the_package_imports_nothing_else() -> None:
    program = "import sys, stagepost.service; print([m for m in sys.modules if m.startswith(('typer', 'stagepost.'))])"
    found = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True
    )
    assert found.stdout == "['stagepost.service']\n"


def test_help_imports_no_layer() -> None:
    program = (
        "import sys; from stagepost.service._cli._commands._root import main\n"
        "try: main(['--help'], prog_name='stagepost')\n"
        "except SystemExit: print([m for m in sys.modules if m.startswith(('rich.', 'stagepost.hub', 'anyio'))])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True
    )
    assert "Usage: stagepost" in found.stdout
    assert found.stdout.splitlines()[-1] == "[]"


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from stagepost.service.__main__ import main

    for name in [name for name in sys.modules if name.startswith("stagepost.service._cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as found:
        main()
    assert found.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("the command stagepost needs typer, which is not installed: ")
    assert "[cli]" in said


def test_a_reader_that_has_enough_is_no_error(file: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = subprocess.run(
            [*COMMAND, "runs", "ls", "-f", file], check=False, env=ENVIRONMENT, stdout=closed, stderr=subprocess.PIPE
        )
    assert (command.returncode, command.stderr) == (0, b"")


def test_ctrl_c_ends_a_watch(file: Path) -> None:
    watch = [*COMMAND, "runs", "watch", "mail-1", "-f", str(file)]
    with subprocess.Popen(watch, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"waiting" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=LONG)
        finally:
            process.kill()
    assert (process.returncode, said) == (130, b"")


@contextmanager
def terminal(*arguments: object, **environment: str) -> Iterator["Terminal"]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        env=ENVIRONMENT | environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        cwd=ROOT,
    )
    try:
        yield Terminal(process, ours, theirs)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


class Terminal:
    """Somebody at a terminal."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int, theirs: int) -> None:
        self.process = process
        self._ours = ours
        self._theirs = theirs
        self.seen = b""
        self._read = 0  # how much of it was looked for

    @property
    def settings(self) -> list[object]:
        return termios.tcgetattr(self._theirs)

    def read_until(self, text: str) -> str:
        """Read until a text is seen after the one before; what comes with it in one read is left to the next call."""
        begin, until = self._read, monotonic() + LONG
        while (found := self.seen.find(text.encode(), begin)) < 0:
            assert select.select([self._ours], [], [], until - monotonic())[0], self.seen.decode()
            self.seen += os.read(self._ours, 10_000)
        self._read = found + len(text.encode())
        return self.seen[begin : self._read].decode()

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())


def test_an_agent_is_talked_to_in_a_terminal_and_left_by_ctrl_c(tmp_path: Path) -> None:
    chat = ("chat", "tests.service._flows:mailer", "-f", tmp_path / "talks.db", "-c", "talk")
    with terminal(*chat) as person:
        before = person.settings
        person.read_until("> ")
        person.type("mail\n")
        person.read_until("allow it? [y/N, or why not] ")
        person.type("y\n")
        person.read_until("allow it? [y/N, or why not] ")
        person.process.send_signal(signal.SIGINT)
        person.read_until("--conversation talk")
        assert person.process.wait(LONG) == 130
        assert person.settings == before
    with terminal(*chat) as person:
        person.read_until("allow it? [y/N, or why not] ")
        person.type("n\n")
        person.read_until("Done.")
        assert b"sent to ann" in person.seen
        person.read_until("> ")
        person.type("\x04")
        person.read_until("--conversation talk")
        assert person.process.wait(LONG) == 0


def test_colours_are_for_terminals(file: Path) -> None:
    with terminal("runs", "ls", "-f", file) as person:
        person.read_until("\x1b[31mfailed\x1b[0m")
    with terminal("runs", "ls", "-f", file, NO_COLOR="1") as person:
        assert "\x1b[31m" not in person.read_until("failed")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    for arguments in (["schema"], ["doctor"]):
        with open("/dev/full", "w") as full:  # noqa: PTH123  # a device
            found = subprocess.run(
                [*COMMAND, *arguments],
                env=ENVIRONMENT,
                cwd=tmp_path,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                timeout=LONG,
            )
        assert found.returncode == 74
        assert "the output cannot be written: No space left on device" in found.stderr
