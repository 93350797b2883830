PRAGMA user_version = 9;

-- Streams that were computed from others of their capture: one row for each rule that was applied, whatever became of it. They can
-- be computed again at any time, so `.bathy` files have none.
CREATE TABLE derivations (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its number in the capture, from 0.
    number INTEGER NOT NULL CHECK (number BETWEEN 0 AND 65535),
    -- What is computed: RuleSpec as JSON. A capture has no two with the same text.
    rule TEXT NOT NULL,
    -- following: its streams are filled while the capture is recorded; computing: they are filled now that it has ended; complete;
    -- failed: why is in reason, and they have no rows; removed: neither have they. Only those of the first and of complete ones are
    -- shown.
    state TEXT NOT NULL CHECK (state IN ('following', 'computing', 'complete', 'failed', 'removed')),
    -- Why it failed, in words; else empty.
    reason TEXT NOT NULL,
    -- The first of its streams, which follow each other after those that were recorded.
    first_stream INTEGER NOT NULL CHECK (first_stream BETWEEN 0 AND 65535),
    -- How many streams it has.
    stream_count INTEGER NOT NULL CHECK (stream_count BETWEEN 0 AND 256),
    -- The capture's own strings: those with greater ids are texts of computed streams only. 4294967295 where texts of both are
    -- mixed, because it was recorded then.
    recorded_strings INTEGER NOT NULL,
    -- What the rule met and could not tell, and how often: DerivationCounts as JSON.
    counts TEXT NOT NULL,
    PRIMARY KEY (capture_id, number)
) STRICT, WITHOUT ROWID;

-- What became of each source of a capture; none for captures from before this was kept, and of those whose console was killed.
CREATE TABLE sources (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its place in the spec, from 0.
    number INTEGER NOT NULL CHECK (number BETWEEN 0 AND 255),
    -- ended: it recorded until the capture's end; thinned: so, and not everything, to stay within its budget; detached: it was
    -- taken off before; failed: it could not be started.
    state TEXT NOT NULL CHECK (state IN ('ended', 'thinned', 'detached', 'failed')),
    -- Why, in words; empty where it just ended.
    reason TEXT NOT NULL,
    PRIMARY KEY (capture_id, number)
) STRICT, WITHOUT ROWID;

-- Recipes that people made: questions, and what is recorded for an answer. Empty in exported files.
CREATE TABLE recipes (
    -- Its name, of which there is one.
    name TEXT PRIMARY KEY,
    -- Who made it.
    owner TEXT NOT NULL,
    -- When, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL,
    -- The recipe as JSON, as the files of the program's own recipes have it.
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
