PRAGMA user_version = 3;

-- The ledger's losses get the stage of rows that the guard did not let be written. A constraint cannot be changed in place.
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
    -- more rows be written.
    stage TEXT NOT NULL CHECK (stage IN ('kernel_missed', 'limited', 'ring_full', 'map_full', 'stack_lost', 'helper_failed',
        'decode', 'store', 'interrupted')),
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
