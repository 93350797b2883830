//! The frame that SQLite wants virtual tables to have, and its count of memory, and giving memory back: all that is
//! `unsafe` here.
#![allow(unsafe_code, reason = "SQLite takes tables and cursors by pointers to their first field")]

use std::{ffi::c_int, sync::Arc};

use rusqlite::{
    Connection, ffi,
    vtab::{
        Context, Filters, IndexInfo, VTab, VTabConnection, VTabCursor, eponymous_only_module, sqlite3_vtab,
        sqlite3_vtab_cursor,
    },
};

use crate::{
    shared::Shared,
    table::{self, Cursor},
};

/// Makes a table known by a name.
pub(crate) fn add_table(
    connection: &Connection,
    name: &str,
    shared: &Arc<Shared>,
    table: usize,
) -> rusqlite::Result<()> {
    let aux = (Arc::clone(shared), table);
    connection.create_module(name, eponymous_only_module::<Frame>(), Some(aux))
}

/// Bytes that all of SQLite in this process holds.
pub(crate) fn memory_used() -> u64 {
    // SAFETY: it reads a counter and may be called at any time.
    let bytes = unsafe { ffi::sqlite3_memory_used() };
    u64::try_from(bytes).unwrap_or(0)
}

/// Gives memory that is free in this process back to the host: the allocator keeps what a large query had, for the next.
pub(crate) fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number only, and may be called at any time by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[repr(C)]
struct Frame {
    base: sqlite3_vtab,
    shared: Arc<Shared>,
    table: usize,
}

// SAFETY: the struct is `repr(C)` and `sqlite3_vtab` is its first field.
unsafe impl<'vtab> VTab<'vtab> for Frame {
    type Aux = (Arc<Shared>, usize);
    type Cursor = CursorFrame;

    fn connect(_db: &mut VTabConnection, aux: Option<&Self::Aux>, _args: &[&[u8]]) -> rusqlite::Result<(String, Self)> {
        let missing = || rusqlite::Error::ModuleError("a table without content".to_owned());
        let (shared, table) = aux.ok_or_else(missing)?;
        let info = shared.tables.get(*table).ok_or_else(missing)?;
        let base = sqlite3_vtab::default();
        Ok((info.declaration(), Self { base, shared: Arc::clone(shared), table: *table }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<()> {
        table::best_index(&self.shared, self.table, info)
    }

    fn open(&'vtab mut self) -> rusqlite::Result<CursorFrame> {
        let cursor = Cursor::new(&self.shared, self.table);
        Ok(CursorFrame { base: sqlite3_vtab_cursor::default(), cursor })
    }
}

#[repr(C)]
struct CursorFrame {
    base: sqlite3_vtab_cursor,
    cursor: Cursor,
}

// SAFETY: the struct is `repr(C)` and `sqlite3_vtab_cursor` is its first field.
unsafe impl VTabCursor for CursorFrame {
    fn filter(&mut self, _number: c_int, plan: Option<&str>, args: &Filters<'_>) -> rusqlite::Result<()> {
        self.cursor.filter(plan.unwrap_or_default(), args)
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.cursor.next()
    }

    fn eof(&self) -> bool {
        self.cursor.is_done()
    }

    fn column(&self, context: &mut Context, column: c_int) -> rusqlite::Result<()> {
        self.cursor.column(context, usize::try_from(column).unwrap_or(usize::MAX))
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok(self.cursor.row_id())
    }
}
