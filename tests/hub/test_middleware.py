import logging

import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.hub._agents import Ping, Pong, echo

from stagepost.hub import Context, HandlerFailed, Hub, PayloadChanged, Proceed, bind_log_fields, get_logger
from stagepost.hub.testing import idle


async def test_layers_wrap_the_handler_the_first_one_outside() -> None:
    log: list[str] = []

    def layer(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - its shape is the fact under test
        async def wrap(context: Context, proceed: Proceed) -> object:
            log.append(f"{name} before {context.agent}")
            reply = await proceed()
            log.append(f"{name} after")
            return reply

        return wrap

    async def quick(number: int) -> int:
        log.append("handler")
        return number

    with fail_after(5):
        async with Hub(middleware=[layer("outer"), layer("inner")]) as hub:
            hub.register("quick", quick)
            assert await hub.request("quick", 5, expect=int) == 5
    assert log == ["outer before quick", "inner before quick", "handler", "inner after", "outer after"]


async def test_a_layer_may_change_the_reply_answer_itself_or_fail() -> None:
    async def judge(context: Context, proceed: Proceed) -> object:
        match context.message.data:
            case Ping(0):
                return "no need"
            case Ping(1):
                raise PermissionError
            case _:
                return [await proceed()]

    with fail_after(5):
        async with Hub(middleware=[judge]) as hub:
            hub.register("echo", echo)
            assert await hub.request("echo", Ping(0)) == "no need"
            assert await hub.request("echo", Ping(2)) == [Pong(2)]
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("echo", Ping(1))
    assert isinstance(caught.value.cause, PermissionError)


async def test_log_fields_are_bound_round_the_handler(caplog: pytest.LogCaptureFixture) -> None:
    async def talk(ping: Ping) -> None:
        get_logger("talk").info("hello")

    with fail_after(5), caplog.at_level(logging.INFO, logger="stagepost"):
        async with Hub("main", middleware=[bind_log_fields]) as hub:
            hub.register("talk", talk)
            await hub.request("talk", Ping(), trace="t1")
    (record,) = [record for record in caplog.records if record.name == "stagepost.talk"]
    fields = record.msg
    assert isinstance(fields, dict)
    assert (fields["hub"], fields["agent"], fields["trace"]) == ("main", "talk", "t1")


class Basket(BaseModel):
    items: list[str] = []


async def test_whoever_changes_a_payload_is_found_if_looked_for() -> None:

    async def steal(basket: Basket) -> int:
        basket.items.append("x")
        return 1

    async def look(basket: Basket) -> int:
        return len(basket.items)

    with fail_after(5):
        async with Hub(check_payloads=True) as hub:
            hub.register("steal", steal)
            hub.register("look", look)
            assert await hub.request("look", Basket(items=["a"]), expect=int) == 1
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("steal", Basket())
            await hub.send("look", basket := Basket())
            basket.items.append("y")
            await idle(hub)
    assert isinstance(caught.value.cause, PayloadChanged)
    assert caught.value.cause.when == "while"
    assert hub.metrics().failed == 2


async def test_payloads_without_fields_can_be_checked_too() -> None:
    class Thing: ...

    async def take(thing: Thing) -> None: ...

    with fail_after(5):
        async with Hub(check_payloads=True) as hub:
            hub.register("take", take, topics=["a"])
            await hub.request("take", Thing())
            assert (await hub.publish("a", Thing())).complete
            await idle(hub)
    assert hub.metrics().failed == 0
