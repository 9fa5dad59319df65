"""A person lets a service in with a real browser: across two sites, with a login, under the policy of the pages."""

import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import uvicorn
from anyio import fail_after
from tests._needs import need

need("mcp", "playwright", "jinja2")

from playwright.async_api import Page, async_playwright, expect  # noqa: E402  # the module is skipped without it
from tests.agents.mcp._authority import Authority, serving  # noqa: E402
from tests.service.http._letting_in import Office, office, said  # noqa: E402

from stagepost.service import Scope, new_key  # noqa: E402

SECRET, KEY = new_key("ann", [Scope.DECIDE])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(place: Office, listening: socket.socket) -> AsyncIterator[tuple[Page, list[str]]]:
    """A page of a browser that can reach the service, and what its console says."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no browser is installed: chromium, chromium-browser, google-chrome")
    server = uvicorn.Server(uvicorn.Config(place.served, log_level="critical", lifespan="off"))
    said_there: list[str] = []
    async with anyio.create_task_group() as tasks, async_playwright() as playwright:
        tasks.start_soon(server.serve, [listening])
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: said_there.append(message.text))
        yield page, said_there
        await browser.close()
        server.should_exit = True


async def test_a_person_logs_in_gives_access_and_the_run_goes_on(tmp_path: Path) -> None:
    with fail_after(100), socket.create_server(("127.0.0.1", 0)) as listening:
        callback = f"http://localhost:{listening.getsockname()[1]}/oauth/callback"
        async with (
            serving(Authority()) as authority,  # at 127.0.0.1, which is another site than localhost
            office(authority, tmp_path, callback=callback, app_keys=[KEY], pages={}) as place,
        ):
            await place.tasks.start(place.agent, "go", task_id="t")
            question = await place.asked()
            async with opened(place, listening) as (page, console):
                await page.goto(str(question.url))
                await page.get_by_label("Key").fill(SECRET)
                await page.get_by_role("button", name="Log in").click()
                await page.get_by_role("link", name="Continue at 127.0.0.1").click()
                await expect(page.get_by_role("heading", name="Access is given")).to_be_visible()
                assert "code=" not in page.url
                await page.reload()
            assert said(await place.ended())[-1] == "hi"
    assert console == []
