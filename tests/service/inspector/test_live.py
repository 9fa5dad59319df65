"""Pages that follow what they show: what is sent, when, and to whom, from a real server."""

import json
import re
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
import httpx
import pytest
from tests.service import _flows as flows
from tests.service.inspector import _office as office

from stagepost.checkpoint import MemoryStore, SqliteStore
from stagepost.service import RequestLimits, create_app
from stagepost.service._inspector._pulse import Pulse
from stagepost.workflows import Runner

pytest.importorskip("uvicorn")

import anyio.lowlevel
from tests._browser import served_in_thread  # the module is skipped without it

LIMIT = 20.0  # seconds: only what hangs takes so long


class Reader:
    """Events of a page, one after the other."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()

    def next(self) -> tuple[str, str]:
        kind, until = "", monotonic() + LIMIT
        for line in self._lines:
            assert monotonic() < until, "only what keeps the connection open has come"
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data" and kind:
                return kind, value
        raise EOFError

    def parts(self) -> dict[str, str]:
        """The parts that are sent at once."""
        found: dict[str, str] = {}
        while True:
            kind, data = self.next()
            if kind != "part":
                return found
            part = json.loads(data)
            found[part["id"]] = part["html"]


@contextmanager
def followed(http: httpx.Client, path: str, **headers: str) -> Iterator[Reader]:
    state = re.search(r'data-live="([\w.]+)"', http.get(path).text)
    assert state is not None
    given = {"accept": "text/event-stream", **headers}
    address = f"{path}{'&' if '?' in path else '?'}live={state[1]}"
    with http.stream("GET", address, headers=given) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Reader(answer)


@contextmanager
def served(source: Any) -> Iterator[httpx.Client]:
    app = create_app(source, limits=RequestLimits.none())
    with served_in_thread(app) as service, httpx.Client(base_url=service.address, timeout=LIMIT) as http:
        yield http


def office_of(path: Path) -> Any:
    @asynccontextmanager
    async def opened() -> Any:
        async with office.opened(SqliteStore(path)) as runner:
            await office.fill(runner)
            yield runner

    return opened


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(office_of(tmp_path_factory.mktemp("live") / "runs.db")) as client:
        yield client


def test_a_run_that_goes_on_changes_its_page_and_no_part_that_stays(http: httpx.Client) -> None:
    with followed(http, "/inspect/runs/mail-1") as page:
        assert http.post("/inspect/waits/mail-1/letter", data={"value": "hello"}).status_code == 303
        seen: dict[str, str] = {}
        while "completed" not in seen.get("part-head", ""):
            seen |= page.parts()
        assert "part-failure" not in seen
        assert "hello" in seen["part-values"]


def test_lists_and_the_inbox_change_with_any_run(http: httpx.Client) -> None:
    with (
        followed(http, "/inspect/runs?status=waiting") as page,
        followed(http, "/inspect") as inbox,
    ):
        http.post("/inspect/runs/order-1041/do/cancel", data={})
        for each in (page, inbox):
            seen = {"part-list": "order-1041"}
            while "order-1041" in seen["part-list"]:
                seen |= each.parts()


def test_whoever_comes_back_with_what_it_knows_gets_what_is_new_and_else_all(http: httpx.Client) -> None:
    with followed(http, "/inspect/runs?workflow=mail", **{"last-event-id": "0123"}) as page:
        assert set(page.parts()) == {"part-list"}


def test_a_page_of_a_run_that_is_deleted_says_so(http: httpx.Client) -> None:
    with followed(http, "/inspect/runs/order-1040") as page:
        http.post("/inspect/runs/order-1040/do/delete", data={})
        kind = ""
        while kind != "gone":
            kind = page.next()[0]


def test_a_run_that_nobody_goes_on_with_is_followed_too(tmp_path: Path) -> None:
    @asynccontextmanager
    async def left_open() -> Any:
        async with SqliteStore(tmp_path / "runs.db") as store:
            async with Runner(store, workflows=flows.workflows) as before:
                await (await before.start(flows.digest, run_id="digest-1")).settled()
            async with Runner(store, workflows=flows.changed) as runner:
                await runner.recover()
                yield runner

    with served(left_open) as client, followed(client, "/inspect/runs/digest-1") as page:
        assert client.post("/inspect/runs/digest-1/do/cancel", data={}).status_code == 303
        seen: dict[str, str] = {}
        while "cancelled" not in seen.get("part-head", ""):
            seen |= page.parts()


async def test_one_page_looks_for_all_and_all_hear_of_it() -> None:
    pulse, version, looks = Pulse(), 1, 0

    async def read() -> int:
        nonlocal looks
        looks += 1
        return version

    heard: list[int] = []

    async def follow() -> None:
        known = await pulse.changed(-1, read)
        known = await pulse.changed(known, read)
        heard.append(known)

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(follow)
            await anyio.sleep(0.35)
            before = looks
            version = 2
    assert len(heard) == 20
    assert before <= 20 + 5  # one for each at the beginning, then one each tenth of a second for all


async def test_pages_together_take_a_share_of_the_time() -> None:
    pulse = Pulse(share=0.5)
    begun = anyio.current_time()
    for _ in range(4):
        await pulse.turn()
        pulse.took(0.02)
    await pulse.turn()
    assert anyio.current_time() - begun >= 4 * 0.02 / 0.5


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore], ids=["memory", "file"])
async def test_each_commit_changes_the_version_of_a_store(kind: Any, tmp_path: Path) -> None:
    store = kind() if kind is MemoryStore else kind(tmp_path / "runs.db")
    async with store, Runner(store, workflows=[office.mail]) as runner:
        before = await store.data_version()
        assert await store.data_version() == before
        await (await runner.start(office.mail)).settled()
        assert await store.data_version() != before
