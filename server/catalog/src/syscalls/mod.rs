//! System calls: what their arguments are, and how a call is written for people, in the look of strace(1).
//!
//! What is known of each call is in two tables in `data/`: `calls.txt` (arguments, by name) and `flags.txt` (names of
//! bits and numbers); numbers come from [`crate::constants`]. For calls of 32-bit programs on x86_64 there are tables of
//! numbers and of what is other than in `calls.txt`; a call's number says whose it is ([`Abi`]). The agent asks
//! [`CallDefinition::grabs`] which memory of a process to copy at a call's entry and exit; the console gives that memory
//! back to [`decode()`] with the arguments.
//!
//! Constraints: what a process passed is bytes that may be anything: nothing here panics on it, lengths come from the
//! bytes that are there, and text is escaped until only printable ASCII is left. No I/O, and no state between calls.

mod abi;
mod address;
mod decode;
mod grab;
mod name_set;
mod narrow;
mod opening;
mod select;
mod sets;
mod siginfo;
mod special;
mod structs;
mod summary;
mod table;
mod text;
mod verbose;

pub use abi::Abi;
pub use decode::{
    Call, Decoded, FileOf, FileText, Hex, Piece, Style, decode, error_of, netlink_protocol, result_text, unquoted,
};
pub use grab::{Beside, CONTROL_PART, CallGrabs, Grab, Length, MAX_GRABS, Moment, PATH_ROOM, Special, VECTORS, WORDS};
pub use name_set::{NameSet, UnknownNameSet};
pub use opening::{OPENING, opening};
pub use select::{SelectError, select};
pub use siginfo::signal_text;
pub use summary::{Summary, SummaryColumn, SummaryOrder};
pub use table::{ArgumentKind, CallArgument, CallDefinition, MAX_CALLS, Returns, definition, definitions, number_of};
