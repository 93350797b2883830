//! Why a flight recorder stored a capture.

use serde::{Deserialize, Serialize};

use crate::CaptureId;

/// The most bytes of each text of a [`Firing`].
pub const MAX_FIRING_TEXT_BYTES: usize = 1024;

/// What made a flight recorder store what it had in memory: a field of the capture that came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    /// The flight recorder's own capture.
    pub recorder: CaptureId,
    /// What sort of thing fired.
    pub kind: FiringKind,
    /// What fired, in words, at most [`MAX_FIRING_TEXT_BYTES`]: a condition as it was written, who asked.
    pub trigger: String,
    /// With which value, likewise; empty where there is none. It may have text of events.
    pub value: String,
    /// When it happened, monotonic nanoseconds: of a row its end.
    pub fired_ns: u64,
    /// The same by the wall clock, nanoseconds since 1970: a label.
    pub fired_unix_ns: i64,
    /// From when on every row is in the capture, monotonic nanoseconds; of before there is only what ended later.
    pub complete_from_ns: u64,
}

/// What sort of thing fires a flight recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FiringKind {
    /// A person.
    Hand,
    /// A row.
    Row,
    /// The host's pressure.
    Pressure,
    /// A program's end.
    Exit,
    /// The time.
    Schedule,
    /// A request with a token.
    Token,
}
