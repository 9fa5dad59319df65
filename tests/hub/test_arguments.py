"""What a hub is given is checked where it is given, before anything is done."""

import math
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pytest
from anyio import fail_after
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo

from stagepost.hub import (
    AgentNotFound,
    Context,
    HandlerFailed,
    Hub,
    InvalidArgument,
    InvalidHandler,
    InvalidName,
    InvalidTopic,
    Message,
    Priority,
)
from stagepost.hub._headers import NO_HEADERS
from stagepost.hub._message import MessageType

OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"concurrency": "5"}, "concurrency is '5': use a number from 1 up"),
    ({"concurrency": True}, "concurrency is True"),
    ({"concurrency": 1.5}, "concurrency is 1.5"),
    ({"concurrency": math.nan}, "concurrency is nan"),
    ({"mailbox": -1}, "mailbox is -1"),
    ({"mailbox": "100"}, "mailbox is '100'"),
    ({"overflow": "typo"}, 'overflow is \'typo\': use "wait", "reject" or "drop_oldest"'),
    ({"overflow": None}, "overflow is None"),
    ({"overflow": ["wait"]}, "overflow is"),
    ({"supervision": "typo"}, 'supervision is \'typo\': use "resume", "stop", "escalate" or Restart'),
    ({"supervision": None}, "supervision is None"),
    ({"detach": "yes"}, "detach is 'yes': use True or False"),
    ({"topics": 5}, "topics is 5: use a topic, or a list of them"),
    ({"topics": None}, "topics is None"),
]


@pytest.mark.parametrize(("options", "text"), OPTIONS, ids=[text for _, text in OPTIONS])
def test_options_of_an_agent_are_checked(options: dict[str, Any], text: str) -> None:
    hub = Hub()
    with pytest.raises(InvalidArgument, match=re.escape(text)) as caught:
        hub.register("echo", echo, **options)
    assert caught.value.argument in options
    assert hub.agents == ()


@pytest.mark.parametrize("topics", [[5], ["a b"], [""], "a..b", b"ab", [["a"]]], ids=repr)
def test_topics_of_an_agent_are_checked(topics: Any) -> None:
    hub = Hub()
    with pytest.raises(InvalidTopic, match="is not a pattern: use words separated by dots"):
        hub.register("echo", echo, topics=topics)
    assert hub.agents == ()


@pytest.mark.parametrize("topics", ["orders.>", ["orders.>"], ("orders.>",), iter(["orders.>"])], ids=type)
def test_one_text_is_one_topic(topics: Any) -> None:
    hub = Hub()
    hub.register("echo", echo, topics=topics)
    assert hub.describe().agents[0].topics == ("orders.>",)


@pytest.mark.parametrize(
    "agent", [None, 5, b"echo", "", "a.b", "a" * 101, ["echo"], object()], ids=lambda value: type(value).__name__
)
def test_ids_are_text(agent: Any) -> None:
    hub = Hub()
    with pytest.raises((InvalidName, InvalidHandler)):
        hub.register(agent, echo)
    for call in (hub.subscribe, hub.unsubscribe):
        with pytest.raises((InvalidName, AgentNotFound)):
            call(agent, "a")


Call = Callable[[Hub], Awaitable[object]]

SENDERS: dict[str, Callable[..., Call]] = {
    "send": lambda **options: lambda hub: hub.send("echo", Ping(), **options),
    "request": lambda **options: lambda hub: hub.request("echo", Ping(), **options),
    "publish": lambda **options: lambda hub: hub.publish("a", Ping(), **options),
    "broadcast": lambda **options: lambda hub: hub.broadcast(Ping(), **options),
}
TERMS: list[tuple[dict[str, Any], str]] = [
    ({"timeout": math.nan}, "timeout is nan: that is not a duration, use seconds from 0 up"),
    ({"timeout": -1}, "timeout is -1"),
    ({"timeout": "5"}, "timeout is '5'"),
    ({"timeout": True}, "timeout is True"),
    ({"timeout": 10**400}, "timeout is 1000"),
    ({"timeout": timedelta(seconds=-1)}, "timeout is datetime"),
    ({"headers": {"count": 3}}, "header 'count' is 3: use text"),
    ({"headers": {3: "count"}}, "a header's name is 3: use text"),
    ({"headers": [("role", "staff")]}, "headers is \\[.*: use a dictionary of text"),
    ({"headers": "role"}, "headers is 'role'"),
    ({"priority": 7}, "priority is 7: use a member of Priority"),
    ({"priority": "HIGH"}, "priority is 'HIGH'"),
    ({"priority": None}, "priority is None"),
    ({"priority": True}, "priority is True"),
    ({"sender": 5}, "sender is 5: use a text, or None"),
    ({"trace": 5}, "trace is 5: use a text, or None"),
    ({"trace": ""}, "trace is '': use a text, or None"),
]
LASTING: list[tuple[dict[str, Any], str]] = [({"ttl": "5"}, "ttl is '5'"), ({"ttl": -1}, "ttl is -1")]


@pytest.mark.parametrize(
    ("send", "options", "text"),
    [
        pytest.param(make(**options), options, text, id=f"{name} {text}")
        for name, make in SENDERS.items()
        for options, text in (*TERMS, *(LASTING if name != "request" else ()))
    ],
)
async def test_what_a_sender_says_is_checked(send: Call, options: dict[str, Any], text: str) -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo, topics=["a"])
            with pytest.raises(InvalidArgument, match=text):
                await send(hub)
            assert hub.metrics().sent == 0


@pytest.mark.parametrize("how", ["send", "request", "publish", "broadcast"])
async def test_what_a_handler_says_is_checked_too(how: str) -> None:
    async def act(number: int, context: Context) -> None:
        address = {"send": ("echo",), "request": ("echo",), "publish": ("a",), "broadcast": ()}[how]
        await getattr(context, how)(*address, Ping(), headers={"count": number})

    with fail_after(5):
        async with Hub() as hub:
            hub.register("act", act)
            hub.register("echo", echo, topics="a")
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("act", 3)
            assert isinstance(caught.value.cause, InvalidArgument)
            assert hub.metrics().sent == 1


@pytest.mark.parametrize(
    "recipient", [None, 5, Gate("echo"), ["echo"], b"echo"], ids=lambda value: type(value).__name__
)
async def test_a_recipient_that_is_no_id_is_refused(recipient: Any) -> None:
    async def forward(ping: Ping, context: Context) -> None:
        await context.forward(recipient)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            hub.register("forward", forward)
            for send in (hub.send, hub.request):
                with pytest.raises(InvalidName, match="is not a valid agent id"):
                    await send(recipient, Ping())
            with pytest.raises(HandlerFailed, match="is not a valid agent id"):
                await hub.request("forward", Ping())
            with pytest.raises(InvalidName, match="is not a valid agent id"):
                await hub.unregister(recipient)


@pytest.mark.parametrize("topic", [None, 5, "a.*", "", ["a"], "a b"], ids=repr)
async def test_a_topic_to_publish_to_is_checked(topic: Any) -> None:
    with fail_after(5):
        async with Hub() as hub:
            with pytest.raises(InvalidTopic, match="is not a topic to publish to"):
                await hub.publish(topic, Ping())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"overflow": "typo"}, 'overflow is \'typo\': use "reject" or "drop_oldest"'),
        ({"overflow": "wait"}, "overflow is 'wait'"),
        ({"limit": "5"}, "limit is '5'"),
        ({"limit": 0}, "limit is 0"),
    ],
    ids=str,
)
async def test_what_a_listener_says_is_checked(options: dict[str, Any], text: str) -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            with pytest.raises(InvalidArgument, match=text):
                async with hub.listen("a", **options):
                    raise AssertionError
            with pytest.raises(InvalidTopic):
                async with hub.listen(["a"]):  # type: ignore[arg-type]  # the point
                    raise AssertionError
            assert hub.describe().listeners == ()
            async with hub.listen("a") as stream:
                assert stream.id == "listener-1"
    assert recorder.names.count("SubscriptionAdded") == 1


async def test_numbers_and_durations_of_other_kinds_will_do() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo, concurrency=math.inf, mailbox=math.inf)  # type: ignore[arg-type]  # means None
            for timeout in (Fraction(5, 2), 3, timedelta(seconds=3), None):
                assert await hub.request("echo", Ping(1), timeout=timeout, priority=3) == Pong(1)  # type: ignore[call-overload]  # the point
            assert hub.describe().agents[0].mailbox is None


async def test_headers_are_copied_and_cannot_be_changed() -> None:
    seen: list[Message[Ping]] = []

    async def note(message: Message[Ping]) -> None:
        seen.append(message)

    headers = {"role": "staff"}
    with fail_after(5):
        async with Hub() as hub:
            hub.register("note", note)
            await hub.send("note", Ping(), headers=headers, priority=Priority.HIGH)
            headers["role"] = "guest"
    (message,) = seen
    assert dict(message.headers) == {"role": "staff"}
    assert isinstance(message.headers, MappingProxyType)


def message(headers: Any) -> Message[int]:
    return Message(
        id="1", sender=None, recipient="a", type=MessageType.REQUEST, data=1, timestamp=0.0, trace="t", headers=headers
    )


def test_the_headers_of_a_message_made_by_hand_are_checked() -> None:
    assert message(NO_HEADERS).headers is NO_HEADERS
    assert isinstance(message({"a": "b"}).headers, MappingProxyType)
    with pytest.raises(InvalidArgument, match="header 'a' is 1"):
        message({"a": 1})


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError


def test_a_refused_value_that_cannot_be_shown_is_named_by_its_class() -> None:
    assert "timeout is a Unspeakable: " in str(InvalidArgument("timeout", Unspeakable(), "use seconds"))
    assert len(str(InvalidArgument("timeout", "x" * 10_000, "use seconds"))) < 200


CAUSES: list[tuple[str, Callable[[Hub, Any], Any]]] = [
    ("send", lambda hub, cause: hub.send("echo", Ping(), cause=cause)),
    ("request", lambda hub, cause: hub.request("echo", Ping(), cause=cause)),
    ("publish", lambda hub, cause: hub.publish("a.b", Ping(), cause=cause)),
    ("broadcast", lambda hub, cause: hub.broadcast(Ping(), cause=cause)),
    ("request_many", lambda hub, cause: hub.request_many("a.b", Ping(), cause=cause)),
    ("send_later", lambda hub, cause: hub.send_later("echo", Ping(), after=60, cause=cause)),
]


@pytest.mark.parametrize("cause", [5, "", b"id", ["id"], Message], ids=repr)
@pytest.mark.parametrize("act", [act for _, act in CAUSES], ids=[name for name, _ in CAUSES])
async def test_what_is_no_cause_is_refused_before_anything_is_sent(act: Callable[[Hub, Any], Any], cause: Any) -> None:
    seen: list[Ping] = []

    async def note(ping: Ping) -> Pong:
        seen.append(ping)
        return Pong(1)

    async with Hub() as hub:
        hub.register("echo", note, topics="a.>")
        with pytest.raises(InvalidArgument, match=r"cause is .*: use a Message, or the id of one, or None"):
            await act(hub, cause)
    assert not seen


async def test_what_is_no_cause_of_a_stream_is_refused_before_it_is_read() -> None:
    cause: Any = 5
    async with Hub() as hub:
        with pytest.raises(InvalidArgument, match="cause is 5"):
            hub.stream("part", Ping(), cause=cause)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"instances": "many"}, "instances is 'many'"),
        ({"idle": "long"}, "idle is 'long'"),
        ({"instances": 0}, "instances is 0"),
    ],
    ids=repr,
)
def test_options_of_instances_are_checked_without_keys_too(options: dict[str, Any], text: str) -> None:
    hub = Hub()
    with pytest.raises(InvalidArgument, match=re.escape(text)):
        hub.register("echo", echo, **options)


async def test_what_is_no_flag_and_no_topic_is_refused_when_members_leave() -> None:
    async with Hub() as hub:
        hub.register("echo", echo, topics="a.>")
        with pytest.raises(InvalidArgument, match="drain is 'no': use True or False"):
            await hub.unregister("echo", drain="no")  # type: ignore[arg-type]  # that is the point
        for topic in (5, "a b", "", ["a.>"]):
            with pytest.raises(InvalidTopic):
                hub.unsubscribe("echo", topic)  # type: ignore[arg-type]  # that is the point
        assert hub.agents == ("echo",)
