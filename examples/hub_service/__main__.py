"""Serve it: ``python -m hub_service --port 8000``, and stop it with SIGTERM or Ctrl-C."""

import argparse
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import uvicorn

from .app import create_app
from .streams import Streams


class Server(uvicorn.Server):
    """A server whose signals are received by `serve`, which has something to do before the server is told to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


async def serve(config: uvicorn.Config, streams: Streams) -> None:
    """Serve until SIGTERM or SIGINT; a second one does not wait for open requests.

    First the streams of events end, then the server waits for open requests, and then the lifespan drains the hub.
    """
    server = Server(config)

    async def pass_on(signals: AsyncIterator[signal.Signals]) -> None:
        async for _ in signals:
            streams.close()
            server.force_exit = server.should_exit
            server.should_exit = True

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        listening = config.bind_socket()
        listening.listen()
        print(f"serving on http://{config.host}:{listening.getsockname()[1]}", flush=True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pass_on, signals)
            await server.serve([listening])
            tasks.cancel_scope.cancel()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="hub_service", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free one")
    parser.add_argument("--journal", type=Path, default=Path("journal.jsonl"), help="where receipts are written to")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds that writing one takes")
    options = parser.parse_args()
    streams = Streams()
    app = create_app(options.journal, pause=options.pause, streams=streams)
    config = uvicorn.Config(app, host=options.host, port=options.port, log_level="warning")
    anyio.run(serve, config, streams)


if __name__ == "__main__":
    main()
