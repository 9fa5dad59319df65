"""A store of many runs: one is made by a runner, the others are copies of its rows with other names and other ends.

Of eleven finished runs one has failed; of the open ones half are parked, and half were left by a process that has died.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Chain, Runner, Wait, step

TEMPLATE: Final = "template"
_COPIES: Final = """
INSERT INTO runs (run_id, workflow, version, status, input, error, owner, shape, epoch, created_at, finished_at, keep)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :runs + :open)
SELECT printf('run-%08d', i), iif(i <= :open OR i % 10 < 6, 'support', 'flow-' || (i % 10)), version,
  CASE
    WHEN i <= :open THEN iif(i % 2, 'running', 'waiting')
    WHEN i % 11 = 0 THEN 'failed' WHEN i % 97 = 0 THEN 'cancelled' ELSE 'completed'
  END, input,
  CASE WHEN i > :open AND i % 11 = 0 THEN
    'StepFailed: step "charge" of run ' || i || ' failed: ' || CASE i % 3
      WHEN 0 THEN 'ConnectionResetError: 10.0.0.' || (i % 250) || ' has closed the connection'
      WHEN 1 THEN 'TimeoutError: no answer after 30 s'
      ELSE 'ValueError: amount ' || i || ' is too large'
    END || char(30) || 'Traceback (most recent call last): ' || hex(randomblob(500))
  END,
  iif(i <= :open AND i % 2, owner, NULL), shape, 1, created_at + i * 1000000,
  iif(i > :open, created_at + i * 1000000 + (1 + i % 600) * 1000000, NULL), keep
FROM n CROSS JOIN runs WHERE run_id = :template
"""
_BESIDE: Final = (
    "INSERT INTO labels SELECT rk, 'customer', 'c' || (rk % 1000), created_at FROM runs",
    "INSERT INTO labels SELECT rk, 'region', 'r' || (rk % 4), created_at FROM runs",
    """
    INSERT INTO frames (rk, path, seq, next, state, saved_at)
    SELECT runs.rk, path, seq, iif(runs.finished_at IS NULL, next, NULL), state, saved_at
    FROM runs CROSS JOIN frames ON frames.rk = (SELECT rk FROM runs WHERE run_id = :template)
    WHERE runs.run_id <> :template
    """,
    """
    INSERT INTO waits (rk, place, id, kind, name, prompt, status, opened_at)
    SELECT runs.rk, place, run_id || '/' || place, kind, name, prompt, waits.status, opened_at
    FROM runs CROSS JOIN waits ON waits.rk = (SELECT rk FROM runs WHERE run_id = :template)
    WHERE runs.status = 'waiting' AND runs.run_id <> :template
    """,
    """
    INSERT INTO failures (rowid, words)
    SELECT rk, substr(error, 1, instr(error, char(30)) - 1) FROM runs WHERE error IS NOT NULL
    """,
)


async def answer(state: Any) -> dict[str, str]:
    """What one run has to be answered."""
    return {"answer": f"{state['question']} - two days"}


SUPPORT: Final = Chain("support", [step("answer", answer), Wait("approval")])


async def begin(file: Path) -> None:
    """Make a store with one run, which is parked."""
    async with SqliteStore(file) as store, Runner(store, workflows=[SUPPORT]) as runner:
        run = await runner.start(SUPPORT, {"question": "When is it delivered, and who pays for that?"}, run_id=TEMPLATE)
        await run.settled()


def fill(file: Path, runs: int, still_open: int) -> None:
    """Copy that run."""
    given = {"runs": runs, "open": still_open, "template": TEMPLATE}
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -500000")
        connection.execute("BEGIN")
        for text in (_COPIES, *_BESIDE):
            connection.execute(text, {name: value for name, value in given.items() if f":{name}" in text})
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
