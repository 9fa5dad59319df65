"""A local server as a process of its own, which outlives the processes that ask it."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from signal import SIG_BLOCK, SIGINT, SIGTERM, pthread_sigmask, sigwait
from typing import cast

from ._entries import ServerRequest, ServerScript
from ._server import LocalServer


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; the first line of standard output is the URL."""
    parser = ArgumentParser(
        prog="python -m stagepost.agents.testing",
        description="An OpenAI-compatible server on 127.0.0.1. Its URL is the first line of its output; "
        "GET /requests lists what it was asked.",
    )
    parser.add_argument("script", nargs="?", help="module:name of a script or function; without it, an echo")
    parser.add_argument("--port", type=int, default=0, help="where to listen; any free port by default")
    given = parser.parse_args(arguments)
    server = LocalServer(_echo if given.script is None else _load(given.script), port=given.port)
    pthread_sigmask(SIG_BLOCK, {SIGINT, SIGTERM})  # before there are other threads, which would get them
    server.open()
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    sigwait({SIGINT, SIGTERM})
    server.close()


def _echo(request: ServerRequest) -> str:
    return request.text


def _load(place: str) -> ServerScript:
    module, _, name = place.partition(":")
    return cast("ServerScript", getattr(import_module(module), name))
