PRAGMA user_version = 8;

-- Checksums of what chunks refer to, so that a bit that the disk has turned is told and not shown: chunks have their own.
-- Those of captures from before are computed when the database is brought up to date.
CREATE TABLE checksums (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Of what: 0 strings, 1 mappings, 2 frames, 3 stacks, 4 symbols, 5 columns of streams, 6 spec and host.
    part INTEGER NOT NULL CHECK (part BETWEEN 0 AND 6),
    -- Which entries: those with ids from 2048 * page + 1 on, as many; for columns the stream's index; for spec and host 0.
    page INTEGER NOT NULL,
    -- The sum of the CRC-32 of each entry, as `server/store/src/sums.rs` describes it.
    sum INTEGER NOT NULL,
    PRIMARY KEY (capture_id, part, page)
) STRICT, WITHOUT ROWID;

-- Login links with how long the session lasts that one begins: a column with a comment cannot be added, so the table is
-- made anew.
ALTER TABLE login_tokens RENAME TO old_login_tokens;

-- Login links: tokens that let somebody in once.
CREATE TABLE login_tokens (
    -- SHA-256 of the token; the token itself is kept nowhere.
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    -- The name that captures and the audit log carry for whoever uses it.
    user TEXT NOT NULL,
    -- What its user may do.
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    -- When it ends, seconds of the session clock.
    expires_s INTEGER NOT NULL,
    -- When the session ends that it begins, seconds of the session clock.
    session_expires_s INTEGER NOT NULL,
    -- When it was used, seconds of the session clock; none if it was not.
    used_s INTEGER
) STRICT, WITHOUT ROWID;

INSERT INTO login_tokens SELECT hash, user, role, expires_s, expires_s + 604800, used_s FROM old_login_tokens;
DROP TABLE old_login_tokens;
