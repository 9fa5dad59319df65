"""``stagepost inspect``: the same pages over a file, beside its owner; nothing can be changed by them."""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from tests.service.conftest import Command
from tests.service.inspector import _office as office

from stagepost.checkpoint import EncryptedStore, SqliteStore
from stagepost.service._inspector._file_app import file_app
from stagepost.workflows import Runner

LONG = 60.0  # seconds: only what hangs takes so long


@asynccontextmanager
async def shown(path: Path, *made: Any) -> AsyncIterator[httpx.AsyncClient]:
    app = file_app(path, *made)
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        yield http


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    async with office.opened(SqliteStore(path)) as runner:
        await office.fill(runner)
    return path


async def test_a_file_is_shown_beside_its_owner_and_nothing_can_be_done(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with office.opened(SqliteStore(path)) as runner:
        await office.fill(runner)
        async with shown(path) as http:
            page = (await http.get("/inspect/runs/order-1043")).text
            assert "Read-only." in page
            assert f"is owned by process {os.getpid()}" in page
            assert "label printer at dock 4" in page
            assert "/do/" not in page
            for method, url in (
                ("GET", "/inspect/runs/order-1043/do/resume"),
                ("POST", "/inspect/runs/order-1043/do/resume"),
                ("POST", "/inspect/waits/mail-1/letter"),
                ("POST", "/inspect/many/cancel"),
            ):
                refused = await http.request(method, url, headers={"accept": "text/html"})
                assert refused.status_code == 403, (method, url)
                assert "only looked at" in refused.text
            assert (await runner.runs.info("order-1043")).status == "failed"


async def test_all_pages_read_a_file_that_nobody_owns(file: Path) -> None:
    async with shown(file) as http:
        assert (await http.get("/")).headers["location"] == "/inspect"
        for path in (
            "",
            "?kind=signal",
            "/runs",
            "/runs?status=failed",
            "/runs/order-1042",
            "/runs/clerk-1/conversation",
            "/runs/article-tides/history",
            "/runs/article-tides/steps/4",
            "/runs/order-1041/whole?of=state&key=payment",
            "/waits/order-1041/release",
            "/check",
        ):
            assert (await http.get(f"/inspect{path}")).status_code == 200, path
        assert "has no owner at the moment" in (await http.get("/inspect")).text
        assert "<option>clerk</option>" in (await http.get("/inspect/runs")).text  # found in the file
        assert "/hub" not in (await http.get("/inspect")).text
        assert (await http.get("/inspect/check?go=yes")).status_code == 400


@pytest.mark.parametrize("made", [office.WORKFLOWS, office.runner()], ids=["workflows", "runner"])
async def test_with_its_workflows_open_runs_can_be_checked(file: Path, made: Any) -> None:
    given = made if isinstance(made, Runner) else list(made)
    async with shown(file, given) as http:
        assert "All 5 open runs can go on" in (await http.get("/inspect/check?go=yes")).text


async def test_a_page_of_a_file_follows_what_its_owner_commits(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with office.opened(SqliteStore(path)) as runner:
        await office.fill(runner)
        app = file_app(path)
        seen: list[bytes] = []
        heard = anyio.Event()

        async def receive() -> dict[str, object]:
            await anyio.sleep_forever()
            raise AssertionError

        async def send(message: Any) -> None:
            seen.append(message.get("body", b""))
            if b"completed" in seen[-1]:
                heard.set()

        scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": "/inspect/runs/mail-1",
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"localhost"), (b"accept", b"text/event-stream")],
            "client": ("127.0.0.1", 1),
        }
        with anyio.fail_after(LONG):
            async with app.router.lifespan_context(app), anyio.create_task_group() as group:
                group.start_soon(app, scope, receive, send)
                await runner.signal("mail-1", "letter", "Dear Ann")
                await heard.wait()
                group.cancel_scope.cancel()


def test_the_command_says_where_to_look_and_answers_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    anyio.run(_fill, path)
    process = subprocess.Popen(
        [sys.executable, "-m", "stagepost.service", "inspect", str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/inspect", line)
        assert address is not None, line
        assert httpx.get(address[0], headers={"accept": "text/html"}).status_code == 200
        assert httpx.get(address[0], headers={"host": "evil.example"}).status_code == 403
    finally:
        process.terminate()
        process.communicate(timeout=LONG)


async def _fill(path: Path) -> None:
    async with office.opened(SqliteStore(path)) as runner:
        await (await runner.start(office.mail)).settled()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.db", "none.db does not exist: give a store's file as FILE"),
        ("", "is a folder"),
        ("text.db", "it is no SQLite database"),
        ("other.db", "no store was ever opened on it"),
        ("newer.db", "upgrade stagepost"),
    ],
)
def test_what_is_no_store_is_told(command: Command, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "text.db").write_text("hello")
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE a (b)")
    anyio.run(_fill, tmp_path / "newer.db")
    with closing(sqlite3.connect(tmp_path / "newer.db")) as newer:
        newer.execute("PRAGMA user_version = 9999")
    result = command("inspect", tmp_path / name)
    assert result.exit_code == 5
    assert said in result.stderr


async def test_looking_at_a_file_leaves_it_as_it_is(file: Path) -> None:
    before = await anyio.Path(file).read_bytes()
    async with shown(file) as http:
        for path in (
            "",
            "/runs",
            "/runs/order-1041",
            "/runs/order-1043/history",
            "/check",
            "/waits/order-1041/release",
        ):
            assert (await http.get(f"/inspect{path}")).status_code == 200, path
        for path in ("/waits/order-1041/release", "/runs/order-1040/do/delete", "/many/delete", "/hub/letters/x"):
            assert (await http.post(f"/inspect{path}", data={"sure": "yes"})).status_code in (403, 404), path
    assert await anyio.Path(file).read_bytes() == before


async def test_of_an_encrypted_file_all_is_shown_that_is_not_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with office.opened(EncryptedStore(SqliteStore(path), keys=b"k" * 32)) as runner:
        await office.fill(runner)
    async with shown(path) as http:
        for run in ("order-1040", "order-1041", "order-1042", "order-1043", "article-tides", "clerk-1", "mail-0"):
            for page in ("", "/history"):
                answer = await http.get(f"/inspect/runs/{run}{page}")
                assert answer.status_code == 200, (run, page)
                assert "unicorn" not in answer.text
        for page in ("", "?kind=signal", "/runs", "/waits/order-1041/release"):
            assert (await http.get(f"/inspect{page}")).status_code == 200, page
        assert (await http.get("/inspect/runs/order-1043/steps/2")).status_code == 404


async def test_with_a_runner_that_has_the_keys_all_of_an_encrypted_file_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with office.opened(EncryptedStore(SqliteStore(path), keys=b"k" * 32)) as runner:
        await office.fill(runner)
        made = Runner(EncryptedStore(SqliteStore(path), keys=b"k" * 32), workflows=office.WORKFLOWS)
        async with shown(path, made) as http:
            page = (await http.get("/inspect/runs/order-1043")).text
            assert "label printer at dock 4" in page
            assert "sealed" not in page
            for run in ("order-1040", "order-1041", "order-1042", "order-1043", "article-tides", "clerk-1", "mail-0"):
                for part in ("", "/history"):
                    answer = await http.get(f"/inspect/runs/{run}{part}")
                    assert answer.status_code == 200, (run, part)
                    assert "sealed" not in answer.text, (run, part)
            assert (await http.get("/inspect/runs/order-1043/steps/2")).status_code == 200
            assert "All 5 open runs can go on" in (await http.get("/inspect/check?go=yes")).text


async def test_keys_that_do_not_fit_are_told_of_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with office.opened(EncryptedStore(SqliteStore(path), keys=b"k" * 32)) as runner:
        await office.fill(runner)
    made = Runner(EncryptedStore(SqliteStore(path), keys=b"o" * 32), workflows=office.WORKFLOWS)
    async with shown(path, made) as http:
        listed = await http.get("/inspect/runs")
        assert (listed.status_code, "was encrypted by key" in listed.text) == (200, True)
        refused = await http.get("/inspect/runs/order-1043", headers={"accept": "text/html"})
        assert refused.status_code < 600
        assert "was encrypted by key" in refused.text
        assert "oooo" not in listed.text + refused.text
