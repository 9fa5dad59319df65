"""A limit to a step's time, and errors that are results."""

import threading
from datetime import timedelta

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.workflows._words import PATIENCE, Counted, Store, running

from stagepost.workflows import Chain, ChainError, DefinitionError, Parallel, ParallelError, State, StepTimeout, step


class PaymentDeclined(Exception):
    pass


class Order(BaseModel):
    paid: bool = False
    problem: dict[str, str] | None = None


async def linger(state: State) -> None:
    await anyio.sleep_forever()


async def decline(state: object) -> dict[str, bool]:
    raise PaymentDeclined("no funds")


@pytest.mark.parametrize("limit", [0.01, timedelta(milliseconds=10)], ids=["seconds", "timedelta"])
async def test_a_step_that_takes_too_long_is_cancelled_and_has_failed(limit: float | timedelta) -> None:
    with fail_after(PATIENCE), pytest.raises(ChainError, match=r"step 'linger' took longer than its 0\.01 s") as caught:
        await Chain("work", [step(linger, timeout=limit)]).run()
    cause = caught.value.__cause__
    assert isinstance(cause, StepTimeout)
    assert isinstance(cause, TimeoutError)
    assert (cause.step, cause.limit) == ("linger", 0.01)


async def test_a_step_that_is_quick_enough_is_not_touched() -> None:
    state = await Chain("work", [step("quick", Counted().adds("a").call, timeout=PATIENCE)]).run()
    assert state["path"] == ["a"]


async def test_a_thread_that_takes_too_long_is_left_behind() -> None:
    release, ended = threading.Event(), threading.Event()

    def block(state: State) -> None:
        release.wait(PATIENCE)
        ended.set()

    with fail_after(PATIENCE):
        with pytest.raises(ChainError, match="took longer"):
            await Chain("work", [step(block, timeout=0.5)]).run()
        assert not ended.is_set()
        release.set()
        assert await anyio.to_thread.run_sync(ended.wait, PATIENCE)


async def test_one_item_that_takes_too_long_fails_alone() -> None:
    async def wait(item: float) -> float:
        await anyio.sleep(item)
        return item

    fan = Parallel("fan", step(wait, timeout=0.5), over="n", failures="late")
    with fail_after(PATIENCE):
        state = await fan.run({"n": [0, 3600]})
    assert state["fan"] == [0]
    assert state["late"][0]["error"] == "StepTimeout: step 'wait' took longer than its 0.5 s and was cancelled"
    with fail_after(PATIENCE), pytest.raises(ParallelError):
        await Parallel("fan", step(wait, timeout=0.01)).map([3600])


@pytest.mark.parametrize("errors", [PaymentDeclined, (OSError, PaymentDeclined)], ids=["one", "several"])
async def test_an_error_that_is_a_result_is_stored_and_the_run_goes_on(
    store: Store, errors: type[Exception] | tuple[type[Exception], ...]
) -> None:
    work = Chain("work", [step("pay", decline, catch=errors, into="problem"), step("end", _end, inline=True)])
    async with running(store, work) as runner:
        state = await (await runner.start(work)).result()
    assert dict(state) == {"problem": {"error": "PaymentDeclined", "message": "no funds"}, "end": True}


def _end(_: State) -> dict[str, bool]:
    return {"end": True}


async def test_a_timeout_can_be_a_result_too() -> None:
    with fail_after(PATIENCE):
        state = await Chain("work", [step(linger, timeout=0.01, catch=TimeoutError, into="late")]).run()
    assert state["late"]["error"] == "StepTimeout"


async def test_other_errors_are_failures_as_ever() -> None:
    with pytest.raises(ChainError, match="PaymentDeclined: no funds"):
        await Chain("work", [step("pay", decline, catch=OSError, into="problem")]).run()


async def test_without_an_error_nothing_is_stored_under_its_key() -> None:
    work = Chain("work", [step("end", _end, inline=True, catch=OSError, into="problem")])
    assert dict(await work.run()) == {"end": True}


async def test_a_typed_state_needs_a_field_for_the_error() -> None:
    pay = step("pay", decline, catch=PaymentDeclined, into="problem")
    order = await Chain("work", [pay], state=Order).run()
    assert order.problem == {"error": "PaymentDeclined", "message": "no funds"}
    with pytest.raises(DefinitionError, match="its state Order has no field 'trouble'"):
        await Chain("work", [step("pay", decline, catch=PaymentDeclined, into="trouble")], state=Order).run()


@pytest.mark.parametrize("options", [{"catch": OSError}, {"into": "problem"}], ids=["catch", "into"])
def test_errors_and_their_key_go_together(options: dict[str, object]) -> None:
    with pytest.raises(DefinitionError, match="catch= and into= go together"):
        step("pay", decline, **options)  # type: ignore[call-overload]  # that is what is refused


def test_a_function_that_holds_up_the_loop_cannot_be_timed() -> None:
    with pytest.raises(DefinitionError, match="an inline function holds up the event loop"):
        step("end", _end, inline=True, timeout=1)


def test_a_limit_must_be_a_duration() -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        step(linger, timeout=-1)
