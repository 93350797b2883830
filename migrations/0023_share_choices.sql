PRAGMA user_version = 23;

-- Shares with what they do not tell and with a preview: columns with comments cannot be added, so the table is made anew.
ALTER TABLE shares RENAME TO old_shares;

-- Links for people without a login, each to one thing that is kept here. No file of a capture has any of it.
CREATE TABLE shares (
    -- Names it in addresses and lists; whoever knows it sees nothing yet but the preview, if there is one.
    id INTEGER PRIMARY KEY,
    -- SHA-256 of the link's token; the token itself is kept nowhere.
    token BLOB NOT NULL CHECK (length(token) = 32),
    -- What sort of thing it shows, such as `capture`.
    kind TEXT NOT NULL,
    -- Which one, as addresses have it: of a capture 16 digits in base sixteen.
    object TEXT NOT NULL,
    -- What of that it shows, JSON of at most 64 KiB. The store does not look into it.
    scope TEXT NOT NULL,
    -- What it is called, at most 256 bytes.
    title TEXT NOT NULL,
    -- Who made it, by name.
    owner TEXT NOT NULL,
    -- When it was made, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL,
    -- From when on it shows nothing, likewise; compared with the wall clock, as no other clock outlives a boot.
    expires_unix_ns INTEGER NOT NULL,
    -- When it was last opened or used, likewise, to a minute or so; none if it never was.
    last_used_unix_ns INTEGER,
    -- How often it was opened.
    uses INTEGER NOT NULL DEFAULT 0,
    -- What of the object it does not tell: words with a space between, such as `arguments paths`; empty if it tells all. Whoever does
    -- not know one of the words shows nothing.
    removes TEXT NOT NULL DEFAULT '',
    -- The picture of the preview that is shown to whoever knows the id, without the token: a PNG of at most 64 KiB; none if there is no
    -- preview.
    preview BLOB
) STRICT;

INSERT INTO shares (id, token, kind, object, scope, title, owner, created_unix_ns, expires_unix_ns, last_used_unix_ns, uses)
SELECT id, token, kind, object, scope, title, owner, created_unix_ns, expires_unix_ns, last_used_unix_ns, uses FROM old_shares;
DROP TABLE old_shares;
