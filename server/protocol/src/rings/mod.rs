//! Readers of the kernel's ring buffers, and rings in ordinary memory with the same layout for made events.
//!
//! A ring is shared with the kernel (or with a simulated agent), so every word of it is read atomically and exactly
//! once, lengths are checked against what lies between the two positions, and a record is copied before anybody looks
//! at it. Whatever the other side writes, the reader gives records or a [`RingError`]; it never reads outside.

mod layout;
mod memory;
mod progress;
mod reader;
mod simulated;

#[cfg(test)]
mod tests;

pub use progress::RingProgress;
pub use reader::{Drained, RingError, RingReader};
pub use simulated::{SimulatedBpfRing, SimulatedPerfRing};
