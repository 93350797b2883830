PRAGMA user_version = 10;

-- The track index: what each thread, CPU or device did one thing after another, for timelines. It follows from the rows of its
-- stream; streams without states and slices, and those in `.bathy` files, have none.
CREATE TABLE track_directories (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- The stream's index.
    stream INTEGER NOT NULL,
    -- Its tracks and the names of their rows, as `server/capture/src/tracks/directory.rs` describes them.
    data BLOB NOT NULL,
    PRIMARY KEY (capture_id, stream),
    FOREIGN KEY (capture_id, stream) REFERENCES streams (capture_id, stream)
) STRICT;

-- Rows of one track, and sums of them.
CREATE TABLE track_pages (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- The stream's index.
    stream INTEGER NOT NULL,
    -- The track's number in the directory.
    track INTEGER NOT NULL CHECK (track BETWEEN 0 AND 32767),
    -- 0 for rows, above that sums of 16 entries each of the level below.
    level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 12),
    -- Its number in the level: it has the entries from number * 512 on for level 0, from number * 256 on above.
    number INTEGER NOT NULL,
    -- The encoded page, as `server/capture/src/tracks/code.rs` describes it.
    data BLOB NOT NULL,
    PRIMARY KEY (capture_id, stream, track, level, number),
    FOREIGN KEY (capture_id, stream) REFERENCES streams (capture_id, stream)
) STRICT;
