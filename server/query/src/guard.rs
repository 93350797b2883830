//! What a statement may do, and how much.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use rusqlite::{
    Connection, OpenFlags, Result,
    config::DbConfig,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
};

use crate::{
    functions,
    limits::Limits,
    shared::{Shared, Stop},
    vtab,
};

/// The largest value, in bytes; so no single step of SQLite can take much memory or time.
const VALUE_BYTES: i32 = 256 << 10;
/// The longest query, in bytes.
pub(crate) const QUERY_BYTES: usize = 64 << 10;
/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 500;

const LIMITS: [(Limit, i32); 11] = [
    (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, QUERY_BYTES as i32),
    (Limit::SQLITE_LIMIT_COLUMN, 600),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
    (Limit::SQLITE_LIMIT_VDBE_OP, 200_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// SQLite's own functions that queries may call; they only compute.
const FUNCTIONS: [&str; 91] = [
    "abs",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "format",
    "glob",
    "hex",
    "ifnull",
    "iif",
    "if",
    "instr",
    "length",
    "like",
    "likelihood",
    "likely",
    "lower",
    "ltrim",
    "max",
    "min",
    "nullif",
    "octet_length",
    "printf",
    "quote",
    "random",
    "replace",
    "round",
    "rtrim",
    "sign",
    "substr",
    "substring",
    "trim",
    "typeof",
    "unhex",
    "unicode",
    "unlikely",
    "upper",
    "zeroblob",
    "randomblob",
    "avg",
    "count",
    "group_concat",
    "string_agg",
    "sum",
    "total",
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
    "date",
    "time",
    "datetime",
    "julianday",
    "unixepoch",
    "strftime",
    "timediff",
    "current_date",
    "current_time",
    "current_timestamp",
    "json",
    "json_array",
    "json_array_length",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
    "->",
    "->>",
    "json_error_position",
    "soundex",
    "subtype",
    "unistr",
    "unistr_quote",
    "sqlite_version",
    "median",
];

/// A database in memory with nothing in it, and with limits.
pub(crate) fn open() -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_MEMORY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(":memory:", flags)?;
    let settings = [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // A name in double quotes that does not exist is an error, not a text.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ];
    for (setting, on) in settings {
        connection.set_db_config(setting, on)?;
    }
    for (limit, value) in LIMITS {
        connection.set_limit(limit, value)?;
    }
    // What is sorted stays in memory, whose use is watched; files would have no limit.
    connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA query_only = ON;")?;
    Ok(connection)
}

/// From now on statements only read, and end in time.
pub(crate) fn arm(connection: &Connection, shared: &Arc<Shared>, limits: &Limits, began: Instant) -> Result<()> {
    let own = Arc::clone(shared);
    connection.authorizer(Some(move |context: AuthContext<'_>| match refused(&own, &context.action) {
        None => Authorization::Allow,
        Some(what) => {
            own.stop(Stop::Refused(what));
            Authorization::Deny
        }
    }))?;
    let own = Arc::clone(shared);
    let (time, memory) = (limits.time, limits.memory);
    let before = vtab::memory_used();
    connection.progress_handler(
        STEPS,
        Some(move || {
            if own.cancel.load(Ordering::Relaxed) {
                own.stop(Stop::Cancelled);
            } else if began.elapsed() > time {
                own.stop(Stop::Time);
            } else if vtab::memory_used().saturating_sub(before) + own.held.load(Ordering::Relaxed) > memory {
                own.stop(Stop::Memory);
            }
            own.stopped.load(Ordering::Relaxed)
        }),
    )
}

/// What is refused about an action, in words; none if it is allowed.
fn refused(shared: &Shared, action: &AuthAction<'_>) -> Option<String> {
    match action {
        AuthAction::Select | AuthAction::Recursive => None,
        AuthAction::Read { table_name, column_name } => {
            // Without a column it is a count of rows, and the name may be one that the query itself gives.
            let own = column_name.is_empty() && !crate::names::is_reserved(table_name);
            let known = own || is_table(shared, table_name);
            (!known).then(|| format!("the table {table_name} is not for queries"))
        }
        AuthAction::Function { function_name } => {
            let lower = function_name.to_ascii_lowercase();
            let known = FUNCTIONS.contains(&lower.as_str()) || functions::NAMES.contains(&lower.as_str());
            (!known).then(|| format!("the function {function_name}() is not for queries"))
        }
        AuthAction::Pragma { pragma_name, .. } => Some(format!("PRAGMA {pragma_name} is not for queries")),
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Some("no other database can be attached".to_owned()),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            Some("transactions are not for queries".to_owned())
        }
        _ => Some("nothing can be created, changed or deleted".to_owned()),
    }
}

fn is_table(shared: &Shared, name: &str) -> bool {
    let own = |table: &crate::TableInfo| {
        table.name.eq_ignore_ascii_case(name)
            || table.alias.as_ref().is_some_and(|alias| alias.eq_ignore_ascii_case(name))
    };
    ["json_each", "json_tree"].iter().any(|known| known.eq_ignore_ascii_case(name)) || shared.tables.iter().any(own)
}
