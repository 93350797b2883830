//! Flame graphs, functions and their instructions.

use std::{fmt, str::FromStr};

use bathyscope_capture::MappingId;
use serde::{Serialize, Serializer};

/// What the first level of a flame graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// Processes by name.
    #[default]
    Process,
    /// Threads by name and number.
    Thread,
    /// Threads by name.
    Comm,
    /// CPUs.
    Cpu,
    /// Containers, by their control groups.
    Container,
    /// The streams of samples.
    Source,
    /// The outermost functions.
    None,
}

/// What samples count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleUnit {
    /// Each for one.
    Samples,
    /// Time.
    Nanoseconds,
    /// Memory.
    Bytes,
}

impl SampleUnit {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Nanoseconds => "nanoseconds",
            Self::Bytes => "bytes",
        }
    }

    /// The unit of this word, if there is one.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Samples, Self::Nanoseconds, Self::Bytes].into_iter().find(|unit| unit.as_str() == word)
    }
}

/// A weight that stacks of a capture have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfferedWeight {
    /// As addresses have it.
    pub value: String,
    /// In words.
    pub title: String,
    /// What sums are measured in, as in [`FlameGraph::unit`].
    pub unit: &'static str,
}

/// Rows that are no part of a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOutRows {
    /// Without a value.
    pub missing: u64,
    /// With a negative one.
    pub negative: u64,
}

/// A flame graph, as the browser gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlameGraph {
    /// What values count: `samples`, `nanoseconds` where calls were folded, or what a map keeps ([`crate::Unit`]).
    pub unit: &'static str,
    /// The same in words where it is not samples: `duration_ns of syscalls`; empty where the unit says it.
    pub counted: String,
    /// Rows that are no part of any sum.
    pub left_out: LeftOutRows,
    /// All samples of the query.
    pub total: u64,
    /// The same without transforms, of which some leave samples out.
    pub recorded: u64,
    /// What transforms did, in their order.
    pub transforms: Vec<AppliedTransform>,
    /// Samples of the focused node.
    pub focus_total: u64,
    /// The focused node, if it was found.
    pub focus: Option<NodeId>,
    /// The deepest level that is sent; the root is 0.
    pub max_depth: u32,
    /// The names that nodes refer to, made visible.
    pub names: Vec<String>,
    /// What the code of nodes was mapped from, which they refer to; one of them is empty where that is not known of all.
    pub modules: Vec<String>,
    /// The nodes in preorder, siblings by name.
    pub nodes: Nodes,
    /// What is not sent.
    pub cut: Cut,
    /// Samples of the focused node with the searched text in at least one name; each counts once.
    pub matched_samples: u64,
    /// Samples of the focused node with at least one place without a name.
    pub unresolved: u64,
}

/// What a transform did with stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppliedTransform {
    /// As addresses have it.
    pub text: String,
    /// In words.
    pub words: String,
    /// Samples that are left after it.
    pub samples: u64,
    /// Why it did nothing; none if it did something.
    pub problem: Option<&'static str>,
}

/// By what values of two sides are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalised {
    /// As shares of all samples of their side.
    #[default]
    Total,
    /// As values for each second of their range.
    Time,
    /// As they are.
    None,
}

impl Normalised {
    /// The one of this word, if there is one.
    pub fn named(word: &str) -> Option<Self> {
        [("total", Self::Total), ("time", Self::Time), ("none", Self::None)]
            .into_iter()
            .find_map(|(name, kind)| (name == word).then_some(kind))
    }
}

/// A flame graph beside what others have in its nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlameDifference {
    /// The side whose values are drawn.
    pub graph: FlameGraph,
    /// By node, the value of the other side (the median of several), scaled so that it can be compared.
    pub other: Vec<f64>,
    /// All samples of each other side.
    pub other_totals: Vec<u64>,
    /// Rows of all other sides that are no part of any sum.
    pub other_left_out: LeftOutRows,
    /// What values of each other side were multiplied by.
    pub scales: Vec<f64>,
    /// By what was compared.
    pub normalised: Normalised,
    /// Functions: those whose difference is more than chance first, then the largest differences of own samples.
    pub functions: Vec<ComparedFunction>,
    /// How many functions there are, also those that are not sent.
    pub compared: usize,
    /// How many of them differ by more than chance.
    pub significant: usize,
}

/// A function of two sides. Values of the other side are scaled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFunction {
    /// Its name, made visible.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Samples in itself.
    pub own: u64,
    /// Samples in it or in what it called.
    pub total: u64,
    /// The same of the other side.
    pub other_own: f64,
    /// The same of the other side.
    pub other_total: f64,
    /// Own samples, less those of the other side.
    pub difference: f64,
    /// The standard error of the difference: what sampling again would change it by.
    pub error: f64,
    /// Whether it is more than chance.
    pub is_significant: bool,
}

/// What calls a function and what it calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sandwich {
    /// The function.
    pub function: String,
    /// Samples that end in it.
    pub own: u64,
    /// Samples of it and of what it calls.
    pub total: u64,
    /// Its callers: an inverted tree, whose only first level is the function.
    pub callers: FlameGraph,
    /// What it calls: a tree whose only first level is the function.
    pub callees: FlameGraph,
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
    /// Indexes of modules.
    pub module: Vec<u32>,
    /// [`crate::MATCH_SELF`] and [`crate::MATCH_BELOW`].
    #[serde(rename = "match")]
    pub matched: Vec<u8>,
}

/// What was cut from a flame graph because it is narrower than a pixel, or beyond [`crate::MAX_FLAME_NODES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// Nodes.
    pub nodes: u64,
    /// Samples in them, each counted once.
    pub samples: u64,
}

/// A function of sampled stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SampledFunction {
    /// Its name, made visible.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Samples in itself; nanoseconds in a capture of calls.
    pub own: u64,
    /// Samples in it or in what it called. A recursive function counts once a stack.
    pub total: u64,
}

/// The functions of a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SampledFunctions {
    /// What is counted, as in [`super::FlameGraph::unit`].
    pub unit: &'static str,
    /// Rows that are no part of any sum.
    pub left_out: LeftOutRows,
    /// All samples of the query.
    pub samples: u64,
    /// How many functions there are, also those that are not sent.
    pub total: usize,
    /// The first of them.
    pub functions: Vec<SampledFunction>,
}

/// The instructions of a function, as the browser gets them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Annotation {
    /// The function that was asked for.
    pub function: String,
    /// All samples of the query.
    pub samples: u64,
    /// Those that ended in the function.
    pub own: u64,
    /// Where its code is.
    pub places: Vec<PlaceLine>,
    /// How many places there are beyond these.
    pub more_places: usize,
    /// The place that is shown; none if there are no samples.
    pub shown: Option<ShownCode>,
}

/// A place of a function in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceLine {
    /// Names it in addresses.
    pub place: CodePlace,
    /// The function there.
    pub function: String,
    /// What it was mapped from, as the process saw it; made visible.
    pub module: String,
    /// Samples there.
    pub samples: u64,
}

/// The code of one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownCode {
    /// Which.
    pub place: CodePlace,
    /// Its samples.
    pub samples: u64,
    /// Its whole length in bytes; 0 where that is not known.
    pub length: u64,
    /// How many of them are kept; 0 if none are.
    pub kept: usize,
    /// What is missing and why, in words; empty if nothing is.
    pub note: String,
    /// The instructions in their order; without code the sampled places.
    pub rows: Vec<CodeRow>,
    /// Indices of the rows with samples, the most first.
    pub hottest: Vec<usize>,
    /// Source lines that rows refer to.
    pub sources: Vec<SourceLine>,
    /// Samples behind what is kept.
    pub outside: u64,
}

/// One instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CodeRow {
    /// Offset in the function.
    pub at: u64,
    /// Address as the file counts, which other tools show; none where it is not known.
    pub address: Option<u64>,
    /// Its bytes in hexadecimal digits.
    pub bytes: String,
    /// The instruction, in AT&T's notation.
    pub text: String,
    /// Where it goes.
    pub flow: Flow,
    /// Offset in the function that it jumps to, if it jumps within.
    pub target: Option<u64>,
    /// The function that it calls or jumps to, if it is another one and known.
    pub calls: Option<String>,
    /// Samples at it.
    pub samples: u64,
    /// Index of its source line.
    pub source: Option<u32>,
    /// How many instructions without samples were left out before it.
    pub left_out: usize,
}

/// A line of source. Names come from debug information and are only shown: the file is not opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SourceLine {
    /// The function there, which may be inlined.
    pub function: String,
    /// The file.
    pub file: String,
    /// From 1.
    pub line: u32,
}

/// Where an instruction goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// To the next one.
    #[default]
    Next,
    /// It jumps, perhaps.
    Jump,
    /// It calls.
    Call,
    /// It returns.
    Return,
}

/// Names a node by the path of names from the root: the same in every view of the capture. Written as 16 hexadecimal
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub u64);

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

/// Where a function's code begins: a mapping and an offset in it. Written as `3-1f40`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodePlace {
    /// What it was mapped from.
    pub mapping: MappingId,
    /// Offset of its first byte.
    pub start: u64,
}

/// The text is not a place in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a code address is a number, `-`, and an offset in hexadecimal digits, such as 3-1f40")]
pub struct ParsePlaceError;

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:x}", self.mapping, self.start)
    }
}

impl FromStr for CodePlace {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let (mapping, start) = text.split_once('-').ok_or(ParsePlaceError)?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let start = Some(start).filter(|start| digits(start)).and_then(|start| u64::from_str_radix(start, 16).ok());
        let mapping = Some(mapping).filter(|mapping| digits(mapping)).and_then(|mapping| mapping.parse().ok());
        mapping.zip(start).map(|(mapping, start)| Self { mapping, start }).ok_or(ParsePlaceError)
    }
}

impl Serialize for CodePlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
