"""The pictures of docs/inspector.md, from a real service: ``python -m tests.service.inspector.pictures``."""

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from playwright.sync_api import Browser, Page
from starlette.applications import Starlette
from tests._browser import opened_browser, served_in_thread
from tests.service.inspector import _bank as bank
from tests.service.inspector import _office as office

from stagepost.checkpoint import SqliteStore
from stagepost.service import create_app
from stagepost.workflows import Runner

FOLDER: Final = Path(__file__).parents[3] / "docs" / "images"


def search(page: Page) -> None:
    """Look for what has failed because of a printer."""
    page.get_by_role("link", name="failed").click()
    page.get_by_label("Words of the error").fill("printer")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_load_state()


def nothing(_: Page) -> None:
    """Take the page as it is."""


# name of the picture, address, width, height, look, and what is done before
Picture: TypeAlias = tuple[str, str, int, int, Any, Callable[[Page], None]]
PICTURES: Final[Sequence[Picture]] = (
    ("inspector-runs", "/runs", 1100, 470, "light", search),
    ("inspector-failed", "/runs/order-1043", 1100, 800, "light", nothing),
    ("inspector-act", "/runs/order-1043/do/resume", 1100, 440, "light", nothing),
    ("inspector-inbox", "", 1100, 640, "light", nothing),
    ("inspector-items", "/runs/order-1042", 1100, 700, "dark", nothing),
    ("inspector-step", "/runs/article-tides/steps/4", 1100, 560, "light", nothing),
    ("inspector-conversation", "/runs/clerk-1/conversation", 1100, 800, "dark", nothing),
    ("inspector-narrow", "/waits/order-1041/release", 400, 800, "dark", nothing),
)


HUB: Final[Sequence[Picture]] = (
    ("inspector-hub", "/hub", 1100, 900, "light", lambda page: page.wait_for_timeout(12_000)),
    ("inspector-letter", "/hub", 1100, 820, "dark", lambda page: page.locator("#part-letters a.id").first.click()),
)


@asynccontextmanager
async def filled(path: Path) -> AsyncIterator[Runner]:
    async with office.opened(SqliteStore(path)) as runner:
        await office.fill(runner)
        yield runner


def main() -> None:
    """Take them."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, opened_browser() as browser:
        take(browser, create_app(lambda: filled(Path(folder) / "runs.db")), PICTURES)
        take(browser, create_app(bank.served), HUB)


def take(browser: Browser, app: Starlette, pictures: Sequence[Picture]) -> None:
    """Take those of one service."""
    with served_in_thread(app) as service:
        for name, path, width, height, look, before in pictures:
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=look)
            page = context.new_page()
            page.goto(f"{service.address}/inspect{path}")
            before(page)
            page.wait_for_timeout(300)  # until it follows, so that the picture says so
            page.screenshot(path=FOLDER / f"{name}.png")
            context.close()


if __name__ == "__main__":
    main()
