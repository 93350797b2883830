PRAGMA user_version = 5;

-- Instructions of the functions with the most samples, as they were in their files when these were named.
CREATE TABLE code (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- What the function was mapped from.
    mapping_id INTEGER NOT NULL,
    -- Offset of its first byte, as the offsets of frames.
    place INTEGER NOT NULL,
    -- Address of its first byte as the file counts; 0 where that is not known.
    address INTEGER NOT NULL,
    -- Its whole length in bytes; 0 where that is not known.
    length INTEGER NOT NULL,
    -- For which machine.
    machine TEXT NOT NULL CHECK (machine IN ('x86_64', 'x86', 'aarch64', 'other')),
    -- Why there are no bytes; none if there are.
    missing TEXT CHECK (missing IN ('no_file', 'other_file', 'unreadable', 'no_room')),
    -- Its first bytes.
    bytes BLOB NOT NULL,
    -- Source lines: CodeLines as JSON. Text from debug information, never to be opened.
    lines TEXT NOT NULL,
    PRIMARY KEY (capture_id, mapping_id, place),
    FOREIGN KEY (capture_id, mapping_id) REFERENCES mappings (capture_id, id)
) STRICT;
