"""Serve it: ``python -m timesheet_assistant.web``. Stop or kill it as you like: answers go on when it starts again."""

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
from stagepost.service.assistant import StageBudgets

from ..core import Options
from .app import web_app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="timesheet_assistant.web", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free one")
    parser.add_argument("--folder", type=Path, default=Path("timesheets"), help="where conversations are kept")
    parser.add_argument("--fd", type=int, help="serve on a socket that listens already, in place of host and port")
    parser.add_argument("--pace", type=float, default=0.4, help="seconds that each local model thinks; 0 for at once")
    parser.add_argument("--patience", type=float, help="seconds for each stage; by default 1 or 2")
    options = parser.parse_args(arguments)
    try:
        is_given = options.fd is not None
        listening = socket.socket(fileno=options.fd) if is_given else socket.create_server((options.host, options.port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        again = f"make assistant PORT={options.port + 1}"
        print(f"Port {options.port} is in use. Choose another one: {again}", file=sys.stderr)
        return 1
    with listening:
        serve(options, listening)
    return 0


def serve(options: argparse.Namespace, listening: socket.socket) -> None:
    """Serve until somebody stops it."""
    options.folder.mkdir(parents=True, exist_ok=True)
    log = logging.getLogger("stagepost")
    log.addHandler(logging.FileHandler(options.folder / "assistant.log"))
    log.propagate = False
    keys = parse_keys(os.environ.get("STAGEPOST_KEYS", ""))
    budgets = StageBudgets.of(options.patience) if options.patience else StageBudgets()
    app = web_app(Options(folder=options.folder, pace=options.pace, budgets=budgets), keys=keys)
    port = listening.getsockname()[1]
    print(f"Ask about timesheets at http://{options.host}:{port}/", flush=True)
    print(f"  model        {os.environ.get('STAGEPOST_MODEL') or 'local: simple rules, no network'}")
    print(f"  style guide  {options.folder}/style_guide.yaml: edit it, the next answer follows")
    print(f"  channels     {options.folder}/channels.yaml: how long messages may be; edit it, too")
    print(f"  sent parts   {options.folder}/outbox/; the log is beside it")
    print(f"  kill it      kill -9 {os.getpid()}   while it answers, and start it again: each part goes out once")
    print("  stop it      Ctrl-C", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=3, proxy_headers=False)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
        return
    print(f"\nStopped. Conversations are kept in {options.folder}/.")


if __name__ == "__main__":
    sys.exit(main())
