"""What is lost in a cascade is seen by who began it."""

import pytest
from anyio import fail_after
from tests.hub._agents import Gate, Ping, Recorder, echo, until

from stagepost.hub import Bridge, Context, DeadReason, Delivery, Hub, InvalidArgument, Losses, MessageDead, Published
from stagepost.hub import _losses as losses
from stagepost.hub.testing import idle


async def _text(text: str) -> None: ...


def cascading(fan: int, depth: int) -> object:
    """A handler that publishes again, as long as numbers last."""

    async def take(ping: Ping, context: Context) -> None:
        if ping.number < depth:
            for _ in range(fan):
                await context.publish("pings", Ping(ping.number + 1))

    return take


async def test_the_first_publisher_sees_what_its_cascade_loses() -> None:
    recorder = Recorder()
    with fail_after(30):
        async with Hub(observer=recorder) as hub:
            for number in range(4):
                hub.register(f"agent-{number}", cascading(3, 4), topics="pings", mailbox=5)
            hub.register("text", _text, topics="pings")
            other = await hub.publish("others", Ping())
            delivery = await hub.publish("pings", Ping(0))
            assert delivery.delivered
            await idle(hub)
            lost = hub.lost(delivery)
            metrics = hub.metrics()
            assert not hub.lost(other)
            assert hub.lost("no such trace") == Losses(trace="no such trace")
    dead = [event for event in recorder.events if isinstance(event, MessageDead)]
    assert lost.total == metrics.dead == len(dead) > 20
    assert set(lost.reasons) == {DeadReason.MAILBOX_FULL, DeadReason.UNHANDLED}
    assert sum(lost.recipients.values()) == sum(lost.reasons.values()) == lost.total
    assert {event.trace for event in dead} == {delivery.trace} == {lost.trace}
    assert {event.trace for event in recorder.events if isinstance(event, Published) and event.topic == "pings"} == {
        delivery.trace
    }
    assert lost
    assert str(lost).startswith(f"{lost.total} lost (")


async def test_losses_in_words() -> None:
    reasons = {DeadReason.EXPIRED: 1, DeadReason.MAILBOX_FULL: 4}
    assert str(Losses(trace="t")) == "nothing was lost"
    text = str(Losses(trace="t", total=5, recipients={"a": 5}, reasons=reasons))
    assert text == "5 lost (4 mailbox full, 1 expired; 5 a)"
    assert not Losses(trace="t")


async def test_what_is_lost_by_sends_of_a_cascade_counts_too() -> None:
    gate = Gate()

    async def pass_on(ping: Ping, context: Context) -> None:
        await context.send("gate", ping, ttl=0.001)

    with fail_after(10):
        async with Hub() as hub:
            hub.register(gate)
            hub.register("first", pass_on, topics="pings")
            await hub.send("gate", Ping())
            await gate.entered.wait()
            delivery = await hub.publish("pings", Ping(1))
            await until(lambda: bool(hub.lost(delivery)))
            gate.opened.set()
            assert hub.lost(delivery).reasons == {DeadReason.EXPIRED: 1}
            assert hub.lost(delivery.trace or "").recipients == {"gate": 1}


async def test_a_publication_that_belongs_to_a_trace_counts_there() -> None:
    with fail_after(10):
        async with Hub() as hub:
            hub.register("text", _text, topics="pings")
            first = await hub.publish("pings", Ping(), trace="mine")
            second = await hub.publish("pings", Ping(), trace="mine")
            assert first.trace == second.trace == "mine"
            assert hub.lost(first).total == hub.lost("mine").total == 2
            assert (await hub.publish("nobody", Ping())).trace is None


async def test_losses_are_seen_on_the_hub_where_they_happen_under_the_same_trace() -> None:
    with fail_after(10):
        async with Hub("a") as a, Hub("b") as b:
            b.register("text", _text, topics="pings")
            Bridge(a, b, topics=">")
            delivery = await a.publish("pings", Ping())
            await until(lambda: bool(b.lost(delivery)))
            assert not a.lost(delivery)


async def test_a_bounded_number_of_traces_and_recipients_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "_TRACES_KEPT", 3)
    monkeypatch.setattr(losses, "_RECIPIENTS_KEPT", 2)
    with fail_after(10):
        async with Hub() as hub:
            for number in range(4):
                hub.register(f"text-{number}", _text, topics="pings")
            for number in range(5):
                await hub.publish("pings", Ping(), trace=f"t-{number}")
            assert [bool(hub.lost(f"t-{number}")) for number in range(5)] == [False, False, True, True, True]
            assert hub.lost("t-4").recipients == {"text-0": 1, "text-1": 1, "(others)": 2}


async def test_before_a_hub_is_entered_nothing_is_lost_and_only_reports_and_traces_are_taken() -> None:
    hub = Hub()
    assert not hub.lost("t")
    assert not hub.lost(Delivery())
    hub.register("echo", echo)
    for wrong in (None, 7, ""):
        with pytest.raises(InvalidArgument, match="of"):
            hub.lost(wrong)  # type: ignore[arg-type]  # what is refused
