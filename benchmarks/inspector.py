"""How long pages of the inspector take at 100,000 runs, what they weigh, and how late a page hears of a commit.

    python -m benchmarks.inspector [RUNS]

Fills a store with runs, asks for each page as a browser does, without a network between, and prints the median and
the largest of the times, the bytes of the page, and those of all that it loads. Then pages are followed while a run
goes on: how long after the commit the first part is sent, and what 20 open pages cost a service that commits without
pause: how many runs fewer it ends in the same time.
"""

import re
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import anyio
import httpx
from benchmarks.catalogue.filling import SUPPORT, begin, fill
from starlette.applications import Starlette

from stagepost.checkpoint import SqliteStore
from stagepost.service import RequestLimits, create_app
from stagepost.workflows import Chain, Receive, Runner, State, step

OPEN = 2_000
TIMES = 15
PAGES = (
    "",
    "/runs",
    "/runs?status=failed",
    "/runs?status=failed&text=connection",
    "/runs?label=customer%3Dc77",
    "/runs?workflow=support&label=region%3Dr1&status=completed",
    "/runs/run-00050000",
    "/runs/run-00050000/history",
    "/runs/template/do/cancel",
    "/many/resume?status=failed",
)


async def count(state: State) -> dict[str, int]:
    """Count on."""
    return {"count": state.get("count", 0) + 1}


COUNTER = Chain("counter", [step("first", count), Receive("again", expect=bool), step("last", count)])


@asynccontextmanager
async def served(file: Path) -> AsyncIterator[tuple[Starlette, Runner, httpx.AsyncClient]]:
    """The application over a file whose open runs stay as they are."""
    async with (
        SqliteStore(file) as store,
        Runner(store, workflows=[SUPPORT, COUNTER], keep="all", keep_for=None) as runner,
    ):
        app = create_app(runner, limits=RequestLimits.none())
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60) as http,
        ):
            yield app, runner, http


async def times_of(http: httpx.AsyncClient, path: str) -> tuple[Sequence[float], str]:
    """Milliseconds of some requests for a page, and its text; the first, which reads the templates, does not count."""
    text = (await http.get(f"/inspect{path}")).text
    took = []
    for _ in range(TIMES):
        since = perf_counter()
        answer = await http.get(f"/inspect{path}")
        took.append((perf_counter() - since) * 1000)
        answer.raise_for_status()
    return took, text


async def weight_of(http: httpx.AsyncClient, text: str) -> int:
    """Bytes of all that a page loads."""
    found = set(re.findall(r'(?:href|src)="(/assets/[^"]+)"', text))
    return sum([(await http.get(each)).num_bytes_downloaded for each in found])


async def follow(app: Starlette, path: str, heard: list[float], ready: anyio.Event) -> None:
    """Follow a page; adds a time for each part that is sent."""
    raw, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": f"/inspect{raw}",
        "raw_path": f"/inspect{raw}".encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"localhost"), (b"accept", b"text/event-stream")],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }

    async def receive() -> dict[str, object]:
        if not ready.is_set():
            return {"type": "http.request", "body": b"", "more_body": False}
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Any) -> None:
        if b"event: part" in message.get("body", b""):
            heard.append(perf_counter())
        if message["type"] == "http.response.start":
            ready.set()

    await app(scope, receive, send)


async def latencies(app: Starlette, runner: Runner) -> Sequence[float]:
    """Milliseconds between a signal, which is a commit, and the first part of the page of its run that is sent."""
    took = []
    for number in range(10):
        run = await runner.start(COUNTER, run_id=f"late-{number}")
        await run.settled()
        heard: list[float] = []
        async with anyio.create_task_group() as group:
            group.start_soon(follow, app, f"/runs/late-{number}", heard, anyio.Event())
            await anyio.sleep(0.6)
            heard.clear()
            since = perf_counter()
            await runner.signal(run.id, "again", True)
            while not heard:  # noqa: ASYNC110  # what is heard is sent by the application
                await anyio.sleep(0.001)
            took.append((heard[0] - since) * 1000)
            group.cancel_scope.cancel()
    return took


async def busy(app: Starlette, runner: Runner, pages: int, seconds: float) -> float:
    """How many runs a second are started, and worked on until they wait, while so many pages are open."""
    done = 0
    async with anyio.create_task_group() as group:
        for number in range(pages):
            path = ("", "/runs", "/runs?status=failed", "/runs/late-1")[number % 4]
            group.start_soon(follow, app, path, [], anyio.Event())
        await anyio.sleep(2)
        begun = perf_counter()
        while perf_counter() - begun < seconds:
            run = await runner.start(COUNTER)
            await run.settled()
            done += 1
        took = perf_counter() - begun
        group.cancel_scope.cancel()
    return done / took


async def main(runs: int) -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        await begin(file)
        fill(file, runs, min(OPEN, runs // 10))
        async with served(file) as (app, runner, http):
            print(f"{runs:,} runs\n{'page':60} {'median':>9} {'largest':>9} {'page':>9} {'with all':>9}")
            for path in PAGES:
                took, text = await times_of(http, path)
                size = len(text.encode())
                whole = size + await weight_of(http, text)
                print(f"{path or '/':60} {median(took):6.1f} ms {max(took):6.1f} ms {size:9,} {whole:9,}")
            found = await latencies(app, runner)
            print(f"\na part is sent {median(found):.0f} ms after the commit (largest {max(found):.0f} ms)")
            pairs = [(await busy(app, runner, 0, 3), await busy(app, runner, 20, 3)) for _ in range(6)]
            less = 1 - median(watched / alone for alone, watched in pairs)
            alone = median(alone for alone, _ in pairs)
            print(f"{alone:.0f} runs a second with no page open, {less:.1%} fewer with 20")


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
