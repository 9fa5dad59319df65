"""The tables and triggers of what happens to runs that keep all.

A row of `history` is never changed, and `attempts` is what it has not told yet: an attempt begins there, and its end is
a row of the history, whose trigger takes note of it. What others than the owner write, such as answers, gets there by
triggers too, so that nobody can forget it.
"""

from typing import Final

_NEXT: Final = "(SELECT coalesce(max(number), 0) + 1 FROM history WHERE rk = NEW.rk)"
_KEEPS_ALL: Final = "(SELECT keep FROM runs WHERE rk = NEW.rk) = 'all'"
_PATH: Final = "substr(NEW.place, 1, instr(NEW.place || '#', '#') - 1)"
_ABOUT: Final = (  # SQLite lets no trigger make JSON
    "CAST(NEW.kind || char(30) || NEW.name || char(30) || coalesce(NEW.due_at, '') || char(30) || "
    "coalesce({by}, '') AS BLOB)"
)
_OF_NEW, _OF_OLD = _ABOUT.format(by="NEW.by"), _ABOUT.format(by="OLD.by")
_ASKED: Final = f"""BEGIN INSERT INTO history (rk, number, kind, place, outcome, attempt, begun, ended, epoch, saved_at)
  SELECT rk, {_NEXT}, kind, place, 'waiting', attempt, begun,
    NEW.opened_at, (SELECT epoch FROM runs WHERE rk = NEW.rk), NEW.opened_at
  FROM attempts WHERE rk = NEW.rk AND place = NEW.place AND outcome IS NULL
; INSERT INTO history (rk, number, kind, place, outcome, begun, detail, value, epoch, saved_at)
  SELECT rk, {_NEXT}, 'wait', NEW.place, 'open', NEW.opened_at,
    {_OF_NEW}, NEW.prompt, epoch,
    NEW.opened_at
  FROM runs WHERE rk = NEW.rk
; END;
"""
HISTORY: Final = f"""
CREATE TABLE history (                    -- what has happened to a run that keeps all, and every version of its frames
  rk       INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  number   INTEGER NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('run', 'step', 'fan_out', 'item', 'items', 'wait', 'frame')),
  place    TEXT NOT NULL,                 -- the step, fan-out, item or wait; '' the run itself
  outcome  TEXT,                          -- of an attempt, a wait or the run
  attempt  INTEGER,                       -- at this place, from 1; NULL: it is about no attempt
  begun    INTEGER,                       -- microseconds since 1970
  ended    INTEGER,
  error    TEXT,
  detail   BLOB,                          -- JSON object of the workflow layer's own; of a wait its kind, name, time
                                          -- when it is due, and by whom it was answered, with char(30) in between
  value    BLOB,                          -- JSON: what was made, shown or answered, where no frame says that
  path     TEXT,                          -- of the frame that was saved with it; NULL: none was
  seq      INTEGER,
  next     TEXT,
  visits   TEXT,
  width    INTEGER,
  state    BLOB,
  refs     TEXT,                          -- as in frames; what they name stays
  epoch    INTEGER NOT NULL,              -- by which claim of the run
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (rk, number)
) STRICT;

CREATE TABLE attempts (                   -- at places of a run that keeps all, unless the last one has ended well
  rk      INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  place   TEXT NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('step', 'fan_out', 'item')),
  attempt INTEGER NOT NULL,               -- the last one, from 1
  begun   INTEGER NOT NULL,               -- microseconds since 1970
  outcome TEXT,                           -- NULL: it is under way
  resting INTEGER NOT NULL DEFAULT 0,     -- 1: something in it waits, and its run is parked
  PRIMARY KEY (rk, place)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER attempts_ended AFTER INSERT ON history WHEN NEW.attempt IS NOT NULL
BEGIN DELETE FROM attempts WHERE rk = NEW.rk AND place = NEW.place
; INSERT INTO attempts (rk, place, kind, attempt, begun, outcome)
  SELECT NEW.rk, NEW.place, NEW.kind, NEW.attempt, coalesce(NEW.begun, NEW.saved_at), NEW.outcome
  WHERE NEW.outcome <> 'ok'
; END;
CREATE TRIGGER attempts_given_up AFTER INSERT ON history -- what was under way inside of what has ended
WHEN NEW.outcome IN ('ok', 'failed', 'cancelled')
AND (NEW.kind = 'fan_out' OR (NEW.kind = 'item' AND NEW.outcome <> 'ok'))
AND (SELECT status FROM runs WHERE rk = NEW.rk) = 'running' -- else all that was under way is given up at once
BEGIN INSERT INTO history (rk, number, kind, place, outcome, attempt, begun, ended, epoch, saved_at)
  SELECT rk, NEW.number + row_number() OVER (ORDER BY place), kind, place, 'cancelled', attempt, begun, NEW.ended,
    NEW.epoch, NEW.saved_at
  FROM attempts WHERE rk = NEW.rk AND outcome IS NULL
  AND place > {_PATH} || iif(NEW.kind = 'item', '/', '[')
  AND place < {_PATH} || iif(NEW.kind = 'item', '0', char(92))
; DELETE FROM attempts WHERE rk = NEW.rk AND NEW.kind = 'fan_out' AND NEW.outcome = 'ok'
  AND place > {_PATH} || '['
  AND place < {_PATH} || char(92)
; END;
CREATE TRIGGER attempts_closed AFTER INSERT ON history -- what was under way when the run ended
WHEN NEW.kind = 'run' AND NEW.outcome IN ('completed', 'failed', 'cancelled', 'dead')
BEGIN INSERT INTO history (rk, number, kind, place, outcome, attempt, begun, ended, epoch, saved_at)
  SELECT rk, NEW.number + row_number() OVER (ORDER BY place), kind, place, 'cancelled', attempt, begun, NEW.ended,
    NEW.epoch, NEW.saved_at
  FROM attempts WHERE rk = NEW.rk AND outcome IS NULL
; DELETE FROM attempts WHERE rk = NEW.rk AND NEW.outcome IN ('completed', 'cancelled')
; END;

CREATE TRIGGER waits_asked AFTER INSERT ON waits
WHEN NEW.status = 'open' AND {_KEEPS_ALL}
{_ASKED}CREATE TRIGGER waits_asked_again AFTER UPDATE OF status ON waits
WHEN NEW.status = 'open' AND NEW.refused IS NULL AND {_KEEPS_ALL}
{_ASKED}CREATE TRIGGER waits_over AFTER UPDATE OF status ON waits
WHEN OLD.status = 'open' AND NEW.status <> 'open' AND {_KEEPS_ALL}
BEGIN INSERT INTO history (rk, number, kind, place, outcome, begun, ended, detail, value, epoch, saved_at)
  SELECT rk, {_NEXT}, 'wait', NEW.place, NEW.status, NEW.opened_at,
    NEW.ended_at, {_OF_NEW}, NEW.value, epoch,
    NEW.ended_at
  FROM runs WHERE rk = NEW.rk
; UPDATE attempts SET attempt = attempt + 1, begun = NEW.ended_at, outcome = NULL -- unless a claim begins it
  WHERE rk = NEW.rk AND place = NEW.place AND outcome = 'waiting'
  AND (SELECT owner FROM runs WHERE rk = NEW.rk) IS NOT NULL
; END;
CREATE TRIGGER waits_refused AFTER UPDATE OF status ON waits
WHEN OLD.status <> 'open' AND NEW.status = 'open' AND NEW.refused IS NOT NULL
AND {_KEEPS_ALL}
BEGIN INSERT INTO history (rk, number, kind, place, outcome, begun, ended, error, detail, epoch, saved_at)
  SELECT rk, {_NEXT}, 'wait', NEW.place, 'refused', NEW.opened_at,
    OLD.ended_at, NEW.refused, {_OF_OLD}, epoch,
    coalesce(OLD.ended_at, NEW.opened_at)
  FROM runs WHERE rk = NEW.rk
; UPDATE attempts SET attempt = attempt - 1, outcome = 'waiting' -- nobody has run it with what was refused
  WHERE rk = NEW.rk AND place = NEW.place AND outcome IS NULL AND attempt > 1
; END;

CREATE TABLE past_items (                 -- items of fan-outs and folds that were joined, of a run that keeps all
  rk      INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  path    TEXT NOT NULL,
  joined  INTEGER NOT NULL,               -- number in the history of what their join has saved
  visit   INTEGER NOT NULL,
  idx     INTEGER NOT NULL,
  status  TEXT NOT NULL,                  -- these as in items
  input   BLOB NOT NULL,
  value   BLOB,
  error   TEXT,
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (rk, path, joined, visit, idx)
) STRICT;

CREATE TABLE migrated (                   -- which numbers of a history are older than a migration
  rk      INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  number  INTEGER NOT NULL,               -- the last of them
  until   INTEGER NOT NULL,               -- the last one that the migration has written
  version INTEGER NOT NULL,               -- of the workflow before it
  PRIMARY KEY (rk, number)
) STRICT, WITHOUT ROWID;
"""
