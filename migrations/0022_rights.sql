PRAGMA user_version = 22;

-- Who may read and change captures, where that is not as roles say. No file of a capture has any of it.

-- People by the name of what they have in common, so that a right can be given to all of them.
CREATE TABLE groups (
    -- The name. Spelt otherwise, with capitals or without, it is the same.
    name TEXT PRIMARY KEY COLLATE NOCASE
) STRICT, WITHOUT ROWID;

CREATE TABLE group_members (
    -- The group.
    name TEXT NOT NULL COLLATE NOCASE REFERENCES groups (name),
    -- Who is in it: the name that somebody is logged in by, with an account or without one.
    person TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (name, person)
) STRICT, WITHOUT ROWID;

CREATE INDEX group_members_by_person ON group_members (person);

-- Who may do what with one capture. A capture that has no row here is as its tags have it.
CREATE TABLE capture_rights (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- To whom it is given: `owner`, which every list has, everybody who is logged in, a person, or a group.
    kind TEXT NOT NULL CHECK (kind IN ('owner', 'everybody', 'person', 'group')),
    -- The name of the person or group, else empty.
    name TEXT NOT NULL COLLATE NOCASE,
    -- What: `read`, or `change`, which is what an operator may do with own captures.
    may TEXT NOT NULL CHECK (may IN ('read', 'change')),
    PRIMARY KEY (capture_id, kind, name)
) STRICT, WITHOUT ROWID;

-- Who may do what with the captures that have a tag and no rows of their own above.
CREATE TABLE tag_rights (
    -- The tag.
    tag TEXT NOT NULL,
    -- As above.
    kind TEXT NOT NULL CHECK (kind IN ('owner', 'everybody', 'person', 'group')),
    name TEXT NOT NULL COLLATE NOCASE,
    may TEXT NOT NULL CHECK (may IN ('read', 'change')),
    PRIMARY KEY (tag, kind, name)
) STRICT, WITHOUT ROWID;

-- Whether a capture has rows in `capture_rights`: lists of a hundred thousand captures do not look there for each.
ALTER TABLE listed ADD COLUMN has_rights INTEGER NOT NULL DEFAULT 0 CHECK (has_rights IN (0, 1));
