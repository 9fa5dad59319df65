"""Serve it: ``python -m supervisor_service``. Stop or kill it as you like: turns go on when it is started again."""

import argparse
import errno
import logging
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import uvicorn

from stagepost.service import parse_keys

from .app import Options, chat_app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="supervisor_service", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free one")
    parser.add_argument("--folder", type=Path, default=Path("chats"), help="where sessions are kept")
    parser.add_argument("--fd", type=int, help="serve on a socket that listens already, in place of host and port")
    parser.add_argument("--pace", type=float, default=1.0, help="how slow the local model is; 0 for at once")
    parser.add_argument("--work", type=float, default=1.0, help="how slow the tools are; 0 for at once")
    options = parser.parse_args(arguments)
    try:
        is_given = options.fd is not None
        listening = socket.socket(fileno=options.fd) if is_given else socket.create_server((options.host, options.port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        print(f"Port {options.port} is in use. Choose another one: make serve PORT={options.port + 1}", file=sys.stderr)
        return 1
    with listening:
        serve(options, listening)
    return 0


def serve(options: argparse.Namespace, listening: socket.socket) -> None:
    """Serve until somebody stops it."""
    model = os.environ.get("STAGEPOST_MODEL") or None
    keys = parse_keys(os.environ.get("STAGEPOST_KEYS", ""))
    options.folder.mkdir(parents=True, exist_ok=True)
    log = logging.getLogger("stagepost")
    log.addHandler(logging.FileHandler(options.folder / "service.log"))
    log.propagate = False
    app = chat_app(Options(folder=options.folder, model=model, pace=options.pace, work=options.work), keys=keys)
    port = listening.getsockname()[1]
    print(f"Chat with the supervisor at http://{options.host}:{port}/", flush=True)
    print(f"  inspect   http://{options.host}:{port}/inspect shows what runs")
    print(f"  model     {model or 'local: simple rules, no network'}")
    print(f"  sessions  {options.folder}/, with its log")
    print(f"  kill it   kill -9 {os.getpid()}   while a worker works, and start it again: the answer still comes")
    print("  stop it   Ctrl-C", flush=True)
    # a client who listens for ever must not keep the server from stopping
    # what requests say of themselves (X-Forwarded-For) is believed of nobody: uvicorn would believe this machine
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=3, proxy_headers=False)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
        return
    print(f"\nStopped. Sessions are kept in {options.folder}/.")


if __name__ == "__main__":
    sys.exit(main())
