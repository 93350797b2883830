//! The passes over the IR. They are modest: what a lowering leaves behind on purpose (constants, copies, empty blocks,
//! unused loads, questions asked twice) goes; nothing is moved, so that what the verifier could follow before, it can
//! follow after. Each pass takes time in proportion to the length of the body.

mod blocks;
mod dead;
mod fold;
mod lookups;
mod reuse;

pub(crate) use blocks::{join_blocks, order_blocks, thread_jumps};
pub(crate) use dead::drop_unused;
pub(crate) use fold::fold;
pub(crate) use reuse::reuse;
