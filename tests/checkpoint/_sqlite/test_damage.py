"""Damage is told by run, and does not concern the others."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import claimed, frame, new_run, save

from stagepost.checkpoint import (
    Closing,
    Commit,
    CorruptRun,
    Effect,
    EffectStatus,
    Item,
    ItemStatus,
    Lease,
    MemoryStore,
    NewWait,
    Ref,
    RunStatus,
    SqliteStore,
    StoredValue,
    StoreFailed,
    WaitKind,
)
from stagepost.checkpoint._sqlite._queries import ORPHANS, Query, Row

THE_BAD = "(SELECT rk FROM runs WHERE run_id = 'bad')"
OF_BAD = f"rk = {THE_BAD}"

DAMAGE = {
    "state that ends too early": "UPDATE frames SET state = x'7b2278' WHERE {of_bad}",
    "state that is no object": "UPDATE frames SET state = x'5b5d' WHERE {of_bad}",
    "visits that are no object": "UPDATE frames SET visits = '[1]' WHERE {of_bad}",
    "visits that are no JSON": "UPDATE frames SET visits = '{{' WHERE {of_bad}",
    "visits that are no numbers": """UPDATE frames SET visits = '{{"a": "b"}}' WHERE {of_bad}""",
    "a reference to nothing": """UPDATE frames SET refs = '{{"k": [7, null]}}' WHERE {of_bad}""",
    "a reference to too much": """UPDATE frames SET refs = '{{"k": [1, 3]}}' WHERE {of_bad}""",
    "a value that ends too early": "UPDATE vals SET value = x'5b' WHERE {of_bad}",
    "no value": "DELETE FROM vals WHERE {of_bad}",
    "an element that ends too early": "UPDATE elements SET value = x'5b' WHERE maker = {the_bad} AND idx = 1",
    "no element": "DELETE FROM elements WHERE maker = {the_bad} AND idx = 0",
    "no list": "DELETE FROM list_refs WHERE {of_bad}",
    "a frame's time": "UPDATE frames SET saved_at = 9223372036854775807 WHERE {of_bad}",
    "no frame": "DELETE FROM frames WHERE {of_bad}",
    "an item's status": "UPDATE items SET status = 'odd' WHERE {of_bad}",
    "an item's input": "UPDATE items SET input = x'5b' WHERE {of_bad}",
    "an item's value": "UPDATE items SET value = x'5b' WHERE {of_bad}",
    "a wait's kind": "UPDATE waits SET kind = 'odd' WHERE {of_bad}",
    "a wait's prompt": "UPDATE waits SET prompt = x'5b' WHERE {of_bad}",
    "a wait's time": "UPDATE waits SET due_at = 9223372036854775807 WHERE {of_bad}",
    "an effect's status": "UPDATE effects SET status = 'odd' WHERE {of_bad}",
    "an effect's value": "UPDATE effects SET value = x'5b' WHERE {of_bad}",
}
DAMAGE_OF_RUN = {
    "a run's status": "UPDATE runs SET status = 'odd' WHERE run_id = 'bad'",
    "a run's time": "UPDATE runs SET created_at = 9223372036854775807 WHERE run_id = 'bad'",
    "a run's input": "UPDATE runs SET input = x'7b' WHERE run_id = 'bad'",
}


async def full_run(store: SqliteStore, run_id: str) -> Lease:
    """A run with a row in every table."""
    lease, _ = await store.create(replace(new_run(run_id), labels={"customer": run_id}))
    assert lease is not None
    await store.commit(
        Commit(
            lease=lease,
            frame=frame(2, x=b"1", k=b'["a","b"]')._replace(visits={"node": 1}, refs={"k": Ref(1, 2), "far": Ref(2)}),
            values=[StoredValue("", 1, 0, b'"a"'), StoredValue("", 1, 1, b'"b"'), StoredValue("", 2, None, b"7")],
            frozen=[Item("fan", 0, 0, ItemStatus.WAITING, b"1")],
            effects=[Effect("step", "mail", EffectStatus.DONE, b"1")],
        )
    )
    await store.commit(Commit(lease=lease, outcomes=[Item("fan", 0, 0, ItemStatus.OK, b"1", b"2")]))
    await store.wait(lease, NewWait("approval", WaitKind.ANSWER, "approval", b'"show"'))
    return lease


@asynccontextmanager
async def damaged(file: Path, statement: str) -> AsyncIterator[tuple[SqliteStore, dict[str, Lease]]]:
    """A store of three runs, of which the one in the middle has been tampered with."""
    async with SqliteStore(file) as store:
        leases = {run_id: await full_run(store, run_id) for run_id in ("a", "bad", "c")}
    tamper(file, statement.format(of_bad=OF_BAD, the_bad=THE_BAD))
    with fail_after(10):
        async with SqliteStore(file) as store:
            yield store, leases


def tamper(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        assert connection.execute(statement).rowcount > 0


@pytest.mark.parametrize("statement", [*DAMAGE.values(), *DAMAGE_OF_RUN.values()], ids=[*DAMAGE, *DAMAGE_OF_RUN])
async def test_a_damaged_run_is_named_and_the_others_are_not_concerned(file: Path, statement: str) -> None:
    async with damaged(file, statement) as (store, leases), SqliteStore.reader(file) as reader:
        for each in (store, reader):
            with pytest.raises(CorruptRun, match="what is stored of run 'bad' is damaged") as caught:
                await each.load("bad")
            assert caught.value.run_id == "bad"
            assert [error.run_id for error in await each.verify()] == ["bad"]
            assert {"a", "c"} <= {run.run_id for run in (await each.find(limit=3)).items}
            assert {"a", "c"} <= {wait.run_id for wait in (await each.waits(limit=3)).items}
        for run_id in ("a", "c"):
            await store.commit(save(leases[run_id], 3))
            assert (await store.load(run_id)).root == frame(3)


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
async def test_a_damaged_run_can_still_be_ended(file: Path, statement: str) -> None:
    async with damaged(file, statement) as (store, _):
        await store.cancel("bad")
        lease = await claimed(store, "bad")
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.CANCELLED)))
        assert [run.run_id for run in (await store.find(status=RunStatus.CANCELLED)).items] == ["bad"]


async def test_labels_that_are_no_text_are_told_by_run(file: Path) -> None:
    async with damaged(file, "UPDATE labels SET value = CAST(x'ff' AS TEXT) WHERE {of_bad}") as (store, _):
        with pytest.raises(CorruptRun, match="what is stored of run 'bad' is damaged"):
            await store.info("bad")
        assert [run.run_id for run in (await store.find()).items] == ["a", "c"]


async def test_elements_that_are_missing_are_told_by_who_reads_the_list(file: Path) -> None:
    async with damaged(file, DAMAGE["no element"]) as (store, _):
        with pytest.raises(CorruptRun, match="its list 'k' lacks elements"):
            await store.elements("bad", "", "k")
        assert list((await store.elements("a", "", "k")).items) == [b'"a"', b'"b"']


@pytest.mark.parametrize(
    "statement",
    ["UPDATE waits SET id = 'BAD' WHERE {of_bad}", "UPDATE waits SET place = 'APPROVAL' WHERE {of_bad}"],
    ids=["id", "place"],
)
async def test_a_wait_that_is_not_where_it_says_is_left_out_and_pages_go_on_behind_it(
    file: Path, statement: str
) -> None:
    async with damaged(file, statement) as (store, _):
        found, page = list[str](), await store.waits(limit=1)
        pages = [page]
        while page.next is not None:
            page = await store.waits(after=page.next, limit=1)
            pages.append(page)
        found = [f"{wait.run_id}/{wait.wait.place}" for page in pages for wait in page.items]
        assert found == ["a/approval", "c/approval"]
        assert [error.run_id for page in pages for error in page.damaged] == ["bad"]


@pytest.mark.parametrize("statement", DAMAGE_OF_RUN.values(), ids=DAMAGE_OF_RUN)
async def test_a_run_whose_own_row_is_damaged_is_left_out_and_pages_go_on_behind_it(file: Path, statement: str) -> None:
    async with damaged(file, statement) as (store, leases):
        pages = [await store.find(limit=1)]
        while pages[-1].next is not None:
            pages.append(await store.find(after=pages[-1].next, limit=1))
        assert [run.run_id for page in pages for run in page.items] == ["a", "c"]
        assert [error.run_id for page in pages for error in page.damaged] == ["bad"] * ("odd" not in statement)
        with pytest.raises(CorruptRun):
            await store.create(new_run("bad"))
        await store.commit(save(leases["a"], 3))


async def test_a_store_without_damage_has_nothing_to_tell(file: Path) -> None:
    async with SqliteStore(file) as store:
        assert await store.verify() == []
        await full_run(store, "a")
        assert await store.verify() == []


@pytest.mark.parametrize("column", ["workflow", "error", "key", "blocked"])
async def test_text_that_is_none_fails_its_run_only(file: Path, column: str) -> None:
    statement = f"UPDATE runs SET {column} = CAST(x'64ff' AS TEXT) WHERE run_id = 'bad'"  # noqa: S608  # a constant
    async with damaged(file, statement) as (store, _):
        assert [run.run_id for run in (await store.find()).items] == ["a", "c"]
        assert [error.run_id for error in await store.verify()] == ["bad"]


@pytest.mark.parametrize("name", ["62ff", "62ef", "ff62"])
async def test_an_id_that_is_no_text_is_left_out(file: Path, name: str) -> None:
    statement = f"UPDATE runs SET run_id = CAST(x'{name}' AS TEXT) WHERE run_id = 'bad'"  # noqa: S608  # a constant
    async with damaged(file, statement) as (store, _):
        assert [run.run_id for run in (await store.find()).items] == ["a", "c"]
        (error,) = await store.verify()
        assert str(error.run_id).encode(errors="surrogateescape") == bytes.fromhex(name)


# a part of the file


async def test_a_damaged_page_concerns_the_run_that_is_on_it(file: Path) -> None:
    async with SqliteStore(file) as store:
        leases = {}
        for run_id in ("a", "bad", "c"):
            lease, _ = await store.create(new_run(run_id))
            assert lease is not None
            await store.commit(save(lease, 2, x=b'"' + f"<{run_id}>".encode() * 700 + b'"'))
            leases[run_id] = lease
    overwrite_page(file, b"<bad>" * 700)
    with fail_after(10):
        async with SqliteStore(file) as store:
            with pytest.raises(CorruptRun, match="malformed"):
                await store.load("bad")
            assert [error.run_id for error in await store.verify()] == ["bad"]
            assert [run.run_id for run in (await store.find()).items] == ["a", "bad", "c"]
            for run_id in ("a", "c"):
                await store.commit(save(leases[run_id], 3))
                assert (await store.load(run_id)).root == frame(3)


def overwrite_page(file: Path, content: bytes) -> None:
    """Write nonsense over the page that holds this."""
    data = file.read_bytes()
    page = data.index(content) // 4096
    file.write_bytes(data[: page * 4096] + b"\xff" * 4096 + data[(page + 1) * 4096 :])


async def test_a_damaged_list_of_runs_fails_the_store(file: Path) -> None:
    async with SqliteStore(file) as store:
        await full_run(store, "run")
    overwrite_page(file, b"digest")
    with fail_after(10):
        async with SqliteStore(file) as store:
            with pytest.raises(StoreFailed, match="malformed"):
                await store.find()
            assert [error.run_id for error in await store.verify()] == ["run"]


async def test_a_disk_that_cannot_be_read_is_no_damage_of_a_run(file: Path) -> None:
    with pytest.raises(StoreFailed):
        await Unreadable(file).load("run")


async def test_a_disk_that_cannot_be_read_while_all_is_checked_is_no_damage() -> None:
    async with Failing() as store:
        with pytest.raises(StoreFailed):
            await store.verify()


class Failing(MemoryStore):
    """A store whose runs can be read, and nothing else."""

    async def _read(self, query: Query) -> list[Row]:
        if query.text == ORPHANS:
            raise StoreFailed(Path("runs.db"), "disk I/O error")
        return await super()._read(query)


class Unreadable(SqliteStore):
    """A store whose reads fail."""

    async def _read(self, query: Query) -> Sequence[Row]:  # noqa: ARG002  # the signature that it has
        raise StoreFailed(self.path, "disk I/O error")
