PRAGMA user_version = 19;

-- Pages that people write on what they look for: texts, views of captures, notes, results of queries and tasks, in order. No file of a
-- capture has any of it.
CREATE TABLE investigations (
    -- Names it for ever: 64 random bits.
    id INTEGER PRIMARY KEY,
    -- What it is called, at most 256 bytes.
    title TEXT NOT NULL,
    -- How far it is. open: it goes on. found: the cause is known. closed: nothing more is done.
    state TEXT NOT NULL CHECK (state IN ('open', 'found', 'closed')),
    -- What came of it: Markdown, at most 64 KiB; empty as long as nothing did.
    conclusion TEXT NOT NULL,
    -- Who began it, by name.
    owner TEXT NOT NULL,
    -- When, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL,
    -- When anything of it was changed last, likewise.
    changed_unix_ns INTEGER NOT NULL,
    -- Who did that.
    changed_by TEXT NOT NULL,
    -- 1 and then one more for each change of title, state or conclusion: who changes them says which version was seen.
    version INTEGER NOT NULL CHECK (version >= 1),
    -- When it was deleted, wall time; none if it was not. It can be restored for 30 days.
    deleted_unix_ns INTEGER
) STRICT;

-- What stands on these pages.
CREATE TABLE blocks (
    -- The investigation.
    investigation_id INTEGER NOT NULL REFERENCES investigations (id),
    -- Names the block for ever: 64 random bits.
    id INTEGER NOT NULL,
    -- Its place among the blocks of the investigation, from 0. Those that are deleted keep theirs.
    place INTEGER NOT NULL,
    -- What it is and what it says, JSON of at most 96 KiB. The store does not look into it.
    content TEXT NOT NULL,
    -- Who added it, by name.
    author TEXT NOT NULL,
    -- When, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL,
    -- When it was changed last, likewise.
    changed_unix_ns INTEGER NOT NULL,
    -- Who did that.
    changed_by TEXT NOT NULL,
    -- 1 and then one more for each change: who changes it says which version was seen.
    version INTEGER NOT NULL CHECK (version >= 1),
    -- When it was deleted, wall time; none if it was not. It can be restored for 30 days.
    deleted_unix_ns INTEGER,
    PRIMARY KEY (investigation_id, id)
) STRICT, WITHOUT ROWID;
