import asyncio
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel, SecretStr

from stagepost.agents import Tool, ToolContext, tool
from stagepost.agents._tools._invoking import invoke

CONTEXT = ToolContext(run_id="r", agent="lead", call_id="c", idempotency_key="r/0-0", deps={"pool": 1})


class Weather(BaseModel):
    city: str


class Login(BaseModel):
    password: SecretStr


def giving(result: object) -> Tool[[], object]:
    @tool
    async def get() -> object:
        return result

    return get


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("warm", "warm"),
        (None, "null"),
        (3.5, "3.5"),
        (Weather(city="Oslo"), '{"city":"Oslo"}'),
        ([Weather(city="Oslo"), {"tags": ("a", "b")}], '[{"city":"Oslo"},{"tags":["a","b"]}]'),
    ],
    ids=["text", "none", "number", "model", "nested"],
)
async def test_results_are_texts_or_json(result: object, text: str) -> None:
    assert await invoke(giving(result), {}, CONTEXT) == (text, False, ())


@pytest.mark.parametrize(
    ("result", "why"),
    [(object(), "unknown type"), (Login(password=SecretStr("x")), "a secret"), (float("nan"), "NaN")],
    ids=["object", "secret", "nan"],
)
async def test_a_result_that_json_cannot_say_is_an_error_result(result: object, why: str) -> None:
    text, is_error, _ = await invoke(giving(result), {}, CONTEXT)
    assert is_error
    assert text.startswith("CannotStore: the result of 'get'")
    assert why in text


async def test_sync_tools_run_in_a_thread_and_async_ones_do_not() -> None:
    async def here() -> int:
        return threading.get_ident()

    def there() -> int:
        return threading.get_ident()

    def hidden() -> Any:
        return here()  # as a decorator that is not async itself would

    own = str(threading.get_ident())
    assert (await invoke(tool(here), {}, CONTEXT)).text == own
    assert (await invoke(tool(there), {}, CONTEXT)).text != own
    assert (await invoke(tool(hidden), {}, CONTEXT)).text == own


async def test_context_is_given_to_those_who_ask_for_it() -> None:
    async def look(city: str, context: ToolContext) -> str:
        return f"{city} {context.call_id} {context.deps}"

    assert (await invoke(tool(look), {"city": "Oslo"}, CONTEXT)).text == "Oslo c {'pool': 1}"


@pytest.mark.parametrize(
    ("error", "text"),
    [(ValueError("no such city"), "ValueError: no such city"), (KeyError(), "KeyError")],
    ids=["text", "bare"],
)
async def test_what_a_tool_raises_becomes_its_result(error: Exception, text: str) -> None:
    async def fail() -> None:
        raise error

    assert await invoke(tool(fail), {}, CONTEXT) == (text, True, ())


async def test_an_async_tool_that_takes_too_long_is_ended() -> None:
    ended = anyio.Event()

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    with fail_after(5):
        text, is_error, _ = await invoke(tool(timeout=0.01)(wait), {}, CONTEXT)
    assert (text, is_error) == ("timed out after 0.01 s: wait may or may not have taken effect", True)
    assert ended.is_set()


async def test_a_sync_tool_that_takes_too_long_is_left_alone() -> None:
    release, done = threading.Event(), threading.Event()

    def wait() -> None:
        release.wait(5)
        done.set()

    with fail_after(5):
        assert (await invoke(tool(timeout=1)(wait), {}, CONTEXT)).is_error  # by then the thread has begun
        release.set()
        await anyio.to_thread.run_sync(done.wait, abandon_on_cancel=True)


async def test_a_timeout_of_the_tools_own_is_its_error() -> None:
    async def slow() -> None:
        raise TimeoutError("upstream")

    slow_tool: Callable[..., Any] = tool(timeout=5)(slow)
    assert (await invoke(slow_tool, {}, CONTEXT)).text == "TimeoutError: upstream"  # type: ignore[arg-type]  # it is a Tool


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_tool_that_awaits_what_others_cancel_has_failed() -> None:
    async def join() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    text, is_error, _ = await invoke(tool(join), {}, CONTEXT)
    assert (text, is_error) == ("cancelled: the tool awaited something that was cancelled elsewhere", True)


async def test_a_tool_ends_with_the_task_that_called_it() -> None:
    async def wait() -> None:
        await anyio.sleep_forever()

    with fail_after(5), anyio.CancelScope() as scope:
        scope.cancel()
        await invoke(tool(wait), {}, CONTEXT)
        raise AssertionError("a cancelled call has returned")
    assert scope.cancelled_caught
