"""What is expected from outside is checked, also where the type says no more than JSON does."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest
from anyio import fail_after
from tests.workflows._words import PATIENCE, Store, running

from stagepost.checkpoint import CannotRead, CannotStore, RunStatus, SqliteStore
from stagepost.hub import Hub
from stagepost.workflows import Ask, Chain, ChainError, Inbox, Receive, Runner, State, Step, StepContext, Wait, step
from stagepost.workflows._values._expected import expected

Sender: TypeAlias = Callable[[Runner, object], Any]


class Own(dict[str, int]):
    """A mapping that pydantic has no schema for."""


KINDS = {
    "int": (int, 7, "seven"),
    "str": (str, "yes", 1),
    "float": (float, 0.5, "half"),
    "bool": (bool, True, "perhaps"),
    "list": (list, [1, "a"], "a"),
    "dict": (dict, {"a": 1}, [1]),
    "list of int": (list[int], [1, 2], [1, "two"]),
    "dict of list": (dict[str, list[int]], {"a": [1]}, {"a": 1}),
    "mapping": (Mapping[str, int], {"a": 1}, {"a": "one"}),
    "mapping of one's own": (Own, {"a": 1}, 1),
    "union": (int | None, None, "none"),
    "state": (State, {"a": 1}, [1]),
}
KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def asking(kind: Any) -> Step:
    async def ask(_state: State, context: StepContext) -> dict[str, object]:
        return {"ask": await context.wait_for_answer("ask", expect=kind)}

    return step("ask", ask, answers=kind)


def answer(runner: Runner, value: object) -> Any:
    return runner.answer("r1/ask", value)


def signal(runner: Runner, value: object) -> Any:
    return runner.signal("r1", "ask", value)


WAYS: Mapping[str, tuple[Callable[[Any], Step], Sender]] = {
    "wait": (lambda kind: Wait("ask", expect=kind), answer),
    "receive": (lambda kind: Receive("ask", expect=kind), signal),
    "in a step": (asking, answer),
}
WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


@KIND
@WAY
async def test_what_is_not_of_the_type_is_refused_and_the_wait_stays_open(
    store: Store,
    way: tuple[Callable[[Any], Step], Sender],
    kind: tuple[Any, object, object],
) -> None:
    (made, send), (wanted, good, bad) = way, kind
    work = Chain("work", [made(wanted)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        with pytest.raises(CannotStore, match="it is no valid"):
            await send(runner, bad)
        assert run.status is RunStatus.WAITING
        await send(runner, good)
        assert (await run.result())["ask"] == good


async def test_a_signal_that_a_step_reads_is_checked(store: Store) -> None:
    async def read(_state: State, context: StepContext) -> None:
        await context.signals("stop")

    work = Chain("work", [Wait("ask"), step("read", read, signals={"stop": bool})])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).settled()
        with pytest.raises(CannotStore, match="bool"):
            await runner.signal("r1", "stop", "perhaps")
        assert await runner.signal("r1", "stop", value=True)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_nobody_has_checked_is_dropped_if_it_is_not_of_the_type(tmp_path: Path) -> None:
    work = Chain("work", [Wait("ask", expect=int)])
    async with running(SqliteStore(tmp_path / "runs.db"), work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        async with SqliteStore.inbox(tmp_path / "runs.db") as store:
            inbox = Inbox(store)
            await inbox.answer("r1/ask", "seven")
            while not (found := await runner.waits("r1")) or found[0].refused is None:  # noqa: ASYNC110  # another connection
                await anyio.sleep(0.01)
            assert "int" in str(found[0].refused)
            await inbox.answer("r1/ask", 7)
        assert (await run.result())["ask"] == 7


async def test_an_answer_of_an_agent_is_checked_also_if_its_type_is_no_class() -> None:
    async def chat(_payload: object) -> list[object]:
        return [1, "two"]

    with fail_after(PATIENCE):
        async with Hub() as hub:
            hub.register("oracle", chat)
            with pytest.raises(ChainError) as caught:
                await Chain("work", [Ask("oracle", lambda _: "?", expect=list[int])]).run({}, hub=hub)
    assert isinstance(caught.value.__cause__, CannotStore)


@pytest.mark.parametrize("kind", [int, list[int]])
async def test_what_an_effect_has_returned_is_of_the_type(store: Store, kind: Any) -> None:
    async def act(_state: State, context: StepContext) -> dict[str, object]:
        return {"made": await context.once("act", lambda: [1] if kind is not int else 1, expect=kind)}

    work = Chain("work", [act])
    async with running(store, work) as runner:
        assert (await (await runner.start(work)).result())["made"] == ([1] if kind is not int else 1)


async def test_an_effect_that_returns_something_else_is_in_doubt(store: Store) -> None:
    async def act(_state: State, context: StepContext) -> dict[str, object]:
        return {"made": await context.once("act", lambda: "one", expect=int)}

    work = Chain("work", [act])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        await runner.settle("r1", "act", value=1)
        assert (await run.result())["made"] == 1


def test_an_otherwise_of_another_type_is_refused() -> None:
    with pytest.raises(CannotStore, match="otherwise of wait 'ask'"):
        Wait("ask", expect=int, within=1, otherwise="none")


def test_what_comes_back_is_as_immutable_as_plain_json() -> None:
    codec = expected(dict[str, list[int]])
    read = codec.load(codec.dump({"a": [1]}, "it"))
    with pytest.raises(TypeError):
        read["a"].append(2)


def test_what_was_stored_for_another_type_cannot_be_read() -> None:
    with pytest.raises(CannotRead, match="int"):
        expected(int).load(b'"seven"')


@pytest.mark.parametrize("kind", [None, Any, object])
def test_without_a_type_anything_goes(kind: Any) -> None:
    codec = expected(kind)
    assert codec.load(codec.dump(codec.convert({"a": [1]}, "it"), "it")) == {"a": [1]}


def test_a_type_has_one_codec() -> None:
    assert expected(list[int]) is expected(list[int])
    assert expected(int) is not expected(str)
