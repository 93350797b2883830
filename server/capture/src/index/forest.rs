//! The nodes above the leaves, made while leaves come.

use std::collections::BTreeMap;

use super::{FAN_OUT, IndexBlock, IndexBuilder, LEVELS};

/// A block and its place in the forest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexNode {
    /// 0 for leaves.
    pub level: u8,
    /// Its number in the level.
    pub number: u32,
    /// The block.
    pub block: IndexBlock,
}

/// The parents that are not complete, of one stream and grouping. Memory: a block for each level, however long the capture.
#[derive(Debug, Default)]
pub struct IndexForest {
    /// By level: the number of the node and what its children have so far.
    pending: BTreeMap<u8, (u32, IndexBuilder)>,
}

impl IndexForest {
    /// Adds the leaf of chunk `number` and gives the parents that are complete now, lower levels first. Leaves come in
    /// order; one that comes out of order completes nothing.
    pub fn push(&mut self, number: u32, leaf: &IndexBlock) -> Vec<IndexNode> {
        let mut complete: Vec<IndexNode> = Vec::new();
        let (mut level, mut child) = (0, number);
        while level < LEVELS {
            let block = complete.last().map_or(leaf, |node| &node.block);
            let parent = child / FAN_OUT;
            let (known, builder) =
                self.pending.entry(level + 1).or_insert_with(|| (parent, IndexBuilder::bounded(block.shift)));
            if *known != parent {
                (*known, *builder) = (parent, IndexBuilder::bounded(block.shift));
            }
            builder.add_block(block, 0..u64::MAX);
            if child % FAN_OUT != FAN_OUT - 1 {
                break;
            }
            let Some((number, builder)) = self.pending.remove(&(level + 1)) else { break };
            level += 1;
            complete.push(IndexNode { level, number, block: builder.finish() });
            child = number;
        }
        complete
    }

    /// The parents that are not complete: what they have is all that they will have. Each holds those below it.
    pub fn close(self) -> Vec<IndexNode> {
        let mut closed: Vec<IndexNode> = Vec::new();
        for (level, (number, mut builder)) in self.pending {
            if let Some(below) = closed.last() {
                builder.add_block(&below.block, 0..u64::MAX);
            }
            closed.push(IndexNode { level, number, block: builder.finish() });
        }
        closed
    }
}
