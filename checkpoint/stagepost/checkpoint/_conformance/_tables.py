"""Labels, times, and tables of the application."""

from dataclasses import replace
from typing import Final

from .._records import Closing, Commit, Keep, RunStatus
from .._store import CheckpointStore
from .._tables import Statement
from ..errors import LabelRefused, RunNotFound, StaleCheckpoint, StatementFailed, StatementRefused
from ._words import Check, a_frame, an_item, end, equal, lease_of, new_run, refuses, started

_TABLE: Final = Statement("CREATE TABLE app_orders (run TEXT PRIMARY KEY, total INTEGER NOT NULL) STRICT")
_INSERT: Final = "INSERT INTO app_orders VALUES (?, ?)"


async def check_labels_are_told_with_a_run(store: CheckpointStore) -> None:
    """As they were given at its start; they go with it."""
    labels = {"customer": "7", "region": "north \u00e4"}
    _, info = await store.create(replace(new_run("run"), labels=labels))
    equal(dict(info.labels), labels)
    _, again = await store.create(replace(new_run("run"), labels={"customer": "8"}))
    equal([dict(each.labels) for each in (again, await store.info("run"))], [labels, labels])
    await started(store, "without")
    equal({run.run_id: dict(run.labels) for run in (await store.find()).items}, {"run": labels, "without": {}})
    await end(store, "run", RunStatus.COMPLETED)
    await store.delete("run")
    await started(store, "run")
    equal(dict((await store.info("run")).labels), {})


async def check_runs_are_found_by_their_labels(store: CheckpointStore) -> None:
    """By one, by all of several, together with other filters, page by page; not by what others are labelled with."""
    for number in range(6):
        labels = {"tenant": "ab"[number % 2], "region": "xyz"[number % 3]}
        await store.create(replace(new_run(f"run-{number}", workflow=f"w{number // 3}"), labels=labels))
    await started(store, "run-9")
    equal(await _found(store, {"tenant": "a"}), [0, 2, 4])
    equal(await _found(store, {"tenant": "a", "region": "y"}), [4])
    equal(await _found(store, {"tenant": "a"}, workflow="w0"), [0, 2])
    equal(await _found(store, {"tenant": "a"}, workflow="w0", status=RunStatus.FAILED), [])
    for nothing in ({"tenant": "x"}, {"a": "tenant"}, {"tenant": "a", "region": "a"}):
        equal(await _found(store, nothing), [])
    await store.create(replace(new_run("run-1.child-7"), labels={"tenant": "a"}))
    await store.create(replace(new_run("run-1.child-8"), labels={"tenant": "b"}))
    equal([run.run_id for run in (await store.find(labels={"tenant": "a"}, below="run-1")).items], ["run-1.child-7"])
    for child in ("run-1.child-7", "run-1.child-8"):
        await end(store, child, RunStatus.COMPLETED)
        await store.delete(child)
    await end(store, "run-2", RunStatus.COMPLETED)
    equal(await _found(store, {"tenant": "a"}), [0, 2, 4])
    equal(await _found(store, {"tenant": "a"}, status=RunStatus.RUNNING), [0, 4])
    await store.delete("run-2")
    equal(await _found(store, {"tenant": "a"}), [0, 4])


async def _found(
    store: CheckpointStore, labels: dict[str, str], *, status: RunStatus | None = None, workflow: str | None = None
) -> list[int]:
    """The numbers of the runs that have these labels, read by pages of one, in both directions."""
    found: list[list[int]] = []
    for newest_first in (False, True):
        numbers, after, more = list[int](), None, True
        while more:
            page = await store.find(
                labels=labels, status=status, workflow=workflow, newest_first=newest_first, after=after, limit=1
            )
            numbers += [int(run.run_id.rpartition("-")[2]) for run in page.items]
            after, more = page.next, page.next is not None
        found.append(numbers)
    equal(found[1], found[0][::-1])
    return sorted(found[0])


async def check_labels_have_limits(store: CheckpointStore) -> None:
    """Sixteen pairs of texts of 1 to 200 characters."""
    await store.create(replace(new_run("many"), labels={str(number): "x" * 200 for number in range(16)}))
    wrong: list[dict[str, str]] = [
        {str(number): "x" for number in range(17)},
        {"": "x"},
        {"x": ""},
        {"x": "y" * 201},
        {"x" * 201: "y"},
        {"x": "\ud800"},
        {"x": 1},  # type: ignore[dict-item]  # the mistake under test
    ]
    for labels in wrong:
        with refuses(LabelRefused, labels):
            await store.create(replace(new_run("wrong"), labels=labels))
    with refuses(RunNotFound):
        await store.info("wrong")


async def check_it_is_told_when_frames_and_items_were_saved(store: CheckpointStore) -> None:
    """By the store's clock; an item when it was frozen, and then when it ended."""
    lease = await started(store, "run")
    begun = (await store.load("run")).saved_at
    equal(set(begun), {""})
    item = an_item("fan", 3)
    await store.commit(Commit(lease=lease, frame=a_frame(2), frozen=[item]))
    snapshot = await store.load("run")
    equal(set(snapshot.saved_at), {"", "fan[3]"})
    equal(snapshot.saved_at[""], snapshot.saved_at["fan[3]"])


async def check_what_is_written_to_tables_is_saved_with_the_commit(store: CheckpointStore) -> None:
    """All or nothing, also with the last commit of a run that leaves nothing."""
    await store.execute(_TABLE)
    lease = await started(store, "run")
    await store.commit(Commit(lease=lease, frame=a_frame(2), also=[Statement(_INSERT, ("run", 7))]))
    with refuses(StaleCheckpoint):
        await store.commit(Commit(lease=lease, frame=a_frame(9), also=[Statement(_INSERT, ("stale", 8))]))
    with refuses(StatementFailed):
        await store.commit(Commit(lease=lease, frame=a_frame(3), also=[Statement(_INSERT, ("run", 9))]))
    equal((await store.load("run")).root.seq, 2)
    last, _ = await store.create(replace(new_run("gone"), keep=Keep.NONE))
    closing = Commit(lease=lease_of(last), closing=Closing(RunStatus.COMPLETED))
    await store.commit(closing._replace(also=[Statement(_INSERT, ("gone", 1))]))
    equal(await store.query("SELECT run, total FROM app_orders ORDER BY run"), [("gone", 1), ("run", 7)])
    equal(await store.query("SELECT total FROM app_orders WHERE run = ?;", "run"), [(7,)])


async def check_statements_are_executed_together(store: CheckpointStore) -> None:
    """And undone together."""
    await store.execute(_TABLE, Statement("CREATE INDEX app_totals ON app_orders (total)"))
    with refuses(StatementFailed):
        await store.execute(Statement(_INSERT, ("a", 1)), Statement(_INSERT, ("a", 2)))
    equal(await store.query("SELECT * FROM app_orders"), [])
    await store.execute(
        Statement(_INSERT, ("a", 1)),
        Statement("UPDATE app_orders SET total = total + 1"),
        Statement("ALTER TABLE app_orders ADD COLUMN note TEXT"),
        Statement("INSERT INTO app_orders SELECT run_id, epoch, NULL FROM runs RETURNING run"),
    )
    equal(await store.query("SELECT * FROM app_orders"), [("a", 2, None)])
    await store.execute(Statement("DELETE FROM app_orders"), Statement("DROP TABLE app_orders"))
    with refuses(StatementFailed):
        await store.query("SELECT * FROM app_orders")


async def check_tables_may_be_searched_by_words(store: CheckpointStore) -> None:
    """By FTS5, in the same transactions; if its own tables are spoilt, only statements fail."""
    words = "CREATE VIRTUAL TABLE IF NOT EXISTS app_words USING fts5(text, content='')"
    insert = "INSERT INTO app_words (rowid, text) VALUES (?, ?)"
    found = "SELECT rowid FROM app_words WHERE app_words MATCH ? ORDER BY bm25(app_words), rowid"
    await store.execute(_TABLE, Statement(words), Statement(words), Statement(insert, (1, "black tea")))
    lease = await started(store, "run")
    await store.commit(Commit(lease=lease, frame=a_frame(2), also=[Statement(insert, (2, "green tea"))]))
    with refuses(StatementFailed):
        await store.execute(Statement(insert, (3, "white tea")), Statement("INSERT INTO app_orders VALUES (1)"))
    equal(await store.query(found, "tea"), [(1,), (2,)])
    equal(await store.query(found, "green"), [(2,)])
    forget = "INSERT INTO app_words (app_words, rowid, text) VALUES ('delete', ?, ?)"
    await store.execute(Statement(forget, (1, "black tea")))
    equal(await store.query(found, "tea"), [(2,)])
    with refuses(StatementFailed):
        await store.query(found, 'tea"')
    await store.execute(Statement("DELETE FROM app_words_data"))
    with refuses(StatementFailed):
        await store.execute(Statement(insert, (4, "red tea")))
    await store.execute(Statement("DROP TABLE app_words"))
    equal((await store.load("run")).root.seq, 2)


async def check_the_tables_of_the_store_are_left_alone(store: CheckpointStore) -> None:
    """Whatever a statement does to them is refused, as are transactions, and references to them."""
    await started(store, "run")
    await store.execute(_TABLE)
    refused = [
        "DELETE FROM runs",
        "UPDATE meta SET value = 0",
        "INSERT INTO frames SELECT * FROM frames",
        "INSERT OR ROLLBACK INTO app_orders VALUES ('x', 1)",
        "CREATE TABLE orders (run TEXT)",
        "CREATE TABLE app_more (run TEXT REFERENCES runs (run_id))",
        "CREATE INDEX app_index ON runs (created_at)",
        "CREATE INDEX orders_index ON app_orders (total)",
        "CREATE TRIGGER app_trigger AFTER INSERT ON app_orders BEGIN DELETE FROM runs; END",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
        "CREATE VIRTUAL TABLE app_boxes USING rtree(id, low, high)",
        "CREATE VIRTUAL TABLE temp.app_words USING fts5(text)",
        "CREATE VIEW app_view AS SELECT * FROM runs",
        "CREATE TEMP TABLE app_temp (x)",
        "ALTER TABLE runs ADD COLUMN x",
        "DROP TABLE runs",
        "DROP INDEX runs_key",
        "PRAGMA synchronous = OFF",
        "BEGIN",
        "COMMIT",
        "SAVEPOINT app_point",
        "ATTACH ':memory:' AS app_other",
    ]
    for text in refused:
        with refuses(StatementRefused, text):
            await store.execute(Statement(text))
    for text in (
        "DELETE FROM nothing",
        "no SQL",
        "SELECT 1; SELECT 2",
        "SELECT ?",
        "INSERT INTO app_orders VALUES (1)",
    ):
        with refuses(StatementFailed, text):
            await store.execute(Statement(text))
    for total in (2**70, "\ud800"):
        with refuses(StatementFailed, total):
            await store.execute(Statement(_INSERT, ("x", total)))
    for text in ("DELETE FROM runs", "no SQL", "SELECT ?", "SELECT 1; SELECT 2", "PRAGMA user_version"):
        with refuses(StatementFailed, text):
            await store.query(text)
    equal(await store.query("SELECT run_id FROM runs"), [("run",)])


async def check_what_there_was_allows_nothing(store: CheckpointStore) -> None:
    """A statement that did nothing, as its table was there, is refused once it would do something."""
    await started(store, "run")
    refused = Statement("CREATE TABLE IF NOT EXISTS app_orders (run TEXT REFERENCES runs (run_id))")
    boxes = Statement("CREATE VIRTUAL TABLE IF NOT EXISTS app_orders USING rtree(id, low, high)")
    await store.execute(_TABLE, refused, boxes, Statement("DROP TABLE app_orders"))
    for statement in (refused, boxes):
        with refuses(StatementRefused, statement.text):
            await store.execute(statement)


CHECKS: Final[tuple[Check, ...]] = (
    check_labels_are_told_with_a_run,
    check_runs_are_found_by_their_labels,
    check_labels_have_limits,
    check_it_is_told_when_frames_and_items_were_saved,
    check_what_is_written_to_tables_is_saved_with_the_commit,
    check_statements_are_executed_together,
    check_tables_may_be_searched_by_words,
    check_the_tables_of_the_store_are_left_alone,
    check_what_there_was_allows_nothing,
)
