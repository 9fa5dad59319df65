"""Pictures and the pages of the hub in a real browser: at two widths, light and dark; a dead letter is sent again."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

import pytest
from tests._needs import need

need("playwright", "starlette", "uvicorn", "jinja2", "axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe  # noqa: E402  # the module is skipped without it
from playwright.sync_api import Browser, expect  # noqa: E402
from tests._browser import Served, opened_browser, served_in_thread  # noqa: E402
from tests.service.inspector._bank import served  # noqa: E402
from tests.service.inspector.test_browser import page_of  # noqa: E402

from stagepost.checkpoint import MemoryStore  # noqa: E402
from stagepost.service import RequestLimits, create_app  # noqa: E402
from stagepost.workflows import Chain, Runner, State, step  # noqa: E402


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def service() -> Iterator[Served]:
    with served_in_thread(create_app(served, limits=RequestLimits.none())) as found:
        yield found


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_the_pages_of_the_hub_keep_nobody_from_using_them(
    browser: Browser, service: Served, width: int, scheme: str
) -> None:
    with page_of(browser, width, scheme) as page:
        for path in ("/hub", "/hub/agents/audit"):
            page.goto(f"{service.address}/inspect{path}")
            expect(page.locator("[data-pulse]")).to_have_text("Live")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            found = Axe().run(page)
            assert found.violations_count == 0, (path, found.generate_report())


def test_rates_come_by_themselves_and_what_is_typed_stays(browser: Browser, service: Served) -> None:
    with page_of(browser) as page:
        page.goto(f"{service.address}/inspect/hub")
        page.keyboard.press("/")
        page.keyboard.type("vau")
        rate = page.locator("dt", has_text="Handled a second").locator("xpath=../dd")
        expect(rate).to_have_text(re.compile(r"^\d"))
        before = page.locator("dt", has_text="Handled in all").locator("xpath=../dd").inner_text()
        expect(page.locator("dt", has_text="Handled in all").locator("xpath=../dd")).not_to_have_text(before)
        expect(page.locator("#agent")).to_have_value("vau")
        expect(page.locator("#agent")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("tbody").first.locator("tr")).to_have_count(1)


def test_an_agent_of_the_picture_is_a_link_for_the_keyboard(browser: Browser, service: Served) -> None:
    with page_of(browser) as page:
        page.goto(f"{service.address}/inspect/hub")
        page.locator("svg a[href$='/hub/agents/vault']").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Agent vault")).to_be_visible()


def test_a_dead_letter_is_read_and_sent_again(browser: Browser, service: Served) -> None:
    with page_of(browser, 400, "dark") as page:
        page.goto(f"{service.address}/inspect/hub")
        page.locator("#part-letters a.id").first.click()
        expect(page.locator("pre.value").first).to_contain_text('"amount": 102')
        assert Axe().run(page).violations_count == 0
        page.get_by_role("button", name="Send it again").click()
        expect(page.get_by_text("The letter was sent again.")).to_be_visible()
        page.get_by_text("Sent again before").click()
        expect(page.locator("#resends")).to_contain_text("by local")


def nothing(state: State) -> Mapping[str, object]:
    return {}


@asynccontextmanager
async def long_run() -> AsyncIterator[Runner]:
    workflow = Chain("long", [step(f"step-{number}", nothing) for number in range(45)])
    async with MemoryStore() as store, Runner(store, workflows=[workflow], keep="all") as runner:
        await (await runner.start(workflow, {}, run_id="long-1")).result()
        yield runner


@pytest.mark.parametrize("width", [1280, 400])
def test_pictures_keep_their_size_however_long_they_are(browser: Browser, width: int) -> None:
    app = create_app(long_run, limits=RequestLimits.none())
    with served_in_thread(app) as service, page_of(browser, width) as page:
        page.goto(f"{service.address}/inspect/runs/long-1")
        for kind in ("d-graph", "d-waterfall"):
            size = page.locator(f"svg.{kind}").evaluate(
                "svg => [svg.getBoundingClientRect().height, parseFloat(svg.getAttribute('height'))]"
            )
            assert size[0] == pytest.approx(size[1], abs=1)
        name = page.locator("svg.d-graph .d-name").first
        assert name.evaluate("text => text.getBoundingClientRect().height") > 11
        page.locator("svg.d-graph a").last.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=re.compile("step-44"))).to_be_visible()
