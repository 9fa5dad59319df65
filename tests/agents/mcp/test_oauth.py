"""HTTP servers that let a process in by client credentials: tokens are got, renewed, and seen by nobody."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from anyio import fail_after
from pydantic import SecretStr

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.agents._weather import results
from tests.agents.mcp import _programs
from tests.agents.mcp._calling import appear, use, use_often
from tests.agents.mcp._clerk import at_work, ended, said
from tests.agents.mcp._locked import CLIENT, SECRET, TOKEN

from stagepost.agents import (
    Agent,
    ClientCredentials,
    InvalidServer,
    McpConnections,
    McpServer,
    McpUnavailable,
    ScriptedModel,
    call,
)

FILES = ("runs.db", "runs.db-wal")
LOCKED = Path(__file__).parent / "_locked.py"


def ANY(value: Any) -> Any:  # noqa: N802  # what a type checker would refuse
    return value


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def serving(folder: Path, uses: int = 1000) -> Iterator[int]:
    """The server, whose tokens are good for some requests each, and its port."""
    with _programs.serving(LOCKED, folder, uses) as (_, port):
        yield port


def at(port: int, *, secret: str = SECRET, issuer: str = "/auth", **options: Any) -> McpServer:
    auth = ClientCredentials(CLIENT, SecretStr(secret), issuer=f"http://127.0.0.1:{port}{issuer}", **options)
    return McpServer.http(f"http://127.0.0.1:{port}/mcp", name="vault", auth=auth, connect_timeout=10)


def log(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


@pytest.mark.parametrize(
    ("method", "how"), [("client_secret_basic", "header"), ("client_secret_post", "body")], ids=["header", "body"]
)
async def test_a_token_is_got_for_the_server_and_used_for_all_requests(
    tmp_path: Path, method: Literal["client_secret_basic", "client_secret_post"], how: str
) -> None:
    with serving(tmp_path) as port, fail_after(30):
        async with McpConnections([at(port, method=method, scope="read")]) as connections:
            found = await use_often(await connections.tools(), "echo", 20)
    assert [result.text for result in found] == [str(number) for number in range(20)]
    assert log(tmp_path) == ["wants a token", f"token by {how} for client_credentials read True"]


async def test_a_token_that_has_expired_is_renewed_and_no_call_is_lost(tmp_path: Path) -> None:
    with serving(tmp_path, uses=3) as port, fail_after(60):
        async with McpConnections([at(port)]) as connections:
            tools = await connections.tools()
            one_by_one = [await use(tools, "echo", text=str(number)) for number in range(10)]
            at_once = await use_often(tools, "echo", 10)
    assert [(result.text, result.is_error) for result in one_by_one] == [(str(number), False) for number in range(10)]
    assert [(result.text, result.is_error) for result in at_once] == [(str(number), False) for number in range(10)]
    assert sum("token by" in line for line in log(tmp_path)) > 3


async def test_calls_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with serving(tmp_path) as port, fail_after(30):
        async with McpConnections([at(port)]) as connections, anyio.create_task_group() as tasks:
            tools = await connections.tools()
            tasks.start_soon(lambda: use(tools, "hold", name="held"))
            await appear(tmp_path / "held")
            assert (await use(tools, "echo", text="beside")).text == "beside"
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        pytest.param({"secret": "other-secret"}, "401", id="a wrong secret"),
        pytest.param({"issuer": "/elsewhere"}, "elsewhere", id="another authorization server"),
    ],
)
async def test_a_process_that_gets_no_token_is_told_what_to_do(
    tmp_path: Path, wrong: dict[str, str], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(tmp_path) as port, fail_after(30):
        async with McpConnections([at(port, **wrong)]) as connections:
            with pytest.raises(McpUnavailable) as caught:
                await connections.tools()
    told = str(caught.value)
    assert [part for part in (why, "there is no token", "client_secret, scope and issuer") if part not in told] == []
    assert "other-secret" not in told + caplog.text


async def test_a_token_that_cannot_be_renewed_costs_its_calls_and_no_others(tmp_path: Path) -> None:
    with serving(tmp_path, uses=8) as port, fail_after(60):
        async with McpConnections([at(port)]) as connections:
            tools = await connections.tools()
            assert not (await use(tools, "echo", text="a")).is_error
            (tmp_path / "closed").touch()
            found = [await use(tools, "echo", text=str(number)) for number in range(8)]
            (tmp_path / "closed").unlink()
            again = await use(tools, "echo", text="again")
    refused = [result.text for result in found if result.is_error]
    assert refused
    assert all("nothing was called" in text and "client_secret" in text for text in refused)
    assert (again.text, again.is_error) == ("again", False)


async def test_a_server_that_wants_a_token_from_a_process_without_one_is_told_of(tmp_path: Path) -> None:
    with serving(tmp_path) as port, fail_after(30):
        async with McpConnections([McpServer.http(f"http://127.0.0.1:{port}/mcp", name="vault")]) as connections:
            with pytest.raises(McpUnavailable, match="headers"):
                await connections.tools()


async def test_neither_token_nor_secret_is_in_a_file_a_log_or_a_result(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(tmp_path, uses=4) as port, fail_after(60):
        calls = [call("echo", text=text) for text in (f"I am {TOKEN}-0, {TOKEN}-1", f"with {SECRET}", "x", "y")]
        agent = Agent("a", "", model=ScriptedModel([*calls, "done"]), tools=[at(port)])
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            task = await ended(tasks, runner)
    assert task.output == "done"
    texts = said(task)
    assert "***" in texts[0]
    assert "***" in texts[1]
    stored = b"".join(map(Path.read_bytes, filter(Path.is_file, (tmp_path / name for name in FILES))))
    assert SECRET.encode() not in stored
    assert SECRET not in caplog.text + repr(agent) + str(agent.describe())
    assert f"{TOKEN}-0" not in " ".join(texts)


def test_a_run_in_memory_gets_a_token_too(tmp_path: Path) -> None:
    with serving(tmp_path) as port:
        agent = Agent("a", "", model=ScriptedModel([call("echo", text="hi"), "done"]), tools=[at(port)])
        assert [each.text for each in results(agent.run_sync("go"))] == ["hi"]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: ClientCredentials("", "s", issuer="https://a"), "client_id"),
        (lambda: ClientCredentials("c", "", issuer="https://a"), "client_secret"),
        (lambda: ClientCredentials("c", "s", issuer="auth.example.com"), "issuer"),
        (lambda: ClientCredentials("c", "s", issuer="https://a", method=ANY("jwt")), "client_secret_basic"),
        (lambda: McpServer.http("https://a", auth=ANY("token")), "ClientCredentials"),
        (
            lambda: McpServer.http(
                "https://a", headers={"Authorization": "x"}, auth=ClientCredentials("c", "s", issuer="https://a")
            ),
            "leave the header",
        ),
    ],
)
def test_credentials_that_cannot_be_are_refused_where_they_are_given(make: Any, why: str) -> None:
    with pytest.raises((ValueError, InvalidServer), match=why):
        make()


def test_credentials_do_not_show_the_secret() -> None:
    server = at(1)
    auth = server.transport.auth  # type: ignore[union-attr]  # it is behind HTTP
    assert (SECRET in repr(server), SECRET in repr(auth), SECRET in server.secrets) == (False, False, True)
    assert server.mask(f"a {SECRET} b") == "a *** b"
