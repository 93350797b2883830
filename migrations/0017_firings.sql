PRAGMA user_version = 17;

-- The ledger's losses get the stage of rows that a flight recorder did not keep. A constraint cannot be changed in place.
CREATE TEMPORARY TABLE kept_losses AS SELECT * FROM losses;
DROP TABLE losses;

-- The ledger's losses, in the order in which they became known.
CREATE TABLE losses (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its place in the order, from 0.
    seq INTEGER NOT NULL,
    -- The stream's index; none where it cannot be told.
    stream INTEGER,
    -- Where the events were lost; helper_failed: a value could not be read, and nothing was lost; limited: the guard let no
    -- more rows be written; not_kept: rows left the memory of a flight recorder, and nothing was lost.
    stage TEXT NOT NULL CHECK (stage IN ('kernel_missed', 'limited', 'ring_full', 'map_full', 'stack_lost', 'helper_failed',
        'decode', 'store', 'interrupted', 'not_kept')),
    -- How many events; for interrupted a lower bound.
    count INTEGER NOT NULL,
    -- The earliest moment it can have happened, monotonic nanoseconds.
    start_ns INTEGER NOT NULL,
    -- The latest moment it can have happened, monotonic nanoseconds.
    end_ns INTEGER NOT NULL,
    PRIMARY KEY (capture_id, seq)
) STRICT, WITHOUT ROWID;

INSERT INTO losses SELECT * FROM kept_losses;
DROP TABLE kept_losses;

-- What made a flight recorder store a capture; none for captures that were recorded as such.
CREATE TABLE firings (
    -- The capture that was stored.
    capture_id INTEGER PRIMARY KEY REFERENCES captures (id),
    -- The capture of the flight recorder, which may be gone, or of another database.
    recorder_id INTEGER NOT NULL,
    -- What sort of thing fired.
    kind TEXT NOT NULL CHECK (kind IN ('hand', 'row', 'pressure', 'exit', 'schedule', 'token')),
    -- What fired, in words, at most 1 KiB.
    condition TEXT NOT NULL,
    -- With which value, at most 1 KiB; empty where there is none. It may have text of events.
    value TEXT NOT NULL,
    -- When it happened, monotonic nanoseconds.
    fired_ns INTEGER NOT NULL,
    -- The same by the wall clock, nanoseconds since 1970: a label.
    fired_unix_ns INTEGER NOT NULL,
    -- From when on every row is in the capture, monotonic nanoseconds.
    complete_from_ns INTEGER NOT NULL
) STRICT;

-- Tokens by which others fire a flight recorder, such as a monitoring system: one for each at most. No file of a capture has them.
CREATE TABLE fire_tokens (
    -- The capture of the flight recorder.
    capture_id INTEGER PRIMARY KEY REFERENCES captures (id),
    -- SHA-256 of the token; the token itself is kept nowhere.
    token BLOB NOT NULL CHECK (length(token) = 32),
    -- Who made it, by name.
    made_by TEXT NOT NULL,
    -- When, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL
) STRICT;
