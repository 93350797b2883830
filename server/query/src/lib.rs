//! SQL over one capture, read only.
//!
//! [`run()`] opens a SQLite database in memory that has no file and no tables of its own. The streams and dictionaries of
//! the capture are virtual tables in it, which read chunks through [`bathyscope_views::Source`]; so other captures,
//! sessions, tokens and the audit log are not merely forbidden, they are not there. An authorizer lets a statement do
//! nothing but read these tables and call functions of a list; time, rows, bytes and memory have limits ([`Limits`]).
//!
//! Constraints: no I/O of its own, no database of the store, no HTTP. `unsafe` is allowed in `vtab.rs` alone, for what
//! SQLite's virtual tables and its count of memory need; a test of the whole holds that.
#![deny(unsafe_code)]

mod answer;
mod capture;
mod column;
mod error;
mod examples;
mod functions;
mod group;
mod guard;
mod index;
mod limits;
mod list_values;
mod lists;
mod members;
mod names;
mod plan;
mod pushdown;
mod run;
mod scan;
mod shared;
mod stacks;
mod table;
mod unions;
mod values;
mod vtab;

pub use answer::{Answer, Cut, ResultColumn, Scanned};
pub use capture::Capture;
pub use column::{ColumnInfo, ColumnKind};
pub use error::{Place, QueryError};
pub use examples::{Example, examples};
pub use limits::Limits;
pub use names::TableInfo;
pub use run::{run, tables};
