"""How the hub's API looks to a type checker. Checked by mypy, never run."""

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_type

from stagepost.hub import (
    Context,
    Event,
    HandlerFailed,
    Hub,
    HubMetrics,
    LogObserver,
    Message,
    MultiObserver,
    NullObserver,
    Observer,
    handles,
)


@dataclass(frozen=True)
class Question:
    text: str


@dataclass(frozen=True)
class Answer:
    text: str


async def plain(question: Question) -> Answer:
    return Answer(question.text)


async def envelope(message: Message[Question], context: Context) -> Answer:
    assert_type(message.data, Question)
    assert_type(context.hub, Hub)
    assert_type(context.agent, str)
    assert_type(await context.request("plain", message.data, expect=Answer), Answer)
    await context.send("plain", message.data, headers={"a": "b"})
    return Answer(message.data.text)


class Clerk:
    id = "clerk"

    @handles
    async def ask(self, question: Question) -> Answer:
        return Answer(question.text)

    @handles(str, bytes)
    async def text(self, text: str | bytes) -> None: ...


class Counter:
    def on_event(self, event: Event, /) -> None: ...


async def use() -> None:
    observer: Observer = MultiObserver(NullObserver(), LogObserver(), Counter())
    async with Hub("main", observer=observer, grace=timedelta(seconds=3)) as hub:
        hub.register("plain", plain, concurrency=None, mailbox=10, detach=True)
        hub.register("envelope", envelope)
        hub.register(Clerk())
        assert_type(await hub.request("plain", Question("hi"), expect=Answer, timeout=5), Answer)
        assert_type(await hub.request("plain", Question("hi"), expect=list[str], timeout=None), list[str])
        assert_type(await hub.request("plain", Question("hi")), object)
        assert_type(await Clerk().ask(Question("hi")), Answer)
        await hub.send("plain", Question("hi"), timeout=timedelta(seconds=1), trace="t")
        await hub.unregister("plain", drain=False)
        await hub.drain(timeout=None)
        assert_type(hub.metrics(), HubMetrics)
        try:
            await hub.request("envelope", Question("hi"))
        except HandlerFailed as error:
            assert_type(error.cause, BaseException)
        hub.register("plain", plain, mailbox="10")  # type: ignore[arg-type]  # a count is an int
        await hub.request("plain", 1, expect="Answer")  # type: ignore[call-overload]  # a class, not its name


def broader(message: Message[Answer]) -> Message[object]:
    return message
