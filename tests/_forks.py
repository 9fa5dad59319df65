"""Processes that find their imports done: forks of a server that has imported what they need.

To its program each is a process as any other, with its own id, main module, arguments, folder, environment, pipes and
end. What it is spared is half a second for the import of all layers, one for that of MCP, or four for that of litellm.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from select import POLLIN, poll
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Final, TextIO

LAYERS: Final = ("stagepost.hub", "stagepost.checkpoint", "stagepost.workflows", "stagepost.agents")
LITELLM: Final = "stagepost.agents._models._litellm._vendor:load"
MCP: Final = ("mcp", "mcp.server", "mcp.server.stdio", "mcp.server.streamable_http_manager", "uvicorn", "starlette")
LIMIT: Final = 300  # seconds: only what hangs takes so long, also on a machine with much else to do

_ROOT: Final = Path(__file__).parents[1]
_FOLDERS: Final = ("hub", "checkpoint", "workflows", "agents", "service", "examples", "")
_SERVER: Final = Path(__file__).with_name("_fork_server.py")
_CLIENT: Final = Path(__file__).with_name("_fork_client.py")


class Fork:
    """A process that a server has forked, as `subprocess.Popen` has it. Closing its connection kills it.

    Attributes:
        pid: Its id.
        connection: What can be read once it has ended.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._said = b""
        while b"\n" not in self._said:
            self._hear()
        self.pid = int(self._said.partition(b"\n")[0])

    @property
    def returncode(self) -> int | None:
        """How it has ended, if it has."""
        while not self._has_ended and self._may_hear(0):
            self._hear()
        return int(self._said.split(b"\n")[1]) if self._has_ended else None

    def wait(self) -> int:
        """Wait for its end, which an alarm brings in time."""
        while (code := self.returncode) is None:
            self._may_hear(None)
        return code

    def kill(self) -> None:
        """SIGKILL, unless it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill it, wait for its end, and forget it."""
        self.kill()
        self.wait()
        self.connection.close()

    @property
    def _has_ended(self) -> bool:
        return self._said.count(b"\n") == 2

    def _may_hear(self, milliseconds: int | None) -> bool:
        waiting = poll()
        waiting.register(self.connection, POLLIN)
        return bool(waiting.poll(milliseconds))

    def _hear(self) -> None:
        said = self.connection.recv(100)
        assert said, "the server has ended: what it has printed stands above"
        self._said += said


class Forks:
    """Starts programs, with warnings as errors, until it is closed.

    Args:
        imports: Modules that are imported before, and functions that are called then: ``module:function``.

    Attributes:
        command: What starts a Python of this server for those who start programs themselves: in place of
            ``sys.executable``.
    """

    def __init__(self, *imports: str) -> None:
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(_ROOT / folder) for folder in _FOLDERS)}
        self._folder = TemporaryDirectory()
        self._path = str(Path(self._folder.name, "socket"))
        self._server = subprocess.Popen(
            [sys.executable, "-u", "-W", "error", str(_SERVER), self._path, *imports],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline()  # when it is ready: nobody's time limit runs while it imports
        self.command = (sys.executable, "-I", "-S", str(_CLIENT), self._path)

    def close(self) -> None:
        """End the server."""
        self._server.communicate(timeout=LIMIT)
        self._folder.cleanup()

    def start(
        self,
        *command: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        stdin: IO[bytes] | int | None = None,
        stdout: IO[bytes] | int = 1,
        stderr: IO[bytes] | int = 2,
    ) -> Fork:
        """Start a program.

        Args:
            command: What stands after ``python``: a script with its arguments, ``-m`` and a module, or ``-c`` and code.
            cwd: The folder that it runs in, if not the one of this process.
            environment: Variables that it has besides those of this process.
            stdin: What it reads, if anything.
            stdout: What it prints to.
            stderr: What it complains to.
        """
        job = {
            "command": command,
            "cwd": str(cwd or Path.cwd()),
            "environment": {**self._environment, **(environment or {})},
            "limit": LIMIT,  # seconds; an alarm ends what takes longer
        }
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._path)
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # no path, a device
            files = [nothing if stdin is None else stdin, stdout, stderr]
            numbers = [file if isinstance(file, int) else file.fileno() for file in files]
            socket.send_fds(connection, [b"x"], numbers)
            connection.sendall(json.dumps(job).encode() + b"\n")
        return Fork(connection)

    def run(
        self, *command: str, cwd: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end.

        Args:
            command: A script with its arguments, or ``-m`` and a module.
            cwd: The folder that it runs in.
            environment: Variables that it has besides those of this process.
        """
        with TemporaryFile() as out, TemporaryFile() as err:
            fork = self.start(*command, cwd=cwd, environment=environment, stdout=out, stderr=err)
            code = fork.wait()
            fork.close()
            return subprocess.CompletedProcess(command, code, _text(out), _text(err))

    @contextmanager
    def started(self, *command: str, cwd: Path) -> Iterator[TextIO]:
        """Start a program that is killed when the block is left, and yield what it prints as it comes."""
        with self.opened(*command, cwd=cwd) as (_, printed):
            yield printed

    @contextmanager
    def opened(
        self, *command: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Fork, TextIO]]:
        """The same, with the process."""
        reading, writing = os.pipe()
        with open(reading) as printed:  # noqa: PTH123  # no path, a pipe
            with open(writing, "wb") as out:  # noqa: PTH123  # no path, a pipe
                fork = self.start(*command, cwd=cwd, environment=environment, stdout=out)
            try:
                yield fork, printed
            finally:
                fork.close()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@cache
def shared(*imports: str) -> Forks:
    """One for all tests of this process."""
    forks = Forks(*imports)
    atexit.register(forks.close)
    return forks
