"""The browser of the system for tests of pages, and servers in threads that it can ask."""

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright
from starlette.applications import Starlette

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """The Chromium of the system; without one, whoever asks is skipped."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"no browser is installed: {', '.join(_NAMES)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True)
class Served:
    """An application that a thread serves."""

    address: str
    server: uvicorn.Server

    def cut(self) -> None:
        """Cut all connections, as a network does that fails."""
        for connection in [*self.server.server_state.connections]:
            connection.loop.call_soon_threadsafe(connection.transport.abort)


@contextmanager
def served_in_thread(app: Starlette, *, port: int = 0) -> Iterator[Served]:
    """Serve an application in a thread until the block is left; by default on a port that is free."""
    listening = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", server)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
