PRAGMA user_version = 21;

-- Captures as runs of a series: captures that ask the same of the same host. It follows from their specs and rows, but for which of
-- them is the baseline and which was run again; no file of a capture has it.
CREATE TABLE runs (
    -- The capture.
    capture_id INTEGER PRIMARY KEY REFERENCES captures (id),
    -- Its series: 64 bits of a digest of what its runs have in common.
    series INTEGER NOT NULL,
    -- The capture that was run again, which may be gone; none if it was not begun so.
    again_of INTEGER,
    -- Whether later runs of the series are compared with it: at most one of a series is.
    is_baseline INTEGER NOT NULL CHECK (is_baseline IN (0, 1)),
    -- The version of the rule that computed its key numbers; 0 as long as none has.
    rule INTEGER NOT NULL,
    -- Its key numbers, a list in JSON of at most 256 KiB. The store does not look into it.
    numbers TEXT NOT NULL,
    -- Why there are none; empty if there are some, or if they were not computed.
    problem TEXT NOT NULL
) STRICT;

CREATE INDEX runs_by_series ON runs (series);

-- Moments that people or scripts marked, such as deployments: what charts of series show. No file of a capture has them.
CREATE TABLE marks (
    -- Counts up from 1.
    id INTEGER PRIMARY KEY,
    -- The moment, wall time in nanoseconds since 1970.
    time_unix_ns INTEGER NOT NULL,
    -- The host that it is about; empty for all.
    host TEXT NOT NULL,
    -- What happened: plain text, at most 256 bytes.
    text TEXT NOT NULL,
    -- An address where more is told, https or http; empty for none.
    link TEXT NOT NULL,
    -- Who marked it, by name.
    author TEXT NOT NULL,
    -- When, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL
) STRICT;

CREATE INDEX marks_by_time ON marks (time_unix_ns);
