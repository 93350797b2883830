PRAGMA user_version = 22;

-- Groups of people, so that a right can be given to all of them. No file of a capture has any of these tables.
CREATE TABLE groups (
    -- The name. Spelt otherwise, with capitals or without, it is the same.
    name TEXT PRIMARY KEY COLLATE NOCASE
) STRICT, WITHOUT ROWID;

-- Who is in which group.
CREATE TABLE group_members (
    -- The group.
    name TEXT NOT NULL COLLATE NOCASE REFERENCES groups (name),
    -- Who is in it: the name that somebody is logged in by, with an account or without one.
    person TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (name, person)
) STRICT, WITHOUT ROWID;

CREATE INDEX group_members_by_person ON group_members (person);

-- Who may do what with one capture. A capture that has no row here is as its tags have it.
CREATE TABLE capture_rights (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- To whom it is given: `owner`, which every list has, everybody who is logged in, a person, or a group.
    kind TEXT NOT NULL CHECK (kind IN ('owner', 'everybody', 'person', 'group')),
    -- The name of the person or group, else empty.
    name TEXT NOT NULL COLLATE NOCASE,
    -- What: `read`, or `change`, which is what an operator may do with own captures.
    may TEXT NOT NULL CHECK (may IN ('read', 'change')),
    PRIMARY KEY (capture_id, kind, name)
) STRICT, WITHOUT ROWID;

-- Who may do what with the captures that have a tag and no rows of their own above.
CREATE TABLE tag_rights (
    -- The tag.
    tag TEXT NOT NULL,
    -- As above.
    kind TEXT NOT NULL CHECK (kind IN ('owner', 'everybody', 'person', 'group')),
    -- Likewise.
    name TEXT NOT NULL COLLATE NOCASE,
    -- Likewise.
    may TEXT NOT NULL CHECK (may IN ('read', 'change')),
    PRIMARY KEY (tag, kind, name)
) STRICT, WITHOUT ROWID;

-- The list of captures says of each whether it has a list of who reads it: a column with a comment cannot be added, so the table is
-- made anew.
ALTER TABLE listed RENAME TO old_listed;

-- What lists of captures are sorted and narrowed by, in rows that are short: one for each capture. The writer's connection keeps it
-- in step with the tables that it follows from. No file of a capture has rows of it.
CREATE TABLE listed (
    -- Names the capture in `search`: small, so that the index is small.
    number INTEGER PRIMARY KEY,
    -- The capture.
    capture_id INTEGER NOT NULL UNIQUE,
    -- 1 if it is shown: not while it is imported, and not once it is deleted.
    shown INTEGER NOT NULL CHECK (shown IN (0, 1)),
    -- As in `captures`, as all that are called as a column there.
    state TEXT NOT NULL,
    -- Likewise.
    origin TEXT NOT NULL,
    -- Likewise.
    simulated INTEGER NOT NULL,
    -- Likewise.
    title TEXT NOT NULL,
    -- Likewise.
    owner TEXT NOT NULL,
    -- Likewise.
    method TEXT NOT NULL,
    -- Likewise.
    target TEXT NOT NULL,
    -- Likewise.
    host_name TEXT NOT NULL,
    -- Likewise.
    started_unix_ns INTEGER NOT NULL,
    -- From the start to the end or the latest moment covered, nanoseconds.
    duration_ns INTEGER NOT NULL,
    -- As in `captures`.
    row_count INTEGER NOT NULL,
    -- Bytes of chunks, output, time index and dictionaries together.
    size_bytes INTEGER NOT NULL,
    -- As in `captures`.
    lost INTEGER NOT NULL,
    -- As in `retention`.
    pinned INTEGER NOT NULL,
    -- As in `labels`.
    tags TEXT NOT NULL,
    -- 1 if more may have been lost than was counted: it has a loss of the stage `interrupted`.
    lost_at_least INTEGER NOT NULL,
    -- How many notes it has.
    notes INTEGER NOT NULL,
    -- How much of it is in `search`: 0 nothing, 1 what is known when it begins and what people say of it, 2 what events brought too.
    indexed INTEGER NOT NULL,
    -- Bytes of texts of events, of processes' names and of output that are more than `search` takes of one capture.
    left_out_bytes INTEGER NOT NULL,
    -- 1 if it has rows in `capture_rights`: lists of a hundred thousand captures do not look there for each.
    has_rights INTEGER NOT NULL DEFAULT 0 CHECK (has_rights IN (0, 1))
) STRICT;

INSERT INTO listed SELECT *, 0 FROM old_listed;
DROP TABLE old_listed;

CREATE INDEX listed_by_start ON listed (shown, started_unix_ns);
CREATE INDEX listed_by_duration ON listed (shown, duration_ns, started_unix_ns);
CREATE INDEX listed_by_rows ON listed (shown, row_count, started_unix_ns);
CREATE INDEX listed_by_size ON listed (shown, size_bytes, started_unix_ns, pinned);
CREATE INDEX listed_by_lost ON listed (shown, lost, started_unix_ns);
CREATE INDEX listed_by_title ON listed (shown, title COLLATE NOCASE, started_unix_ns DESC, number DESC);
CREATE INDEX listed_by_host ON listed (shown, host_name COLLATE NOCASE, started_unix_ns DESC, number DESC);
CREATE INDEX listed_by_owner ON listed (shown, owner COLLATE NOCASE, started_unix_ns DESC, number DESC);
CREATE INDEX listed_by_target ON listed (shown, target COLLATE NOCASE, started_unix_ns DESC, number DESC);
CREATE INDEX listed_by_method ON listed (shown, method COLLATE NOCASE, started_unix_ns DESC, number DESC);
CREATE INDEX listed_by_state ON listed (shown, state COLLATE NOCASE, started_unix_ns DESC, number DESC);
CREATE INDEX listed_by_indexed ON listed (shown, indexed);
CREATE INDEX listed_by_left_out ON listed (shown, left_out_bytes);
