//! What scripts send to user space, made readable: records of the ring and contents of maps become values, values become
//! text or JSON lines as bpftrace prints them, and typed rows for a capture.
//!
//! record bytes → [`Decoder`] → [`Record`]; map bytes → [`Snapshot`]; both → [`Renderer`] → bytes for a terminal, file or
//! pipe; both → [`rows`] → cells of columns.
//!
//! Constraints: no I/O, no clock, no environment. What needs the outside (names of addresses and users, the time of day)
//! comes through [`Names`]. Bytes from the ring and from maps are not trusted: nothing panics, whatever they are, and a
//! record that does not fit its description is a [`DecodeError`].
//!
//! The reference is bpftrace 0.24 and later. Known differences are written down where they are made.

mod aggregate;
mod gfp;
mod histogram;
mod json;
mod kept;
mod map;
mod names;
mod number;
mod record;
mod render;
mod rows;
mod series;
mod stack;
mod terminal;
mod text;
mod time;
mod value;

pub use aggregate::{Aggregated, Point};
pub use histogram::Bucket;
pub use kept::{KeptRow, value_columns};
pub use map::{Entry, MapError, Snapshot};
pub use names::{Names, NoNames, Symbol, WallTime};
pub use record::{DecodeError, Decoder, Record};
pub use render::{Form, Message, Renderer};
pub use rows::{MAX_COLUMNS, MapRows, ScriptRow, ScriptStack, SiteRows};
pub use terminal::{safe_for_terminal, safe_in_a_line};
pub use time::format_time;
pub use value::Value;
