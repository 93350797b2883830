//! Flame graphs: samples folded by the names in their stacks, cut below a pixel.

mod annotate;
mod calls;
mod compare;
mod count;
mod fold;
mod functions;
mod groups;
mod instructions;
mod layout;
mod names;
mod paths;
mod report;
mod sandwich;
mod stack_chart;
mod transform;
mod weight;

use std::sync::Arc;

use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{FlameGraph, GroupBy, NodeId},
    needle::NameSearch,
};

pub use annotate::{FunctionSamples, MAX_CODE_ROWS, SampledPlace, annotate, function_samples};
pub use calls::call_flame;
pub use compare::{CompareQuery, ComparedSide, MAX_COMPARED_CAPTURES, compare};
pub use count::sample_unit;
pub use fold::{FoldedStack, FoldedStacks, fold};
pub(crate) use fold::{Weighted, fold_weighted};
use fold::{fold_blocks, fold_counted};
pub use functions::{FunctionOrder, MAX_FUNCTIONS, sampled_functions};
pub use instructions::{Instruction, instructions};
pub use report::{
    ChainNode, ChainOrder, ReportKey, ReportQuery, ReportRow, ReportValue, SampleReport, sample_report, sampled_streams,
};
pub use sandwich::sandwich;
pub use stack_chart::{StackChartQuery, stack_chart};
pub(crate) use transform::base_name;
pub use transform::{MAX_TRANSFORMS, Transform};
pub use weight::{RowWeight, Weight, offered_weights};

/// The most nodes of a flame graph; the smallest are cut beyond it.
pub const MAX_FLAME_NODES: usize = 20_000;
/// The widest flame graph in pixels.
pub const MAX_FLAME_WIDTH: u32 = 8192;
/// Bit of [`crate::Nodes::matched`]: the node's own name has the text that was looked for.
pub const MATCH_SELF: u8 = 1;
/// Bit of [`crate::Nodes::matched`]: a node below it that was cut away has the text.
pub const MATCH_BELOW: u8 = 2;

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
    /// What is added up.
    pub weight: Weight,
    /// What the first level is.
    pub by: GroupBy,
    /// Whether the innermost function is at the root and its callers above it.
    pub invert: bool,
    /// The node to fill the width with; the root if none, or if there is no such node.
    pub focus: Option<NodeId>,
    /// What is done with stacks before they are drawn, one after another.
    pub transforms: Vec<Transform>,
    /// Text to look for in names, in any case; between two `/` a regular expression.
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
            weight: Weight::default(),
            by: GroupBy::Process,
            invert: false,
            focus: None,
            transforms: Vec::new(),
            search: None,
            width: 1200,
        }
    }
}

/// Makes a flame graph.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn flame(source: &dyn Source, query: &FlameQuery, cancel: &Cancel) -> Result<FlameGraph, ViewError> {
    checked_width(query.width)?;
    let search = query.searched()?;
    Ok(fold(source, query, cancel)?.graph(query.focus, search.as_ref(), query.width))
}

impl FlameQuery {
    /// Folds stacks and does the transforms with them, which are about stacks that are not inverted.
    pub(crate) fn arranged(
        &self,
        cancel: &Cancel,
        fold: impl FnOnce(&Self) -> Result<FoldedStacks, ViewError>,
    ) -> Result<FoldedStacks, ViewError> {
        if self.transforms.is_empty() {
            return fold(self);
        }
        let plain = Self { invert: false, transforms: Vec::new(), ..self.clone() };
        transform::transformed(&fold(&plain)?, &self.transforms, self.invert, cancel)
    }

    /// The same, with stacks that may be kept from the query before.
    pub(crate) fn arranged_of(
        &self,
        source: &dyn Source,
        cancel: &Cancel,
        fold: impl FnOnce(&Self) -> Result<FoldedStacks, ViewError>,
    ) -> Result<Arc<FoldedStacks>, ViewError> {
        let Some((kept, capture)) = source.kept() else { return self.arranged(cancel, fold).map(Arc::new) };
        let plain = Self { transforms: Vec::new(), invert: false, focus: None, search: None, width: 0, ..self.clone() };
        // Streams of samples are computed after a capture's end, too.
        let streams = 0..u16::try_from(source.streams().len()).unwrap_or(u16::MAX);
        let rows: u64 = streams.flat_map(|stream| source.chunks(stream)).map(|chunk| u64::from(chunk.rows)).sum();
        let key = (capture, format!("folded {rows} {plain:?}"));
        let plain = kept.kept(key, || fold(&plain), FoldedStacks::memory_bytes)?;
        if self.transforms.is_empty() && !self.invert {
            return Ok(plain);
        }
        transform::transformed(&plain, &self.transforms, self.invert, cancel).map(Arc::new)
    }

    /// What is looked for.
    ///
    /// # Errors
    /// If it is no regular expression and should be one.
    pub(crate) fn searched(&self) -> Result<Option<NameSearch>, ViewError> {
        self.search.as_deref().map_or(Ok(None), NameSearch::new)
    }
}

fn checked_width(width: u32) -> Result<(), ViewError> {
    ViewError::within("the width of the flame graph in pixels", width.into(), 1, MAX_FLAME_WIDTH.into())
}
