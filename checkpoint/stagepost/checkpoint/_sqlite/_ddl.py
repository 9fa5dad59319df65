"""The tables of a store, their indexes and triggers."""

from typing import Final

TABLES: Final = """
CREATE TABLE meta (
  name        TEXT PRIMARY KEY,           -- generation: raised at every opening for writing, compared at every commit
  value       INTEGER NOT NULL            -- copied: raised before the WAL is copied; begins at random
                                          -- synchronous: the owner's, for whoever writes beside it
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0), ('copied', random() & 0x3fffffffffffffff);

CREATE TABLE owners (                     -- who may commit to runs: one for each runner that was opened
  id         INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: who is dead comes back under another one
  name       TEXT NOT NULL,
  expires_at INTEGER,                     -- without another heartbeat; NULL: the only owner there can be
  dead       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE runs (
  rk          INTEGER PRIMARY KEY AUTOINCREMENT, -- short, for the other tables; never used again, also if runs are
                                          -- deleted by hand and their rows in other tables stay
  run_id      TEXT NOT NULL UNIQUE,
  workflow    TEXT NOT NULL,
  version     INTEGER NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('running', 'waiting', 'completed', 'failed', 'cancelled', 'dead')),
  key         TEXT,                       -- start-once key, unique per workflow
  input       BLOB NOT NULL,
  error       TEXT,
  cancelling  INTEGER NOT NULL DEFAULT 0, -- 1: its end is asked for, and the only commit it still takes
  owner       INTEGER,                    -- whose it is, or was when it ended; NULL: nobody's, as while it is parked
  shape       TEXT,                       -- what its workflow was made of when it was last claimed
  epoch       INTEGER NOT NULL,           -- raised at every claim: the fence
  attempts    INTEGER NOT NULL DEFAULT 0, -- claims after the death of its owner since the last commit
  news        INTEGER NOT NULL DEFAULT 0, -- raised by whatever is written for it from outside
  heard       INTEGER NOT NULL DEFAULT 0, -- of these, how many somebody who may go on with it was told of
  blocked     TEXT,                       -- why nobody can go on with it
  created_at  INTEGER NOT NULL,           -- microseconds since 1970
  finished_at INTEGER,
  trace       TEXT,                       -- which trace it belongs to; NULL: one of its own
  keep        TEXT NOT NULL CHECK (keep IN ('result', 'all', 'none')),
  remembered  INTEGER NOT NULL DEFAULT 0, -- what of it outlives it in keys: 1 its id, 2 its key, 3 both
  starter     TEXT                        -- place of the step above that has started it; NULL: no step has
) STRICT;
CREATE UNIQUE INDEX runs_key ON runs (key, workflow) WHERE key IS NOT NULL;
CREATE INDEX runs_status ON runs (status, created_at, rk, workflow -- rk: the order of find; workflow: to count by it
);
CREATE INDEX runs_workflow ON runs (workflow, created_at -- then rk, as in every index
);
CREATE INDEX runs_news ON runs (run_id) WHERE news > heard AND status = 'running';
CREATE INDEX runs_ended ON runs (finished_at) WHERE finished_at IS NOT NULL;

CREATE VIRTUAL TABLE failures USING fts5(words, tokenize='unicode61 remove_diacritics 2');
CREATE TABLE failures_stale (             -- runs whose words in failures are not those of their errors any more
  rk INTEGER PRIMARY KEY
) STRICT;
CREATE TRIGGER failures_changed AFTER UPDATE OF error ON runs WHEN OLD.error IS NOT NEW.error
BEGIN INSERT OR IGNORE INTO failures_stale VALUES (NEW.rk); END;
CREATE TRIGGER failures_gone AFTER DELETE ON runs WHEN OLD.error IS NOT NULL
BEGIN INSERT OR IGNORE INTO failures_stale VALUES (OLD.rk); END;

CREATE TABLE keys (                       -- keys and ids of runs that retention has deleted
  workflow TEXT NOT NULL,                 -- '': key is the id of a run
  key      TEXT NOT NULL,
  run_id   TEXT NOT NULL,
  status   TEXT NOT NULL,
  ended_at INTEGER NOT NULL,
  start    BLOB NOT NULL,                 -- digest of workflow and input
  PRIMARY KEY (workflow, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_ended ON keys (ended_at);
CREATE INDEX keys_run ON keys (run_id);

CREATE TABLE shapes (                     -- names, kinds and edges of a workflow, once
  id       TEXT PRIMARY KEY,
  workflow TEXT NOT NULL,
  version  INTEGER NOT NULL,
  skeleton BLOB NOT NULL
) STRICT;

CREATE TABLE frames (                     -- the checkpoint: one row per concurrent branch, overwritten in place
  rk      INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  path    TEXT NOT NULL,                  -- '' the run itself, 'summaries[3]' an item that runs a pattern
  seq     INTEGER NOT NULL,               -- + 1 per commit, compared at every commit
  next    TEXT,                           -- where the branch goes on; NULL: it has ended
  visits  TEXT,                           -- JSON object of counts; NULL: none
  width   INTEGER,                        -- frozen number of items of the fan-out at next
  state   BLOB NOT NULL,                  -- JSON object
  refs    TEXT,                           -- JSON object: key to [number, null, 0] of a value in vals, or to
                                          -- [number, length, maker] of a list; maker 0: the run itself
  saved_at INTEGER NOT NULL,              -- microseconds since 1970
  PRIMARY KEY (rk, path)
) STRICT;

CREATE TABLE history (                    -- every version of the frames of a run that keeps all
  rk       INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  number   INTEGER NOT NULL,
  path     TEXT NOT NULL,
  seq      INTEGER NOT NULL,
  next     TEXT,
  visits   TEXT,
  width    INTEGER,
  state    BLOB NOT NULL,
  refs     TEXT,                          -- as in frames; what they name stays
  epoch    INTEGER NOT NULL,              -- by which claim of the run
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (rk, number)
) STRICT;

CREATE TABLE items (                      -- items of the fan-outs that are under way
  rk      INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  path    TEXT NOT NULL,
  visit   INTEGER NOT NULL,
  idx     INTEGER NOT NULL,
  status  TEXT NOT NULL CHECK (status IN ('waiting', 'ok', 'failed', 'cancelled')),
  input   BLOB NOT NULL,
  value   BLOB,
  error   TEXT,
  saved_at INTEGER NOT NULL,              -- when it was frozen, then when it ended
  PRIMARY KEY (rk, path, visit, idx)
) STRICT;

CREATE TABLE vals (                       -- large values
  rk       INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  path     TEXT NOT NULL,                 -- of the frame
  number   INTEGER NOT NULL,              -- a run counts its values and lists together
  value    BLOB NOT NULL,
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (rk, path, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE lists (                      -- lists stay as long as a run or another list refers to them
  maker       INTEGER NOT NULL,           -- rk of the run that began it, which may be deleted
  number      INTEGER NOT NULL,
  base_maker  INTEGER,                    -- the list that it begins with
  base_number INTEGER,
  base_length INTEGER NOT NULL DEFAULT 0, -- how many elements of that one: its own count on from there
  PRIMARY KEY (maker, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX lists_base ON lists (base_maker, base_number, base_length) WHERE base_maker IS NOT NULL;

CREATE TABLE list_refs (                  -- which runs refer to which lists
  rk     INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  path   TEXT NOT NULL,                   -- of the frame
  maker  INTEGER NOT NULL,
  number INTEGER NOT NULL,
  length INTEGER,                         -- to how many elements; NULL: to all, and it may append: one run at most
  PRIMARY KEY (rk, path, maker, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX list_refs_list ON list_refs (maker, number, length);

CREATE TABLE elements (
  maker    INTEGER NOT NULL,
  number   INTEGER NOT NULL,
  idx      INTEGER NOT NULL,
  value    BLOB NOT NULL,
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (maker, number, idx)
) STRICT, WITHOUT ROWID;
CREATE TABLE leavings (                   -- lists that are gone with many elements, which are deleted a few at a time
  maker  INTEGER NOT NULL,                -- a run that is gone, too: it begins no other list of this number
  number INTEGER NOT NULL,
  PRIMARY KEY (maker, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER elements_of_none AFTER DELETE ON lists -- no foreign key, which would be looked up at each append
WHEN EXISTS (SELECT 1 FROM runs WHERE rk = OLD.maker)
OR NOT EXISTS (SELECT 1 FROM elements WHERE maker = OLD.maker AND number = OLD.number LIMIT 1 OFFSET 200)
BEGIN DELETE FROM elements WHERE maker = OLD.maker AND number = OLD.number; END;
CREATE TRIGGER elements_left AFTER DELETE ON lists -- all others
WHEN NOT EXISTS (SELECT 1 FROM runs WHERE rk = OLD.maker)
AND EXISTS (SELECT 1 FROM elements WHERE maker = OLD.maker AND number = OLD.number LIMIT 1 OFFSET 200)
BEGIN INSERT INTO leavings VALUES (OLD.maker, OLD.number); END;

CREATE TRIGGER lists_unused AFTER DELETE ON list_refs -- with the last reference, whatever has deleted it
WHEN NOT EXISTS (SELECT 1 FROM list_refs WHERE maker = OLD.maker AND number = OLD.number)
AND NOT EXISTS (SELECT 1 FROM lists WHERE base_maker = OLD.maker AND base_number = OLD.number)
BEGIN DELETE FROM lists WHERE (maker, number) IN (
  WITH RECURSIVE unused (maker, number) AS (
    VALUES (OLD.maker, OLD.number)
    UNION ALL
    SELECT list.base_maker, list.base_number FROM unused JOIN lists AS list USING (maker, number)
    WHERE list.base_maker IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM list_refs AS r WHERE r.maker = list.base_maker AND r.number = list.base_number)
    AND (SELECT count(*) FROM lists AS o WHERE o.base_maker = list.base_maker AND o.base_number = list.base_number) = 1
  ) SELECT maker, number FROM unused
); END;
CREATE TRIGGER lists_left AFTER DELETE ON list_refs -- elements that nobody refers to, if no run appends any more
WHEN NOT EXISTS (SELECT 1 FROM list_refs WHERE maker = OLD.maker AND number = OLD.number AND length IS NULL)
AND (EXISTS (SELECT 1 FROM list_refs WHERE maker = OLD.maker AND number = OLD.number) -- else the list is gone as well
  OR EXISTS (SELECT 1 FROM lists WHERE base_maker = OLD.maker AND base_number = OLD.number))
BEGIN DELETE FROM elements WHERE maker = OLD.maker AND number = OLD.number AND idx >= max(
  coalesce((SELECT max(length) FROM list_refs WHERE maker = OLD.maker AND number = OLD.number), 0),
  coalesce((SELECT max(base_length) FROM lists WHERE base_maker = OLD.maker AND base_number = OLD.number), 0)
); END;
CREATE TRIGGER lists_based AFTER DELETE ON lists -- the same of the list that one began with
WHEN OLD.base_maker IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM list_refs WHERE maker = OLD.base_maker AND number = OLD.base_number AND length IS NULL
) AND (EXISTS (SELECT 1 FROM list_refs WHERE maker = OLD.base_maker AND number = OLD.base_number)
  OR EXISTS (SELECT 1 FROM lists WHERE base_maker = OLD.base_maker AND base_number = OLD.base_number))
BEGIN DELETE FROM elements WHERE maker = OLD.base_maker AND number = OLD.base_number AND idx >= max(
  coalesce((SELECT max(length) FROM list_refs WHERE maker = OLD.base_maker AND number = OLD.base_number), 0),
  coalesce((SELECT max(base_length) FROM lists
            WHERE base_maker = OLD.base_maker AND base_number = OLD.base_number), 0)
); END;

CREATE TABLE labels (                     -- what runs can be found by
  rk    INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  created_at INTEGER NOT NULL,            -- the run's, by which what is found is ordered
  PRIMARY KEY (rk, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_value ON labels (name, value, created_at);

CREATE TABLE waits (                      -- what parks a run
  rk        INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  place     TEXT NOT NULL,
  id        TEXT NOT NULL,                -- run_id/place, for the index
  kind      TEXT NOT NULL CHECK (kind IN ('answer', 'signal', 'timer', 'child', 'effect')),
  name      TEXT NOT NULL,
  prompt    BLOB,
  due_at    INTEGER,
  status    TEXT NOT NULL CHECK (status IN ('open', 'answered', 'expired')),
  value     BLOB,
  by        TEXT,
  opened_at INTEGER NOT NULL,
  ended_at  INTEGER,
  news      INTEGER,                      -- the number of its run's news by which it has ended
  checked   INTEGER NOT NULL DEFAULT 1,   -- 0: whoever ended it did not know whether the value fits
  refused   TEXT,                         -- why an answer was dropped, and the wait is open again
  PRIMARY KEY (rk, place)
) STRICT;
CREATE INDEX waits_open ON waits (kind, id) WHERE status = 'open';
CREATE INDEX waits_due ON waits (due_at) WHERE status = 'open' AND due_at IS NOT NULL;
CREATE INDEX waits_signal ON waits (rk, name) WHERE status = 'open' AND kind = 'signal';
CREATE INDEX waits_news ON waits (rk, news) WHERE news IS NOT NULL;
CREATE INDEX waits_child ON waits (name) WHERE status = 'open' AND kind = 'child';

CREATE TABLE signals (                    -- sent and not yet received, or kept so that none is received twice
  id    INTEGER PRIMARY KEY,
  rk    INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  name  TEXT NOT NULL,
  dedup TEXT,
  value BLOB NOT NULL,
  taken INTEGER NOT NULL DEFAULT 0,
  checked INTEGER NOT NULL DEFAULT 1,     -- as of waits
  UNIQUE (rk, name, dedup)
) STRICT;
CREATE INDEX signals_sent ON signals (rk -- then id
);
CREATE INDEX signals_queued ON signals (rk, name) WHERE taken = 0;

CREATE TABLE effects (                    -- intent before, outcome after
  rk     INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  place  TEXT NOT NULL,
  key    TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('intent', 'done')),
  value  BLOB,
  PRIMARY KEY (rk, place, key)
) STRICT;

CREATE TABLE blobs (                      -- bytes that runs refer to, once for each content
  digest TEXT PRIMARY KEY,                -- SHA-256 in hexadecimal digits
  value  BLOB NOT NULL
) STRICT;

CREATE TABLE blob_refs (                  -- which runs refer to which bytes
  rk     INTEGER NOT NULL REFERENCES runs (rk) ON DELETE CASCADE,
  digest TEXT NOT NULL,
  PRIMARY KEY (rk, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_refs_digest ON blob_refs (digest);
CREATE TABLE element_blobs (              -- which elements of lists do
  maker  INTEGER NOT NULL,
  number INTEGER NOT NULL,
  idx    INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (maker, number, idx, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX element_blobs_digest ON element_blobs (digest);
CREATE TRIGGER element_blobs_of_none AFTER DELETE ON elements
BEGIN DELETE FROM element_blobs WHERE maker = OLD.maker AND number = OLD.number AND idx = OLD.idx; END;
CREATE TRIGGER blobs_unused AFTER DELETE ON blob_refs -- with the last reference, whatever has deleted it
WHEN NOT EXISTS (SELECT 1 FROM blob_refs WHERE digest = OLD.digest)
AND NOT EXISTS (SELECT 1 FROM element_blobs WHERE digest = OLD.digest)
BEGIN DELETE FROM blobs WHERE digest = OLD.digest; END;
CREATE TRIGGER blobs_of_none AFTER DELETE ON element_blobs
WHEN NOT EXISTS (SELECT 1 FROM blob_refs WHERE digest = OLD.digest)
AND NOT EXISTS (SELECT 1 FROM element_blobs WHERE digest = OLD.digest)
BEGIN DELETE FROM blobs WHERE digest = OLD.digest; END;
"""
