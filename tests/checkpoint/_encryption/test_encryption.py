"""What an encrypted store keeps nobody reads without a key, and with one it is a store like any other."""

import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from tests.checkpoint._builders import claimed, new_run, started

from stagepost.checkpoint import (
    AttemptOutcome,
    CannotDecrypt,
    Closing,
    Commit,
    CorruptBlob,
    CorruptRun,
    CorruptSchedule,
    CorruptStore,
    Effect,
    EffectStatus,
    EncryptedInbox,
    EncryptedReader,
    EncryptedStore,
    EncryptedTexts,
    EncryptionNotInstalled,
    ErrorsNotSearchable,
    Forked,
    Frame,
    Happening,
    HappeningKind,
    Item,
    ItemStatus,
    Keep,
    MemoryStore,
    NewWait,
    Ref,
    RunStatus,
    SqliteStore,
    Statement,
    StoredSchedule,
    StoredValue,
    WaitKind,
)
from stagepost.checkpoint._blobs import digest_of
from stagepost.checkpoint._encryption._keys import Keys
from stagepost.checkpoint.testing import BESIDE, CHECKS, Check, CheckBeside

KEY, OTHER = b"k" * 32, b"o" * 16
PLAIN = b"what nobody may read"
JSON = b'"' + PLAIN + b'"'
DETAIL = b'{"why": ' + JSON + b"}"
NOW = datetime(2026, 11, 23, tzinfo=UTC)
SEARCHING = (  # what searches the texts of errors, after other things or before
    "check_runs_are_found_by_the_words_of_their_errors",
    "check_a_run_that_goes_on_or_is_deleted_is_not_found_by_its_error",
    "check_pages_lead_back_to_those_before",
    "check_runs_are_counted",
)

every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))


@every_check
async def test_an_encrypted_store_conforms(check: Check) -> None:
    with fail_after(10):
        async with EncryptedStore(MemoryStore(), keys=KEY) as store:
            try:
                await check(store)
            except ErrorsNotSearchable:
                assert check.__name__ in SEARCHING  # all the others have to pass


@pytest.mark.parametrize("check", BESIDE, ids=lambda check: check.__name__.removeprefix("check_"))
async def test_writers_beside_the_owner_of_an_encrypted_file_conform(check: CheckBeside, file: Path) -> None:
    with fail_after(20):
        async with EncryptedStore(SqliteStore(file), keys=KEY) as store, SqliteStore.inbox(file) as inbox:
            await check(store, EncryptedInbox(inbox, keys=KEY))


def content(path: Path) -> bytes:
    return path.read_bytes()


async def full(store: EncryptedStore) -> None:
    """A run with something to hide wherever there can be something."""
    digest = digest_of(PLAIN)
    refs = {"list": Ref(1, 2), "large": Ref(2)}
    values = [StoredValue("", 1, 0, JSON), StoredValue("", 1, 1, b"[1, " + JSON + b"]"), StoredValue("", 2, None, JSON)]
    root = Frame("", 1, "next", {"small": JSON}, refs=refs)
    run = replace(new_run(), input=JSON, root=root, values=values, keep=Keep.ALL, blobs={digest: PLAIN})
    lease, _ = await store.create(run)
    assert lease is not None
    waiting = Item("items", 0, 0, ItemStatus.WAITING, JSON)
    failed = waiting._replace(status=ItemStatus.FAILED, error=PLAIN.decode())
    good = Item("items", 0, 1, ItemStatus.OK, JSON, JSON)
    effect = Effect("pay", "key", EffectStatus.INTENT)
    frame = Frame("", 2, "items", {"small": JSON}, width=2, refs=refs)
    await store.commit(Commit(lease=lease, frame=frame, frozen=[waiting, waiting._replace(idx=1)], effects=[effect]))
    done = effect._replace(status=EffectStatus.DONE, value=JSON)
    tried = Happening(HappeningKind.STEP, "step", AttemptOutcome.FAILED, 1.0, 2.0, PLAIN.decode(), DETAIL, JSON)
    await store.commit(Commit(lease=lease, outcomes=[failed, good], effects=[done], happened=[tried]))
    begun = await store.load("run")
    await store.wait(lease, NewWait("ask", WaitKind.ANSWER, "ask", JSON, happened=[tried]))
    await store.answer("run", "ask", JSON, checked=False)
    await store.reopen(lease, "ask", PLAIN.decode())
    await store.answer("run", "ask", JSON)
    await store.signal("run", "name", JSON)
    owner = await store.join("owner")
    await store.block(owner, "run", PLAIN.decode())
    await store.leave(owner)
    forked = Forked("run", begun.row, 2, items=begun.items, effects=begun.effects)
    fork = replace(new_run("fork"), input=JSON, root=frame._replace(seq=1, refs={}), keep=Keep.ALL, forked=forked)
    await store.create(replace(fork, happened=[tried]))
    schedule = StoredSchedule("daily", "digest", JSON, NOW, NOW, NOW, error=PLAIN.decode())
    await store.save_schedule(schedule)
    open_, _ = await store.create(replace(new_run("open"), input=JSON))
    assert open_ is not None
    await store.wait(open_, NewWait("ask", WaitKind.ANSWER, "ask", JSON))
    news = (await store.info("run")).news
    error, trace = PLAIN.decode(), f"line 7\n{PLAIN.decode()}"
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED, error, trace, heard=news)))


async def test_nothing_of_what_users_have_made_is_in_the_file(file: Path) -> None:
    async with EncryptedStore(SqliteStore(file), keys=KEY) as store:
        await full(store)
        wal = content(file.with_name("runs.db-wal"))
        assert b"items" in wal
        assert PLAIN not in wal
        snapshot = await store.load("run")
        assert snapshot.run.input == snapshot.root.state["large"] == snapshot.root.state["small"] == JSON
        assert snapshot.root.state["list"] == b"[" + JSON + b",[1, " + JSON + b"]]"
        assert {item.error or item.value for item in snapshot.items} == {PLAIN.decode(), JSON}
        assert [(wait.prompt, wait.value) for wait in snapshot.waits] == [(JSON, JSON)]
        assert [effect.value for effect in snapshot.effects] == [JSON]
        assert snapshot.run.error == PLAIN.decode()
        assert snapshot.run.traceback == f"line 7\n{PLAIN.decode()}"
        assert await store.blob(digest_of(PLAIN)) == PLAIN
        assert (await store.schedule("daily")).definition == JSON
        told = (await store.happenings("run")).items
        assert [(one.error, one.detail, one.value) for one in told if one.place == "step"] == [
            (PLAIN.decode(), DETAIL, JSON)
        ] * 2
        fork = await store.load("fork")
        assert (fork.items, fork.effects) == (snapshot.items, snapshot.effects)
        assert fork.root.state["small"] == (await store.load("run", at=1)).root.state["small"] == JSON
        assert {one.value for one in told if one.kind is HappeningKind.WAIT} <= {JSON, None}
        assert await store.verify() == []
    assert PLAIN not in content(file)


async def test_a_store_that_is_not_entered_opens_a_file_beside_its_owner(file: Path) -> None:
    async with EncryptedStore(SqliteStore(file), keys=KEY) as owner:
        await full(owner)
        known = EncryptedStore(SqliteStore(file), keys=KEY)
        assert isinstance(known.inner, SqliteStore)
        async with SqliteStore.reader(file) as reader, SqliteStore.inbox(file) as inbox:
            assert (await known.reader(reader).info("run")).input == JSON
            assert await known.inbox(inbox).load("run") == await owner.load("run")
            assert (await inbox.info("run")).is_encrypted
            assert not (await known.inbox(inbox).info("run")).is_encrypted
            assert known.reader(reader).inner is reader


async def test_what_is_encrypted_is_read_from_other_processes(file: Path) -> None:
    async with EncryptedStore(SqliteStore(file), keys=KEY) as store, SqliteStore.reader(file) as inner:
        await full(store)
        reader = EncryptedReader(inner, keys=KEY)
        assert await reader.load("run") == await store.load("run")
        head, page = await reader.head_with("run", "", "list")
        assert head.root.state == {"small": JSON, "large": JSON}
        assert page.items == (await reader.elements("run", "", "list")).items == (JSON, b"[1, " + JSON + b"]")
        assert [run.input for run in (await reader.stored("0")).items] == [JSON] * 3
        assert [wait.wait.prompt for wait in (await reader.waits()).items] == [JSON]
        assert [signal.value for signal in (await reader.signals("run")).items] == [JSON]
        assert [version.frame.state["small"] for version in (await reader.history("run")).items] == [JSON, JSON]
        assert [wait.value for wait in (await reader.news("run", 0)).waits] == [JSON]
        assert (await reader.head("run")).run == await reader.info("run")
        assert (await reader.count()).total == 3
        assert await reader.blob(digest_of(PLAIN)) == PLAIN
        assert await reader.last_stored()
        assert await reader.happenings("run") == await store.happenings("run")
        assert await reader.value("run", "", Ref(1, 2)) == (await store.load("run")).root.state["list"]
        assert await reader.value("run", "", Ref(2)) == JSON
        assert [one.error for one in (await reader.schedules()).items] == [PLAIN.decode()]
        with pytest.raises(ErrorsNotSearchable, match="use other filters"):
            await reader.count(text="nobody")


async def test_the_first_key_encrypts_and_all_of_them_decrypt() -> None:
    inner = MemoryStore(max_blob=7)
    async with EncryptedStore(inner, keys=OTHER) as store:
        assert store.limits == inner.limits
        await started(store, "old")
    async with EncryptedStore(inner, keys=[KEY, OTHER]) as store:
        assert (await store.load("old")).run.input == b"{}"
        await started(store, "new")
    async with EncryptedStore(inner, keys=KEY) as store:
        assert (await store.info("new")).input == b"{}"
        with pytest.raises(CannotDecrypt, match=r"encrypted by key \w{8}, and keys= has \w{8}: give that key, too"):
            await store.load("old")


async def test_a_missing_key_is_told_when_the_store_is_entered() -> None:
    inner = MemoryStore()
    async with EncryptedStore(inner, keys=OTHER) as store:
        await started(store)
    with pytest.raises(CannotDecrypt, match="nothing is damaged"):
        async with EncryptedStore(inner, keys=KEY):
            pass
    async with inner:  # it was left again
        pass


async def test_a_store_that_was_used_without_encryption_is_read_if_that_is_said() -> None:
    inner = MemoryStore()
    text = "\udce9".encode(errors="surrogateescape")
    async with inner:
        lease = await started(inner)
        blobs = {digest_of(text): text}
        await inner.commit(Commit(lease=lease, blobs=blobs, closing=Closing(RunStatus.FAILED, "why")))
    with pytest.raises(CannotDecrypt, match="plain=True"):
        async with EncryptedStore(inner, keys=KEY):
            pass
    async with EncryptedStore(inner, keys=KEY, plain=True) as store:
        assert (await store.load("run")).run.error == "why"
        assert await store.blob(digest_of(text)) == text
        await store.commit(Commit(lease=await claimed(store, reopen=True), frame=Frame("", 2, None, {"key": JSON})))
    async with inner:
        assert PLAIN not in (await inner.load("run")).root.state["key"]


CHANGES = {
    "another kind": "UPDATE frames SET state = (SELECT CAST(json_object('key', json(input)) AS BLOB) FROM runs)",
    "cut off": "UPDATE runs SET input = CAST(substr(input, 1, 60) || '\"' AS BLOB)",
    "too short": "UPDATE runs SET input = CAST(substr(input, 1, 21) || '==\"' AS BLOB)",
    "no base64": "UPDATE runs SET input = CAST('\"sealed1/a\"' AS BLOB)",
    "an error": "UPDATE runs SET error = substr(error, 1, 52)",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_value_that_was_changed_is_told_as_damage_of_its_run(file: Path, change: str) -> None:
    async with EncryptedStore(SqliteStore(file), keys=KEY) as store:
        lease = await started(store)
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED, "why")))
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(change)
        with pytest.raises(CorruptRun, match="what is stored of run 'run' is damaged"):
            await store.load("run")
        page = await store.find()
        assert len(page.items) + len(page.damaged) == 1
    async with EncryptedStore(SqliteStore(file), keys=KEY) as store:  # the keys are right: others can be read
        await started(store, "other")


async def test_bytes_that_were_changed_are_told(file: Path) -> None:
    async with EncryptedStore(SqliteStore(file), keys=KEY) as store:
        await full(store)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE blobs SET value = CAST(substr(value, 1, 60) || 'x' AS BLOB)")
        with pytest.raises(CorruptBlob):
            await store.blob(digest_of(PLAIN))
        (damage,) = await store.verify()
        assert isinstance(damage, CorruptBlob)


async def test_a_schedule_that_was_changed_is_told() -> None:
    inner = MemoryStore()
    async with EncryptedStore(inner, keys=KEY) as store:
        saved = await store.save_schedule(StoredSchedule("daily", "digest", JSON, NOW, NOW, NOW))
        stored = await inner.schedule("daily")
        await inner.save_schedule(stored._replace(definition=stored.definition[:-6] + b'AAAA="'))
        with pytest.raises(CorruptSchedule, match=r"'daily' cannot be used \(it was changed"):
            await store.schedule("daily")
        assert saved.definition == JSON
        good = await store.save_schedule(StoredSchedule("good", "digest", JSON, NOW, NOW, NOW))
        page = await store.schedules()
        (error,) = page.damaged
        assert isinstance(error, CorruptSchedule)
        assert ([*page.items], error.key) == ([good], "daily")


async def test_a_schedule_of_a_missing_key_hides_no_other() -> None:
    inner, foreign = MemoryStore(), [f"a{number}" for number in range(5)]
    async with EncryptedStore(inner, keys=OTHER) as store:
        for key in foreign:
            await store.save_schedule(StoredSchedule(key, "digest", JSON, NOW, NOW, NOW))
    async with EncryptedStore(inner, keys=KEY) as store:
        for key in ("b", "c"):
            await store.save_schedule(StoredSchedule(key, "digest", JSON, NOW, NOW, NOW))
        with pytest.raises(CannotDecrypt):
            await store.schedule("a0")
        page = await store.schedules()
        assert [each.key for each in page.items] == ["b", "c"]
        assert [error.key for error in page.damaged if isinstance(error, CorruptSchedule)] == foreign
        assert "was encrypted by key" in page.damaged[0].reason
        due = await store.due_schedules(NOW, limit=1)
        assert ([each.key for each in due.items], due.following, len(due.damaged)) == (["b"], NOW, 5)
        due = await store.due_schedules(NOW, limit=2)
        assert ([each.key for each in due.items], due.following, len(due.damaged)) == (["b", "c"], None, 5)


async def test_a_run_of_a_missing_key_hides_no_other() -> None:
    inner = MemoryStore()
    async with EncryptedStore(inner, keys=OTHER) as store:
        await started(store, "foreign")
    async with inner:
        await started(inner, "plain")
    async with EncryptedStore(inner, keys=[OTHER, KEY], plain=True) as store:
        await started(store, "new")
    async with EncryptedStore(inner, keys=OTHER) as store:
        page = await store.find()
        assert [run.run_id for run in page.items] == ["foreign", "new"]
        (error,) = page.damaged
        assert isinstance(error, CannotDecrypt)
        assert (error.run_id, error.key) == ("plain", None)


async def test_tables_of_the_application_are_not_encrypted() -> None:
    async with EncryptedStore(MemoryStore(), keys=KEY) as store:
        await store.execute(Statement("CREATE TABLE app_notes (text)"), Statement("INSERT INTO app_notes VALUES ('a')"))
        assert await store.query("SELECT text FROM app_notes") == [("a",)]


MOVES = {
    "a state": "frames.state",
    "a large value": "vals.value",
    "an item": "items.input",
    "a result": "items.value",
    "an error of an item": "items.error",
    "the result of an effect": "effects.value",
    "a question": "waits.prompt",
    "an answer": "waits.value",
    "why an answer was dropped": "waits.refused",
    "a signal": "signals.value",
    "what has happened": "history.value",
    "why it has failed": "runs.error",
}


@pytest.mark.parametrize("cell", MOVES.values(), ids=MOVES)
async def test_a_value_of_another_run_is_told_as_damage(cell: str) -> None:
    table, _, column = cell.partition(".")
    inner = MemoryStore()
    async with EncryptedStore(inner, keys=KEY) as store:
        for run_id in ("a", "b"):
            await told_all(store, run_id)
            assert await reads(store, run_id)
        assert inner._connection is not None
        theirs = f"SELECT {column} FROM {table} WHERE rk = 1 AND {column} IS NOT NULL LIMIT 1"  # noqa: S608  # of a test
        moved = inner._connection.execute(
            f"UPDATE {table} SET {column} = ({theirs}) WHERE rk = 2 AND {column} IS NOT NULL"  # noqa: S608  # as above
        )
        assert moved.rowcount > 0
        assert await reads(store, "a")
        assert not await reads(store, "b")


async def told_all(store: EncryptedStore, run_id: str) -> None:
    """A run with a row in each table that has sealed values."""
    refs = {"large": Ref(1)}
    root = Frame("", 1, "next", {"small": JSON}, refs=refs)
    new = replace(new_run(run_id), root=root, values=[StoredValue("", 1, None, JSON)], keep=Keep.ALL)
    lease, _ = await store.create(new)
    assert lease is not None
    item = Item("items", 0, 0, ItemStatus.WAITING, JSON)
    await store.commit(Commit(lease=lease, frozen=[item, item._replace(idx=1)]))
    done = Effect("pay", "key", EffectStatus.DONE, JSON)
    tried = Happening(HappeningKind.STEP, "step", AttemptOutcome.FAILED, 1.0, 2.0, "why", DETAIL, JSON)
    ended = [
        item._replace(status=ItemStatus.FAILED, error="why"),
        item._replace(idx=1, status=ItemStatus.OK, value=JSON),
    ]
    await store.commit(Commit(lease=lease, outcomes=ended, effects=[done], happened=[tried]))
    for place in ("ask", "again"):
        await store.wait(lease, NewWait(place, WaitKind.ANSWER, place, JSON))
        await store.answer(run_id, place, JSON, checked=False)
    await store.reopen(lease, "again", "why")
    await store.signal(run_id, "name", JSON)
    news = (await store.info(run_id)).news
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED, "why", "trace", heard=news)))


async def reads(store: EncryptedStore, run_id: str) -> bool:
    try:
        await store.load(run_id)
        await store.signals(run_id)
        await store.happenings(run_id)
    except CorruptRun:
        return False
    return True


async def test_an_element_can_be_no_state() -> None:
    inner = MemoryStore()
    async with EncryptedStore(inner, keys=KEY) as store:
        await store.create(
            replace(
                new_run("a"),
                root=Frame("", 1, "next", {"list": b"[]"}, refs={"list": Ref(1, 1)}),
                values=[StoredValue("", 1, 0, JSON)],
            )
        )
        await store.create(replace(new_run("b"), root=Frame("", 1, "next", {"small": JSON})))
        assert inner._connection is not None
        inner._connection.execute(
            "UPDATE frames SET state = CAST('{\"small\":' || (SELECT value FROM elements) || '}' AS BLOB)"
            " WHERE rk = (SELECT rk FROM runs WHERE run_id = 'b')"
        )
        with pytest.raises(CorruptRun):
            await store.load("b")


def test_what_was_sealed_before_values_were_bound_to_runs_is_opened() -> None:
    keys = Keys(bytes(range(32)))
    state = b'"sealed1/KpsYngO0dW5VZlM2AC6G0Ky+GoXJqGNy/fo8EZ9MEpshnR6HJy3V"'
    text = "sealed1/KpsYns/AikBYI1C9uIddIjfeb/xhfA0F3Nc0tpOrj/uA7YA="
    given = b'"sealed1/KpsYnv1Z4UmeaZhq6bzUXOpvxjHH2tcZla5zwoIAKKAV7g=="'
    assert keys.open_json(b"state", state, owner=b"any") == b'{"a":1}'
    assert keys.open_text(b"text", text, owner=b"any") == "why"
    assert keys.seal_alike(b"input work", b"{}") == given  # compared when a key is used again


async def test_the_words_of_sealed_errors_are_not_indexed() -> None:
    inner = MemoryStore()
    async with EncryptedStore(inner, keys=KEY) as store:
        await told_all(store, "a")
        assert inner._connection is not None
        assert inner._connection.execute("SELECT count(*) FROM failures").fetchone() == (0,)
        assert (await inner.find(text="sealed2")).items == ()


def test_bytes_of_any_type_are_keys() -> None:
    for given in (bytearray(KEY), memoryview(KEY), [bytearray(KEY)]):
        assert EncryptedStore(MemoryStore(), keys=given)._sealing.keys.ids == Keys(KEY).ids  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("keys", ["k" * 32, 7, [KEY, 7], None])
def test_what_is_no_bytes_is_refused_and_not_shown(keys: Any) -> None:
    with pytest.raises(TypeError, match=r"keys=: \w+ is no key: give bytes") as caught:
        EncryptedStore(MemoryStore(), keys=keys)
    assert "k" * 32 not in str(caught.value)


@pytest.mark.parametrize("keys", [[], b"short", [KEY, b"short"]])
def test_what_is_no_key_is_refused(keys: bytes | list[bytes]) -> None:
    with pytest.raises(ValueError, match="16, 24 or 32 bytes"):
        EncryptedStore(MemoryStore(), keys=keys)


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(EncryptionNotInstalled, match="needs cryptography, which is not installed"):
        EncryptedStore(MemoryStore(), keys=KEY)


def test_a_text_of_the_application_is_opened_by_its_name_and_key_only() -> None:
    texts = EncryptedTexts(KEY)
    sealed = texts.seal("token", "secret")
    assert "secret" not in sealed
    assert texts.open("token", sealed) == "secret"
    assert EncryptedTexts([OTHER, KEY]).open("token", sealed) == "secret"
    with pytest.raises(CorruptStore, match="the encrypted text 'other' is not what was written"):
        texts.open("other", sealed)
    with pytest.raises(CannotDecrypt):
        EncryptedTexts(OTHER).open("token", sealed)
    with pytest.raises(CannotDecrypt):
        texts.open("token", "secret")
    assert EncryptedTexts(KEY, plain=True).open("token", "secret") == "secret"
