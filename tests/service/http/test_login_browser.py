"""The page to log in, in a real browser: what other sites can and cannot do with somebody's login."""

import re
from pathlib import Path

import pytest
from tests._needs import need

need("playwright", "starlette", "uvicorn", "jinja2", "axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe  # noqa: E402  # the module is skipped without it
from playwright.sync_api import expect  # noqa: E402
from starlette.applications import Starlette  # noqa: E402
from starlette.responses import HTMLResponse  # noqa: E402
from starlette.routing import Route  # noqa: E402
from tests._browser import opened_browser, served_in_thread  # noqa: E402
from tests.service.http._served import SECRET, app  # noqa: E402

LIMIT = 15_000  # milliseconds: only what hangs takes so long
PAGE = "{% extends 'stagepost/base.html' %}{% block content %}<h1>Hello</h1>{{ said }}{% endblock %}"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def other_site(address: str) -> Starlette:
    text = (
        f'<a href="{address}/shown">link</a><form method="post" action="{address}/whoami"><button>steal</button></form>'
    )

    async def page(_request: object) -> HTMLResponse:
        return HTMLResponse(text)

    return Starlette(routes=[Route("/", page)])


def test_another_site_may_link_to_a_page_and_do_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    with (
        served_in_thread(app(pages={"own": tmp_path})) as service,
        served_in_thread(other_site(service.address)) as stranger,
        opened_browser() as browser,
    ):
        address, other = service.address, stranger.address
        page = browser.new_page()
        page.set_default_timeout(LIMIT)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(f"{address}/shown")
        assert Axe().run(page).violations_count == 0
        page.get_by_label("Key").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("This key is not known here.", timeout=LIMIT)
        assert Axe().run(page).violations_count == 0
        page.get_by_label("Key").fill(SECRET)
        page.get_by_role("button").click()
        expect(page.get_by_role("heading")).to_have_text("Hello", timeout=LIMIT)
        page.goto(other.replace("127.0.0.1", "localhost"))  # another site than an address, for a browser
        page.get_by_role("link").click()
        expect(page.get_by_role("heading")).to_have_text("Hello", timeout=LIMIT)
        page.goto(other.replace("127.0.0.1", "localhost"))
        page.get_by_role("button").click()
        expect(page.get_by_text("RequestRefused")).to_be_visible(timeout=LIMIT)
        page.goto(f"{address}/shown")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading")).to_have_text("Log in", timeout=LIMIT)
    assert not [text for text in said if re.search("Content.Security|Refused|TypeError", text)]
