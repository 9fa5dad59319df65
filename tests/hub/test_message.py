from dataclasses import FrozenInstanceError
from itertools import pairwise

import pytest
from anyio import fail_after
from tests.hub._agents import Ping

from stagepost.hub import Hub, Message, MessageType, Priority
from stagepost.hub._stamps import Stamps


async def test_a_handler_of_the_message_sees_all_that_is_known() -> None:
    seen: list[Message[Ping]] = []

    async def keep(message: Message[Ping]) -> None:
        seen.append(message)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("keeper", keep)
            await hub.request("keeper", Ping(1), sender="me", headers={"a": "b"}, timeout=9)
            await hub.send("keeper", Ping(2), trace="t-1")
    first, second = seen
    assert (first.sender, first.recipient, first.type, first.data) == ("me", "keeper", MessageType.REQUEST, Ping(1))
    assert first.deadline is not None
    assert first.deadline - first.timestamp == pytest.approx(9)
    assert dict(first.headers) == {"a": "b"}
    assert first.trace == first.id
    assert first.priority is Priority.NORMAL
    assert (second.type, second.deadline, second.trace, second.sender) == (MessageType.NOTIFICATION, None, "t-1", None)
    assert dict(second.headers) == {}
    assert len({first, second}) == 2


async def test_messages_are_frozen() -> None:
    message = Message(id="1", sender=None, recipient="a", type=MessageType.REQUEST, data=1, timestamp=0.0, trace="1")
    with pytest.raises(FrozenInstanceError):
        message.data = 2  # type: ignore[misc]  # the point of the test
    with pytest.raises(TypeError):
        message.headers["a"] = "b"  # type: ignore[index]  # the point of the test


async def test_the_sender_cannot_change_headers_after_sending() -> None:
    seen: list[Message[object]] = []

    async def keep(message: Message[object]) -> None:
        seen.append(message)

    headers = {"a": "b"}
    with fail_after(5):
        async with Hub() as hub:
            hub.register("keeper", keep)
            await hub.send("keeper", 1, headers=headers)
            headers["a"] = "changed"
    assert dict(seen[0].headers) == {"a": "b"}


def test_ids_sort_by_time_and_differ_between_hubs() -> None:
    now = [0.0]
    stamps, others = Stamps(lambda: now[0]), Stamps(lambda: now[0])
    ids = []
    for number in range(300):
        now[0] += 0.0004
        ids.append(stamps.message_id(number, now[0]))
    assert all(earlier < later for earlier, later in pairwise(ids))
    assert stamps.message_id(1, 0.0) != others.message_id(1, 0.0)
