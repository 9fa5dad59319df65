from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from stagepost.agents import InvalidServer, McpServer


def test_a_server_has_a_name_of_its_own() -> None:
    class Named:
        name = "notes"

    assert McpServer.stdio("/usr/bin/mcp-server-time").name == "mcp-server-time"
    assert McpServer.http("https://tools.example:8080/mcp").name == "tools.example"
    assert McpServer.memory(Named()).name == "notes"
    assert McpServer.memory(object()).name == "memory"
    assert McpServer.stdio("python", "-m", "clock", name="clock").name == "clock"


def test_durations_are_seconds_or_none() -> None:
    server = McpServer.stdio("clock", timeout=timedelta(minutes=2), connect_timeout=1)
    assert (server.timeout, server.connect_timeout) == (120, 1)
    assert McpServer.stdio("clock", timeout=None).timeout is None
    assert McpServer.stdio("clock").timeout == 60


def test_what_may_be_secret_is_not_shown() -> None:
    assert "hunter2" not in repr(McpServer.stdio("clock", env={"PASSWORD": "hunter2"}))
    assert "hunter2" not in repr(McpServer.http("http://localhost/mcp", headers={"Authorization": "hunter2"}))


def test_tools_are_taken_by_patterns() -> None:
    server = McpServer.stdio("files", cwd=Path("folder"), include=["read_*", "list"], exclude=["read_secret*"])
    assert [server.offers(name) for name in ("read_file", "list", "read_secrets", "write_file")] == [
        True,
        True,
        False,
        False,
    ]
    assert McpServer.stdio("files").offers("anything")


def test_the_servers_marks_are_believed_unless_patterns_are_given() -> None:
    believed = McpServer.stdio("files")
    assert (believed.is_idempotent("read", marked=True), believed.is_idempotent("read", marked=False)) == (True, False)
    told = McpServer.stdio("files", idempotent=["read*"])
    assert (told.is_idempotent("read", marked=False), told.is_idempotent("write", marked=True)) == (True, False)
    assert not McpServer.stdio("files", idempotent=()).is_idempotent("read", marked=True)


def test_patterns_say_what_a_person_has_to_allow() -> None:
    server = McpServer.stdio("files", needs_approval=["delete_*"])
    assert (server.asks_approval("delete_all"), server.asks_approval("read")) == (True, False)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: McpServer.stdio(""), "no name"),
        (lambda: McpServer.stdio("clock", prefix="my clock."), "prefix='my clock.'"),
        (lambda: McpServer.stdio("clock", prefix="x" * 33), "up to 32"),
        (lambda: McpServer.http("localhost:8000/mcp"), "begin it with http"),
        (lambda: McpServer.stdio("clock", connect_timeout=0), "more than 0 seconds"),
        (lambda: McpServer.stdio("clock", on_unknown="ask"), "give 'tell' or 'park'"),  # type: ignore[arg-type]  # so
    ],
    ids=["no command", "prefix", "long prefix", "url", "no time", "on_unknown"],
)
def test_a_server_that_cannot_be_is_refused_where_it_is_described(make: Callable[[], McpServer], why: str) -> None:
    with pytest.raises(InvalidServer, match=why):
        make()


def test_one_text_is_no_list_of_patterns() -> None:
    with pytest.raises(TypeError, match=r"use a list of patterns, \['get_\*'\]"):
        McpServer.stdio("clock", include="get_*")


def test_a_pattern_is_a_text() -> None:
    with pytest.raises(TypeError, match="exclude contains 3"):
        McpServer.stdio("clock", exclude=[3])  # type: ignore[list-item]  # the mistake under test
