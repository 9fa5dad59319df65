"""The beginning of a run."""

import sqlite3
from collections.abc import Mapping, Sequence

from .._outside import StoredValue
from .._records import Frame, Keep, Lease, NewRun, RunStatus
from .._snapshots import RunInfo
from ..errors import BlobNotFound, CancelRequested, KeyRemembered
from ._changes import INSERT_BLOB, RowChange, element_blob_rows, frame_row, shape_row, value_rows
from ._continuing import continue_lists
from ._fence import Right
from ._forking import fork_lists, fork_rows
from ._happened import began_row, happened_rows
from ._keys import FREE_ID, FREE_KEY, SELECT_REMEMBERED, digest
from ._queries import LAST_STORED, RUN_COLUMNS, SELECT_RUN
from ._rows import to_run, to_time
from ._schedules import save as save_schedule

INSERT_RUN = f"""
INSERT INTO runs (
  status, epoch, rk, run_id, workflow, version, key, input, owner, shape, trace, created_at, keep, remembered
) SELECT 'running', 1, * FROM (
  SELECT ? AS rk, ? AS run_id, ? AS workflow, ? AS version, ? AS key, ?, ?, ?, ?, ?, ?, ?
) AS run WHERE {FREE_ID} AND {FREE_KEY} ON CONFLICT DO NOTHING
"""
SET_PLACE = """
UPDATE runs SET starter = ?, starter_at = (
  SELECT max(number) FROM history WHERE rk = (SELECT rk FROM runs AS above WHERE above.run_id = ?)
) WHERE rk = ?
"""
CANCELLED = "SELECT 1 FROM runs WHERE run_id = ? AND cancelling = 1"
INSERT_LABEL = "INSERT INTO labels (rk, name, value, created_at) VALUES (?, ?, ?, ?)"
ADOPT = "INSERT INTO blob_refs (rk, digest) SELECT ?, digest FROM blobs WHERE digest = ?"
_SELECT_BY_KEY = f"SELECT {RUN_COLUMNS} FROM runs WHERE workflow = ? AND key = ?"


class Adoption(RowChange):
    """The reference of a new run to bytes, which have to be there."""

    __slots__ = ()

    def __call__(self, connection: sqlite3.Connection) -> None:
        """Refer to them.

        Raises:
            BlobNotFound: They are not there.
        """
        if connection.execute(self.text, self.values).rowcount != 1:
            raise BlobNotFound(str(self.values[1]))


class Guard(RowChange):
    """A row that must not be there, of which nothing is changed."""

    __slots__ = ()

    def __call__(self, connection: sqlite3.Connection) -> None:
        """Look for it.

        Raises:
            CancelRequested: It is there.
        """
        if connection.execute(self.text, self.values).fetchone() is not None:
            raise CancelRequested(self.right.lease.run_id)


class Creation:
    """Inserts a run with its first frame, or finds the one that was there.

    Args:
        run: The run.
        now: The time.
    """

    __slots__ = ("_now", "run")

    def __init__(self, run: NewRun, now: int) -> None:
        self.run = run
        self._now = now

    def __call__(self, connection: sqlite3.Connection) -> tuple[Lease | None, RunInfo]:
        """Insert it, inside of a savepoint.

        Raises:
            KeyRemembered: Its id or key is that of a run that was forgotten.
            CancelRequested: It is below a run whose end was requested.
            BlobNotFound: It refers to bytes that are not there.
            RunNotFound: One of its lists begins with that of an unknown run, or it is a fork of one.
            ListTooShort: It begins with more elements than there are.
            ScheduleChanged: Its schedule has another revision.
            StaleCheckpoint: It is a fork, and the other run no longer has one of the lists.
        """
        lease = self.lease(last_key(connection) + 1)
        insertion = self._insertion(lease)
        if connection.execute(insertion.text, insertion.values).rowcount != 1:
            return None, self._existing(connection)
        run = fork_lists(connection, lease.row, self.run)
        root, values = continue_lists(connection, lease.row, run)
        for row in self._rows(lease, root, values):
            row(connection)
        if run.forked is not None:
            for row in fork_rows(lease, run.forked, self._now):
                row(connection)
        if self.run.shape is not None:
            shape_row(lease, self.run.shape, self.run.workflow, self.run.version)(connection)
        if self.run.schedule is not None:
            save_schedule(connection, self.run.schedule)
        return lease, self.begun()

    @property
    def is_plain(self) -> bool:
        """Whether its rows are known without asking what others have stored."""
        return not self.run.continued and self.run.forked is None and self.run.schedule is None

    def lease(self, key: int) -> Lease:
        """The right to commit to it.

        Args:
            key: The store's own key of the run.
        """
        return Lease(self.run.run_id, 1, key, self.run.keep, self.run.owner)

    def rows(self, lease: Lease) -> Sequence[RowChange]:
        """The rows that are its own, the run itself first."""
        return [self._insertion(lease), *self._rows(lease, self.run.root, self.run.values)]

    def _insertion(self, lease: Lease) -> RowChange:
        run, right = self.run, Right(lease)
        shape = None if run.shape is None else run.shape.id
        about = (run.run_id, run.workflow, run.version, run.key, bytearray(run.input), run.owner, shape, run.trace)
        return RowChange(INSERT_RUN, (lease.row, *about, self._now, run.keep.value, run.remembered), right, "", "new")

    def _rows(self, lease: Lease, root: Frame, values: Sequence[StoredValue]) -> Sequence[RowChange]:
        run, right = self.run, Right(lease)
        rows = [*map(guard, _above(run.run_id)), frame_row(right, root, self._now)]
        for value in values:
            rows += value_rows(right, value, self._now)
        if run.blobs:
            rows += _blob_rows(right, run.blobs)
            rows += element_blob_rows(right, values)
        if run.labels:
            rows += _label_rows(right, run.labels, self._now)
        if run.keep is Keep.ALL:
            told = (began_row(lease, self._now), *happened_rows(lease, run.happened, None, self._now))
            rows += [RowChange(*row, right) for row in told]
        if run.place is not None:
            rows.append(RowChange(SET_PLACE, (run.place, run.run_id.rpartition(".")[0], lease.row), right))
        return rows

    def begun(self) -> RunInfo:
        """What `run_of` would say, without asking: a store that takes many runs would do little else."""
        run = self.run
        return RunInfo(
            run_id=run.run_id,
            workflow=run.workflow,
            version=run.version,
            status=RunStatus.RUNNING,
            key=run.key,
            input=run.input,
            error=None,
            cancelling=False,
            owner=run.owner,
            epoch=1,
            attempts=0,
            created_at=to_time(self._now),
            finished_at=None,
            trace=run.trace,
            keep=run.keep,
            shape=None if run.shape is None else run.shape.id,
            labels=run.labels,
            forked_from=None if run.forked is None else run.forked.run_id,
            forked_at=None if run.forked is None else run.forked.number,
        )

    def _existing(self, connection: sqlite3.Connection) -> RunInfo:
        run = self.run
        row = connection.execute(SELECT_RUN, (run.run_id,)).fetchone()
        row = row or connection.execute(_SELECT_BY_KEY, (run.workflow, run.key)).fetchone()
        if row is not None:
            return to_run(row)
        names = (run.run_id, run.workflow, run.key)
        run_id, status, ended, start = connection.execute(SELECT_REMEMBERED, names).fetchone()
        is_same = start == digest(run.workflow.encode(), run.input)
        raise KeyRemembered(run_id, status, to_time(ended), is_same=is_same)


def guard(run_id: str) -> Guard:
    """Refuses what is below a run whose end was requested."""
    return Guard(CANCELLED, (run_id,), Right(Lease(run_id, 0, 0)))


def _above(run_id: str) -> Sequence[str]:
    """The ids of the runs that a run is below."""
    return [run_id[:end] for end, character in enumerate(run_id) if character == "."] if "." in run_id else ()


def last_key(connection: sqlite3.Connection) -> int:
    """The highest of the store's own keys that a run has, or ever had."""
    key: int = connection.execute(LAST_STORED.text).fetchone()[0]
    return key


def _label_rows(right: Right, labels: Mapping[str, str], now: int) -> Sequence[RowChange]:
    """What a new run can be found by."""
    return [RowChange(INSERT_LABEL, (right.lease.row, name, value, now), right) for name, value in labels.items()]


def _blob_rows(right: Right, blobs: Mapping[str, bytes | None]) -> Sequence[RowChange]:
    """Bytes that a new run refers to; those that it does not bring have to be there."""
    rows = []
    for name, data in blobs.items():
        if data is not None:
            rows.append(RowChange(INSERT_BLOB, (name, data), right))
        rows.append(Adoption(ADOPT, (right.lease.row, name), right))
    return rows
