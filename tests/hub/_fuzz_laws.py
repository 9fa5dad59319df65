"""What is promised, as checks of what a program has left."""

import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tests.hub._agents import Recorder
from tests.hub._fuzz_deeds import CANCELS_OWN, Job
from tests.hub._fuzz_program import AGENTS, GROUPS

from stagepost.hub import (
    Hub,
    MessageAccepted,
    MessageDead,
    MessageEvent,
    MessageStarted,
)

if TYPE_CHECKING:
    from tests.hub._fuzz_world import Record, World

ENDS = ("MessageHandled", "MessageFailed", "MessageCancelled", "MessageDead")
MANY = ("publish", "broadcast", "request_many")
REFUSALS = ("AgentNotFound", "NoHandler", "HubStopped", "HubNotStarted", "AgentStopped", "MailboxFull")


def nothing_surprising(world: "World") -> None:
    """Nobody saw what nobody may see."""
    if world.surprises:
        raise kind_of(world.surprises[0].partition(":")[0])("\n".join(world.surprises))


_KINDS: dict[str, type[AssertionError]] = {}


def kind_of(surprise: str) -> type[AssertionError]:
    """A class for each kind of surprise, by which hypothesis tells failures apart."""
    return _KINDS.setdefault(surprise, type("Surprise", (AssertionError,), {}))


def nothing_open(hub: Hub) -> None:
    """All that was accepted has ended, and nobody waits."""
    metrics = hub.metrics()
    assert metrics.in_flight == 0
    assert metrics.depth == metrics.blocked == 0
    assert metrics.waiting == ()
    assert metrics.accepted == metrics.handled + metrics.failed + metrics.cancelled + metrics.dead


def accounted_for(hub: Hub, recorder: Recorder) -> None:
    """Each accepted message ended once, and the counts say the same as the events."""
    told: Counter[str] = Counter(recorder.names)
    nothing_open(hub)
    metrics = hub.metrics()
    assert told["MessageAccepted"] == metrics.delivered
    assert [told[name] for name in ENDS] == [metrics.handled, metrics.failed, metrics.cancelled, metrics.dead]
    messages = [event for event in recorder.events if isinstance(event, MessageEvent)]
    accepted = [event.message_id for event in messages if isinstance(event, MessageAccepted)]
    started = [event.message_id for event in messages if isinstance(event, MessageStarted)]
    ended = [event.message_id for event in messages if type(event).__name__ in ENDS]
    assert set(accepted) <= set(ended)
    assert len(set(ended)) == len(ended) == metrics.accepted
    assert len(set(accepted)) == len(accepted)
    assert len(set(started)) == len(started)
    assert set(started) <= set(accepted)


def account_of_the_program(world: "World") -> None:
    """The account of a program's hub adds up."""
    if world.program.unseen:
        nothing_open(world.hub)
    else:
        accounted_for(world.hub, world.recorder)


def each_call_is_in_the_account(world: "World") -> None:
    """What was sent was accepted, once for each recipient; what was refused was not."""
    if world.program.unseen:
        return
    accepted: dict[str, Counter[str]] = defaultdict(Counter)
    dead: dict[str, Counter[str]] = defaultdict(Counter)
    for event in world.recorder.events:
        if isinstance(event, MessageEvent) and event.sender in ("x", "y"):
            if isinstance(event, MessageAccepted):
                accepted[event.trace][event.recipient] += 1
            elif isinstance(event, MessageDead):
                dead[event.trace][event.recipient] += 1
    for record in world.records.values():
        if record.outside:
            _is_in_the_account(record, accepted[f"t{record.serial}"], dead[f"t{record.serial}"])


def _is_in_the_account(record: "Record", accepted: Counter[str], dead: Counter[str]) -> None:
    """Forwarded messages keep sender and trace, so that there may be more."""
    if record.delivery is not None:
        delivery = record.delivery
        lost = (*delivery.full, *delivery.not_handled, *delivery.stopped)
        everyone = [name for name in (*delivery.delivered, *lost) if name not in GROUPS]
        assert len(set(everyone)) == len(everyone)
        assert set(delivery.delivered) <= set(accepted)
        assert set(lost) - set(GROUPS) <= set(dead)
        assert len(lost) <= dead.total()
    elif record.outcome == "refused by a layer":
        assert not accepted
    elif record.verb == "send" and record.outcome == "done":
        assert accepted[record.target] >= 1
    elif record.verb == "send" and record.outcome in REFUSALS:
        # a portal's call that is open when the hub ends cannot tell whether room was found in the last moment
        assert not accepted or (record.by_thread and record.outcome == "HubStopped")
    elif record.verb in ("request", "stream") and record.outcome in ("done", "left", "HandlerFailed"):
        assert accepted[record.target] >= 1


def one_of_each_group(world: "World") -> None:
    """Of the agents in a group at most one gets a publication."""
    if not world.program.keeps_groups:
        return
    for record in world.records.values():
        if record.verb == "publish" and record.delivery is not None:
            group = world.program.crowded(record.delivery.delivered)
            assert group is None, f"of the group {group} more than one got {record}"


def the_far_hub_keeps_its_promises(world: "World") -> None:
    """Its account adds up, and it hears each publication at most once."""
    if world.program.bridged:
        accounted_for(world.far.hub, world.far.recorder)
        heard = world.far.heard
        assert len(set(heard)) == len(heard), f"some of {heard} have come twice"


def in_order(world: "World") -> None:
    """An agent that handles one message at a time sees those of one sender and priority in the order sent."""
    for agent in AGENTS:
        if world.program.kind_of(agent).concurrency > 1:
            continue
        keyed = world.program.kind_of(agent).keyed
        seen: dict[tuple[str, int, int], list[Record]] = defaultdict(list)
        begun = set[object]()
        for recipient, serial in world.starts:
            record = world.records[serial]
            direct = record.verb in MANY or record.target == agent
            if serial in begun:  # it was forwarded to those who got it already
                continue
            if recipient == agent:
                begun.add(serial)
            if recipient == agent and direct and record.sender is not None and record.verb not in ("forward", "plan"):
                key = record.serial % 3 if keyed else 0
                seen[record.sender, record.priority, key].append(record)
        for records in seen.values():
            for earlier, later in pairwise(records):
                assert not _was_sent_before(later, earlier), f"{later} was overtaken by {earlier}"


def _was_sent_before(one: "Record", other: "Record") -> bool:
    """What has its place for certain only once it has returned: publications try twice, and threads take their time."""
    if one.verb in MANY or one.by_thread:
        return one.ended is not None and one.ended < other.begun
    return one.begun < other.begun


def cancelled_for_a_reason(world: "World") -> None:
    """A handler is cancelled when nobody waits for its reply any more, or its agent or hub ends."""
    if not world.program.words.isdisjoint(CANCELS_OWN):
        return
    for agent, serial, is_ending in world.cancelled:
        kind, record = world.program.kind_of(agent), world.records[world.root(serial)]
        gave_up = record.verb in ("request", "stream") and record.outcome not in ("done", "HandlerFailed")
        gave_up = gave_up or record.verb == "request_many"  # it does not need all of them
        assert is_ending or gave_up or kind.supervision != "resume", f"the handler of {record} was cancelled by {agent}"


def listeners_got_all(world: "World") -> None:
    """Whoever reads to the end gets each message that was accepted for it once, or it was dropped."""
    told = Counter(event.recipient for event in world.recorder.events if isinstance(event, MessageAccepted))
    for reader in world.readers:
        assert len(set(reader.got)) == len(reader.got)
        if reader.read_all and not world.program.unseen:
            assert len(reader.got) + reader.dropped == told[reader.id]


def timers_ended(world: "World") -> None:
    """No timer is active when its hub has ended."""
    assert not [timer for timer in world.timers if timer.is_active]


def events_in_order(world: "World") -> None:
    """A hub opens and closes once, and no message moves afterwards; each is accepted, started, ended, in this order."""
    if world.program.unseen:
        return
    names = world.recorder.names
    assert names.count("HubOpened") == names.count("HubClosed") == 1
    after = world.recorder.events[names.index("HubClosed") + 1 :]
    assert not [event for event in after if isinstance(event, MessageEvent)]
    stage: dict[str, int] = {}
    stages = {"MessageAccepted": 1, "MessageStarted": 2, **dict.fromkeys(ENDS, 3)}
    for event in world.recorder.events:
        if isinstance(event, MessageEvent) and (now := stages.get(type(event).__name__)) is not None:
            assert stage.get(event.message_id, 0) < now
            stage[event.message_id] = now


def nothing_kept(payloads: "Sequence[weakref.ref[Job]]") -> None:
    """No payload is alive."""
    kept = [job for job in (reference() for reference in payloads) if job is not None]
    assert not kept, f"{len(kept)} payloads are kept alive: {kept[:3]}"


LAWS: Final[tuple[Callable[["World"], None], ...]] = (
    nothing_surprising,
    account_of_the_program,
    each_call_is_in_the_account,
    one_of_each_group,
    the_far_hub_keeps_its_promises,
    in_order,
    cancelled_for_a_reason,
    listeners_got_all,
    timers_ended,
    events_in_order,
)
