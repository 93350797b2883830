PRAGMA user_version = 7;

-- The time index with four children for a node instead of sixteen, and with tracks of call levels and of counters. A check
-- of a column cannot be changed, so the tables are made anew.
ALTER TABLE index_data RENAME TO old_index_data;
ALTER TABLE index_blocks RENAME TO old_index_blocks;

-- The directory of the time index: which blocks there are, small, so that one is found without touching their bytes. What
-- it says follows from the chunks; captures from before there was one, and those in `.bathy` files, have none.
CREATE TABLE index_blocks (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- The stream's index.
    stream INTEGER NOT NULL,
    -- What a track is: 0 a CPU, 1 a thread, 2 a level of a thread's calls, 3 an event that is counted in a scope.
    grouping INTEGER NOT NULL CHECK (grouping BETWEEN 0 AND 3),
    -- 0 for the leaves, which are of one chunk; each further level is of 4 times as many.
    level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 16),
    -- Its number in the level: it is of the chunks from number * 4^level on.
    number INTEGER NOT NULL,
    -- Its bins are 2^shift nanoseconds long.
    shift INTEGER NOT NULL CHECK (shift BETWEEN 0 AND 63),
    PRIMARY KEY (capture_id, stream, grouping, level, number),
    FOREIGN KEY (capture_id, stream) REFERENCES streams (capture_id, stream)
) STRICT, WITHOUT ROWID;

-- The bytes of blocks, as `server/capture/src/index/code.rs` describes them.
CREATE TABLE index_data (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- The stream's index.
    stream INTEGER NOT NULL,
    -- What a track is.
    grouping INTEGER NOT NULL,
    -- The block's level.
    level INTEGER NOT NULL,
    -- The block's number.
    number INTEGER NOT NULL,
    -- The encoded block.
    data BLOB NOT NULL,
    PRIMARY KEY (capture_id, stream, grouping, level, number),
    FOREIGN KEY (capture_id, stream, grouping, level, number)
        REFERENCES index_blocks (capture_id, stream, grouping, level, number)
) STRICT;

-- 16 is 4 times 4: a node of sixteen is one of four, two levels for each.
INSERT INTO index_blocks SELECT capture_id, stream, grouping, 2 * level, number, shift FROM old_index_blocks;
INSERT INTO index_data SELECT capture_id, stream, grouping, 2 * level, number, data FROM old_index_data;
DROP TABLE old_index_data;
DROP TABLE old_index_blocks;
