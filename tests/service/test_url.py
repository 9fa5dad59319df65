"""Commands that act through a service: the same cases as with a file, with the same output and exit codes."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from tests._needs import need

need("starlette", "sse_starlette", "limits", "httpx2", "uvicorn")

from tests.service._service import service  # noqa: E402  # after the check of what it needs
from tests.service.conftest import APP, Command  # noqa: E402
from tests.service.http._uvicorn import served  # noqa: E402

from stagepost.service import Scope, new_key  # noqa: E402


@pytest.fixture(params=["file", "service"])
def runs(request: pytest.FixtureRequest, file: Path, command: Command) -> Iterator[Command]:
    """The command on the runs of a file: by itself, or through a service that owns the file."""
    if request.param == "file":
        yield lambda *arguments, **options: command(*arguments, "-f", file, *_app(arguments), **options)
        return
    with service(file) as url:
        yield lambda *arguments, **options: command(*arguments, "--url", url, **options)


def _app(arguments: tuple[object, ...]) -> tuple[str, ...]:
    """What only commands on a file need."""
    takes_app = arguments[0] == "runs" and arguments[1] in ("answer", "signal", "settle", "resume", "fork", "retry")
    return ("--app", APP) if takes_app else ()


CASES: list[tuple[tuple[str, ...], int, str]] = [
    (("ls", "--json"), 0, "mail-1"),
    (("ls", "-n", "2"), 0, "mail-1"),
    (("ls", "-s", "failed", "-l", "tenant=north"), 0, "failed-1"),
    (("ls", "-s", "open", "-w", "digest", "--since", "1d"), 0, "digest-1"),
    (("ls", "--text", "press"), 0, "failed-1"),
    (("ls", "--counts", "workflow"), 0, "digest"),
    (("ls", "--counts", "status", "--json"), 0, "total"),
    (("ls", "--after", "zzz"), 2, ""),
    (("ls", "-s", "lost"), 2, ""),
    (("show", "digest-1"), 0, "approval"),
    (("show", "failed-1", "--json"), 0, "traceback"),
    (("show", "nobody"), 3, ""),
    (("history", "digest-1"), 0, "asks for an answer"),
    (("history", "digest-1", "-n", "1", "--json"), 0, "next"),
    (("history", "nobody"), 3, ""),
    (("watch", "quick-1"), 0, "completed"),
    (("watch", "failed-1", "--json"), 1, "failed"),
    (("watch", "digest-1", "--settled"), 6, "runs answer digest-1/approval VALUE"),
    (("watch", "nobody"), 3, ""),
    (("waits",), 0, "digest-1/approval"),
    (("waits", "digest-1", "--kind", "answer", "--json"), 0, "digest-1/approval"),
    (("waits", "nobody"), 3, ""),
    (("answer", "digest-1/approval", '"maybe"'), 4, ""),
    (("answer", "digest-1/else", "true"), 3, ""),
    (("answer", "mail-1", "true"), 3, ""),
    (("answer", "quick-1/draft", "true"), 4, ""),
    (("signal", "mail-1", "parcel"), 3, ""),
    (("signal", "mail-1", "letter", '"Dear"', "--dedup", "1"), 0, "signalled mail-1"),
    (("settle", "digest-1", "charge", "--retry"), 3, ""),
    (("cancel", "quick-1"), 4, ""),
    (("resume", "failed-1"), 1, "failed: chain 'quick' failed"),
    (("resume", "nobody"), 3, ""),
    (("fork", "digest-1", "--at", "draft", "--id", "fork-1"), 6, "runs answer fork-1/approval VALUE"),
    (("fork", "digest-1", "--at", "99"), 3, ""),
    (("retry", "failed-1"), 4, ""),
    (("delete", "quick-1"), 0, "deleted quick-1"),
    (("delete", "digest-1"), 4, ""),
    (("answer", "digest-1", "true"), 0, "answered digest-1/approval"),
]
SCHEDULES: list[tuple[tuple[str, ...], int, str]] = [
    (("ls",), 0, "nightly"),
    (("pause", "nightly"), 0, "paused nightly"),
    (("resume", "nightly", "--json"), 0, "next_due"),
    (("delete", "nobody"), 3, ""),
]


def test_runs_are_acted_on_alike(runs: Command) -> None:
    for arguments, code, text in CASES:
        _check(runs("runs", *arguments), code, text, arguments)


def test_schedules_are_acted_on_alike(runs: Command) -> None:
    for arguments, code, text in SCHEDULES:
        _check(runs("schedules", *arguments), code, text, arguments)


def _check(result: Any, code: int, text: str, arguments: tuple[str, ...]) -> None:
    assert result.exit_code == code, (arguments, result.output)
    assert text in result.stdout, (arguments, result.stdout)
    assert bool(result.stderr) or code != 2, arguments


READS = [
    "ls",
    "ls --json",
    "ls --counts status",
    "show failed-1",
    "history digest-1",
    "waits",
    "watch digest-1 --settled",
]


def test_what_is_read_looks_the_same(command: Command, file: Path) -> None:
    """But for how long ago something was, and whose the file is."""

    def told(text: str) -> str:
        mine = re.sub(r'  file owned by .*\n|  "owner": .*\n', "", text)
        return re.sub(r" +", " ", re.sub(r"\d+ (s|ms)( ago)?|now|[0-9:]{8}", "…", mine))

    alone = [told(command("runs", *each.split(), "-f", file).stdout) for each in READS]
    with service(file) as url:
        through = [told(command("runs", *each.split(), "--url", url).stdout) for each in READS]
    assert through == alone


def test_a_run_is_followed_to_its_end_through_a_service(command: Command, file: Path) -> None:
    with service(file) as url:
        assert command("runs", "answer", "digest-1", "true", "--url", url).exit_code == 0
        result = command("runs", "watch", "digest-1", STAGEPOST_URL=url)
        assert (result.exit_code, result.stdout.split()[-1]) == (0, "completed")
        history = command("runs", "history", "digest-1", "--url", url).stdout
        assert "answered by local" in history


def test_the_key_comes_from_the_environment_or_a_file(command: Command, file: Path, tmp_path: Path) -> None:
    secret, key = new_key("ops", [Scope.READ])
    named = tmp_path / "key"
    named.write_text(f"{secret}\n")
    with service(file, (key,)) as url:
        assert command("runs", "ls", "--url", url).exit_code == 4
        assert command("runs", "ls", "--url", url, STAGEPOST_KEY=secret).exit_code == 0
        assert command("runs", "ls", "--url", url, "--key-file", named).exit_code == 0
        refused = command("runs", "delete", "quick-1", "--url", url, "--key-file", named, "--json")
        assert (refused.exit_code, json.loads(refused.stderr)["kind"]) == (4, "ScopeRequired")


def test_a_service_that_is_not_there_says_what_to_do(command: Command) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        for arguments in (("ls",), ("watch", "r"), ("answer", "r/w", "1")):
            result = command("runs", *arguments, "--url", url)
            assert (result.exit_code, "stagepost serve" in result.stderr) == (5, True)


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--url", "runs.example.com"), "no address"),
    (("--url", "ftp://runs.example.com"), "no address"),
    (("--url", "https://key@runs.example.com"), "holds no key"),
    (("--url", "https://runs.example.com", "-f", "runs.db"), "not both"),
    (("--url", "https://runs.example.com", "--key-file", "nowhere"), "cannot be read"),
    (("--url", "https://runs.example.com", "--key-file", "/dev/null"), "is empty"),
]


@pytest.mark.parametrize(("options", "why"), WRONG, ids=[why for _, why in WRONG])
def test_what_does_not_fit_a_service_is_refused(command: Command, options: tuple[str, ...], why: str) -> None:
    result = command("runs", "ls", *options)
    assert (result.exit_code, why in result.stderr) == (2, True)


@pytest.mark.parametrize("option", ["--app", "--by"])
def test_what_goes_with_a_file_only_is_refused(command: Command, option: str) -> None:
    result = command("runs", "answer", "r/w", "1", "--url", "http://127.0.0.1:1", option, "x")
    assert (result.exit_code, "goes with a file" in result.stderr) == (2, True)


def test_something_else_that_answers_is_no_service(command: Command) -> None:
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def hello(_request: object) -> PlainTextResponse:
        return PlainTextResponse("hello")

    async def broken(_request: object) -> PlainTextResponse:
        return PlainTextResponse("bad gateway", 502)

    made: Callable[[], Any] = lambda: served(Starlette(routes=[Route("/runs", hello), Route("/waits", broken)]))  # noqa: E731  # called by the portal
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(portal.call(made)) as url:
        assert "no stagepost service" in command("runs", "ls", "--url", url).stderr
        assert "502: bad gateway" in command("runs", "waits", "--url", url).stderr


class Cut:
    """A service whose stream of a run is cut, then ends before the run, and then tells its end."""

    def __init__(self) -> None:
        self.asked = 0

    async def events(self, _request: object) -> Any:
        from starlette.responses import StreamingResponse

        self.asked += 1
        asked = self.asked

        async def content() -> Any:
            yield _line("status", status="running")
            yield _line("at", place="draft")
            if asked == 1:
                raise RuntimeError("cut")
            if asked == 3:
                yield _line("status", status="completed")

        return StreamingResponse(content(), media_type="text/event-stream")


def _line(event: str, **given: str) -> str:
    return f"data: {json.dumps({'event': event, 'at': '2026-11-23T18:00:00Z', 'run_id': 'r', **given})}\n\n"


def test_a_watcher_comes_back_until_the_run_has_ended(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Route

    from stagepost.service._client import _runs

    monkeypatch.setattr(_runs, "_PAUSE", 0)
    cut = Cut()
    made = lambda: served(Starlette(routes=[Route("/runs/r/events", cut.events)]))  # noqa: E731  # called by the portal
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(portal.call(made)) as url:
        result = command("runs", "watch", "r", "--url", url)
    assert (result.exit_code, cut.asked) == (0, 3)
    assert [line.split("  ", 1)[1] for line in result.stdout.splitlines()] == ["running", "→ draft", "completed"]


class Talking:
    """A service whose answer is cut in the middle, which is away for a moment, and then goes on."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def shown(self, _request: object) -> Any:
        from starlette.responses import JSONResponse

        return JSONResponse({"conversation_id": "talk", "agent": "clerk", "said": [], "before": 0, "open": None})

    async def said(self, request: Any) -> Any:
        from starlette.responses import StreamingResponse

        self.asked.append(request.headers["idempotency-key"])

        async def content() -> Any:
            if len(self.asked) > 1:
                yield _part("message", seq=0, cursor="c1", role="user", text="hello")
                yield _token("one ", 0)
                yield _token("two", 1)
            raise RuntimeError("cut")

        return StreamingResponse(content(), media_type="text/event-stream")

    async def events(self, request: Any) -> Any:
        from starlette.responses import JSONResponse, StreamingResponse

        self.asked.append(request.query_params["after"])
        if len(self.asked) == 3:
            return JSONResponse({"error": {"type": "NotServing", "message": "it ends"}}, 503)

        async def content() -> Any:
            yield _token("one two three", 2)
            yield _part("message", seq=1, cursor="c2", role="assistant", text="one two three")
            yield _part("completed", cursor="c3", result="one two three")

        return StreamingResponse(content(), media_type="text/event-stream")


def _token(text: str, index: int) -> str:
    return _part("token", token=text, index=index)


def _part(kind: str, **given: object) -> str:
    where = {"timestamp": "2026-11-23T18:00:00Z", "task_id": "talk-0", "path": ["clerk"]}
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **where, **given})}\n\n"


def test_a_chat_comes_back_after_a_cut_and_says_and_hears_all_once(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Route

    from stagepost.service._client import _talk

    monkeypatch.setattr(_talk, "_PAUSE", 0)
    talking = Talking()
    routes = [
        Route("/conversations/talk", talking.shown),
        Route("/conversations/talk", talking.said, methods=["POST"]),
        Route("/runs/talk-0/events", talking.events),
    ]
    made = lambda: served(Starlette(routes=routes))  # noqa: E731  # called by the portal
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(portal.call(made)) as url:
        result = command("chat", "clerk", "--url", url, "-c", "talk", typed="hello\n")
    assert (result.exit_code, result.stdout) == (0, "one two three\n")
    assert "the service does not answer, trying again" in result.stderr
    first, second, *after = talking.asked
    assert (first == second, after) == (True, ["c1", "c1"])


def test_an_agent_of_a_service_is_named_without_its_module(command: Command) -> None:
    result = command("chat", "flows:clerk", "--url", "http://127.0.0.1:1", typed="hello\n")
    assert (result.exit_code, "by their names" in result.stderr) == (2, True)
