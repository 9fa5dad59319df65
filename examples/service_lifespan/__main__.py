"""Serve it: ``python -m service_lifespan --port 8000``. Stop it as you like: runs go on when it is started again."""

import argparse
from pathlib import Path

import uvicorn

from .app import create_app


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="service_lifespan", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free one")
    parser.add_argument("--folder", type=Path, default=Path("claims"), help="where runs and payments are kept")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    config = uvicorn.Config(create_app(options.folder), host=options.host, port=options.port, log_level="warning")
    listening = config.bind_socket()
    listening.listen()  # so that clients who come early wait
    print(f"serving on http://{options.host}:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
