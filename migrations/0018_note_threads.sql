PRAGMA user_version = 18;

-- Those of before are tied to moments and ranges, and are plain text.
ALTER TABLE notes RENAME TO plain_notes;

-- What people noted on captures, and what others answered. `.bathy` files have them too.
CREATE TABLE notes (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Names the note for ever: 64 random bits, which it keeps in exported files.
    id INTEGER NOT NULL,
    -- What it is tied to. moment: start_ns, and end_ns is the same. range: from start_ns until before end_ns. row: one of a stream,
    -- whose time is start_ns. track, frame, function, capture: no time, both are 0. answer: another note, both are 0.
    kind TEXT NOT NULL CHECK (kind IN ('moment', 'range', 'row', 'track', 'frame', 'function', 'capture', 'answer')),
    -- When what is noted begins.
    start_ns INTEGER NOT NULL,
    -- When it ends.
    end_ns INTEGER NOT NULL CHECK (end_ns >= start_ns),
    -- The track that it is on, by the key that addresses of pages have; none for all of them.
    track TEXT,
    -- row: STREAM.ROW, both from 0. frame: its node as addresses have it, a blank, its name. function: its name. answer: the id of the
    -- note that is answered, as addresses have it. Others have none.
    place TEXT,
    -- The view in which it was written: the query of the page's address; empty where the place needs none.
    view TEXT NOT NULL,
    -- What it says: Markdown, at most 8192 bytes.
    text TEXT NOT NULL,
    -- Whether the text is none of Markdown, but plain: it was written before notes were.
    plain INTEGER NOT NULL CHECK (plain IN (0, 1)),
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
    -- When it was resolved, likewise; none if it is open.
    resolved_unix_ns INTEGER,
    -- Who resolved it; none if it is open.
    resolved_by TEXT,
    -- 1 and then one more for each change: who changes a note says which version was seen.
    version INTEGER NOT NULL CHECK (version >= 1),
    PRIMARY KEY (capture_id, id)
) STRICT, WITHOUT ROWID;

INSERT INTO notes
SELECT capture_id, id, kind, start_ns, end_ns, track, NULL, '', text, 1, colour, author, owner, imported, created_unix_ns,
       changed_unix_ns, changed_by, NULL, NULL, version
FROM plain_notes;

DROP TABLE plain_notes;

-- What notes said before they were changed. `.bathy` files have it too.
CREATE TABLE note_versions (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- The note.
    note_id INTEGER NOT NULL,
    -- Which version of it.
    version INTEGER NOT NULL CHECK (version >= 1),
    -- What it was tied to and what it said, JSON.
    content TEXT NOT NULL,
    -- When it was saved, wall time in nanoseconds since 1970: a label.
    saved_unix_ns INTEGER NOT NULL,
    -- Who saved it, by name.
    saved_by TEXT NOT NULL,
    PRIMARY KEY (capture_id, note_id, version)
) STRICT, WITHOUT ROWID;
