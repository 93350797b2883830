//! Transforms of folded stacks, one after another: what Firefox's profiler does with a call tree, by the same letters.
//!
//! A transform makes other stacks of stacks: it leaves levels out, cuts stacks, or leaves samples out. They are part of a
//! view's address, so each is written by its letter and what it is about, with `~` between them:
//!
//! | letter | does |
//! | --- | --- |
//! | `f.NAME` | keeps samples with the function and cuts what is above it; `if.NAME` cuts what it calls |
//! | `F.NODE` | the same for one node of the tree; `iF.NODE` for one of the inverted tree |
//! | `m.NAME`, `M.NODE`, `iM.NODE` | leaves the function, or one node, out: its samples are its caller's |
//! | `d.NAME` | leaves samples with the function out |
//! | `c.NAME` | leaves out what the function calls: its samples are the function's own |
//! | `C.MODULE` | makes one level of each run of functions of a module |
//! | `r.NAME`, `R.NAME` | makes one level of the function and what lies between it and itself; only where it calls itself directly |
//! | `k`, `u` | hides functions of the kernel, and those of run-time libraries |
//! | `s.PATTERN.TEXT` | gives names that match a regular expression another text |
//!
//! Names are text with `%` and `~` as `%25` and `%7E` (in `s` also `.` as `%2E`), so a link works for another capture. Nodes are
//! [`NodeId`]s of the tree as the transforms before leave it.

mod apply;
mod text;

use crate::answers::NodeId;

pub(super) use apply::{StackLevel, TracedStacks, traced, transformed};
pub(crate) use text::base_name;

/// The most transforms of a view.
pub const MAX_TRANSFORMS: usize = 64;

/// What is done with stacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Keeps samples with a function, without what is above it; `inverted` without what it calls.
    FocusFunction {
        /// Its name.
        name: String,
        /// Whether its callers are kept and what it calls is cut.
        inverted: bool,
    },
    /// Keeps samples of one node, without what is above it.
    FocusNode {
        /// Which.
        node: NodeId,
        /// Whether it is one of the inverted tree.
        inverted: bool,
    },
    /// Leaves a function out.
    MergeFunction(String),
    /// Leaves one node out.
    MergeNode {
        /// Which.
        node: NodeId,
        /// Whether it is one of the inverted tree.
        inverted: bool,
    },
    /// Leaves samples with a function out.
    DropFunction(String),
    /// Leaves out what a function calls.
    CollapseFunction(String),
    /// Makes one level of functions of a module that call each other.
    CollapseModule(String),
    /// Makes one level of a function and what lies between it and itself.
    CollapseRecursion {
        /// Its name.
        name: String,
        /// Only where it calls itself.
        direct: bool,
    },
    /// Leaves functions of the kernel out.
    HideKernel,
    /// Leaves functions of run-time libraries out.
    HideRuntime,
    /// Gives names another text.
    Rename {
        /// A regular expression; what it matches is replaced.
        pattern: String,
        /// What stands there instead; `$1` is the first group of the pattern.
        text: String,
    },
}
