"""Forks of runs: what they begin with, what they share with their origin, and runs as they were."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .._blobs import digest_of
from .._happening import AttemptOutcome, Happening, HappeningKind
from .._outside import Ref, StoredValue
from .._records import (
    Commit,
    Forked,
    ItemStatus,
    Joined,
    Keep,
    Lease,
    Migrated,
    NewRun,
    RunStatus,
    SharedList,
)
from .._snapshots import Snapshot
from .._store import CheckpointStore
from .._waiting import Effect, EffectStatus
from ..errors import BlobNotFound, NotInHistory, RunNotFound, StaleCheckpoint
from ._lists import append, said, text_of
from ._words import Check, a_frame, an_item, claimed, end, equal, lease_of, new_run, refuses, started_fan

_DATA: Final = b"bytes of both"


def fork_of(origin: Snapshot, run_id: str = "fork", **more: object) -> NewRun:
    """A fork of a run as it was read: its items, its frames, and its list."""
    ref = origin.root.refs.get("list")
    root = origin.root._replace(seq=1, refs={} if ref is None else {"list": Ref(9, ref.length)})
    frames = [frame._replace(seq=1) for path, frame in origin.frames.items() if path]
    lists = [] if ref is None else [SharedList("", "list", ref)]
    forked = Forked(origin.run.run_id, origin.row, 3, frames=frames, items=origin.items, lists=lists)
    return replace(new_run(run_id), root=root, forked=replace(forked, **more))  # type: ignore[arg-type]  # its fields


async def check_a_fork_begins_where_its_origin_stands(store: CheckpointStore) -> None:
    """With its frames, items and effects; both go on by themselves, and the fork says where it comes from."""
    lease = await started_fan(store, "origin")
    ok = an_item("fan", 0)._replace(status=ItemStatus.OK, value=b"1")
    await store.commit(Commit(lease=lease, outcomes=[ok]))
    before = await store.load("origin")
    effect = Effect("step", "key", EffectStatus.DONE, b"7")
    fork, info = await store.create(fork_of(before, effects=[effect]))
    equal((info.forked_from, info.forked_at, info.status), ("origin", 3, RunStatus.RUNNING))
    equal(info, await store.info("fork"))
    after = await store.load("fork")
    equal({path: frame.seq for path, frame in after.frames.items()}, {"": 1, "fan[1]": 1})
    equal((after.items, after.effects, after.waits), (before.items, (effect,), ()))
    await store.commit(Commit(lease=lease_of(fork), frame=a_frame(2), joined=Joined("fan", 0)))
    equal(await store.load("origin"), before)
    await store.commit(Commit(lease=lease, frame=a_frame(3)))
    equal((await store.load("fork")).items, ())
    equal([run.run_id for run in (await store.find(forked_from="origin")).items], ["fork"])
    equal((await store.count(forked_from="origin", status=RunStatus.COMPLETED)).total, 0)
    equal((before.run.forked_from, before.run.forked_at), (None, None))


async def check_a_fork_shares_the_lists_of_its_origin(store: CheckpointStore) -> None:
    """Whichever of them is deleted, and whoever appends; of one that goes on already elsewhere, too."""
    for ends in (None, RunStatus.FAILED, RunStatus.COMPLETED):
        name = str(ends)
        await said(store, f"{name}-first", "a")
        lease = await said(store, name, "bc", after=(f"{name}-first", 1), ends=ends)
        for each in ("fork", "again"):
            fork, _ = await store.create(fork_of(await store.load(name), f"{name}-{each}"))
            await append(store, lease_of(fork), each[0])
            await end(store, f"{name}-{each}", RunStatus.COMPLETED)
        if ends is None:
            await append(store, lease, "d")
            await end(store, name, RunStatus.COMPLETED)
        elif ends is RunStatus.FAILED:
            await append(store, await claimed(store, name, reopen=True), "d")
            await end(store, name, RunStatus.COMPLETED)
        whole = "abc" if ends is RunStatus.COMPLETED else "abcd"
        equal([await text_of(store, f"{name}{suffix}") for suffix in ("", "-fork", "-again")], [whole, "abcf", "abca"])
        for run_id in (f"{name}-first", name):
            await store.delete(run_id)
        equal([await text_of(store, f"{name}{suffix}") for suffix in ("-fork", "-again")], ["abcf", "abca"])


async def check_a_fork_of_what_has_changed_since_is_not_stored(store: CheckpointStore) -> None:
    """Of a run that was deleted, or that refers to another list by now."""
    await said(store, "origin", "ab", ends=None)
    before = await store.load("origin")
    other = before.root._replace(seq=2, refs={"list": Ref(7, 1)})
    rows = [StoredValue("", 7, 0, b'"x"')]
    dropped = [before.root.refs["list"]]
    await store.commit(Commit(lease=await claimed(store, "origin"), frame=other, values=rows, dropped=dropped))
    with refuses(StaleCheckpoint):
        await store.create(fork_of(before))
    await end(store, "origin", RunStatus.COMPLETED)
    now = await store.load("origin")
    await store.delete("origin")
    await said(store, "origin", "ab")
    with refuses(RunNotFound):
        await store.create(fork_of(now))
    with refuses(RunNotFound):
        await store.info("fork")


async def check_a_fork_refers_to_the_bytes_of_its_origin(store: CheckpointStore) -> None:
    """They stay for it, and go with the last that refers to them."""
    digest = digest_of(_DATA)
    rows = [StoredValue("", 1, 0, b'"a"', blobs=[digest])]
    root = a_frame(1)._replace(refs={"list": Ref(1, 1)})
    await store.create(replace(new_run("origin"), root=root, values=rows, blobs={digest: _DATA}))
    await store.create(fork_of(await store.load("origin")))
    await store.create(fork_of(await store.load("fork"), "second", lists=()))
    for run_id in ("origin", "fork"):
        await end(store, run_id, RunStatus.COMPLETED)
        await store.delete(run_id)
        equal(await store.blob(digest), _DATA)
    await end(store, "second", RunStatus.COMPLETED)
    await store.delete("second")
    with refuses(BlobNotFound):
        await store.blob(digest)


async def kept(store: CheckpointStore) -> Lease:
    """A run that keeps all, with a list and a large value: frozen by 2, with item 0 ended by 4, joined by 6."""
    lease = lease_of((await store.create(replace(new_run("run"), keep=Keep.ALL)))[0])
    rows = [StoredValue("", 1, 0, b'"a"'), StoredValue("", 2, None, b'"large"')]
    frame = a_frame(2)._replace(next="fan", width=2, refs={"list": Ref(1, 1), "large": Ref(2)})
    items = [an_item("fan", 0), an_item("fan", 1)]
    await store.commit(Commit(lease=lease, frame=frame, values=rows, frozen=items))
    await store.commit(Commit(lease=lease, frame=a_frame(1, "fan[1]", x=1)))
    for item, outcome in zip(items, (AttemptOutcome.OK, AttemptOutcome.FAILED), strict=True):
        ended = item._replace(status=ItemStatus(outcome), value=b"1" if outcome == "ok" else None)
        happened = [Happening(HappeningKind.ITEM, f"fan[{item.idx}]", outcome)]
        await store.commit(Commit(lease=lease, outcomes=[ended], happened=happened))
    rows = [StoredValue("", 1, 1, b'"b"'), StoredValue("", 3, None, b'"other"')]
    frame = a_frame(3)._replace(refs={"list": Ref(1, 2), "large": Ref(3)})
    dropped = [Ref(2)]
    await store.commit(Commit(lease=lease, frame=frame, values=rows, dropped=dropped, joined=Joined("fan", 0)))
    return lease


def shown(snapshot: Snapshot) -> tuple[Sequence[str], Sequence[str], str]:
    """The frames of a run with their values, and its items."""
    root = snapshot.root.state
    values = b" ".join(root[key] for key in ("list", "large") if key in root).decode()
    items = [f"{item.idx}:{item.status}" for item in snapshot.items]
    return [f"{path}:{frame.seq}" for path, frame in sorted(snapshot.frames.items())], items, values


async def check_a_run_is_read_as_it_was(store: CheckpointStore) -> None:
    """At each number of its history, with the items and values that it had then, also when it has gone on since."""
    lease = await kept(store)
    for seq in (4, 5):
        found = [shown(await store.load("run", at=number)) for number in range(1, 7)]
        under_way = ["0:waiting", "1:failed"], '["a"] "large"'
        ended = ["0:ok", "1:failed"], '["a"] "large"'
        equal(found[0], ([":1"], [], ""))
        equal(found[1:3], [([":2"], *under_way), ([":2", "fan[1]:1"], *under_way)])
        equal(found[3:5], [([":2", "fan[1]:1"], *ended)] * 2)
        equal(found[5], ([":3"], [], '["a","b"] "other"'))
        await store.commit(Commit(lease=lease, frame=a_frame(seq)))
    for number in (0, 9, -1):
        with refuses(NotInHistory):
            await store.load("run", at=number)
    await said(store, "result", "a")
    with refuses(NotInHistory):
        await store.load("result", at=1)
    with refuses(RunNotFound):
        await store.load("unknown", at=1)


async def check_a_fork_has_a_history_of_its_own(store: CheckpointStore) -> None:
    """If it keeps all: it begins with the frames that the fork has begun with."""
    await kept(store)
    await store.create(replace(fork_of(await store.load("run", at=4)), keep=Keep.ALL))
    versions = (await store.history("fork")).items
    equal([(version.frame.path, version.frame.seq) for version in versions], [("", 1), ("fan[1]", 1)])
    both = shown(await store.load("fork"))
    equal((both[0], shown(await store.load("fork", at=2))), ([":1", "fan[1]:1"], both))


async def check_a_run_is_read_as_one_of_the_version_that_it_had(store: CheckpointStore) -> None:
    """What it was before its migration, and what that has made of it."""
    await kept(store)
    lease = await claimed(store, "run")
    await store.migrate(lease, Migrated(2, [a_frame(4, y=1)]))
    last = (await store.history("run")).items[-1].number
    versions = [(await store.load("run", at=number)).run.version for number in range(1, last + 1)]
    equal(versions, [1] * 7 + [2] * (last - 7))
    equal([dict((await store.load("run", at=number)).root.state) for number in (8, last)], [{"y": b"1"}] * 2)


async def check_the_last_failures_of_items_are_known(store: CheckpointStore) -> None:
    """By the number before their join, at any fan-out or one; not of a run that keeps no history."""
    await kept(store)
    equal(await store.last_failures("run"), 5)
    equal([await store.last_failures("run", path=path) for path in ("fan", "other")], [5, None])
    await started_fan(store, "result")
    equal(await store.last_failures("result"), None)


async def check_effects_of_runs_below_are_known(store: CheckpointStore) -> None:
    """With the step that has started them, also those of runs below; what is only noted is none."""
    await kept(store)
    for run_id, place in (("run.kid", "start"), ("run.kid.own", "inner"), ("runner.kid", "start")):
        lease = lease_of((await store.create(replace(new_run(run_id), place=place)))[0])
        effects = [
            Effect("step", "key", EffectStatus.INTENT),
            Effect("step", "note", EffectStatus.DONE, b"1", is_note=True),
        ]
        await store.commit(Commit(lease=lease, effects=effects))
        equal([effect.is_note for effect in (await store.load(run_id)).effects], [False, True])
    found = await store.effects_below("run")
    equal([effect[:4] for effect in found], [(run, "step", "key", "start") for run in ("run.kid", "run.kid.own")])
    equal({effect.is_after for effect in found}, {False})
    equal({effect.is_after for effect in await store.effects_below("run", at=1)}, {True})
    equal(list(await store.effects_below("run.kid.own")), [])


CHECKS: Final[tuple[Check, ...]] = (
    check_a_fork_begins_where_its_origin_stands,
    check_a_fork_shares_the_lists_of_its_origin,
    check_a_fork_of_what_has_changed_since_is_not_stored,
    check_a_fork_refers_to_the_bytes_of_its_origin,
    check_a_run_is_read_as_it_was,
    check_a_fork_has_a_history_of_its_own,
    check_a_run_is_read_as_one_of_the_version_that_it_had,
    check_the_last_failures_of_items_are_known,
    check_effects_of_runs_below_are_known,
)
