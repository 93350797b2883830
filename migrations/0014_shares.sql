PRAGMA user_version = 14;

-- Links for people without a login, each to one thing that is kept here. No file of a capture has any of it.
CREATE TABLE shares (
    -- Names it in addresses and lists; whoever knows it sees nothing yet.
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
    uses INTEGER NOT NULL DEFAULT 0
) STRICT;
