import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from tests._needs import need
from tests.agents.mcp._calling import appear, gone, is_alive, use, use_often

from stagepost.agents import McpConnections, McpServer, McpUnavailable, Tool
from stagepost.agents._tools._invoking import ToolResult

need("mcp")

ONCE = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # starting programs takes a second
FOREIGN = Path(__file__).parent / "_foreign.py"
CLEAN = """
import os, signal
from pathlib import Path
import anyio
from stagepost.agents import McpConnections, McpServer
from tests.agents.mcp._calling import appear, gone, is_alive, use, use_often

async def main():
    server = McpServer.stdio(sys.executable, {foreign!r}, "stdio", {folder!r})
    silent = McpServer.stdio(sys.executable, "-c", "import time; time.sleep(60)", connect_timeout=0.2)
    async with McpConnections([server]) as connections:
        tools = await connections.tools()
        assert len(await use_often(tools, "echo", 200)) == 200
        await use(tools, "die")
        assert not (await use(tools, "echo", text="again")).is_error
        await use(tools, "die")
    async with McpConnections([silent, McpServer.stdio("no-such-program")]) as connections:
        try:
            await connections.tools()
        except ConnectionError as error:
            print(error)

anyio.run(main, backend={backend!r})
"""


def foreign(folder: Path, *, timeout: float = 60) -> McpServer:
    return McpServer.stdio(sys.executable, str(FOREIGN), "stdio", str(folder), name="foreign", timeout=timeout)


@asynccontextmanager
async def connected(server: McpServer) -> AsyncIterator[tuple[Tool[..., object], ...]]:
    with anyio.fail_after(120):
        async with McpConnections([server]) as connections:
            yield tuple(await connections.tools())


async def test_two_hundred_calls_at_once_and_no_process_left(tmp_path: Path) -> None:
    async with connected(foreign(tmp_path)) as tools:
        results = await use_often(tools, "echo", 200)
        pid = int((await use(tools, "pid")).text)
    assert [result.text for result in results] == [str(number) for number in range(200)]
    assert not is_alive(pid)


async def test_calls_under_a_killed_server_are_told_and_later_ones_meet_a_new_server(tmp_path: Path) -> None:
    results: list[ToolResult] = []
    names = [str(number) for number in range(50)]

    async with connected(foreign(tmp_path)) as tools:

        async def hold(name: str) -> None:
            results.append(await use(tools, "hold", name=name))

        first = int((await use(tools, "pid")).text)
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(hold, name)
            await appear(*(tmp_path / name for name in names))
            os.kill(first, signal.SIGKILL)
        second = int((await use(tools, "pid")).text)
        assert is_alive(second)
    assert {result.is_error for result in results} == {True}
    assert {"may or may not have taken effect" in result.text for result in results} == {True}
    assert len(results) == 50
    assert first != second
    assert not is_alive(first)
    assert not is_alive(second)


@ONCE
async def test_a_server_that_dies_between_calls_costs_no_call(tmp_path: Path) -> None:
    async with connected(foreign(tmp_path)) as tools:
        pid = int((await use(tools, "pid")).text)
        os.kill(pid, signal.SIGKILL)
        await gone(pid)
        await anyio.sleep(0.5)  # nothing tells when a loop has heard of the end of a pipe
        assert await use(tools, "echo", text="again") == ("again", False, ())


@ONCE
async def test_a_call_that_is_cancelled_harms_no_other(tmp_path: Path) -> None:
    async with connected(foreign(tmp_path, timeout=2)) as tools:
        pid = (await use(tools, "pid")).text
        assert (await use(tools, "hold", name="held")).text.startswith("timed out after 2 s")
        assert (await use(tools, "pid")).text == pid


async def test_a_silent_server_is_given_up_in_time_and_ended(tmp_path: Path) -> None:
    server = McpServer.stdio("sleep", "60", name="silent", cwd=tmp_path, connect_timeout=0.5)
    with anyio.fail_after(60):
        async with McpConnections([server]) as connections:
            with pytest.raises(McpUnavailable, match=r"'silent' is not available: it did not answer within 0\.5 s"):
                await connections.tools()
    assert all(folder != str(tmp_path) for folder in _folders())


def _folders() -> Iterator[str]:
    """Where processes run. What a program writes of itself may come too late for a test: that one took too long."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            yield str((process / "cwd").readlink())


@ONCE
@pytest.mark.parametrize(
    ("server", "why"),
    [
        (McpServer.stdio("no-such-program"), "there is no program 'no-such-program': install it"),
        (McpServer.stdio("true"), "'true' ended before it had answered: run it by hand"),
        (McpServer.stdio("echo", "hello"), "'echo' ended before it had answered"),
        (McpServer.stdio(str(Path(__file__))), "PermissionError"),
    ],
    ids=["missing", "ends at once", "speaks something else", "no program"],
)
async def test_a_program_that_is_no_server_is_one_clear_error(server: McpServer, why: str) -> None:
    async with McpConnections([server]) as connections:
        with anyio.fail_after(60), pytest.raises(McpUnavailable) as caught:
            await connections.tools()
    assert why in caught.value.why


@ONCE
async def test_a_server_gets_the_environment_it_was_given_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGEPOST_SECRET", "not for servers")
    script = (
        "import os, sys; open(sys.argv[1], 'w').write(f\"{os.environ.get('TOKEN')} "
        "{os.environ.get('STAGEPOST_SECRET')} {os.getcwd()}\")"
    )
    server = McpServer.stdio(sys.executable, "-c", script, str(tmp_path / "said"), env={"TOKEN": "t"}, cwd=tmp_path)
    with anyio.fail_after(60):
        async with McpConnections([server]) as connections:
            with pytest.raises(McpUnavailable):
                await connections.tools()
    assert (tmp_path / "said").read_text() == f"t None {tmp_path}"


@ONCE
async def test_leaving_in_the_middle_of_calls_ends_them_and_the_server(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            async with McpConnections([foreign(tmp_path)]) as connections:
                tools = tuple(await connections.tools())
                pid = int((await use(tools, "pid")).text)
                tasks.start_soon(lambda: use(tools, "hold", name="held"))
                await appear(tmp_path / "held")
            assert not is_alive(pid)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_process_exits_cleanly_with_warnings_as_errors(tmp_path: Path, backend: str) -> None:
    code = f"import sys; sys.path = {sys.path!r}\n" + CLEAN.format(
        foreign=str(FOREIGN), folder=str(tmp_path), backend=backend
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert "did not answer within 0.2 s" in done.stdout
