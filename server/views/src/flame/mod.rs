//! Flame graphs: samples folded by the names in their stacks, cut below a pixel.

mod annotate;
mod count;
mod fold;
mod functions;
mod instructions;
mod layout;
mod names;
mod paths;

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

use crate::{Cancel, Filter, Source, TimeRange, ViewError};

pub use annotate::{
    Annotation, CodePlace, CodeRow, FunctionSamples, MAX_CODE_ROWS, ParsePlaceError, PlaceLine, SampledPlace,
    ShownCode, SourceLine, annotate, function_samples,
};
pub use fold::{FoldedStack, FoldedStacks, fold};
pub(crate) use fold::{NamedStacks, Weighted, fold_weighted};
pub use functions::{FunctionOrder, MAX_FUNCTIONS, SampledFunction, SampledFunctions, sampled_functions};
pub use instructions::{Flow, Instruction, instructions};
pub use names::frame_names;

/// The most nodes of a flame graph; the smallest are cut beyond it.
pub const MAX_FLAME_NODES: usize = 20_000;
/// The widest flame graph in pixels.
pub const MAX_FLAME_WIDTH: u32 = 8192;
/// Bit of [`Nodes::matched`]: the node's own name has the text that was looked for.
pub const MATCH_SELF: u8 = 1;
/// Bit of [`Nodes::matched`]: a node below it that was cut away has the text.
pub const MATCH_BELOW: u8 = 2;

/// What the first level of a flame graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// Processes by name.
    #[default]
    Process,
    /// The outermost functions.
    None,
}

/// Names a node by the path of names from the root: the same in every view of the capture. Written as 16 hexadecimal
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub u64);

/// Which samples, and how to draw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlameQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Which samples.
    pub filter: Option<Filter>,
    /// Only this process.
    pub pid: Option<u64>,
    /// Only this thread.
    pub tid: Option<u64>,
    /// What the first level is.
    pub by: GroupBy,
    /// Whether the innermost function is at the root and its callers above it.
    pub invert: bool,
    /// The node to fill the width with; the root if none, or if there is no such node.
    pub focus: Option<NodeId>,
    /// Text to look for in names, in any case.
    pub search: Option<String>,
    /// Pixels; nodes narrower than one are cut. 1 to [`MAX_FLAME_WIDTH`].
    pub width: u32,
}

impl Default for FlameQuery {
    fn default() -> Self {
        Self {
            range: TimeRange::ALL,
            filter: None,
            pid: None,
            tid: None,
            by: GroupBy::Process,
            invert: false,
            focus: None,
            search: None,
            width: 1200,
        }
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NodeKind {
    /// All samples.
    Root = 0,
    /// A process.
    Process = 1,
    /// A function of the kernel.
    Kernel = 2,
    /// A function of a program or library.
    User = 3,
    /// A function that was inlined into the one below it.
    Inlined = 4,
    /// A function that a run-time compiler made.
    Jit = 5,
    /// A place without a name.
    Unresolved = 6,
}

/// A flame graph, as the browser gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlameGraph {
    /// What values count: `samples`, `nanoseconds` where calls were folded, or what a map keeps ([`crate::Unit`]).
    pub unit: &'static str,
    /// All samples of the query.
    pub total: u64,
    /// Samples of the focused node.
    pub focus_total: u64,
    /// The focused node, if it was found.
    pub focus: Option<NodeId>,
    /// The deepest level that is sent; the root is 0.
    pub max_depth: u32,
    /// The names that nodes refer to, made visible.
    pub names: Vec<String>,
    /// The nodes in preorder, siblings by name.
    pub nodes: Nodes,
    /// What is not sent.
    pub cut: Cut,
    /// Samples of the focused node with the searched text in at least one name; each counts once.
    pub matched_samples: u64,
    /// Samples of the focused node with at least one place without a name.
    pub unresolved: u64,
}

/// The columns of a flame graph's nodes.
///
/// The nodes from the root to above the focused one come first, with `x` 0 and their whole value, which is greater than
/// `focus_total`: draw them over the whole width.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nodes {
    /// Identifiers.
    pub id: Vec<NodeId>,
    /// Levels; the root is 0.
    pub depth: Vec<u32>,
    /// Samples left of the node, within the focused node.
    pub x: Vec<u64>,
    /// Samples of the node and all above it.
    pub value: Vec<u64>,
    /// Samples that end in the node.
    pub own: Vec<u64>,
    /// Indexes of names.
    pub name: Vec<u32>,
    /// Kinds.
    pub kind: Vec<NodeKind>,
    /// [`MATCH_SELF`] and [`MATCH_BELOW`].
    #[serde(rename = "match")]
    pub matched: Vec<u8>,
}

/// What was cut from a flame graph because it is narrower than a pixel, or beyond [`MAX_FLAME_NODES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// Nodes.
    pub nodes: u64,
    /// Samples in them, each counted once.
    pub samples: u64,
}

/// Makes a flame graph.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn flame(source: &dyn Source, query: &FlameQuery, cancel: &Cancel) -> Result<FlameGraph, ViewError> {
    checked_width(query.width)?;
    Ok(fold(source, query, cancel)?.graph(query.focus, query.search.as_deref(), query.width))
}

pub(crate) fn checked_width(width: u32) -> Result<(), ViewError> {
    let (value, least, most) = (u64::from(width), 1, u64::from(MAX_FLAME_WIDTH));
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ViewError::OutOfRange { what: "the width of the flame graph in pixels", value, least, most })
}

/// The text is not 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a flame graph's node is 16 lower-case hexadecimal digits")]
pub struct ParseNodeIdError;

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for NodeId {
    type Err = ParseNodeIdError;

    fn from_str(text: &str) -> Result<Self, ParseNodeIdError> {
        let plain = text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let bits = plain.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        bits.map(Self).ok_or(ParseNodeIdError)
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for NodeKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}
