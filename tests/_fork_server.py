"""The server of `_forks`: ``python _fork_server.py SOCKET IMPORT ...``; it ends with its input.

Who connects sends three files, the input, output and errors of a process, and a job in a line of JSON; it gets the id
of the process, and how it has ended, a line each. A process is killed once its connection is closed.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import types
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


def become(command: Sequence[str], cwd: str, environment: dict[str, str], limit: int) -> None:
    """Be the process of a command, in a fork."""
    signal.alarm(limit)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    if command[0] == "-m":
        sys.argv = list(command[1:])
        sys.path[0] = cwd
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if command[0] == "-c":
        sys.argv = ["-c", *command[2:]]
        sys.path[0] = ""
        code = compile(command[1], "<string>", "exec")
    else:
        sys.argv = list(command)
        main.__file__ = str(Path(command[0]).resolve())
        sys.path[0] = str(Path(main.__file__).parent)
        code = compile(Path(main.__file__).read_bytes(), main.__file__, "exec")
    exec(code, vars(main))  # noqa: S102  # as the interpreter does


class Server:
    """Forks, and what is to be told of them."""

    def __init__(self, path: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(64)
        self._forks: dict[int, socket.socket] = {}
        self._bell, ringing = os.pipe()
        os.set_blocking(ringing, False)
        signal.set_wakeup_fd(ringing)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Fork for everybody until the input ends, or return in a fork, which has its job then."""
        while True:
            waiting = select.poll()
            sockets = (self._listener, *self._forks.values())
            for number in (0, self._bell, *(each.fileno() for each in sockets)):
                waiting.register(number, select.POLLIN)
            ready = {number for number, _ in waiting.poll()}
            if 0 in ready:
                break
            if self._bell in ready:
                os.read(self._bell, 1000)
                self._reap()
            for child, connection in self._forks.items():
                if connection.fileno() in ready:
                    os.kill(child, signal.SIGKILL)  # nobody sends more: it was closed
            if self._listener.fileno() in ready and self._fork():
                return
        for child in self._forks:
            os.kill(child, signal.SIGKILL)
        os._exit(0)

    def _fork(self) -> bool:
        connection = self._listener.accept()[0]
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        said = b""
        while not said.endswith(b"\n"):
            said += connection.recv(1 << 20)
        child = os.fork()
        if child == 0:
            self._leave(connection, files)
            become(**json.loads(said))
            return True
        for file in files:
            os.close(file)
        self._forks[child] = connection
        connection.sendall(b"%d\n" % child)
        return False

    def _leave(self, connection: socket.socket, files: Sequence[int]) -> None:
        """Have nothing of the server any more."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for other in (connection, self._listener, *self._forks.values()):
            other.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                connection = self._forks.pop(found[0])
                with suppress(BrokenPipeError):
                    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(found[1]))
                connection.close()


if __name__ == "__main__":
    for name in sys.argv[2:]:
        module, _, function = name.partition(":")
        found = importlib.import_module(module)
        if function:
            getattr(found, function)()
    server = Server(sys.argv[1])
    gc.collect()
    gc.freeze()
    os.write(1, b"ready\n")
    server.serve()
