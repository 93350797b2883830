-- "BATH": marks a database as one of this program, in `file` and when it is opened.
PRAGMA application_id = 1111577672;
-- The schema version, for `.bathy` files, which have no history of migrations.
PRAGMA user_version = 1;

-- One row for each capture.
CREATE TABLE captures (
    -- 64 random bits.
    id INTEGER PRIMARY KEY,
    -- ready; importing: an import is not finished; deleting: a deletion is not finished. Only ready ones are shown.
    phase TEXT NOT NULL CHECK (phase IN ('ready', 'importing', 'deleting')),
    -- What it is doing or how it ended.
    state TEXT NOT NULL CHECK (state IN ('recording', 'finished', 'interrupted', 'failed', 'agent_lost')),
    -- Why it ended, in words; empty while it is recorded.
    reason TEXT NOT NULL,
    -- Whether it was recorded here or read from a file.
    origin TEXT NOT NULL CHECK (origin IN ('recorded', 'imported')),
    -- Its name in lists.
    title TEXT NOT NULL,
    -- Who started or imported it.
    owner TEXT NOT NULL,
    -- What was asked for: CaptureSpec as JSON.
    spec TEXT NOT NULL,
    -- Where it was made: HostFacts as JSON.
    host TEXT NOT NULL,
    -- `events` or `profile`, from the spec, for lists.
    method TEXT NOT NULL,
    -- Whose events, from the spec, for lists.
    target TEXT NOT NULL,
    -- The host's name, for lists.
    host_name TEXT NOT NULL,
    -- Title, owner, host, method and target in lower case: what the search of the list looks into.
    search TEXT NOT NULL,
    -- Wall time of the start, nanoseconds since 1970: a label and the order of the list.
    started_unix_ns INTEGER NOT NULL,
    -- The start, monotonic nanoseconds.
    start_ns INTEGER NOT NULL,
    -- The end, or the latest moment covered so far, monotonic nanoseconds.
    end_ns INTEGER NOT NULL,
    -- Rows in all chunks.
    row_count INTEGER NOT NULL,
    -- Bytes of all chunks.
    chunk_bytes INTEGER NOT NULL,
    -- Bytes of the traced command's output.
    output_bytes INTEGER NOT NULL,
    -- Events lost, all losses together.
    lost INTEGER NOT NULL,
    -- 1 if the events were made up by the simulated agent.
    simulated INTEGER NOT NULL CHECK (simulated IN (0, 1))
) STRICT;

-- The list of captures, newest first.
CREATE INDEX captures_by_start ON captures (started_unix_ns DESC, id);

-- One row for each stream of a capture, with the ledger's totals.
CREATE TABLE streams (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Index of the stream, from 0.
    stream INTEGER NOT NULL CHECK (stream BETWEEN 0 AND 65535),
    -- Its columns: StreamSchema as JSON.
    schema TEXT NOT NULL,
    -- Chunks so far; the next one gets this number.
    chunk_count INTEGER NOT NULL,
    -- Rows in its chunks.
    row_count INTEGER NOT NULL,
    -- Bytes of its chunks.
    chunk_bytes INTEGER NOT NULL,
    -- Ledger: how often the probe ran.
    hits INTEGER NOT NULL,
    -- Ledger: hits rejected in the kernel.
    filtered INTEGER NOT NULL,
    -- Ledger: hits that wanted to be recorded.
    emitted INTEGER NOT NULL,
    -- Ledger: rows stored.
    stored INTEGER NOT NULL,
    -- The last reading of its cost as JSON; none if none was taken.
    reading TEXT,
    PRIMARY KEY (capture_id, stream)
) STRICT, WITHOUT ROWID;

-- The directory of chunks: small, so that a range of time is found without touching their bytes.
CREATE TABLE chunks (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- The stream's index.
    stream INTEGER NOT NULL,
    -- Its number in the stream, from 0, without gaps.
    seq INTEGER NOT NULL,
    -- Its rows.
    row_count INTEGER NOT NULL,
    -- Time of its first row, monotonic nanoseconds.
    first_ns INTEGER NOT NULL,
    -- Time of its last row, monotonic nanoseconds.
    last_ns INTEGER NOT NULL,
    -- Size of its bytes.
    bytes INTEGER NOT NULL,
    -- Extremes of each column, 17 bytes each: 0 none, 1 unsigned, 2 signed; least; greatest (little endian).
    stats BLOB NOT NULL,
    PRIMARY KEY (capture_id, stream, seq),
    FOREIGN KEY (capture_id, stream) REFERENCES streams (capture_id, stream)
) STRICT, WITHOUT ROWID;

-- The bytes of chunks, as `server/capture/src/chunk.rs` describes them.
CREATE TABLE chunk_data (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- The stream's index.
    stream INTEGER NOT NULL,
    -- The chunk's number.
    seq INTEGER NOT NULL,
    -- The encoded chunk.
    data BLOB NOT NULL,
    PRIMARY KEY (capture_id, stream, seq),
    FOREIGN KEY (capture_id, stream, seq) REFERENCES chunks (capture_id, stream, seq)
) STRICT;

-- Text that events refer to by id.
CREATE TABLE strings (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its id in the capture, from 1.
    id INTEGER NOT NULL,
    -- Its bytes as the event had them, in no particular encoding.
    text BLOB NOT NULL,
    PRIMARY KEY (capture_id, id)
) STRICT, WITHOUT ROWID;

-- What code was mapped from.
CREATE TABLE mappings (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its id in the capture, from 1.
    id INTEGER NOT NULL,
    -- What the offsets of its frames are relative to.
    kind TEXT NOT NULL CHECK (kind IN ('kernel', 'file', 'anonymous', 'unknown')),
    -- The build id; empty where it is not known.
    build_id BLOB NOT NULL,
    -- Path or name as the process saw it.
    name BLOB NOT NULL,
    -- The process whose addresses these are, for anonymous and unknown ones; otherwise 0.
    pid INTEGER NOT NULL,
    PRIMARY KEY (capture_id, id)
) STRICT, WITHOUT ROWID;

-- Places in mappings.
CREATE TABLE frames (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- Its id in the capture, from 1.
    id INTEGER NOT NULL,
    -- The mapping's id.
    mapping_id INTEGER NOT NULL,
    -- Offset as the mapping's kind says.
    place INTEGER NOT NULL,
    PRIMARY KEY (capture_id, id),
    FOREIGN KEY (capture_id, mapping_id) REFERENCES mappings (capture_id, id)
) STRICT, WITHOUT ROWID;

-- Stacks as lists of frames.
CREATE TABLE stacks (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its id in the capture, from 1.
    id INTEGER NOT NULL,
    -- Ids of its frames, innermost first, 4 bytes each, little endian.
    frames BLOB NOT NULL,
    PRIMARY KEY (capture_id, id)
) STRICT, WITHOUT ROWID;

-- Names of frames; replaced when better ones are found.
CREATE TABLE symbols (
    -- The capture.
    capture_id INTEGER NOT NULL,
    -- The frame's id.
    frame_id INTEGER NOT NULL,
    -- The function that contains the frame, demangled; empty where none was found.
    function TEXT NOT NULL,
    -- Offset in the function in bytes.
    place INTEGER NOT NULL,
    -- Source lines and inlined functions, innermost first: a list of SymbolLine as JSON.
    lines TEXT NOT NULL,
    PRIMARY KEY (capture_id, frame_id),
    FOREIGN KEY (capture_id, frame_id) REFERENCES frames (capture_id, id)
) STRICT, WITHOUT ROWID;

-- The process history, in the order in which it became known.
CREATE TABLE processes (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its place in the order, from 0.
    seq INTEGER NOT NULL,
    -- When, monotonic nanoseconds; 0 for what was so at the start.
    time_ns INTEGER NOT NULL,
    -- The process.
    pid INTEGER NOT NULL,
    -- The thread.
    tid INTEGER NOT NULL,
    -- What happened.
    kind TEXT NOT NULL CHECK (kind IN ('existing', 'fork', 'comm', 'exec', 'exit')),
    -- Id of the name's string for existing, comm and exec; the parent's pid for fork; 0 for exit.
    value INTEGER NOT NULL,
    PRIMARY KEY (capture_id, seq)
) STRICT, WITHOUT ROWID;

-- What the traced command printed.
CREATE TABLE output (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its place in the order, from 0.
    seq INTEGER NOT NULL,
    -- When it was read, monotonic nanoseconds.
    time_ns INTEGER NOT NULL,
    -- Where it was written: 1 standard output, 2 standard error.
    descriptor INTEGER NOT NULL CHECK (descriptor IN (1, 2)),
    -- The bytes.
    text BLOB NOT NULL,
    PRIMARY KEY (capture_id, seq)
) STRICT, WITHOUT ROWID;

-- The ledger's losses, in the order in which they became known.
CREATE TABLE losses (
    -- The capture.
    capture_id INTEGER NOT NULL REFERENCES captures (id),
    -- Its place in the order, from 0.
    seq INTEGER NOT NULL,
    -- The stream's index; none where it cannot be told.
    stream INTEGER,
    -- Where the events were lost.
    stage TEXT NOT NULL CHECK (stage IN ('kernel_missed', 'ring_full', 'decode', 'store', 'interrupted')),
    -- How many events; for interrupted a lower bound.
    count INTEGER NOT NULL,
    -- The earliest moment it can have happened, monotonic nanoseconds.
    start_ns INTEGER NOT NULL,
    -- The latest moment it can have happened, monotonic nanoseconds.
    end_ns INTEGER NOT NULL,
    PRIMARY KEY (capture_id, seq)
) STRICT, WITHOUT ROWID;

-- Who is logged in. Empty in exported files, as the three tables after it.
CREATE TABLE sessions (
    -- SHA-256 of the cookie's value; the value itself is kept nowhere.
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    -- What its owner may do.
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    -- Its owner's name.
    user TEXT NOT NULL,
    -- When it was made, seconds of the session clock.
    created_s INTEGER NOT NULL,
    -- When it was last used, seconds of the session clock, to a minute or so.
    last_used_s INTEGER NOT NULL,
    -- When it ends however often it is used, seconds of the session clock.
    expires_s INTEGER NOT NULL,
    -- After how many seconds without use it ends.
    idle_limit_s INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Tokens that let somebody in once.
CREATE TABLE login_tokens (
    -- SHA-256 of the token; the token itself is kept nowhere.
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    -- The name that captures and the audit log carry for whoever uses it.
    user TEXT NOT NULL,
    -- What its user may do.
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    -- When it ends, seconds of the session clock.
    expires_s INTEGER NOT NULL,
    -- When it was used, seconds of the session clock; none if it was not.
    used_s INTEGER
) STRICT, WITHOUT ROWID;

-- Single values by name.
CREATE TABLE settings (
    -- session_epoch: which clock the seconds of sessions and tokens are of.
    name TEXT PRIMARY KEY,
    -- The value.
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who did what. Only ever grows.
CREATE TABLE audit (
    -- Counts up from 1 without gaps.
    number INTEGER PRIMARY KEY,
    -- When, wall time in nanoseconds since 1970: a label.
    time_unix_ns INTEGER NOT NULL,
    -- Who.
    user TEXT NOT NULL,
    -- As what.
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    -- What was done.
    action TEXT NOT NULL,
    -- To what.
    object TEXT NOT NULL,
    -- More about it.
    detail TEXT NOT NULL
) STRICT;

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE number = NEW.number)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
