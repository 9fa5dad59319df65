from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice

import anyio
import pytest
from tests.agents.mcp._link import ECHO, ScriptedAdapter, ScriptedLink

from stagepost.agents import McpCallLost, McpServer, McpUnavailable
from stagepost.agents._mcp._link import Connection, pauses
from stagepost.agents._mcp._remote import Asked, RemoteResult


@asynccontextmanager
async def connected(adapter: ScriptedAdapter, *, timeout: float = 5) -> AsyncIterator[Connection]:
    server = McpServer.stdio("clock", connect_timeout=timeout)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            connection = Connection(server, adapter, tasks)
            yield connection
            connection.close()


def text(result: RemoteResult | Asked) -> str:
    assert isinstance(result, RemoteResult)
    return result.text


async def test_a_link_is_opened_by_the_first_who_needs_it_and_kept() -> None:
    adapter = ScriptedAdapter("open")
    async with connected(adapter) as connection:
        assert adapter.attempts == 0
        assert list(await connection.tools()) == [ECHO]
        assert await connection.call("echo", {"a": 1}) == ("echo {'a': 1}", False, ())
        assert (adapter.attempts, adapter.open) == (1, 1)
    assert adapter.open == 0


async def test_many_who_need_a_link_at_once_share_one() -> None:
    adapter = ScriptedAdapter("open")
    async with connected(adapter) as connection, anyio.create_task_group() as tasks:
        for _ in range(200):
            tasks.start_soon(connection.call, "echo", {})
    assert adapter.attempts == 1


async def test_nothing_is_opened_for_a_connection_that_nobody_needs() -> None:
    adapter = ScriptedAdapter("open")
    async with connected(adapter):
        pass
    assert adapter.attempts == 0


async def test_a_first_attempt_that_fails_is_told_at_once_and_not_repeated() -> None:
    adapter = ScriptedAdapter(OSError("gone"))
    async with connected(adapter) as connection:
        with pytest.raises(McpUnavailable, match="'clock' is not available: told of clock: gone") as caught:
            await connection.tools()
        assert adapter.attempts == 1
    assert (caught.value.server, caught.value.why) == ("clock", "told of clock: gone")


async def test_after_a_failure_the_next_call_tries_again() -> None:
    adapter = ScriptedAdapter(OSError("gone"), "open")
    async with connected(adapter) as connection:
        with pytest.raises(McpUnavailable):
            await connection.tools()
        assert text(await connection.call("echo", {})) == "echo {}"


async def test_a_silent_server_costs_the_time_to_connect_and_no_more() -> None:
    adapter = ScriptedAdapter("hang")
    async with connected(adapter, timeout=0.05) as connection:
        with pytest.raises(McpUnavailable, match=r"did not answer within 0\.05 s"):
            await connection.tools()


async def test_calls_under_a_link_that_ends_are_lost_and_later_ones_are_made_on_another() -> None:
    adapter = ScriptedAdapter("open")
    lost: list[McpCallLost] = []

    async with connected(adapter) as connection:

        async def call() -> None:
            try:
                await connection.call("hang", {})
            except McpCallLost as error:
                lost.append(error)

        await connection.tools()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            tasks.start_soon(call)
            await adapter.links[0].hanging.wait()
            adapter.links[0].ended.set()
        assert text(await connection.call("echo", {})) == "echo {}"
        assert len(adapter.links) == 2
    assert ["may or may not have taken effect" in str(error) for error in lost] == [True, True]


async def test_a_server_that_was_there_is_tried_again_until_it_is_back() -> None:
    adapter = ScriptedAdapter("open", OSError("starting"), OSError("starting"), "open")
    async with connected(adapter) as connection:
        await connection.tools()
        adapter.links[0].ended.set()
        assert text(await connection.call("echo", {})) == "echo {}"
    assert adapter.attempts == 4


async def test_a_server_that_does_not_come_back_is_given_up_after_the_time_to_connect() -> None:
    adapter = ScriptedAdapter("open", OSError("gone for good"))
    async with connected(adapter, timeout=0.25) as connection:
        await connection.tools()
        adapter.links[0].ended.set()
        with pytest.raises(McpUnavailable, match="gone for good"):
            await connection.call("echo", {})
    assert adapter.attempts >= 3


async def test_a_call_that_a_stale_link_has_refused_is_made_on_a_fresh_one() -> None:
    def stale_once(link: ScriptedLink) -> None:
        link.stale = adapter.attempts == 1

    adapter = ScriptedAdapter("open", made=stale_once)
    async with connected(adapter) as connection:
        assert text(await connection.call("echo", {})) == "echo {}"
    assert adapter.attempts == 2


async def test_a_server_whose_links_are_always_stale_is_not_asked_for_ever() -> None:
    def always_stale(link: ScriptedLink) -> None:
        link.stale = True

    adapter = ScriptedAdapter("open", made=always_stale)
    async with connected(adapter) as connection:
        with pytest.raises(McpUnavailable, match="refuses the calls"):
            await connection.call("echo", {})


async def test_closing_ends_an_attempt_that_is_under_way() -> None:
    adapter = ScriptedAdapter("hang")
    told: list[str] = []
    with anyio.fail_after(5):
        async with connected(adapter, timeout=60) as connection, anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(McpUnavailable) as caught:
                    await connection.tools()
                told.append(caught.value.why)

            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            connection.close()
    assert told == ["its connections are closed"]


async def test_a_closed_connection_opens_nothing() -> None:
    adapter = ScriptedAdapter("open")
    async with connected(adapter) as connection:
        connection.close()
        with pytest.raises(McpUnavailable, match="closed"):
            await connection.call("echo", {})
    assert adapter.attempts == 0


async def test_cancelling_one_caller_leaves_the_link_to_the_others() -> None:
    adapter = ScriptedAdapter("open")
    async with connected(adapter) as connection:
        with anyio.move_on_after(0.01):
            await connection.call("hang", {})
        assert text(await connection.call("echo", {})) == "echo {}"
    assert adapter.attempts == 1


async def test_a_caller_that_is_cancelled_while_connecting_leaves_the_attempt_to_the_others() -> None:
    adapter = ScriptedAdapter("open")
    async with connected(adapter) as connection:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await connection.tools()
        assert list(await connection.tools()) == [ECHO]


def test_pauses_grow_to_a_limit_and_there_is_one_attempt_at_first() -> None:
    assert list(pauses(again=False)) == [0]
    assert list(islice(pauses(again=True), 8)) == [0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0]


async def test_what_a_link_was_let_in_with_is_in_no_result() -> None:
    async with connected(ScriptedAdapter("open")) as connection:
        assert "token-of-the-link" not in text(await connection.call("echo", {"a": "token-of-the-link"}))


async def test_only_an_open_link_holds_calls_and_ends_tasks() -> None:
    adapter = ScriptedAdapter("open")
    async with connected(adapter) as connection:
        await connection.cancel("t-0")
        assert not connection.holds("r/0")
        await connection.call("echo", {})
        (link,) = adapter.links
        link.held.add("r/0")
        await connection.cancel("t-1")
        assert (connection.holds("r/0"), connection.holds("r/1"), link.cancelled) == (True, False, ["t-1"])
        link.ended.set()
        await connection.cancel("t-2")
        assert (connection.holds("r/0"), link.cancelled) == (False, ["t-1"])
