PRAGMA user_version = 26;

-- Who sees not all captures reads the list in the order of time from this index alone: what lists of rights are told by stands in it.
DROP INDEX listed_by_start;
CREATE INDEX listed_by_start ON listed (shown, started_unix_ns, number, owner, has_rights, tags, capture_id);
