"""Serve it: ``python -m streaming_service --port 8000``. Stop it as you like: tasks go on when it is started again."""

import argparse
import logging
from pathlib import Path

import uvicorn

from .app import create_app


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="streaming_service", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free one")
    parser.add_argument("--folder", type=Path, default=Path("mails"), help="where tasks are kept")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("stagepost").setLevel(logging.WARNING)
    app = create_app(options.folder)
    # a client who listens for ever must not keep the server from stopping
    config = uvicorn.Config(app, host=options.host, port=options.port, log_level="warning", timeout_graceful_shutdown=3)
    listening = config.bind_socket()
    listening.listen()  # so that clients who come early wait
    print(f"serving on http://{options.host}:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
