"""Processes that find their imports done: forks of a server that has imported what they need.

To its program each is a process as any other, with its own id, main module, arguments, folder, environment and end.
What it is spared is half a second for the import of all layers, or four for that of litellm.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final, TextIO

LAYERS: Final = ("stagepost.hub", "stagepost.checkpoint", "stagepost.workflows", "stagepost.agents")
LITELLM: Final = "stagepost.agents._models._litellm._vendor:load"
LIMIT: Final = 300  # seconds: only what hangs takes so long, also on a machine with much else to do

_ROOT: Final = Path(__file__).parents[1]
_FOLDERS: Final = ("hub", "checkpoint", "workflows", "agents", "examples", "")
_SERVER: Final = """
import gc, importlib, json, os, runpy, signal, sys, types

def start(command, cwd, environment, out, err, limit):
    signal.alarm(limit)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate((os.devnull, out, err)):
        file = os.open(path, os.O_WRONLY if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)
    if command[0] == "-m":
        sys.argv = command[1:]
        sys.path[0] = cwd
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = command
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        main.__file__ = os.path.abspath(command[0])
        sys.path[0] = os.path.dirname(main.__file__)
        with open(main.__file__, "rb") as file:
            code = compile(file.read(), main.__file__, "exec")
        exec(code, vars(main))

for name in sys.argv[1:]:
    module, _, function = name.partition(":")
    module = importlib.import_module(module)
    if function:
        getattr(module, function)()
gc.collect()
gc.freeze()
answers = os.dup(1)
os.write(answers, b"0\\n")  # ready
for line in iter(sys.stdin.readline, ""):
    child = os.fork()
    if child == 0:
        start(**json.loads(line))
        break  # and end as any process does
    os.write(answers, b"%d\\n" % child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(answers, b"%d\\n" % code)
"""


class Forks:
    """Runs programs one after the other, with warnings as errors, until it is closed.

    Args:
        imports: Modules that are imported before, and functions that are called then: ``module:function``.
    """

    def __init__(self, *imports: str) -> None:
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(_ROOT / folder) for folder in _FOLDERS)}
        self._server = subprocess.Popen(
            [sys.executable, "-u", "-W", "error", "-c", _SERVER, *imports],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lock = Lock()
        self._number()  # when it is ready: nobody's time limit runs while it imports

    def close(self) -> None:
        """End the server."""
        self._server.communicate(timeout=LIMIT)

    def run(
        self, *command: str, cwd: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end.

        Args:
            command: A script with its arguments, or ``-m`` and a module.
            cwd: The folder that it runs in.
            environment: Variables that it has besides those of this process.
        """
        with self._lock, TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            out.touch()
            err.touch()
            self._start(command, cwd, environment, out, err)
            return subprocess.CompletedProcess(command, self._number(), out.read_text(), err.read_text())

    @contextmanager
    def started(self, *command: str, cwd: Path) -> Iterator[TextIO]:
        """Start a program that is killed when the block is left, and yield what it prints as it comes."""
        with self._lock, TemporaryDirectory() as folder:
            out = Path(folder, "out")
            os.mkfifo(out)
            process = self._start(command, cwd, None, out, Path("/dev/stderr"))
            try:
                with out.open() as printed:
                    yield printed
            finally:
                os.kill(process, signal.SIGKILL)
                self._number()

    def _start(
        self, command: Sequence[str], cwd: Path, environment: Mapping[str, str] | None, out: Path, err: Path
    ) -> int:
        assert self._server.stdin is not None
        job = {
            "command": command,
            "cwd": str(cwd),
            "environment": {**self._environment, **(environment or {})},
            "out": str(out),
            "err": str(err),
            "limit": LIMIT,  # seconds; an alarm ends what takes longer
        }
        print(json.dumps(job), file=self._server.stdin, flush=True)
        return self._number()

    def _number(self) -> int:
        assert self._server.stdout is not None
        answer = self._server.stdout.readline()
        assert answer, "the server has ended: what it has printed stands above"
        return int(answer)


@cache
def shared(*imports: str) -> Forks:
    """One for all tests of this process."""
    forks = Forks(*imports)
    atexit.register(forks.close)
    return forks
