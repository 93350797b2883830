PRAGMA user_version = 15;

-- Captures that somebody deleted and that can be restored for a day. They are hidden as those are whose rows are being removed.
CREATE TABLE deleted (
    -- Which. What has no row here and is hidden all the same goes on being removed at the next start.
    capture_id INTEGER PRIMARY KEY REFERENCES captures (id),
    -- When, wall time in nanoseconds since 1970; compared with the wall clock, as no other clock outlives a boot.
    deleted_unix_ns INTEGER NOT NULL,
    -- Who did it, by name.
    deleted_by TEXT NOT NULL
) STRICT;
