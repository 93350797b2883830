//! A flame graph as one self-contained SVG file without scripts.

use crate::FlameGraph;

/// What the file says around the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SvgOptions {
    /// Above the graph.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Losses or other warnings in words; empty if there is nothing to say.
    pub notice: String,
    /// Pixels.
    pub width: u32,
}

/// Draws the file. The same input gives the same bytes.
pub fn svg(graph: &FlameGraph, options: &SvgOptions) -> String {
    let _ = (graph, options);
    unimplemented!()
}
