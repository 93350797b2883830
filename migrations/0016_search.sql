PRAGMA user_version = 16;

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
    left_out_bytes INTEGER NOT NULL
) STRICT;

INSERT INTO listed
SELECT row_number() OVER (ORDER BY started_unix_ns, id), id, phase = 'ready', state, origin, simulated, title, owner, method, target,
    host_name, started_unix_ns, max(0, end_ns - start_ns), row_count,
    chunk_bytes + output_bytes + index_bytes + dictionary_bytes, lost, pinned, coalesce(tags, ''),
    EXISTS (SELECT 1 FROM losses l WHERE l.capture_id = captures.id AND l.stage = 'interrupted'),
    (SELECT count(*) FROM notes n WHERE n.capture_id = captures.id), 0, 0
FROM captures JOIN retention ON retention.capture_id = id LEFT JOIN labels ON labels.capture_id = id;

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
DROP INDEX captures_by_start;

-- Words of captures that are shown: of each a row, with the number that it has in `listed`. What is removed from it is overwritten.
CREATE VIRTUAL TABLE search USING fts5 (title, tags, description, notes, owner, host, command, spec, script, processes, texts, output, tokenize = "unicode61 remove_diacritics 2", prefix = '2 3');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);

-- The texts that searches looked into are in `search`: what they were in is made without them.
CREATE TABLE labels_before AS SELECT capture_id, description, tags FROM labels WHERE description <> '' OR tags <> '';
DROP TABLE labels;

-- What people say of captures to find them by. No file of a capture has it.
CREATE TABLE labels (
    -- The capture. One of which nobody has said anything has no row.
    capture_id INTEGER PRIMARY KEY REFERENCES captures (id),
    -- What it is about: plain text, at most 4096 bytes.
    description TEXT NOT NULL,
    -- Its tags in lower case, in order, with a blank before and after each; empty if there are none.
    tags TEXT NOT NULL
) STRICT;

INSERT INTO labels SELECT capture_id, description, tags FROM labels_before;
DROP TABLE labels_before;
UPDATE captures SET search = '';

-- Searches are kept by name too: what says which kinds there are is made anew with one more.
CREATE TABLE library_before AS SELECT * FROM library;
CREATE TABLE versions_before AS SELECT * FROM library_versions;
DROP TABLE library_versions;
DROP TABLE library;

-- What people keep by name, beside captures. Recipes of people are kept here too. No file of a capture has any of it.
CREATE TABLE library (
    -- Names it for ever.
    id INTEGER PRIMARY KEY,
    -- What it is.
    kind TEXT NOT NULL CHECK (kind IN ('probe', 'script', 'recipe', 'filter', 'query', 'selection', 'search')),
    -- Its name, at most 64 bytes. Of what is not deleted an owner has one of a kind and name, and so have all who share.
    name TEXT NOT NULL,
    -- Whose it is, by name.
    owner TEXT NOT NULL,
    -- What it is for: one line of at most 500 bytes.
    description TEXT NOT NULL,
    -- Words to find it by, with blanks between them.
    tags TEXT NOT NULL,
    -- Whether everybody may read and use it.
    shared INTEGER NOT NULL CHECK (shared IN (0, 1)),
    -- The version of its text that is used.
    version INTEGER NOT NULL CHECK (version >= 1),
    -- When it was made, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL,
    -- When anything of it was changed last, likewise.
    changed_unix_ns INTEGER NOT NULL,
    -- When it was deleted, likewise; none if it was not. It can be brought back for a while.
    deleted_unix_ns INTEGER
) STRICT;

-- The texts that it had, each as it was saved.
CREATE TABLE library_versions (
    -- What the text is of.
    item INTEGER NOT NULL REFERENCES library (id),
    -- 1 and then one more for each text.
    version INTEGER NOT NULL CHECK (version >= 1),
    -- The text, at most 64 KiB; of a recipe, JSON as the files of the program's own recipes have it.
    text TEXT NOT NULL,
    -- Who saved it.
    author TEXT NOT NULL,
    -- When, wall time in nanoseconds since 1970: a label.
    saved_unix_ns INTEGER NOT NULL,
    PRIMARY KEY (item, version)
) STRICT, WITHOUT ROWID;

INSERT INTO library SELECT * FROM library_before;
INSERT INTO library_versions SELECT * FROM versions_before;
DROP TABLE versions_before;
DROP TABLE library_before;
