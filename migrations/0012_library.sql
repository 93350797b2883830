PRAGMA user_version = 12;

-- What people keep by name, beside captures. Recipes of people are kept here too. No file of a capture has any of it.
CREATE TABLE library (
    -- Names it for ever.
    id INTEGER PRIMARY KEY,
    -- What it is.
    kind TEXT NOT NULL CHECK (kind IN ('probe', 'script', 'recipe', 'filter', 'query', 'selection')),
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

INSERT INTO library (kind, name, owner, description, tags, shared, version, created_unix_ns, changed_unix_ns)
SELECT 'recipe', name, owner, '', '', 1, 1, created_unix_ns, created_unix_ns FROM recipes ORDER BY name;
INSERT INTO library_versions (item, version, text, author, saved_unix_ns)
SELECT library.id, 1, recipes.text, recipes.owner, recipes.created_unix_ns
FROM library JOIN recipes ON recipes.name = library.name;
DROP TABLE recipes;
