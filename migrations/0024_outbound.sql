PRAGMA user_version = 24;

-- Addresses that are told when a flight recorder has stored a capture. No file of a capture has any of it.
CREATE TABLE webhooks (
    -- The name by which flight recorders refer to it, at most 64 bytes. Spelt otherwise, with capitals or without, it is the same.
    name TEXT PRIMARY KEY COLLATE NOCASE,
    -- The address, at most 1 KiB.
    url TEXT NOT NULL,
    -- What messages are signed with. It is kept as it is: whoever signs has to have it.
    secret BLOB NOT NULL CHECK (length(secret) = 32),
    -- Who made it, by name.
    made_by TEXT NOT NULL,
    -- When, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL,
    -- How many messages have arrived.
    delivered INTEGER NOT NULL,
    -- How many have not, and are not tried any more.
    given_up INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Messages to webhooks: those that wait, and of each the last that do not. No file of a capture has them.
CREATE TABLE deliveries (
    -- Counts up.
    id INTEGER PRIMARY KEY,
    -- The name of the webhook, which may be gone.
    webhook TEXT NOT NULL COLLATE NOCASE,
    -- The capture that it is about; none for a message that somebody sends to try the webhook.
    capture_id INTEGER,
    -- What the capture was called, at most 256 bytes.
    title TEXT NOT NULL,
    -- What fired, in words, at most 1 KiB. With which value is not here: it may have text of events.
    condition TEXT NOT NULL,
    -- When it happened, wall time in nanoseconds since 1970: a label.
    fired_unix_ns INTEGER NOT NULL,
    -- waiting: it is tried, or tried again; delivered: it has arrived; given_up: it has not, and is not tried any more.
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'given_up')),
    -- How often it was tried.
    attempts INTEGER NOT NULL,
    -- The status of the last answer; none if there was none.
    status INTEGER,
    -- Why the last attempt failed, in words, at most 1 KiB; empty if it did not.
    error TEXT NOT NULL,
    -- When it was last tried, or else made, wall time in nanoseconds since 1970: a label.
    changed_unix_ns INTEGER NOT NULL
) STRICT;

CREATE INDEX deliveries_by_webhook ON deliveries (webhook, id);

-- Who an account is at an OpenID Connect provider, at most one for each. No file of a capture has any.
CREATE TABLE identities (
    -- The account.
    account TEXT PRIMARY KEY COLLATE NOCASE REFERENCES accounts (name),
    -- The provider: its issuer, at most 1 KiB.
    issuer TEXT NOT NULL,
    -- Who it is there: the provider's own name for a person, which never becomes another's, at most 256 bytes; none as long as nobody
    -- has logged in since an admin allowed that the next who has the account's name there is taken for its owner.
    subject TEXT,
    -- Whether the account was made at the first login, and its role is that of the groups at each one.
    made_at_login INTEGER NOT NULL CHECK (made_at_login IN (0, 1)),
    -- When it was allowed or made, wall time in nanoseconds since 1970: a label.
    created_unix_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject);
