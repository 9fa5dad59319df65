"""The chat page in a real browser: what people see while workers work, are asked, and when the server is killed."""

import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

import anyio
import anyio.to_thread
import httpx2
import pytest
from tests._needs import need

need("playwright", "starlette", "uvicorn", "jinja2", "limits", "axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe  # noqa: E402  # the module is skipped without it
from playwright.sync_api import Browser, Page, expect  # noqa: E402
from supervisor_service import Options, chat_app  # noqa: E402
from supervisor_service.local import LocalModel  # noqa: E402
from tests._browser import Served, opened_browser, served_in_thread  # noqa: E402

from stagepost.agents import FunctionModel, Model, ModelRequest, ModelResponse, Token, ToolMessage  # noqa: E402
from stagepost.service import Key, Scope  # noqa: E402

LIMIT: Final = 15_000  # milliseconds: only what hangs takes so long
LAYERS: Final = ("hub", "checkpoint", "workflows", "agents", "service", "examples")
ROOT: Final = Path(__file__).parents[2]
WIDE: Final = {"width": 1280, "height": 800}
NARROW: Final = {"width": 360, "height": 740}


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


class Gated(LocalModel):
    """Waits, where a test says, until somebody opens the gate."""

    def __init__(self) -> None:
        super().__init__(thinking=0, writing=0)
        self.gate = threading.Event()

    async def pause(self) -> None:
        await anyio.to_thread.run_sync(self.gate.wait)


@contextmanager
def served(folder: Path, *, model: Model | None = None, keys: Sequence[Key] = ()) -> Iterator[Served]:
    """An application in this process."""
    with served_in_thread(chat_app(Options(folder=folder, pace=0, work=0), keys=keys, model=model)) as service:
        try:
            yield service
        finally:
            if isinstance(model, Gated):
                model.gate.set()  # or a test that fails would wait for ever


@contextmanager
def chatting(
    browser: Browser, folder: Path, *, model: Model | None = None, keys: Sequence[Key] = (), **options: object
) -> Iterator[Page]:
    """The page of an application in this process."""
    with (
        served(folder, model=model, keys=keys) as service,
        opened(browser, service.address, **options) as page,  # type: ignore[arg-type]  # a test's own words for it
    ):
        yield page


def say(page: Page, text: str) -> None:
    """Type and send a message, once the page is ready for it."""
    expect(page.locator("#chat")).to_have_attribute("aria-busy", "false")
    page.fill("#message", text)
    page.press("#message", "Enter")


def answered(page: Page) -> str:
    """The last answer, once the turn has ended."""
    expect(page.locator("#chat[aria-busy=false] .turn:last-child .answer")).not_to_be_empty()
    return page.locator(".turn:last-child .answer").inner_text()


class Held(Gated):
    """Workers do not answer before the gate is open."""

    async def answer(self, request: ModelRequest) -> ModelResponse:
        is_worker = not any(tool.name.startswith("ask_") for tool in request.tools if tool.name != "ask_customer")
        if is_worker and isinstance(request.messages[-1], ToolMessage):
            await self.pause()
        return await super().answer(request)


def test_workers_are_seen_at_work_and_a_session_is_there_again(browser: Browser, tmp_path: Path) -> None:
    model = Held()
    with chatting(browser, tmp_path, model=model, viewport=WIDE) as page:
        page.click("[data-try*=Tokyo]")
        expect(page.locator(".worker.working .result")).to_have_count(4)
        expect(page.get_by_role("region", name="knowledge worker")).to_contain_text("search_knowledge")
        expect(page.locator("button[type=submit]")).to_be_disabled()
        model.gate.set()
        said = answered(page)
        for part in ("In Paris it is", "Apple (AAPL) is at", "[Calls in doubt]"):
            assert part in said
        expect(page.locator(".worker.done details:not([open])")).to_have_count(4)
        page.locator(".worker summary").first.press("Enter")  # by the keyboard
        expect(page.locator(".worker").first.locator(".said")).to_have_text(re.compile("In Paris it is"))
        page.fill("#message", "and in")
        page.press("#message", "Shift+Enter")
        page.locator("#message").press_sequentially("Oslo?")
        assert page.input_value("#message") == "and in\nOslo?"
        page.press("#message", "Enter")
        assert "In Oslo it is" in answered(page)
        page.reload()
        expect(page.locator(".turn")).to_have_count(2)
        expect(page.locator(".answer").first).to_have_text(re.compile("In Paris it is"))
        expect(page.locator(".worker.done")).to_have_count(5)
        page.click("text=New session")
        expect(page.locator("#welcome")).to_be_visible()
        page.go_back()
        expect(page.locator(".turn")).to_have_count(2)


def test_people_are_asked_on_the_page(browser: Browser, tmp_path: Path) -> None:
    with chatting(browser, tmp_path, allowed="status of 422") as page:
        say(page, "Buy some Nvidia shares")
        expect(page.locator(".asks legend")).to_have_text("How many shares of Nvidia shall I buy?")
        page.get_by_role("button", name="Answer", exact=True).click()
        expect(page.locator(".asks :invalid").first).to_be_visible()  # nothing is sent without a number
        page.get_by_label("Number of shares").fill("12")
        page.get_by_label("The order is valid").select_option("this week")
        page.get_by_role("button", name="Answer", exact=True).click()
        page.reload()  # what waits is there again
        expect(page.locator(".asks legend")).to_have_text("Allow “place order”?")
        page.get_by_role("button", name="Allow").click()
        assert re.fullmatch(r"It is done: order \w{6} is placed: buy 12 NVDA, valid this week\.", answered(page))
        say(page, "Sell 20 shares of Tesla")
        page.get_by_label("Why not").fill("not <today>")
        page.get_by_role("button", name="Deny").click()
        assert "denied it: not <today>" in answered(page)
        say(page, "Buy shares of Apple")
        page.get_by_role("button", name="Do not answer").click()
        assert "I have not done it" in answered(page)
    assert [file.read_text() for file in (tmp_path / "outbox").iterdir()] == ["buy 12 NVDA, valid this week\n"]


def test_a_turn_is_stopped_and_the_next_message_is_answered(browser: Browser, tmp_path: Path) -> None:
    model = Held()
    with chatting(browser, tmp_path, model=model) as page:
        expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        say(page, "How is the weather in Miami?")
        expect(page.locator(".worker.working .result")).to_have_count(1)
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#chat[aria-busy=false] .state")).to_have_text("Stopped.")
        expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        page.reload()
        expect(page.locator("#chat[aria-busy=false] .state")).to_have_text("Stopped.")
        expect(page.locator(".worker .word")).to_have_text("stopped")
        say(page, "Sell 20 shares of Tesla")  # a turn that waits for somebody is stopped, too
        expect(page.locator(".asks")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#chat[aria-busy=false] .turn:last-child .state")).to_have_text("Stopped.")
        expect(page.locator(".asks")).to_have_count(0)
        model.gate.set()
        say(page, "How is the weather in Oslo?")
        assert "In Oslo it is" in answered(page)


@contextmanager
def process(listening: socket.socket, folder: Path, work: int) -> Iterator[None]:
    """The service as a process of its own, on a socket that outlives it; it is killed when the block is left."""
    descriptor = str(listening.fileno())
    options = ("--fd", descriptor, "--folder", str(folder), "--pace", "0", "--work", str(work))
    path = ":".join(str(ROOT / layer) for layer in LAYERS)
    with subprocess.Popen(
        [sys.executable, "-m", "supervisor_service", *options],
        env={"PYTHONPATH": path},
        pass_fds=[listening.fileno()],
        stdout=subprocess.DEVNULL,
    ) as running:
        try:
            yield
        finally:
            running.send_signal(signal.SIGKILL)


def test_a_page_goes_on_after_its_server_was_killed_while_workers_worked(browser: Browser, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:
        with process(listening, tmp_path, work=10_000):
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            page = stack.enter_context(opened(browser, address, allowed="net::ERR_"))
            with httpx2.Client(trust_env=False) as client:  # what a request says of itself is not believed
                answer = client.get(f"{address}/health", headers={"X-Forwarded-Proto": "https"})
            assert "strict-transport-security" not in answer.headers
            say(page, "Send a report about Apple to ann@example.org and what is the weather in Miami?")
            expect(page.locator(".steps li")).to_have_count(2)
        expect(page.locator("#notice")).to_have_text("Connection lost, trying again…")
        with process(listening, tmp_path, work=0):
            expect(page.locator(".asks legend")).to_have_text("Was “send report” done?")
            expect(page.locator("#notice")).to_be_hidden()
            expect(page.locator(".worker.done")).to_contain_text("In Miami it is")
            page.get_by_role("button", name="Do it again").click()
            said = answered(page)
            assert "It is done: report" in said
            assert said.count("In Miami") == 1
            expect(page.locator(".worker")).to_have_count(2)
            expect(page.locator(".turn")).to_have_count(1)
    assert len([*(tmp_path / "outbox").iterdir()]) == 1


class Halting(Gated):
    """Stops in the middle of its answer until the gate is open."""

    async def answer(self, request: ModelRequest) -> ModelResponse:
        for number, word in enumerate(("one ", "two ", "three ", "four")):
            if number == 2:
                await self.pause()
            if request.on_token is not None:
                request.on_token(Token(number, word))
        return ModelResponse("one two three four")


def test_an_answer_goes_on_after_a_cut_where_it_was(browser: Browser, tmp_path: Path) -> None:
    model = Halting()
    with (
        served(tmp_path, model=model) as service,
        opened(browser, service.address, allowed="net::ERR_") as page,
    ):
        say(page, "hello")
        for _ in range(3):
            expect(page.locator(".answer")).to_have_text("one two")
            with page.expect_request("**/chat"):  # the page asks for the rest by itself
                service.cut()
        model.gate.set()
        expect(page.locator("#chat[aria-busy=false] .answer")).to_have_text("one two three four")
        expect(page.locator("#notice")).to_be_hidden()


def test_whoever_has_no_key_is_led_to_the_login(browser: Browser, tmp_path: Path) -> None:
    key = Key.of("a-secret-of-the-test", name="ann", scopes=[*Scope])
    with chatting(browser, tmp_path, keys=[key], allowed="status of 401") as page:
        expect(page).to_have_title(re.compile("Log in"))
        page.fill("#key", "another-secret-and-wrong")
        page.press("#key", "Enter")
        expect(page.locator("#problem")).to_be_visible()
        page.fill("#key", "a-secret-of-the-test")
        page.press("#key", "Enter")
        say(page, "Sell 3 shares of Apple")
        page.get_by_role("button", name="Allow").click()
        assert "It is done" in answered(page)
        page.context.clear_cookies()
        say(page, "Sell 4 shares of Apple")
        expect(page).to_have_title(re.compile("Log in"))
        page.fill("#key", "a-secret-of-the-test")
        page.press("#key", "Enter")
        expect(page.locator("#message")).to_have_value("Sell 4 shares of Apple")  # nothing typed is lost
        say(page, page.input_value("#message"))
        expect(page.get_by_role("button", name="Allow")).to_be_visible()
        page.context.clear_cookies()
        page.get_by_role("button", name="Allow").click()
        expect(page).to_have_title(re.compile("Log in"))
        page.fill("#key", "a-secret-of-the-test")
        page.press("#key", "Enter")
        page.get_by_role("button", name="Allow").click()
        assert "It is done" in answered(page)


HOSTILE: Final = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202e\x01\x1b[31m **[x](javascript:alert(3))** "


def test_hostile_texts_are_shown_as_texts(browser: Browser, tmp_path: Path) -> None:
    whole = re.sub(r"\s", "", HOSTILE) * (1_000_000 // len(HOSTILE))  # a megabyte, as one piece
    shown = re.sub("[\x01\x1b\u202e]", "\ufffd", whole)

    def answer(request: ModelRequest) -> str:
        return whole if request.messages[-1].text.endswith("much") else HOSTILE

    with chatting(browser, tmp_path, model=FunctionModel(answer)) as page:
        say(page, HOSTILE)
        assert "<script>alert(2)</script>" in answered(page)
        expect(page.locator(".request")).to_contain_text("onerror=alert(1)")
        say(page, "much")
        expect(page.locator("#chat[aria-busy=false] .turn:nth-child(2) .plain")).to_be_visible()
        assert page.locator(".plain").text_content() == shown
        assert page.locator("#turns :is(img, script, a, iframe)").count() == 0
        page.reload()
        expect(page.locator(".turn")).to_have_count(2)
        assert page.locator("#turns :is(img, script, a, iframe)").count() == 0


def test_what_is_refused_is_said_and_nothing_typed_is_lost(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as service, opened(browser, service.address, allowed="status of 429") as page:
        page.fill("#message", "x" * 32_001)
        expect(page.locator("#counter")).to_have_text("32,001 of 32,000 characters")
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
        with httpx2.Client(trust_env=False) as client:
            statuses = [client.get(f"{service.address}/chat/{uuid4()}").status_code for _ in range(61)]
        assert statuses[-1] == 429
        say(page, "hello")
        expect(page.locator("#notice")).to_have_text(re.compile(r"Try again in \d+ s\."))
        expect(page.locator("#message")).to_have_value("hello")
        expect(page.locator(".turn")).to_have_count(0)


@pytest.mark.parametrize(("size", "colours"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_everybody_can_use_the_page(browser: Browser, tmp_path: Path, size: dict[str, int], colours: str) -> None:
    with chatting(browser, tmp_path, viewport=size, color_scheme=colours) as page:
        expect(page.locator("#welcome")).to_be_visible()
        _check(page)
        say(page, "How is the weather in Miami, how is Apple, and how do approvals work?")
        answered(page)
        page.locator(".worker summary").first.click()
        say(page, "Buy some Nvidia shares")
        expect(page.locator(".asks")).to_be_visible()
        expect(page.locator("#spoken")).to_have_text("How many shares of Nvidia shall I buy?")
        _check(page)


def _check(page: Page) -> None:
    """Nothing is wider than the page, and axe finds nothing that keeps anybody from using it."""
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
