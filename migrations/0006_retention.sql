PRAGMA user_version = 6;

-- What decides how long a capture is kept; one row for each capture.
CREATE TABLE retention (
    -- The capture.
    capture_id INTEGER PRIMARY KEY REFERENCES captures (id),
    -- 1 if somebody pinned it: then only people delete it.
    pinned INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    -- Wall time from which its age is counted, nanoseconds since 1970: when it ended here, or was imported; while it is
    -- recorded, its start.
    since_unix_ns INTEGER NOT NULL,
    -- Bytes of the blocks of its time index.
    index_bytes INTEGER NOT NULL,
    -- Bytes of its texts, mappings and stacks, 12 for each frame and 24 for each change of a process.
    dictionary_bytes INTEGER NOT NULL
) STRICT;

-- When an older capture was imported is not known; its end stands for it.
INSERT INTO retention
SELECT c.id, 0, c.started_unix_ns + min(c.end_ns - c.start_ns, 9223372036854775807 - max(c.started_unix_ns, 0)),
    coalesce((SELECT sum(octet_length(data)) FROM index_data WHERE capture_id = c.id), 0),
    coalesce((SELECT sum(octet_length(text)) FROM strings WHERE capture_id = c.id), 0)
    + coalesce((SELECT sum(octet_length(name) + octet_length(build_id)) FROM mappings WHERE capture_id = c.id), 0)
    + coalesce((SELECT sum(octet_length(frames)) FROM stacks WHERE capture_id = c.id), 0)
    + 12 * (SELECT count(*) FROM frames WHERE capture_id = c.id)
    + 24 * (SELECT count(*) FROM processes WHERE capture_id = c.id)
FROM captures c;
