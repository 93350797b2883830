PRAGMA user_version = 20;

-- People who log in by name and password. No file of a capture has any of it.
CREATE TABLE accounts (
    -- The name that captures, notes and the audit log carry. Spelt otherwise, with capitals or without, it is the same.
    name TEXT PRIMARY KEY COLLATE NOCASE,
    -- What its owner may do.
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    -- What is kept of the password: argon2id with its parameters and salt, as a PHC string; none until one is chosen.
    password TEXT,
    -- Since when nobody comes in by it, wall time in nanoseconds since 1970; none while it is enabled.
    disabled_unix_ns INTEGER,
    -- When it was made, likewise: a label.
    created_unix_ns INTEGER NOT NULL,
    -- When its password was chosen, likewise; none if there is none.
    password_unix_ns INTEGER,
    -- When somebody last logged in by it, likewise; none if nobody has.
    last_login_unix_ns INTEGER,
    -- SHA-256 of the token of the link that lets its owner choose a password once; none if there is no such link.
    link BLOB CHECK (link IS NULL OR length(link) = 32),
    -- From when on that link is of no use, wall time; compared with the wall clock, as no other clock outlives a boot.
    link_expires_unix_ns INTEGER
) STRICT, WITHOUT ROWID;

-- Tokens with which programs ask for people who have an account.
CREATE TABLE api_tokens (
    -- SHA-256 of the token; the token itself is kept nowhere.
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    -- Whose it is: the name of an account.
    owner TEXT NOT NULL COLLATE NOCASE REFERENCES accounts (name),
    -- What its owner calls it, at most 64 bytes.
    name TEXT NOT NULL,
    -- What it may do at most; never more than its owner.
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    -- When it was made, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL,
    -- From when on it is of no use, likewise; compared with the wall clock.
    expires_unix_ns INTEGER NOT NULL,
    -- When it was last used, likewise, to a minute or so; none if it never was.
    last_used_unix_ns INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_tokens_by_owner ON api_tokens (owner);
