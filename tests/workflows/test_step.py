import threading
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import anyio
import pytest

from stagepost.hub import InvalidName
from stagepost.workflows import Chain, ChainError, DefinitionError, State, StepCancelled, StepContext, step


class Adder:
    """A callable object."""

    def __call__(self, state: State) -> dict[str, object]:  # noqa: ARG002  # a step's signature
        return {"thread": threading.get_ident()}


class AsyncAdder:
    """A callable object whose call is async."""

    async def __call__(self, state: State) -> dict[str, object]:  # noqa: ARG002  # a step's signature
        return {"thread": threading.get_ident()}

    async def method(self, state: State, context: StepContext) -> dict[str, object]:  # noqa: ARG002  # a step's signature
        return {"thread": threading.get_ident(), "path": context.path}


def sync(state: State) -> dict[str, object]:
    return {"thread": threading.get_ident()}


async def asynchronous(state: State) -> dict[str, object]:
    return {"thread": threading.get_ident()}


def with_amount(amount: int, state: State, *, unit: str = "m") -> dict[str, object]:
    return {"thread": threading.get_ident(), "amount": f"{amount} {unit}"}


def with_context(state: State, context: StepContext) -> dict[str, object]:
    return {"thread": threading.get_ident(), "path": context.path}


async def run(function: Callable[..., Any], *, inline: bool = False) -> Any:
    return await Chain("work", [step("it", function, inline=inline)]).run()


ASYNC = {
    "function": asynchronous,
    "object": AsyncAdder(),
    "method": AsyncAdder().method,
    "partial": partial(asynchronous),
    "lambda of partial": partial(partial(asynchronous)),
}
SYNC = {
    "function": sync,
    "object": Adder(),
    "partial": partial(with_amount, 3, unit="ft"),
    "with context": with_context,
    "lambda": lambda _: {"thread": threading.get_ident()},
}


@pytest.mark.parametrize("function", ASYNC.values(), ids=ASYNC.keys())
async def test_async_functions_run_on_the_loop(function: Callable[..., Any]) -> None:
    assert (await run(function))["thread"] == threading.get_ident()


@pytest.mark.parametrize("function", SYNC.values(), ids=SYNC.keys())
async def test_sync_functions_run_in_a_thread(function: Callable[..., Any]) -> None:
    assert (await run(function))["thread"] != threading.get_ident()


@pytest.mark.parametrize("function", SYNC.values(), ids=SYNC.keys())
async def test_inline_functions_run_on_the_loop(function: Callable[..., Any]) -> None:
    assert (await run(function, inline=True))["thread"] == threading.get_ident()


async def context_by_keyword(state: State, *, context: StepContext) -> dict[str, object]:
    return {"path": context.path}


async def context_last(state: State, unit: str = "m", context: StepContext | None = None) -> dict[str, object]:
    return {"path": f"{context and context.path}", "unit": unit}


@pytest.mark.parametrize("function", [with_context, context_by_keyword, context_last, AsyncAdder().method])
async def test_a_parameter_named_context_gets_it_wherever_it_stands(function: Callable[..., Any]) -> None:
    result = await run(function)
    assert (result["path"], result.get("unit", "m")) == ("it", "m")


def test_a_step_is_named_by_its_function_or_by_hand() -> None:
    assert (step(sync).name, step("other", sync).name) == ("sync", "other")


NAMELESS: dict[str, Callable[..., Any]] = {
    "lambda": lambda _: None,
    "partial": partial(sync),
    "object": Adder(),
}


@pytest.mark.parametrize("function", NAMELESS.values(), ids=NAMELESS.keys())
def test_a_function_without_a_name_needs_one(function: Callable[..., Any]) -> None:
    with pytest.raises(DefinitionError, match=r'no name of its own: use step\("name", function\)'):
        step(function)
    with pytest.raises(DefinitionError, match="no name of its own"):
        Chain("work", [function])
    assert step("named", function).name == "named"


def test_a_name_alone_is_no_step() -> None:
    with pytest.raises(DefinitionError, match=r"step 'load': give the function too"):
        step("load")  # type: ignore[call-overload]  # what a type checker would have said


def test_names_of_steps_follow_the_one_rule() -> None:
    with pytest.raises(InvalidName, match="step name"):
        step("a/b", sync)


def no_argument() -> None: ...
def keyword_only(*, state: State) -> None: ...
def two(state: State, pool: object) -> None: ...
def optional(state: State, pool: object = None, *rest: object, **more: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (no_argument, "its function must take the state"),
        (keyword_only, "its function must take the state"),
        (two, r"nothing is passed to its parameter 'pool': a step takes \(state\) or \(state, context\)"),
        (max, "Python does not know what <built-in function max> takes: wrap it in a function"),
    ],
    ids=["none", "keyword only", "two", "builtin"],
)
def test_other_parameters_are_refused_where_the_step_is_made(function: Callable[..., Any], why: str) -> None:
    with pytest.raises(DefinitionError, match=f"^step 'it': {why}"):
        step("it", function)


async def test_parameters_with_defaults_are_left_alone() -> None:
    assert dict(await run(optional)) == {}


async def test_the_context_says_where_the_step_stands() -> None:
    found: list[StepContext] = []

    async def look(state: State, context: StepContext) -> None:
        found.append(context)

    await Chain("outer", [Chain("inner", [look])]).run(deps="pool")
    (context,) = found
    assert (context.workflow, context.path, context.visit, context.deps, context.hub) == (
        "outer",
        "inner/look",
        0,
        "pool",
        None,
    )
    assert context.run_id.startswith("memory-")
    assert context.idempotency_key == f"{context.run_id}/inner/look"


RESULTS: dict[str, tuple[Callable[[State], object], Mapping[str, object]]] = {
    "none": (lambda _: None, {"a": 1}),
    "updates": (lambda _: {"b": 2}, {"a": 1, "b": 2}),
    "a state": (lambda state: state.set("a", 2).set("c", 3), {"a": 2, "c": 3}),
    "the state itself": (lambda state: state, {"a": 1}),
}


@pytest.mark.parametrize(("function", "expected"), RESULTS.values(), ids=RESULTS.keys())
async def test_a_step_returns_nothing_or_updates_or_a_state(
    function: Callable[[State], object], expected: Mapping[str, object]
) -> None:
    assert dict(await Chain("work", [step("it", function, inline=True)]).run({"a": 1})) == expected


@pytest.mark.parametrize("result", [7, "text", [("a", 1)], {1: 2}, {"day": {1, 2}}], ids=repr)
async def test_any_other_result_fails_the_step(result: object) -> None:
    with pytest.raises(ChainError) as caught:
        await run(lambda _: result, inline=True)
    assert caught.value.step == "it"
    assert "it" in str(caught.value.__cause__) or "day" in str(caught.value.__cause__)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio lets nobody raise its cancellations
async def test_a_step_fails_if_what_it_awaits_was_cancelled() -> None:
    async def broken(state: State) -> None:
        raise anyio.get_cancelled_exc_class()

    with pytest.raises(ChainError, match="awaited something that was cancelled elsewhere") as caught:
        await run(broken)
    assert isinstance(caught.value.__cause__, StepCancelled)
    assert caught.value.__cause__.step == "it"


async def test_cancelling_the_caller_cancels_the_step() -> None:
    cancelled = False

    async def wait(state: State) -> None:
        nonlocal cancelled
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled = True
            raise

    with anyio.move_on_after(0.01):
        await run(wait)
    assert cancelled


async def test_any_mapping_is_a_result() -> None:
    work = Chain("work", [step("a", lambda _: MappingProxyType({"n": 1}))])
    assert dict(await work.run()) == {"n": 1}
