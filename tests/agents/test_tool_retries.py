import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from anyio import fail_after
from tests.agents._weather import results

from stagepost.agents import (
    Agent,
    AgentError,
    McpCallLost,
    McpUnavailable,
    Retries,
    ScriptedModel,
    Tool,
    ToolContext,
    ToolUnavailable,
    call,
    tool,
)
from stagepost.agents._tools._invoking import invoke

CONTEXT = ToolContext(run_id="r", agent="lead", call_id="c", idempotency_key="r/0-0", deps=None)
AT_ONCE = Retries(attempts=3, first=0, most=0, jitter=0)


class Flaky:
    """Fails as it is told to, and gives the number of its attempt then."""

    def __init__(self, *errors: Exception) -> None:
        self.attempts = 0
        self._errors = list(errors)

    async def __call__(self) -> int:
        self.attempts += 1
        if self._errors:
            raise self._errors.pop(0)
        return self.attempts


def made_of(function: Callable[[], Awaitable[int]], *, idempotent: bool, retries: Retries | None = AT_ONCE) -> Any:
    made = tool(name="fetch", idempotent=True, retries=retries)(function)
    return made if idempotent else Tool(**{**vars(made), "idempotent": False})


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError("gone"),
        TimeoutError("slow"),
        ToolUnavailable("down"),
        McpCallLost("files", "read"),
        McpUnavailable("files", "away"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_idempotent_tool_is_called_again_after_what_passes(error: Exception) -> None:
    flaky = Flaky(error, error)
    with fail_after(5):
        assert await invoke(made_of(flaky, idempotent=True), {}, CONTEXT) == ("3", False, ())


@pytest.mark.parametrize(
    "error", [ValueError("no"), OSError("disk"), PermissionError("no")], ids=lambda error: type(error).__name__
)
async def test_other_errors_are_told_at_once(error: Exception) -> None:
    flaky = Flaky(error)
    told = await invoke(made_of(flaky, idempotent=True), {}, CONTEXT)
    assert (told.text, told.is_error, flaky.attempts) == (f"{type(error).__name__}: {error}", True, 1)


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (ConnectionResetError("gone"), 1),
        (TimeoutError("slow"), 1),
        (ToolUnavailable("down"), 1),
        (McpCallLost("files", "read"), 1),
        (McpUnavailable("files", "away"), 2),
    ],
    ids=["connection", "timeout", "unavailable", "lost", "nothing was called"],
)
async def test_a_tool_that_must_not_be_repeated_is_called_again_only_if_nothing_was_called(
    error: Exception, attempts: int
) -> None:
    flaky = Flaky(error)
    with fail_after(5):
        told = await invoke(made_of(flaky, idempotent=False), {}, CONTEXT)
    assert (flaky.attempts, told.is_error) == (attempts, attempts == 1)


async def test_the_last_error_is_told() -> None:
    flaky = Flaky(*(ToolUnavailable(f"down {number}") for number in range(9)))
    with fail_after(5):
        told = await invoke(made_of(flaky, idempotent=True), {}, CONTEXT)
    assert (told.text, told.is_error, flaky.attempts) == ("ToolUnavailable: down 2", True, 3)


async def test_no_retries_are_no_retries() -> None:
    flaky = Flaky(ToolUnavailable("down"))
    told = await invoke(made_of(flaky, idempotent=True, retries=None), {}, CONTEXT)
    assert (told.text, flaky.attempts) == ("ToolUnavailable: down", 1)


async def test_each_attempt_has_the_tools_whole_time() -> None:
    attempts: list[int] = []

    @tool(idempotent=True, timeout=0.01, retries=AT_ONCE)
    async def wait() -> str:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            await anyio.sleep_forever()
        return "there"

    with fail_after(5):
        assert await invoke(wait, {}, CONTEXT) == ("there", False, ())


async def test_a_thread_that_took_too_long_is_not_waited_for() -> None:
    release = threading.Event()

    @tool(idempotent=True, timeout=0.01, retries=Retries(attempts=2, first=0, most=0, jitter=0))
    def wait() -> None:
        release.wait(5)

    with fail_after(5):
        told = await invoke(wait, {}, CONTEXT)
    release.set()
    assert told == ("timed out after 0.01 s: wait may or may not have taken effect", True, ())


async def test_who_says_how_long_to_wait_is_obeyed_unless_it_is_too_long() -> None:
    flaky = Flaky(ToolUnavailable("busy", retry_after=0), ToolUnavailable("busy", retry_after=3600))
    slow = Retries(attempts=9, first=3600, most=3600, jitter=0)
    with fail_after(5):
        told = await invoke(made_of(flaky, idempotent=True, retries=slow), {}, CONTEXT)
    assert (told.text, flaky.attempts) == ("ToolUnavailable: busy", 2)


async def test_each_retry_is_logged_by_the_tools_name(caplog: pytest.LogCaptureFixture) -> None:
    flaky = Flaky(ToolUnavailable("down"), TimeoutError())
    with caplog.at_level(logging.WARNING, "stagepost"), fail_after(5):
        await invoke(made_of(flaky, idempotent=True), {}, CONTEXT)
    said: list[Any] = [record.msg for record in caplog.records]
    assert [(entry["event"], entry["tool"], entry["error"], entry["attempt"], entry["seconds"]) for entry in said] == [
        ("tool_retried", "fetch", "ToolUnavailable", 1, 0),
        ("tool_retried", "fetch", "TimeoutError", 2, 0),
    ]


async def test_a_run_that_is_left_ends_the_pause_between_attempts() -> None:
    flaky = Flaky(ToolUnavailable("busy", retry_after=100))
    with fail_after(5), anyio.move_on_after(0.01) as scope:
        await invoke(made_of(flaky, idempotent=True), {}, CONTEXT)
    assert (scope.cancelled_caught, flaky.attempts) == (True, 1)


async def test_an_agents_tool_that_comes_back_costs_no_turn() -> None:
    flaky = Flaky(ToolUnavailable("down"), ToolUnavailable("down"))
    model = ScriptedModel([call("fetch"), "done"])
    result = await Agent("a", prompt="", model=model, tools=[made_of(flaky, idempotent=True)]).run("?")
    assert [(told.text, told.is_error) for told in results(result)] == [("3", False)]
    assert result.turns == 2


def test_a_tool_that_is_unavailable_says_why() -> None:
    error = ToolUnavailable("the index is down", retry_after=3)
    assert isinstance(error, AgentError)
    assert isinstance(error, ConnectionError)
    assert (str(error), error.why, error.retry_after) == ("the index is down", "the index is down", 3)
