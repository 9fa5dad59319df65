"""Serve it: ``python -m hub_service [port]``."""

import sys

import uvicorn

from hub_service.app import app


def main() -> None:
    """Listen on 127.0.0.1 until a signal comes."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
