//! The messages between console and agent, and the descriptors that travel with them: the only thing both know.
//!
//! One message is one packet of a `SOCK_SEQPACKET` socket: JSON of at most [`MAX_MESSAGE_BYTES`], with up to
//! [`MAX_MESSAGE_FDS`] descriptors beside it; what is larger travels in a sealed file ([`large`]). The console asks, the agent answers, strictly in turn. The agent treats
//! the console as hostile: whatever it does not know or expect closes the socket. The message types are promises of
//! their own and are not the types of `capture`, though they borrow names and predicates from there, and from `bpf` what
//! a compiled script is.
//!
//! Text and files of strangers are read by a child without rights ([`sandbox`]), which both start in the same way; and both, as
//! that child, have filters of system calls, which are made of tables ([`seccomp`]).
//!
//! The readers of the kernel's ring buffers live here too, because a ring is what most of the descriptors are.
//!
//! It must not know what captures are for: no storage, no HTTP, no symbol names.

mod client;
mod connection;
pub mod counters;
mod door;
pub mod large;
mod message;
pub mod rings;
pub mod sandbox;
mod script;
pub mod seccomp;

pub use client::{AgentClient, CALL_TIMEOUT, ClientError, MapContent, OpenedUserFile, SLOW_CALL_TIMEOUT, TakenRings};
pub use connection::{Connection, PeerCredentials, ProtocolError, Received};
pub use door::Door;
pub use message::*;
pub use script::*;
