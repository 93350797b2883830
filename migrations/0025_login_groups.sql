PRAGMA user_version = 25;

-- Groups that the provider said of somebody at a login, each for the session that it began, and for nothing else. No file of a capture
-- has any.
CREATE TABLE session_groups (
    -- The session: its `hash` in `sessions`. They go with it.
    session BLOB NOT NULL CHECK (length(session) = 32),
    -- The provider: its issuer. They count only as long as the console is set up with this one.
    issuer TEXT NOT NULL,
    -- The name of the group there, at most 256 bytes. With other capitals it is another one.
    name TEXT NOT NULL,
    PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;

-- Rights can be given to such groups too. What a name is compared by depends on its kind, so the tables are made anew without a
-- collation.
ALTER TABLE capture_rights RENAME TO old_capture_rights;
ALTER TABLE tag_rights RENAME TO old_tag_rights;

-- Who may do what with one capture. A capture that has no row here is as its tags have it.
CREATE TABLE capture_rights (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- To whom it is given: `owner`, which every list has, everybody who is logged in, a person, a group, or a group that the proxy in
    -- front or the provider tells of somebody.
    kind TEXT NOT NULL CHECK (kind IN ('owner', 'everybody', 'person', 'group', 'proxy_group', 'oidc_group')),
    -- The name of the person or group, else empty. Of people and groups, spelt otherwise, with capitals or without, it is the same.
    name TEXT NOT NULL,
    -- What: `read`, or `change`, which is what an operator may do with own captures.
    may TEXT NOT NULL CHECK (may IN ('read', 'change')),
    PRIMARY KEY (capture_id, kind, name)
) STRICT, WITHOUT ROWID;

-- Who may do what with the captures that have a tag and no rows of their own above.
CREATE TABLE tag_rights (
    -- The tag.
    tag TEXT NOT NULL,
    -- As above.
    kind TEXT NOT NULL CHECK (kind IN ('owner', 'everybody', 'person', 'group', 'proxy_group', 'oidc_group')),
    -- Likewise.
    name TEXT NOT NULL,
    -- Likewise.
    may TEXT NOT NULL CHECK (may IN ('read', 'change')),
    PRIMARY KEY (tag, kind, name)
) STRICT, WITHOUT ROWID;

INSERT INTO capture_rights SELECT capture_id, kind, name, may FROM old_capture_rights;
INSERT INTO tag_rights SELECT tag, kind, name, may FROM old_tag_rights;
DROP TABLE old_capture_rights;
DROP TABLE old_tag_rights;
