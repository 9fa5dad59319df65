"""References to bytes against a model of them: bytes are there exactly as long as a stored run refers to them."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law
from tests.checkpoint._builders import new_run, save

from stagepost.checkpoint import BlobNotFound, Closing, Commit, Lease, MemoryStore, RunStatus
from stagepost.checkpoint._blobs import digest_of

CONTENTS = [b"", b"a", b"b" * 5000, b"\x00\xff"]
RUNS = ["a", "a.below", "b", "c"]

runs = st.sampled_from(RUNS)
contents = st.sampled_from(CONTENTS)
Deed: TypeAlias = tuple[str, str, list[bytes], list[bytes]]

acts: st.SearchStrategy[Deed] = st.one_of(
    st.tuples(st.just("create"), runs, st.lists(contents, max_size=2), st.lists(contents, max_size=1)),
    st.tuples(st.just("commit"), runs, st.lists(contents, max_size=2), st.lists(contents, max_size=2)),
    st.tuples(st.just("delete"), runs, st.just([]), st.just([])),
    st.tuples(st.just("reopen store"), runs, st.just([]), st.just([])),
    st.tuples(st.just("prune"), runs, st.just([]), st.just([])),
)


class World:
    """What should be stored."""

    def __init__(self) -> None:
        self.refs: dict[str, set[str]] = defaultdict(set)
        self.leases: dict[str, Lease] = {}
        self.seq: dict[str, int] = {}

    @property
    def digests(self) -> set[str]:
        return set().union(*self.refs.values())

    def forget(self, run_id: str) -> None:
        for each in (run_id, f"{run_id}.below"):
            self.refs.pop(each, None)
            self.leases.pop(each, None)


async def act(store: MemoryStore, world: World, deed: Deed) -> None:
    kind, run_id, own, known = deed
    blobs = {digest_of(data): None for data in known} | {digest_of(data): data for data in own}
    there = world.digests
    if kind == "create" and run_id not in world.leases:
        if any(data is None and digest not in there for digest, data in blobs.items()):
            with pytest.raises(BlobNotFound):
                await store.create(replace(new_run(run_id), blobs=blobs))
            return
        lease, _ = await store.create(replace(new_run(run_id), blobs=blobs))
        assert lease is not None
        world.leases[run_id], world.seq[run_id], world.refs[run_id] = lease, 1, set(blobs)
    elif kind == "commit" and run_id in world.leases:
        world.seq[run_id] += 1
        await store.commit(save(world.leases[run_id], world.seq[run_id])._replace(blobs=blobs))
        world.refs[run_id] |= {digest for digest, data in blobs.items() if data is not None or digest in there}
    elif kind == "delete" and run_id in world.leases:
        await end(store, world, run_id)
        await store.delete(run_id)
        world.forget(run_id)
    elif kind == "prune" and "a" in world.leases:
        await end(store, world, "a")
        pruned = await store.prune(datetime(3000, 1, 1, tzinfo=UTC))
        assert pruned == 1 + ("a.below" in world.leases)
        world.forget("a")


async def end(store: MemoryStore, world: World, run_id: str) -> None:
    for each in (run_id, f"{run_id}.below"):
        if each in world.leases:
            await store.commit(Commit(lease=world.leases[each], closing=Closing(RunStatus.COMPLETED)))


async def play(deeds: list[Deed]) -> None:
    world, store = World(), MemoryStore()
    await store.__aenter__()
    for deed in deeds:
        if deed[0] == "reopen store":
            await store.__aexit__(None, None, None)
            await store.__aenter__()
        await act(store, world, deed)
        for data in CONTENTS:
            if digest_of(data) in world.digests:
                assert await store.blob(digest_of(data)) == data
            else:
                with pytest.raises(BlobNotFound):
                    await store.blob(digest_of(data))
    assert await store.verify() == []
    await store.__aexit__(None, None, None)


@law(50, 1_500)
@given(st.lists(acts, max_size=25))
def test_bytes_are_there_exactly_as_long_as_a_run_refers_to_them(
    deeds: list[Deed],
) -> None:
    anyio.run(play, deeds)
