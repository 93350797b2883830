PRAGMA user_version = 13;

-- What people say of captures to find them by. No file of a capture has it.
CREATE TABLE labels (
    -- The capture. One of which nobody has said anything, here or in a note, has no row.
    capture_id INTEGER PRIMARY KEY REFERENCES captures (id),
    -- What it is about: plain text, at most 4096 bytes.
    description TEXT NOT NULL,
    -- Its tags in lower case, in order, with a blank before and after each; empty if there are none.
    tags TEXT NOT NULL,
    -- What searches look into beside the capture's own: tags, description and the texts of its notes, in lower case.
    search TEXT NOT NULL
) STRICT;

-- Of notes of before, letters beyond ASCII are in lower case once anything of the capture's labels or notes is changed.
INSERT INTO labels (capture_id, description, tags, search)
SELECT capture_id, '', '', group_concat(lower(text), char(10)) FROM notes GROUP BY capture_id;
