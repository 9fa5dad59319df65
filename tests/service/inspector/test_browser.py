"""The inspector in a real browser: each act on real runs, two widths, light and dark, under the content policy."""

import re
from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests._needs import need

need("playwright", "starlette", "uvicorn", "jinja2", "axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe  # noqa: E402  # the module is skipped without it
from order_fulfilment.order import Order  # noqa: E402
from order_fulfilment.outside import Ledger, Outside  # noqa: E402
from order_fulfilment.workflow import fulfilment  # noqa: E402
from playwright.sync_api import Browser, Page, expect  # noqa: E402
from starlette.applications import Starlette  # noqa: E402
from tests._browser import opened_browser, served_in_thread  # noqa: E402
from tests.service.inspector import _office as office  # noqa: E402

from stagepost.checkpoint import SqliteStore  # noqa: E402
from stagepost.service import RequestLimits, create_app  # noqa: E402
from stagepost.workflows import Runner  # noqa: E402

LIMIT = 15_000  # milliseconds: only what hangs takes so long
SHOWN = (
    "",
    "/runs",
    "/runs?status=failed&label=customer%3D9&text=unicorn",
    "/runs/order-1042",
    "/runs/order-1043",
    "/runs/article-tides",
    "/runs/article-tides/history",
    "/runs/article-tides/steps/4",
    "/runs/clerk-1/conversation",
    "/waits/order-1041/release",
    "/runs/order-1043/do/fork",
    "/many/cancel",
    "/check?go=yes",
)
LOOKS = [(1280, "light"), (400, "dark")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


def app(path: Path, deps: dict[str, object] | None = None, *, filled: bool = True) -> Starlette:
    @asynccontextmanager
    async def source() -> Any:
        async with office.opened(SqliteStore(path), deps={} if deps is None else deps) as runner:
            await runner.recover()
            if filled:
                await office.fill(runner)
            yield runner

    return create_app(source, limits=RequestLimits.none())


@contextmanager
def page_of(browser: Browser, width: int = 1280, scheme: Any = "light", **options: Any) -> Iterator[Page]:
    """A page that says nothing on its console."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        yield page
    finally:
        context.close()
    assert not [text for text in said if "ERR_CONNECTION" not in text and "ERR_INCOMPLETE" not in text], said


def see(browser: Browser, address: str, looks: Sequence[tuple[int, str, Sequence[str]]]) -> None:
    """See that pages fit their screen, and that a tool finds nothing which keeps people from using them."""
    for width, scheme, looked_at in looks:
        with page_of(browser, width, scheme) as page:
            for path in SHOWN if width == LOOKS[1][0] else looked_at:
                page.goto(f"{address}/inspect{path}")
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
                if path in looked_at:
                    found = Axe().run(page)
                    assert found.violations_count == 0, (path, width, scheme, found.generate_report())


def test_each_page_fits_its_screen_and_keeps_nobody_from_using_it(browser: Browser, tmp_path: Path) -> None:
    with served_in_thread(app(tmp_path / "runs.db")) as service:
        see(browser, service.address, [(1280, "light", SHOWN[::2]), (400, "dark", SHOWN[1::4])])


@pytest.mark.long
def test_each_page_does_so_in_all_looks(browser: Browser, tmp_path: Path) -> None:
    with served_in_thread(app(tmp_path / "runs.db")) as service:
        see(browser, service.address, [(width, look, SHOWN) for width in (1280, 400) for look in ("light", "dark")])


@pytest.mark.parametrize(("width", "scheme"), LOOKS, ids=["wide", "narrow"])
def test_somebody_finds_a_failed_run_sees_why_and_lets_it_go_on(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    deps: dict[str, object] = {}
    with served_in_thread(app(tmp_path / "runs.db", deps)) as service, page_of(browser, width, scheme) as page:
        page.goto(f"{service.address}/inspect")
        page.get_by_role("link", name="Runs", exact=True).click()
        page.get_by_role("link", name=re.compile("^failed")).click()
        page.keyboard.press("/")
        page.keyboard.type("printer")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="order-1043").click()
        expect(page.get_by_text("label printer at dock 4").first).to_be_visible()
        deps["printer"] = True  # somebody repairs it
        page.get_by_role("link", name="Resume").click()
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_text("The run goes on.")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_contain_text("completed")
        expect(page.get_by_text("local resume")).to_be_visible()


def test_approvals_questions_values_and_signals_are_answered(browser: Browser, tmp_path: Path) -> None:
    with served_in_thread(app(tmp_path / "runs.db", {"printer": True})) as service, page_of(browser) as page:
        page.goto(f"{service.address}/inspect")
        approval = page.get_by_role("article").filter(has_text="pay_invoice")
        approval.get_by_label("Arguments of the call").fill('{"supplier": "Acme", "euros": 200}')
        approval.get_by_role("button", name="Allow").click()
        expect(page.get_by_text("The answer was stored, and the run goes on.")).to_be_visible()
        question = page.get_by_role("article").filter(has_text="ask_person")
        question.get_by_label("on Friday").check()
        question.get_by_role("button", name="Answer").click()
        expect(page.get_by_role("article").filter(has_text="ask_person")).to_have_count(0)
        order = page.get_by_role("article").filter(has_text="order-1041")
        order.get_by_label("van").check()
        order.get_by_label("Weight").fill("3")
        order.get_by_role("button", name="Answer").click()
        expect(page.get_by_role("article")).to_have_count(1)
        page.get_by_role("link", name="Signals").click()
        page.get_by_label("Answer").fill("Dear Ann")
        page.get_by_role("button", name="Send").click()
        for run in ("order-1041", "clerk-1", "clerk-2", "mail-1"):
            page.goto(f"{service.address}/inspect/runs/{run}")
            expect(page.get_by_role("heading", level=1)).to_contain_text("completed")


def test_runs_are_forked_retried_cancelled_and_deleted_one_and_many(browser: Browser, tmp_path: Path) -> None:
    deps: dict[str, object] = {}
    with served_in_thread(app(tmp_path / "runs.db", deps)) as service, page_of(browser) as page:
        page.goto(f"{service.address}/inspect/runs/order-1042")
        deps.update(has_unicorns=True, printer=True)
        page.get_by_role("link", name="Retry failed items").click()
        page.get_by_role("button", name="Retry failed items").click()
        expect(page.get_by_text("A new run tries the failed items again.")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_contain_text("waiting")
        page.get_by_role("link", name="Cancel").click()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")
        page.get_by_role("link", name="Delete").click()
        page.get_by_role("button", name="Delete").click()
        page.goto(f"{service.address}/inspect/runs/order-1043")
        page.get_by_role("link", name="Fork").click()
        page.get_by_label("Changes of the state").fill('{"customer": 8}')
        page.get_by_label("From where").fill("check")
        page.get_by_label("let them happen again").check()
        page.get_by_role("button", name="Fork").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("completed")
        page.goto(f"{service.address}/inspect/runs?status=waiting")
        page.get_by_text(re.compile("Act on all")).click()
        page.get_by_role("link", name="Cancel those that are open").click()
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name=re.compile("^Cancel")).click()
        expect(page.get_by_text(re.compile(r"\d done"))).to_be_visible()


def test_a_page_follows_its_run_and_what_somebody_types_stays(browser: Browser, tmp_path: Path) -> None:
    with (
        served_in_thread(app(tmp_path / "runs.db")) as service,
        page_of(browser) as page,
        page_of(browser) as other,
    ):
        page.goto(f"{service.address}/inspect")
        expect(page.get_by_text("Live")).to_be_visible()
        order = page.get_by_role("article").filter(has_text="order-1041")
        order.get_by_label("Note").fill("half a senten")
        other.goto(f"{service.address}/inspect/waits/article-tides/publish%231")
        other.get_by_label("Yes").check()
        other.get_by_role("button", name="Answer").click()
        expect(page.get_by_role("article").filter(has_text="article-tides")).to_have_count(0)
        expect(order.get_by_label("Note")).to_have_value("half a senten")
        expect(order.get_by_label("Note")).to_be_focused()
        page.keyboard.type("ce")
        expect(order.get_by_label("Note")).to_have_value("half a sentence")


def test_a_page_comes_back_to_a_service_that_was_started_again(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with page_of(browser) as page:
        with served_in_thread(app(path)) as service:
            port = int(service.address.rpartition(":")[2])
            page.goto(f"{service.address}/inspect/runs/mail-1")
            expect(page.get_by_text("Live")).to_be_visible()
        expect(page.get_by_text("Not connected")).to_be_visible()
        with served_in_thread(app(path, filled=False), port=port):
            expect(page.get_by_text("Live")).to_be_visible()
            with page_of(browser) as other:
                other.goto(f"http://127.0.0.1:{port}/inspect/waits/mail-1/letter")
                other.get_by_label("Answer").fill("Dear Ann")
                other.get_by_role("button", name="Send").click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("completed")


def test_it_works_without_a_script(browser: Browser, tmp_path: Path) -> None:
    with (
        served_in_thread(app(tmp_path / "runs.db", {"printer": True})) as service,
        page_of(browser, java_script_enabled=False) as page,
    ):
        page.goto(f"{service.address}/inspect/waits/order-1041/release")
        page.get_by_role("button", name="Answer").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("order-1041")
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_contain_text("completed")


def test_items_are_opened_in_place(browser: Browser, tmp_path: Path) -> None:
    with served_in_thread(app(tmp_path / "runs.db")) as service, page_of(browser) as page:
        page.goto(f"{service.address}/inspect/runs/order-1042")
        page.locator("#graph a", has_text="check").first.click()
        expect(page.get_by_role("heading", name="What it changed")).to_be_visible()


@asynccontextmanager
async def shop(folder: Path) -> Any:
    outside = Outside(Ledger(folder / "ledger.jsonl"))
    async with (
        SqliteStore(folder / "runs.db") as store,
        Runner(store, workflows=[fulfilment], deps=outside, keep="all") as runner,
    ):
        for number, item in (("order-1", "desk"), ("order-2", "chair"), ("order-3", "desk")):
            await (await runner.start(fulfilment, Order(item=item, quantity=3), run_id=number)).settled()
        yield runner


def test_orders_of_the_example_are_approved_refused_and_forked(browser: Browser, tmp_path: Path) -> None:
    app = create_app(lambda: shop(tmp_path), limits=RequestLimits.none())
    with served_in_thread(app) as service, page_of(browser) as page:
        page.goto(f"{service.address}/inspect")
        for number, choice, reason in (("order-1", "Yes", ""), ("order-3", "No", "too dear")):
            order = page.get_by_role("article").filter(has_text=number)
            order.get_by_label(choice, exact=True).check()
            order.get_by_label("Reason").fill(reason)
            order.get_by_role("button", name="Answer").click()
            expect(page.get_by_role("article").filter(has_text=number)).to_have_count(0)
            page.goto(f"{service.address}/inspect/runs/{number}")
            expect(page.get_by_role("heading", level=1)).to_contain_text("completed")
            page.goto(f"{service.address}/inspect")
        page.goto(f"{service.address}/inspect/runs/order-3")
        expect(page.locator("#graph")).to_contain_text("refund")
        page.get_by_role("link", name="Fork").click()
        page.get_by_label("From where").fill("secure")
        page.get_by_label("let them happen again").check()
        page.get_by_role("button", name="Fork").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("waiting")
        assert Axe().run(page).violations_count == 0
