//! What ftrace writes, read: pages of `trace_pipe_raw` → records → values of fields, and calls of `function_graph`.
//!
//! [`Layout`] is what `events/header_page` and `events/header_event` say about pages; [`Page`] is one page, its time and
//! what was lost before it; its [`Event`]s have a time and a record. [`Events`] knows the formats by number, so it tells
//! whose a record is, which thread wrote it, and which [`Role`] it has; [`value`] reads a field. [`Calls`] puts
//! `function_graph`'s entries and exits together.
//!
//! Constraints: bytes in, values out; no I/O, no panic, a limit for every size. A page comes from the kernel, but what
//! is in it may have been written by any program. It must not know names of functions or processes: a record has
//! addresses and a thread's number only.

mod calls;
mod events;
mod fields;
mod layout;
mod page;

pub use calls::{Call, CallEntry, CallExit, CallState, Calls, MAX_DEPTH, MAX_TASKS};
pub use events::{EventError, Events, GraphEntryFields, GraphExitFields, MAX_EVENTS, Role};
pub use fields::{FieldValue, MAX_NUMBERS, Number, value, write_value};
pub use layout::{Layout, MAX_PAGE_BYTES, PageLayoutError};
pub use page::{Event, Missed, Page, PageError, PageEvents};
