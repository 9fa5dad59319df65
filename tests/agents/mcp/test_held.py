"""Calls that stay open while somebody thinks, without a server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from stagepost.agents._mcp._held import CallGone, HeldCalls
from stagepost.agents._mcp._remote import Asked, Continuation, Elicitation, RemoteResult, Response

SEATS = Elicitation(message="Seats?")
SURE = Elicitation(message="Sure?")
TWO = Response(action="accept", content={"seats": 2})
YES = Response(action="accept", content={"sure": True})

Call = Callable[[], Awaitable[RemoteResult | Asked]]


@asynccontextmanager
async def held() -> AsyncIterator[HeldCalls]:
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            yield HeldCalls(tasks)
            tasks.cancel_scope.cancel()


def asking(calls: HeldCalls, *elicitations: Elicitation) -> Call:
    """A call whose server asks, one after the other, and tells what was said."""

    async def call() -> RemoteResult:
        said = [await calls.elicited(each) for each in elicitations]
        return RemoteResult(" ".join("nobody" if each is None else each.action for each in said), is_error=False)

    return call


def of(key: str, **responses: Response) -> Continuation:
    return Continuation(key=key, responses={name[1:]: each for name, each in responses.items()}, can_ask=True)


async def test_a_call_that_asks_nothing_has_its_result() -> None:
    async with held() as calls:
        assert await calls.make(of("a"), asking(calls)) == RemoteResult("", is_error=False)
        assert not calls.holds("a")


async def test_a_call_is_held_until_what_it_asks_is_answered() -> None:
    async with held() as calls:
        asked = await calls.make(of("a"), asking(calls, SEATS, SURE))
        assert (asked, calls.holds("a")) == (Asked(how="open", requests={"0": SEATS}), True)
        again = await calls.make(of("a", _0=TWO), asking(calls))
        assert again == Asked(how="open", requests={"1": SURE})
        assert await calls.make(of("a", _1=YES), asking(calls)) == RemoteResult("accept accept", is_error=False)
        assert not calls.holds("a")


async def test_what_was_said_before_is_said_again_at_once_to_the_same_question_and_once() -> None:
    async with held() as calls:
        continuation = Continuation(key="a", earlier=[(SURE, YES), (SEATS, TWO)], can_ask=True)
        asked = await calls.make(continuation, asking(calls, SEATS, SURE, SEATS))
        assert asked == Asked(how="open", requests={"0": SEATS})


async def test_questions_at_once_are_told_together() -> None:
    async with held() as calls:

        async def call() -> RemoteResult:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(calls.elicited, SEATS)
                tasks.start_soon(calls.elicited, SURE)
            return RemoteResult("both", is_error=False)

        asked = await calls.make(of("a"), call)
        assert isinstance(asked, Asked)
        if len(asked.requests) == 1:  # the other one came a moment later
            (name,) = asked.requests
            asked = await calls.make(of("a", **{f"_{name}": YES}), call)
            assert isinstance(asked, Asked)
        rest = {f"_{name}": YES for name in asked.requests}
        assert await calls.make(of("a", **rest), call) == RemoteResult("both", is_error=False)


async def test_a_question_outside_of_calls_or_for_a_call_without_people_has_nobody_to_ask() -> None:
    async with held() as calls:
        assert await calls.elicited(SEATS) is None
        assert await calls.make(Continuation(key="a"), asking(calls, SEATS)) == RemoteResult("nobody", is_error=False)


async def test_a_question_of_nobody_knows_which_call_is_that_of_the_first_that_does_not_wait() -> None:
    async with held() as calls, anyio.create_task_group() as others:
        ends = {key: anyio.Event() for key in ("a", "b")}
        found: dict[str, RemoteResult | Asked] = {}

        def waiting(key: str) -> Call:
            async def call() -> RemoteResult:
                await ends[key].wait()
                return RemoteResult(key, is_error=False)

            return call

        async def make(key: str) -> None:
            found[key] = await calls.make(of(key), waiting(key))

        for key in ends:
            others.start_soon(make, key)
            await wait_all_tasks_blocked()
        for elicitation in (SEATS, SURE):
            others.start_soon(calls.elicited, elicitation)
            await wait_all_tasks_blocked()
        assert found == {
            "a": Asked(how="open", requests={"0": SEATS}),
            "b": Asked(how="open", requests={"0": SURE}),
        }
        others.cancel_scope.cancel()


async def test_a_question_that_the_server_withdraws_is_not_asked_any_more() -> None:
    async with held() as calls:
        done = anyio.Event()

        async def call() -> RemoteResult:
            with anyio.CancelScope() as scope:
                withdraw.append(scope)
                await calls.elicited(SEATS)
            done.set()
            return RemoteResult("without", is_error=False)

        withdraw: list[anyio.CancelScope] = []
        await calls.make(of("a"), call)
        withdraw[0].cancel()
        await done.wait()
        assert await calls.make(of("a", _0=TWO), call) == RemoteResult("without", is_error=False)


async def test_errors_of_a_call_are_raised_to_whoever_waits_for_it() -> None:
    async with held() as calls:

        async def call() -> RemoteResult:
            await calls.elicited(SEATS)
            raise ConnectionError("gone")

        await calls.make(of("a"), call)
        with pytest.raises(ConnectionError, match="gone"):
            await calls.make(of("a", _0=TWO), call)


async def test_a_caller_that_is_cancelled_cancels_its_call() -> None:
    async with held() as calls:
        ended = anyio.Event()

        async def call() -> RemoteResult:
            try:
                await anyio.sleep_forever()
            finally:
                ended.set()
            raise AssertionError

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.make, of("a"), call)
            await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        await ended.wait()


async def test_the_oldest_of_too_many_held_calls_is_given_up() -> None:
    async with held() as calls:
        for number in range(101):
            await calls.make(of(str(number)), asking(calls, SEATS))
        assert [calls.holds(str(number)) for number in (0, 1, 100)] == [False, True, True]


async def test_calls_end_with_their_connection() -> None:
    with anyio.fail_after(5):
        async with anyio.create_task_group() as outer, anyio.create_task_group() as tasks:
            calls = HeldCalls(tasks)
            caught: list[BaseException] = []

            async def make() -> None:
                try:
                    await calls.make(of("a"), anyio.sleep_forever)  # type: ignore[arg-type]  # it never returns
                except CallGone as error:
                    caught.append(error)

            outer.start_soon(make)
            await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert len(caught) == 1
