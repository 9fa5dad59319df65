"""Lists of several runs against a model of them: each run has its elements, and nothing stays that no run refers to."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests._examples import law
from tests.checkpoint._builders import claimed, new_run

from stagepost.checkpoint import (
    BlobNotFound,
    Closing,
    Commit,
    Continued,
    Frame,
    Keep,
    Lease,
    MemoryStore,
    Migrated,
    Ref,
    RunStatus,
    StoredValue,
)
from stagepost.checkpoint._blobs import digest_of

RUNS = ["a", "b", "c", "d", "e"]
TABLES = ("lists", "list_refs", "elements", "element_blobs", "blobs", "blob_refs", "vals")
Deed: TypeAlias = tuple[str, str, str, int]

acts: st.SearchStrategy[Deed] = st.tuples(
    st.sampled_from(
        [*["start", "append", "complete", "delete"] * 3, "fail", "reopen", "prune", "migrate", "drop", "restart"]
    ),
    st.sampled_from(RUNS),
    st.sampled_from(["", *RUNS]),
    st.integers(0, 6),
)


class World:
    """What should be stored."""

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self.lists: dict[str, list[bytes]] = {}
        self.past: dict[str, list[list[bytes]]] = defaultdict(list)
        self.status: dict[str, str] = {}
        self.leases: dict[str, Lease] = {}
        self.made = 0

    def element(self) -> tuple[bytes, str]:
        """A new element and the digest of its own bytes."""
        self.made += 1
        return b"%d" % self.made, digest_of(b"of %d" % self.made)

    def forget(self, run_id: str) -> None:
        for known in (self.lists, self.past, self.status, self.leases):
            known.pop(run_id, None)

    @property
    def elements(self) -> set[bytes]:
        """What some run or its history has."""
        now = [part for parts in self.lists.values() for part in parts]
        return {*now, *(part for versions in self.past.values() for parts in versions for part in parts)}


def rows_of(world: World, ref: Ref, count: int) -> tuple[list[StoredValue], dict[str, bytes | None]]:
    rows, blobs = [], {}
    for place in range(count):
        data, digest = world.element()
        rows.append(StoredValue("", ref.number, (ref.length or 0) + place, data, ref.maker, (digest,)))
        blobs[digest] = b"of " + data
    return rows, dict(blobs)


def framed(seq: int, ref: Ref) -> Frame:
    """A frame with a list, which is none while it is empty."""
    return Frame("", seq, "next", {}, refs={"list": ref} if ref.length else {})


async def start(store: MemoryStore, world: World, run_id: str, other: str, count: int) -> None:
    before = world.lists.get(other, [])[:count]
    rows, blobs = rows_of(world, Ref(1, len(before)), 2)
    lease, _ = await store.create(
        replace(
            new_run(run_id),
            root=framed(1, Ref(1, len(before) + 2)),
            values=rows,
            blobs=blobs,
            keep=world.keep,
            continued={"list": Continued(other, len(before))} if other in world.lists else {},
        )
    )
    assert lease is not None
    world.leases[run_id], world.status[run_id] = lease, "open"
    world.lists[run_id] = [*before, *(row.value for row in rows)]


async def append(store: MemoryStore, world: World, run_id: str, count: int) -> None:
    snapshot = await store.load(run_id)
    ref = snapshot.root.refs.get("list", Ref(snapshot.numbers + 1, 0))
    rows, blobs = rows_of(world, ref, count)
    frame = framed(snapshot.root.seq + 1, ref._replace(length=(ref.length or 0) + count))
    await store.commit(Commit(lease=world.leases[run_id], frame=frame, values=rows, blobs=blobs))
    world.lists[run_id] = [*world.lists[run_id], *(row.value for row in rows)]


async def drop(store: MemoryStore, world: World, run_id: str) -> None:
    root = (await store.load(run_id)).root
    dropped = list(root.refs.values())
    await store.commit(Commit(lease=world.leases[run_id], frame=framed(root.seq + 1, Ref(0, 0)), dropped=dropped))
    world.lists[run_id] = []


async def migrate(store: MemoryStore, world: World, run_id: str) -> None:
    snapshot = await store.load(run_id)
    parts = list(reversed(world.lists[run_id]))
    ref = Ref(snapshot.numbers + 1, len(parts))
    rows = [StoredValue("", ref.number, idx, part) for idx, part in enumerate(parts)]
    await store.migrate(world.leases[run_id], Migrated(2, [framed(snapshot.root.seq + 1, ref)], rows))
    world.lists[run_id] = parts


async def act(store: MemoryStore, world: World, deed: Deed) -> None:  # noqa: C901  # one case for each deed
    kind, run_id, other, count = deed
    status = world.status.get(run_id)
    before = list(world.lists.get(run_id, []))
    match kind, status:
        case "start", None:
            await start(store, world, run_id, other, count)
        case "append", "open":
            await append(store, world, run_id, count)
        case "drop", "open":
            await drop(store, world, run_id)
        case "migrate", "open":
            await migrate(store, world, run_id)
        case (("complete" | "fail"), "open"):
            ends = RunStatus.COMPLETED if kind == "complete" else RunStatus.FAILED
            await store.commit(Commit(lease=world.leases[run_id], closing=Closing(ends)))
            world.status[run_id] = ends
        case "reopen", RunStatus.FAILED:
            world.leases[run_id] = await claimed(store, run_id, reopen=True)
            world.status[run_id] = "open"
        case "delete", (RunStatus.COMPLETED | RunStatus.FAILED):
            await store.delete(run_id)
            world.forget(run_id)
        case "prune", _:
            await store.prune(datetime(3000, 1, 1, tzinfo=UTC), limit=2)
            left = {run.run_id for run in (await store.find()).items}
            for gone in set(world.lists) - left:
                world.forget(gone)
    if world.keep is Keep.ALL and world.lists.get(run_id, before) != before and kind != "migrate":
        world.past[run_id].append(world.lists[run_id])


async def play(deeds: list[Deed], keep: Keep) -> None:
    world, store = World(keep), MemoryStore()
    await store.__aenter__()
    for deed in deeds:
        if deed[0] == "restart":
            await store.__aexit__(None, None, None)
            await store.__aenter__()
        await act(store, world, deed)
        await look(store, world)
    for run_id, status in list(world.status.items()):
        if status == "open":
            await store.commit(Commit(lease=world.leases[run_id], closing=Closing(RunStatus.COMPLETED)))
        await store.delete(run_id)
        world.forget(run_id)
        await look(store, world)
    for table in TABLES:
        assert await store.query(f"SELECT 1 FROM {table}") == [], table  # noqa: S608  # names of our own
    await store.__aexit__(None, None, None)


async def look(store: MemoryStore, world: World) -> None:
    for run_id, parts in world.lists.items():
        whole = (await store.load(run_id)).root.state.get("list", b"[]")
        assert whole == b"[" + b",".join(parts) + b"]"
        assert list((await store.elements(run_id, "", "list", after=1)).items) == parts[1:]
    stored = {data for (data,) in await store.query("SELECT value FROM elements")}
    if world.keep is Keep.ALL:  # what was dropped or migrated stays for the history
        assert stored >= world.elements
    else:
        assert stored == world.elements
        for number in range(1, world.made + 1):
            if b"%d" % number in world.elements:
                assert await store.blob(digest_of(b"of %d" % number))
    for run_id, versions in world.past.items():
        page = await store.history(run_id, limit=1000)
        told = [version.frame.state.get("list", b"[]") for version in page.items]
        for parts in versions:
            assert b"[" + b",".join(parts) + b"]" in told or not parts
    assert await store.verify() == []


def turns(*names: str) -> list[Deed]:
    """Runs that have ended, each of which goes on with the one before."""
    known = zip(("", *names), names, strict=False)
    return [deed for before, name in known for deed in (("start", name, before, 6), ("complete", name, "", 0))]


def deleted(*names: str) -> list[Deed]:
    return [("delete", name, "", 0) for name in names]


@pytest.mark.parametrize("keep", [Keep.RESULT, Keep.ALL])
@example(deeds=[*turns("a", "b", "c"), *deleted("c", "b")])
@example(deeds=[*turns("a", "b", "c"), *deleted("a", "c", "b")])
@example(deeds=[*turns("a", "b", "c"), *deleted("b", "c")])
@example(deeds=[*turns("a", "b"), ("start", "c", "a", 1), ("start", "d", "c", 2), *deleted("b", "a"), *turns("e")])
@law(40, 1_200)
@given(deeds=st.lists(acts, max_size=30))
def test_lists_are_there_exactly_as_long_as_a_run_refers_to_them(keep: Keep, deeds: list[Deed]) -> None:
    anyio.run(play, deeds, keep)


async def test_bytes_of_a_deleted_turn_go_with_it(anyio_backend: str) -> None:
    world, store = World(Keep.RESULT), MemoryStore()
    async with store:
        await start(store, world, "a", "", 0)
        await store.commit(Commit(lease=world.leases["a"], closing=Closing(RunStatus.COMPLETED)))
        await start(store, world, "b", "a", 2)
        await store.commit(Commit(lease=world.leases["b"], closing=Closing(RunStatus.COMPLETED)))
        await store.delete("b")
        assert await store.blob(digest_of(b"of 2")) == b"of 2"
        with pytest.raises(BlobNotFound):
            await store.blob(digest_of(b"of 3"))
