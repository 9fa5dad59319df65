from contextlib import AbstractContextManager
from pathlib import Path
from traceback import format_exception

import anyio
import pytest
from tests._forks import Fork
from tests._needs import need
from tests.agents.mcp import _programs
from tests.agents.mcp._calling import appear, use, use_often

from stagepost.agents import McpConnections, McpServer, McpUnavailable, Retries
from stagepost.agents._tools._invoking import ToolResult

need("mcp")

AT_ONCE = Retries(attempts=3, first=0, most=0, jitter=0)

# Starting servers takes a second each, so not every kind meets every backend. On trio the SDK leaves the generators of
# an event stream, which only sessions need, to the garbage collector.
EVERY = pytest.mark.parametrize(
    ("anyio_backend", "kind"), [("asyncio", "http"), ("trio", "http"), ("asyncio", "legacy")]
)
HTTP = pytest.mark.parametrize(("anyio_backend", "kind"), [("asyncio", "http"), ("trio", "http")])
KINDS = pytest.mark.parametrize(("anyio_backend", "kind"), [("asyncio", "http"), ("asyncio", "legacy")])
FOREIGN = Path(__file__).parent / "_foreign.py"


def serving(folder: Path, kind: str, port: int = 0) -> AbstractContextManager[tuple[Fork, int]]:
    """A server behind HTTP in a process of its own, and its port."""
    return _programs.serving(FOREIGN, kind, folder, port)


def at(port: int, *, connect_timeout: float = 10, retries: Retries | None = AT_ONCE) -> McpServer:
    address = f"http://127.0.0.1:{port}/mcp"
    return McpServer.http(address, name="web", connect_timeout=connect_timeout, retries=retries)


@EVERY
async def test_two_hundred_calls_at_once_over_http(tmp_path: Path, kind: str) -> None:
    with serving(tmp_path, kind) as (_process, port), anyio.fail_after(120):
        async with McpConnections([at(port)]) as connections:
            results = await use_often(await connections.tools(), "echo", 200)
    assert [result.text for result in results] == [str(number) for number in range(200)]


@HTTP
async def test_a_server_that_is_killed_and_comes_back_over_http(tmp_path: Path, kind: str) -> None:
    results: list[ToolResult] = []
    names = [str(number) for number in range(20)]
    with anyio.fail_after(120):
        with serving(tmp_path, kind) as (first, port):
            async with McpConnections([at(port)]) as connections:
                tools = tuple(await connections.tools())

                async def hold(name: str) -> None:
                    results.append(await use(tools, "hold", name=name))

                async with anyio.create_task_group() as tasks:
                    for name in names:
                        tasks.start_soon(hold, name)
                    await appear(*(tmp_path / name for name in names))
                    first.kill()
                first.wait()
                with serving(tmp_path, kind, port):
                    assert await use(tools, "echo", text="again") == ("again", False, ())
    assert {(result.is_error, "may or may not" in result.text) for result in results} == {(True, True)}


@KINDS
async def test_a_server_that_is_restarted_between_calls_costs_no_call(tmp_path: Path, kind: str) -> None:
    with anyio.fail_after(120), serving(tmp_path, kind) as (first, port):
        async with McpConnections([at(port)]) as connections:
            tools = tuple(await connections.tools())
            first.kill()
            first.wait()
            with serving(tmp_path, kind, port):
                assert await use(tools, "echo", text="again") == ("again", False, ())


@KINDS
async def test_a_call_that_no_server_was_there_to_get_was_not_made_and_says_so(tmp_path: Path, kind: str) -> None:
    with anyio.fail_after(120), serving(tmp_path, kind) as (process, port):
        async with McpConnections([at(port, connect_timeout=2, retries=None)]) as connections:
            tools = tuple(await connections.tools())
            process.kill()
            process.wait()
            told = await use(tools, "echo", text="anybody?")
    assert told.is_error
    assert told.text.startswith("McpUnavailable")
    assert "may or may not" not in told.text


async def test_an_address_where_nothing_listens_is_one_clear_error() -> None:
    async with McpConnections([at(9)]) as connections:
        with (
            anyio.fail_after(60),
            pytest.raises(McpUnavailable, match=r"http://127\.0\.0\.1:9/mcp answers with Connect"),
        ):
            await connections.tools()


async def test_a_place_without_a_server_is_one_clear_error(tmp_path: Path) -> None:
    with serving(tmp_path, "http") as (_process, port):
        wrong = McpServer.http(f"http://127.0.0.1:{port}/nowhere")
        async with McpConnections([wrong]) as connections:
            with anyio.fail_after(60), pytest.raises(McpUnavailable, match="check the address"):
                await connections.tools()


@pytest.mark.parametrize(("anyio_backend", "kind"), [("asyncio", "locked"), ("trio", "locked")])
async def test_a_key_in_the_address_lets_in_and_is_in_no_log_and_no_error(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    key, password = "open-sesame-4711", "pass-word-0815"
    with serving(tmp_path, kind) as (_process, port), anyio.fail_after(120):
        server = McpServer.http(f"http://me:{password}@127.0.0.1:{port}/mcp?key={key}", name="web")
        async with McpConnections([server]) as connections:
            assert (await use(await connections.tools(), "echo", text="7")).text == "7"
        shown = f"{caplog.text} {server!r}"
        wrong = McpServer.http(f"http://me:{key}@127.0.0.1:{port}/mcp?key={password}", headers={"X-Key": "third-key"})
        async with McpConnections([wrong]) as connections:
            with pytest.raises(McpUnavailable) as caught:
                await connections.tools()
    assert "HTTP Request: POST http" in caplog.text
    told = "".join(format_exception(caught.value))
    assert "check the address" in told
    assert not [each for each in (key, password, "third-key") if each in f"{shown} {caplog.text} {told}"]
