PRAGMA user_version = 11;

-- What people noted on captures. `.bathy` files have them too.
CREATE TABLE notes (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Names the note for ever: 64 random bits, which it keeps in exported files.
    id INTEGER NOT NULL,
    -- What it is tied to. moment: start_ns, and end_ns is the same. range: from start_ns until before end_ns.
    kind TEXT NOT NULL CHECK (kind IN ('moment', 'range')),
    -- When what is noted begins.
    start_ns INTEGER NOT NULL,
    -- When it ends.
    end_ns INTEGER NOT NULL CHECK (end_ns >= start_ns),
    -- The track that it is on, by the key that addresses of pages have; none for all of them.
    track TEXT,
    -- What it says: plain text, at most 2048 bytes.
    text TEXT NOT NULL,
    -- Which of the colours of categories it has, from 0; none for that of all notes.
    colour INTEGER CHECK (colour BETWEEN 0 AND 7),
    -- Who wrote it first, by name; of an imported note, what the file says.
    author TEXT NOT NULL,
    -- Who may change it: who wrote it here, or imported it.
    owner TEXT NOT NULL,
    -- Whether it came with a file.
    imported INTEGER NOT NULL CHECK (imported IN (0, 1)),
    -- When it was written, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL,
    -- When it was changed last, likewise; none if never.
    changed_unix_ns INTEGER,
    -- Who changed it last; none if nobody.
    changed_by TEXT,
    -- 1 and then one more for each change: who changes a note says which version was seen.
    version INTEGER NOT NULL CHECK (version >= 1),
    PRIMARY KEY (capture_id, id)
) STRICT, WITHOUT ROWID;
