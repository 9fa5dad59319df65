"""The assistant on its page, in a real browser: scorecards, parts, channels, failures, a style guide that is edited."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
from tests._needs import need

need("playwright", "starlette", "uvicorn", "jinja2", "limits", "markdown_it", "yaml", "axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe  # noqa: E402  # the module is skipped without it
from playwright.sync_api import Browser, Locator, Page, expect  # noqa: E402
from tests._browser import opened_browser, served_in_thread  # noqa: E402
from timesheet_assistant.core import Options  # noqa: E402
from timesheet_assistant.web import web_app  # noqa: E402
from timesheet_assistant.web.__main__ import main  # noqa: E402

from stagepost.service.assistant import StageBudgets  # noqa: E402
from stagepost.service.channels import FileOutbox  # noqa: E402

PATIENT: Final = StageBudgets.of(60)  # on a busy machine, too
LIMIT: Final = 20_000  # milliseconds: only what hangs takes so long
LAYERS: Final = ("hub", "checkpoint", "workflows", "agents", "service", "examples")
ROOT: Final = Path(__file__).parents[2]
WIDE: Final = {"width": 1280, "height": 860}
NARROW: Final = {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=LIMIT)
    with opened_browser() as browser:
        yield browser


@contextmanager
def opened(browser: Browser, address: str, *, allowed: str = "$^", **options: object) -> Iterator[Page]:
    """A page of its own; once the block is left, nothing may stand in its console but what is allowed."""
    context = browser.new_context(**options)  # type: ignore[arg-type]  # a test's own words for it
    context.set_default_timeout(LIMIT)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    page.goto(address)
    yield page
    context.close()
    assert [problem for problem in problems if not re.search(allowed, problem)] == []


@contextmanager
def chatting(browser: Browser, folder: Path, **options: object) -> Iterator[Page]:
    """The page of an application in this process."""
    with (
        served_in_thread(web_app(Options(folder=folder, pace=0, budgets=PATIENT))) as service,
        opened(browser, service.address, **options) as page,  # type: ignore[arg-type]  # a test's own words for it
    ):
        yield page


def answered(page: Page, text: str, channel: str = "sms") -> Locator:
    """Ask, and return the turn once it has been answered."""
    expect(page.locator("#assistant")).to_have_attribute("aria-busy", "false")
    page.click(f"#tab-{channel}")
    turns = page.locator(f"#panel-{channel} .turn")
    number = turns.count()
    page.fill("#message", text)
    page.press("#message", "Enter")
    expect(turns).to_have_count(number + 1)
    expect(turns.nth(number).locator(".meta span").first).to_be_visible()
    return turns.nth(number)


def switch(page: Page, name: str, *, on: bool) -> None:
    """Have something go wrong, or right again."""
    with page.expect_response("**/failures"):
        page.locator(f"[name={name}]").set_checked(on)


def save(page: Page, text: str) -> None:
    """Write the style guide."""
    page.fill("#guide", text)
    page.get_by_role("button", name="Save").click()


def test_a_newcomer_sees_a_failed_criterion_its_refinement_and_the_parts_of_a_long_sms(
    browser: Browser, tmp_path: Path
) -> None:
    with chatting(browser, tmp_path, viewport=WIDE) as page:
        page.click("[data-try='Check my timesheet']")
        turn = page.locator(".turn").first
        expect(turn.locator(".meta")).to_contain_text("passed after refinement")
        first, second = turn.locator(".attempt").all()
        expect(first.locator("summary").first).to_have_text("First attempt1 of 5 criteria failed")
        expect(first.locator("li.failed")).to_contain_text("sms_format")
        expect(first.locator("li.failed .feedback")).to_contain_text("use plain text")
        expect(second.locator("summary").first).to_have_text("Refined5 of 5 criteria passed")
        expect(turn.locator(".part")).to_contain_text("32 of 40 hours")
        expect(turn.locator(".stages li.failed")).to_have_text("judge")
        expect(turn.locator(".stages li").last).to_have_text("send")
        assert turn.locator(".stages li").all_inner_texts()[-3:] == ["refine", "judge", "send"]
        long = answered(page, "List all entries of last month")
        assert long.locator(".marker").all_inner_texts() == ["(1/3)", "(2/3)", "(3/3)"]
        expect(long.locator(".meta")).to_contain_text("segments in GSM-7")
        expect(page.locator("#tab-sms .count")).to_have_text("2")
        page.reload()
        expect(page.locator(".turn")).to_have_count(2)
        expect(page.locator(".turn").first.locator(".attempt")).to_have_count(2)
        expect(page.locator(".turn").last.locator(".marker")).to_have_count(3)


def test_each_channel_shows_its_own_form_in_one_conversation(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, viewport=WIDE) as page:
        question = "Give me a summary of last week"
        expect(answered(page, question, "whatsapp").locator(".part strong").last).to_have_text("32 of 40 hours")
        mail = answered(page, question, "email").locator(".mail")
        expect(mail.locator(".subject")).to_contain_text("Your timesheet, last week")
        expect(mail.locator("th").first).to_have_text("Project")
        card = answered(page, question, "teams")
        expect(card.locator(".card-shown th").last).to_have_text("Hours")
        expect(card.locator(".meta")).to_contain_text("card of")
        expect(answered(page, "And what about yesterday?").locator(".part")).to_contain_text("yesterday")
        page.locator("#tab-sms").focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#tab-teams")).to_be_focused()
        expect(page.locator("#panel-teams")).to_be_visible()
        page.keyboard.press("Home")
        expect(page.locator("#panel-sms")).to_be_visible()


def test_whoever_replies_email_to_a_summary_gets_a_mail(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, viewport=WIDE) as page:
        short = answered(page, "List all entries from 2020-01-01 to 2099-12-31")
        expect(short.locator(".part")).to_contain_text("Reply EMAIL")
        expect(short.locator(".meta")).to_contain_text("a summary")
        page.fill("#message", "EMAIL")
        page.press("#message", "Enter")
        mail = page.locator("#panel-email .turn .mail")
        expect(mail.locator("li")).to_have_count(40)
        expect(page.locator("#panel-email")).to_be_visible()
        expect(page.locator("#panel-sms .turn")).to_have_count(1)
        page.reload()
        expect(mail.locator("li")).to_have_count(40)


def test_another_message_under_the_id_of_an_earlier_one_is_refused(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, allowed="409") as page:
        say = """async ([request_id, message]) => (await fetch("assistant", {method: "POST", headers:
            {"content-type": "application/json"}, body: JSON.stringify({request_id, message, channel: "sms",
            conversation_id: "conversation-1"})})).status"""
        assert page.evaluate(say, ["request-1", "Check my timesheet"]) == 202
        assert page.evaluate(say, ["request-1", "Check my timesheet"]) == 202
        assert page.evaluate(say, ["request-1", "And last week?"]) == 409


def test_a_style_guide_that_is_a_directory_is_told(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, viewport=WIDE) as page:
        (tmp_path / "style_guide.yaml").unlink()
        (tmp_path / "style_guide.yaml").mkdir()
        save(page, "formatting: {sign_off: true}")
        expect(page.get_by_text("Is a directory").first).to_be_visible()
        expect(answered(page, "hello").locator(".meta")).to_contain_text("model calls")


def test_what_goes_wrong_is_seen(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, viewport=WIDE) as page:
        switch(page, "refiner_stubborn", on=True)
        stubborn = answered(page, "Check my timesheet")
        expect(stubborn.locator(".attempt li.failed")).to_have_count(2)
        expect(stubborn.locator(".meta .badge").first).to_have_text("apology")
        switch(page, "refiner_stubborn", on=False)
        switch(page, "data_down", on=True)
        expect(answered(page, "Check my timesheet").locator(".meta")).to_contain_text("apology")
        switch(page, "data_down", on=False)
        switch(page, "sender_down", on=True)
        unsent = answered(page, "Check my timesheet")
        expect(unsent.locator(".unsent .why")).to_have_text("Not sent")
        switch(page, "sender_down", on=False)
        page.select_option("#path", "single")
        alone = answered(page, "Check my timesheet")
        expect(alone.locator(".meta")).to_contain_text("unchecked")
        expect(alone.locator(".attempt")).to_have_count(0)


def test_a_conversation_keeps_the_path_that_it_was_rolled_out_by(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, viewport=WIDE) as page:
        page.select_option("#path", "rollout")
        expect(answered(page, "Check my timesheet", "teams").locator(".meta")).to_contain_text("unchecked")
        expect(answered(page, "Check my timesheet", "email").locator(".meta")).to_contain_text("unchecked")
        page.select_option("#user", "maria")
        expect(page.locator(".turn")).to_have_count(0)
        expect(answered(page, "Check my timesheet", "email").locator(".meta")).to_contain_text("passed")


def test_the_style_guide_is_edited_while_it_runs(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, viewport=WIDE) as page:
        expect(page.locator("#edition")).to_have_text(re.compile(r"In use: 1\.0\+"))
        save(page, 'version: "1.0"\nbrand: {nam: Hours}\n')
        expect(page.locator("#edition")).to_contain_text("style_guide.yaml:2: brand.nam: this key is not known")
        expect(page.locator("#guide")).to_have_attribute("aria-invalid", "true")
        assert page.request.get(f"{page.url.partition('?')[0]}health").json()["status"] == "degraded"
        expect(answered(page, "Check my timesheet").locator(".part")).to_have_text(re.compile("^Hi Ada,"))
        save(page, 'version: "1.0"\nbrand: {name: Hours}\nformatting: {sign_off: true}\n')
        expect(page.locator("#edition")).to_contain_text("In use")
        expect(answered(page, "Check my timesheet").locator(".part")).to_have_text(re.compile("– Hours$"))  # noqa: RUF001  # a dash
        (tmp_path / "style_guide.yaml").write_text("formatting: {sign_off: false}")  # by an editor
        expect(page.locator("#guide")).to_have_value("formatting: {sign_off: false}")


def test_hostile_texts_are_shown_as_texts(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, viewport=WIDE) as page:
        text = "<img src=x onerror=alert(1)> **hours** <script>alert(2)</script>"
        for channel in ("sms", "whatsapp", "email", "teams"):
            expect(answered(page, text, channel).locator(".request")).to_contain_text(text)
        assert page.locator("#talk img, #talk script").count() == 0
        page.goto(f"{page.url.partition('?')[0]}?conversation=%3Cimg%3E&user=nobody")
        expect(page.locator("#assistant")).to_have_attribute("aria-busy", "false")


@contextmanager
def process(listening: socket.socket, folder: Path, *, pace: float) -> Iterator[None]:
    """A server of its own, on a socket that outlives it, killed at the end of the block."""
    command = [sys.executable, "-W", "error", "-m", "timesheet_assistant.web", "--fd", str(listening.fileno())]
    paths = ":".join(str(ROOT / layer) for layer in LAYERS)
    with subprocess.Popen(
        [*command, "--folder", str(folder), "--pace", str(pace), "--patience", "60"],
        env={"PATH": "", "PYTHONPATH": paths},
        pass_fds=[listening.fileno()],
        stdout=subprocess.DEVNULL,
    ) as running:
        try:
            yield
        finally:
            running.send_signal(signal.SIGKILL)


def test_an_answer_goes_on_after_its_server_was_killed_between_two_parts(browser: Browser, tmp_path: Path) -> None:
    outbox = FileOutbox(tmp_path / "outbox")
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:
        with process(listening, tmp_path, pace=0.7):
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            page = stack.enter_context(opened(browser, address, allowed="net::ERR_"))
            page.click("[data-try='List all entries of last month']")
            expect(page.locator(".part")).to_have_count(1)  # the second one is on its way
        (before,) = outbox.sent()
        expect(page.locator("#notice")).to_have_text("Connection lost, trying again…")
        with process(listening, tmp_path, pace=0):
            expect(page.locator(".meta")).to_contain_text("3 parts")
            assert page.locator(".marker").all_inner_texts() == ["(1/3)", "(2/3)", "(3/3)"]
            expect(page.locator("#notice")).to_be_hidden()
    first, *others = outbox.sent()
    assert first == before
    assert [(each.part.sequence, each.to) for each in others] == [(2, first.to), (3, first.to)]


@pytest.mark.parametrize(("size", "colours"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_everybody_can_use_the_page(browser: Browser, tmp_path: Path, size: dict[str, int], colours: str) -> None:
    with chatting(browser, tmp_path, viewport=size, color_scheme=colours) as page:
        expect(page.locator("#edition")).to_contain_text("In use")
        check(page)
        for details in page.locator("#side details").all():
            if details.get_attribute("open") is None:  # they are closed where there is little room
                details.locator("summary").press("Enter")
        for channel in ("sms", "whatsapp", "email", "teams"):
            answered(page, "Check my timesheet", channel)
            check(page)
        save(page, "nothing: {}")
        switch(page, "sender_down", on=True)
        answered(page, "List all entries of last month")
        expect(page.locator("#spoken")).not_to_be_empty()
        check(page)


def check(page: Page) -> None:
    """Nothing is wider than the page, and axe finds nothing that keeps anybody from using it."""
    page.evaluate("document.getAnimations().forEach((each) => each.finish())")  # or texts are still faint
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_port_that_is_in_use_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert main(["--port", str(port)]) == 1
    assert f"make assistant PORT={port + 1}" in capsys.readouterr().err
