"""The words of errors: any text may be searched for, and the index holds what is stored, whatever happens."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from anyio import create_task_group
from hypothesis import given
from hypothesis import strategies as st
from tests.checkpoint._builders import claimed, failed, new_run, save, started

from stagepost.checkpoint import OwnershipLost, SqliteStore
from stagepost.checkpoint._sqlite._connect import connect_memory
from stagepost.checkpoint._sqlite._error_words import match_of


@given(st.text())
def test_no_text_is_an_error_of_syntax(text: str) -> None:
    with closing(connect_memory()) as connection:
        connection.execute("INSERT INTO failures (rowid, words) VALUES (1, ?)", (text.encode(errors="replace"),))
        match = match_of(text)
        if match:
            connection.execute("SELECT rowid FROM failures WHERE failures MATCH ?", (match,)).fetchall()


@given(st.lists(st.text("abÄß0", min_size=1), min_size=1), st.sampled_from([" ", "\n", "\0 ", " - "]))
def test_an_error_is_found_by_all_of_its_words(words: list[str], between: str) -> None:
    with closing(connect_memory()) as connection:
        connection.execute("INSERT INTO failures (rowid, words) VALUES (1, ?)", (" ".join(words),))
        found = "SELECT rowid FROM failures WHERE failures MATCH ?"
        assert connection.execute(found, (match_of(between.join(words)),)).fetchall() == [(1,)]
        assert connection.execute(found, (match_of(between.join([*words, "zz"])),)).fetchall() == []


@pytest.mark.parametrize("text", ["word " * 5_000, "x" * 9_000], ids=["words", "word"])
async def test_a_long_text_is_searched_for(file: Path, text: str) -> None:
    async with SqliteStore(file) as store:
        await store.commit(failed(await started(store), f"it is {text}"))
        assert [run.run_id for run in (await store.find(text=text)).items] == ["run"]
        assert (await store.find(text=f"{text} other")).items == ()


async def test_only_the_beginning_of_a_long_error_is_indexed(file: Path) -> None:
    async with SqliteStore(file) as store:
        await store.commit(failed(await started(store), "first " + "x" * 10_000 + " last"))
        assert (await store.count(text="first")).total == 1
        assert (await store.count(text="last")).total == 0


async def test_runs_that_fail_together_are_indexed_together(file: Path) -> None:
    async with SqliteStore(file) as store:
        leases = [await started(store, f"run-{number}") for number in range(20)]
        async with create_task_group() as tasks:
            for number, lease in enumerate(leases):
                tasks.start_soon(store.commit, failed(lease, f"broken{number} here") if number % 2 else save(lease, 2))
        assert [run.run_id for run in (await store.find(text="here")).items] == [f"run-{n}" for n in range(1, 20, 2)]
        assert [run.run_id for run in (await store.find(text="broken13")).items] == ["run-13"]


async def test_a_failure_that_is_refused_is_not_indexed(file: Path) -> None:
    async with SqliteStore(file) as store:
        lease = await started(store)
        await claimed(store)
        with pytest.raises(OwnershipLost):
            await store.commit(failed(lease, "broken"))
        assert (await store.count(text="broken")).total == 0


async def test_what_was_changed_by_hand_is_indexed_with_the_next_failure(file: Path) -> None:
    async with SqliteStore(file) as store:
        for run_id in ("a", "b", "c"):
            await store.commit(failed(await started(store, run_id), f"broken {run_id}"))
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE runs SET error = 'mended' WHERE run_id = 'a'")
            connection.execute("DELETE FROM runs WHERE run_id = 'b'")
        assert [run.run_id for run in (await store.find(text="broken")).items] == ["a", "c"]
        lease, _ = await store.create(new_run("d"))
        assert lease is not None
        await store.commit(failed(lease, "broken d"))
        assert [run.run_id for run in (await store.find(text="broken")).items] == ["c", "d"]
        assert ((await store.count(text="broken")).total, (await store.count(text="mended")).total) == (2, 1)
