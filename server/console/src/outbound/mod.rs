//! Connections to others: the only ones that are made, by a process of its own.
//!
//! The console's filter of system calls lets it connect to nobody. Where an administrator lists hosts, the supervisor starts one more
//! process, which may connect, and to these only ([`process`]). The console asks it through a door ([`client`]), one connection for each
//! request; both sides look at the list ([`targets`]). No redirect is followed.

mod client;
mod process;
mod targets;

pub use client::{Outbound, OutboundError};
pub use process::{OutboundProcess, serve as serve_outbound};
pub use targets::{OutboundHost, OutboundTargets, ParseOutboundHostError, Target, TargetError, is_public};

use serde::{Deserialize, Serialize};

/// The largest body of a request.
pub const MAX_OUTBOUND_BODY_BYTES: usize = 64 << 10;
/// The largest body of an answer.
pub const MAX_OUTBOUND_ANSWER_BYTES: usize = 256 << 10;
/// The largest message between the two: a body whose characters are all escaped.
const MAX_PACKET_BYTES: usize = 2 << 20;
/// The most headers of a request.
const MAX_HEADERS: usize = 16;
/// The longest time for one request, milliseconds.
pub const MAX_OUTBOUND_MS: u32 = 30_000;
/// Requests that are answered at a time.
const AT_ONCE: usize = 8;

/// How something is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum OutboundMethod {
    /// Asks for something.
    Get,
    /// Brings something.
    Post,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutboundRequest {
    /// How.
    pub method: OutboundMethod,
    /// The address: `https`, or `http` to a host that is listed as private.
    pub url: String,
    /// Headers beside those that the connection needs, at most 16.
    pub headers: Vec<(String, String)>,
    /// What is brought, at most [`MAX_OUTBOUND_BODY_BYTES`].
    pub body: String,
    /// How long all of it may take, milliseconds, at most [`MAX_OUTBOUND_MS`].
    pub timeout_ms: u32,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutboundAnswer {
    /// The status.
    pub status: u16,
    /// The kind of its content; empty if that was not told.
    pub content_type: String,
    /// Its text, at most [`MAX_OUTBOUND_ANSWER_BYTES`].
    pub body: String,
}

/// What the process says of a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutboundReply {
    /// It was answered.
    Answer(OutboundAnswer),
    /// It may not be asked, and why.
    Refused(String),
    /// It was not answered, and why.
    Failed(String),
}
