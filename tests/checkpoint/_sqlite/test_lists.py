"""Lists of several runs on the file: what a step writes, what is read, and what a SIGKILL in retention leaves."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import claimed, frame, new_run
from tests.checkpoint._processes import running

from stagepost.checkpoint import (
    Closing,
    Commit,
    Continued,
    Keep,
    Lease,
    NotAStore,
    Ref,
    RunStatus,
    SqliteStore,
    StoredValue,
)
from stagepost.checkpoint._blobs import digest_of
from stagepost.checkpoint._sqlite._queries import elements_query

RETENTION = """
import os, sys, anyio
from dataclasses import replace
from datetime import UTC, datetime
from stagepost.checkpoint import (
    Closing, Commit, Continued, Frame, Keep, NewRun, Ref, RunStatus, SqliteStore, StoredValue
)
from stagepost.checkpoint._blobs import digest_of

LATE = datetime(3000, 1, 1, tzinfo=UTC)

async def turn(store, name, other, before, keep=Keep.RESULT):
    data = name.encode()
    digest = digest_of(data)
    rows = [StoredValue("", 1, before + n, b'"%s %d"' % (data, n), blobs=(digest,) * (n == 0)) for n in range(3)]
    root = Frame("", 1, "next", {}, refs={"list": Ref(1, before + 3)})
    continued = {"list": Continued(other, before)} if before else {}
    run = NewRun(name, "talk", 1, None, b"{}", 0, root, rows, blobs={digest: data}, keep=keep, continued=continued)
    lease, _ = await store.create(run)
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))

async def main(path):
    number = 0
    async with SqliteStore(path, durability="process") as store:
        while True:
            first = f"{number:06}"
            await turn(store, f"{first}-a", "", 0)
            await turn(store, f"{first}-b", f"{first}-a", 3)
            await turn(store, f"{first}-c", f"{first}-b", 6)
            await turn(store, f"{first}-d", f"{first}-b", 4)
            await turn(store, f"{first}-gone", f"{first}-c", 9, Keep.NONE)
            os.write(1, f"{first}\\n".encode())
            await (store.delete(f"{first}-{'abcd'[number % 4]}") if number % 2 else store.prune(LATE, limit=3))
            number += 1

anyio.run(main, *sys.argv[1:])
"""

LISTS = {"a": "a0 a1 a2", "b": "a0 a1 a2 b0 b1 b2", "c": "a0 a1 a2 b0 b1 b2 c0 c1 c2", "d": "a0 a1 a2 b0 d0 d1 d2"}


def wanted(name: str) -> bytes:
    first, _, letter = name.rpartition("-")
    return (
        b"["
        + b",".join(b'"%s-%s %s"' % (first.encode(), e[:1].encode(), e[1:].encode()) for e in LISTS[letter].split())
        + b"]"
    )


@pytest.mark.parametrize("told", [1, 7, 30])
async def test_a_sigkill_in_retention_leaves_what_runs_refer_to_and_nothing_else(file: Path, told: int) -> None:
    with fail_after(30):
        async with running(RETENTION, file) as process:
            for _ in range(told):
                await process.line()
            await process.kill()
        async with SqliteStore(file, lock_timeout=0) as store:
            assert await store.verify() == []
            for run in (await store.find(limit=1000)).items:
                if run.status is RunStatus.COMPLETED:
                    snapshot = await store.load(run.run_id)
                    assert snapshot.root.state["list"] == wanted(run.run_id)
                    for text in set(snapshot.root.state["list"].decode().split('"')[1::2]):
                        said = text.split(" ")[0].encode()
                        assert await store.blob(digest_of(said)) == said
                else:
                    await store.commit(
                        Commit(lease=await claimed(store, run.run_id), closing=Closing(RunStatus.CANCELLED))
                    )
            while await store.prune(datetime(3000, 1, 1, tzinfo=UTC), limit=7):
                assert await store.verify() == []
            for table in ("lists", "list_refs", "elements", "element_blobs", "blobs", "blob_refs"):
                assert await store.query(f"SELECT 1 FROM {table}") == []  # noqa: S608  # names of our own


async def turn(store: SqliteStore, name: str, other: str, before: int, added: int = 1) -> Lease:
    rows = [StoredValue("", 1, before + number, b"%d" % (before + number)) for number in range(added)]
    root = frame(1)._replace(refs={"list": Ref(1, before + added)})
    continued = {"list": Continued(other, before)} if before else {}
    lease, _ = await store.create(replace(new_run(name), root=root, values=rows, continued=continued))
    assert lease is not None
    return lease


async def complete(store: SqliteStore, lease: Lease) -> None:
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))


async def test_a_conversation_of_many_turns_is_one_list(file: Path) -> None:
    async with SqliteStore(file, durability="process") as store:
        for number in range(300):
            await complete(store, await turn(store, f"t{number}", f"t{number - 1}", number))
        assert await store.query("SELECT count(*) FROM lists") == [(1,)]
        assert await store.query("SELECT count(*), max(idx) FROM elements") == [(300, 299)]


async def test_a_chain_of_many_branches_is_read_and_deleted(file: Path) -> None:
    """Of failed turns, each of which a new one was made from: no level of nesting is too deep."""
    count = 1200
    async with SqliteStore(file, durability="process") as store:
        for number in range(count):
            lease = await turn(store, f"t{number}", f"t{number - 1}", number)
            await store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED)))
        assert await store.query("SELECT count(*) FROM lists") == [(count,)]
        last = f"t{count - 1}"
        assert (await store.load(last)).root.state["list"] == b"[%s]" % b",".join(b"%d" % n for n in range(count))
        assert list((await store.elements(last, "", "list", limit=3)).items) == [b"0", b"1", b"2"]
        for number in range(count - 1):
            await store.delete(f"t{number}")
        assert await store.query("SELECT count(*) FROM lists") == [(count,)]
        await store.delete(last)
        assert await store.query("SELECT count(*) FROM lists") == [(0,)]
        assert await store.verify() == []


async def test_branches_from_within_a_base_refer_to_that_base(file: Path) -> None:
    async with SqliteStore(file, durability="process") as store:
        await turn(store, "a", "", 0, added=5)
        await turn(store, "b", "a", 4)
        await turn(store, "c", "b", 3)
        await turn(store, "d", "c", 4)
        bases = await store.query("SELECT base_maker, base_length FROM lists ORDER BY maker")
        assert bases == [(None, 0), (1, 4), (1, 3), (3, 4)]
        assert (await store.load("d")).root.state["list"] == b"[0,1,2,3,4]"


def plan_of(file: Path, text: str, values: Sequence[object]) -> str:
    with closing(sqlite3.connect(file)) as connection:
        return " ".join(str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values))


async def test_elements_are_found_by_their_index(file: Path) -> None:
    async with SqliteStore(file, durability="process") as store:
        await turn(store, "a", "", 0, added=5)
    query = elements_query("a", "", "list", 3, 10)
    plan = plan_of(file, query.text, query.values)
    assert "SEARCH elements USING PRIMARY KEY (maker=? AND number=? AND idx>? AND idx<?)" in plan
    assert "SCAN runs" not in plan
    assert "SCAN frames" not in plan


async def test_a_step_that_appends_writes_its_elements_and_its_frame(file: Path) -> None:
    async with SqliteStore(file, durability="process") as store:
        lease = await turn(store, "a", "", 0)
        before = await _counts(store)
        refs = {"list": Ref(1, 2)}
        await store.commit(
            Commit(lease=lease, frame=frame(2)._replace(refs=refs), values=[StoredValue("", 1, 1, b"1")])
        )
        after = await _counts(store)
        assert {table: after[table] - before[table] for table in after if after[table] != before[table]} == {
            "elements": 1
        }


async def _counts(store: SqliteStore) -> dict[str, int]:
    counts = {}
    for (table,) in await store.query("SELECT name FROM sqlite_master WHERE type = 'table'"):
        name = str(table)
        ((count,),) = await store.query(f"SELECT count(*) FROM {name}")  # noqa: S608  # names of our own
        assert isinstance(count, int)
        counts[name] = count
    return counts


async def test_the_history_of_a_list_that_grows_takes_space_for_each_element_once(file: Path) -> None:
    async with SqliteStore(file, durability="process") as store:
        run = replace(new_run("a"), keep=Keep.ALL)
        lease, _ = await store.create(run)
        assert lease is not None
        text = b'"' + b"x" * 200 + b'"'
        for seq in range(2, 402):
            root = frame(seq)._replace(refs={"list": Ref(1, seq - 1)})
            await store.commit(Commit(lease=lease, frame=root, values=[StoredValue("", 1, seq - 2, text)]))
        ((size,),) = await store.query("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        assert isinstance(size, int)
        assert size < 1_000_000
        (last,) = (await store.history("a", after=400)).items
        assert last.frame.state["list"] == b"[" + b",".join([text] * 400) + b"]"


async def test_a_file_of_an_older_schema_is_refused(file: Path) -> None:
    async with SqliteStore(file):
        pass
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 3")
    with pytest.raises(
        NotAStore,
        match=r"its schema is version 3, that of a stagepost before 0\.2\.0, and no file of those is brought over",
    ):
        async with SqliteStore(file):
            pass
