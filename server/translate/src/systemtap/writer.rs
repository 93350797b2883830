//! The handler of one attach point.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_plan::Span;

use super::{StapContext, points::StapPoint};
use crate::{
    emit::{Meaning, Value, ValueKind, settled},
    output::Probe,
    refusal::{Result, refuse},
    tree::{Expr, Statement},
};

/// A value that is kept at the entry for the return.
#[derive(Clone, Debug)]
pub(super) struct KeptEntry {
    pub(super) map: String,
    pub(super) value: String,
    pub(super) kind: ValueKind,
}

/// A loop over a map.
#[derive(Clone, Debug)]
pub(super) struct MapLoop {
    pub(super) array: String,
    /// The map that is walked.
    pub(super) map: String,
    pub(super) keys: Vec<String>,
    pub(super) value: Option<String>,
    /// The variable that has key and value.
    pub(super) entry: String,
}

/// A function that is put in.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// What stands before the names of local variables.
    pub(super) prefix: String,
    pub(super) parameters: BTreeMap<String, Value>,
}

/// Writes a handler.
pub(super) struct HandlerWriter<'w, 'o> {
    pub(super) point: &'w StapPoint,
    pub(super) whole: &'w mut StapContext<'o>,
    pub(super) lines: Vec<String>,
    pub(super) locals: BTreeSet<String>,
    pub(super) kept: Vec<KeptEntry>,
    pub(super) loops: Vec<MapLoop>,
    pub(super) scopes: Vec<Scope>,
    pub(super) loop_count: usize,
}

impl<'w, 'o> HandlerWriter<'w, 'o> {
    pub(super) fn new(point: &'w StapPoint, whole: &'w mut StapContext<'o>) -> Self {
        Self {
            point,
            whole,
            lines: Vec::new(),
            locals: BTreeSet::new(),
            kept: Vec::new(),
            loops: Vec::new(),
            scopes: Vec::new(),
            loop_count: 0,
        }
    }

    /// Adds the probe, and the one at the entry if values are kept there.
    pub(super) fn handler(mut self, body: &[Statement]) -> Result<()> {
        for statement in body {
            self.statement(statement)?;
        }
        if let (false, Some(entry)) = (self.kept.is_empty(), self.point.entry()) {
            let lines = self.kept.iter().map(|it| format!("{}[tid] = {};", it.map, it.value)).collect();
            let probe = Probe { points: vec![entry.text], predicate: entry.condition, body: lines };
            self.whole.output.probe(probe);
            for it in &self.kept {
                self.lines.push(format!("delete({}, tid);", it.map));
                self.whole.output.last.insert(format!("clear({});", it.map));
            }
        }
        let points = vec![self.point.text.clone()];
        let mut predicate = self.point.condition.clone();
        // As there, only calls that were seen at their entry.
        if let Some(kept) = self.kept.first() {
            let seen = format!("has_key({}, tid)", kept.map);
            predicate = if predicate.is_empty() { seen } else { format!("{seen} && ({predicate})") };
        }
        self.whole.output.probe(Probe { points, predicate, body: self.lines });
        Ok(())
    }

    pub(super) fn note(&mut self, span: Span, message: &str, hint: &str) {
        self.whole.output.note(span, message, hint);
    }

    pub(super) fn text_of(&mut self, expr: &Expr) -> Result<String> {
        Ok(settled(self.value(expr)?, expr.span)?.text)
    }

    /// A condition.
    pub(super) fn truth(&mut self, expr: &Expr) -> Result<String> {
        let value = settled(self.value(expr)?, expr.span)?;
        match value.kind {
            ValueKind::Text => refuse(expr.span, "a text has no truth", "compare it: `name != \"\"`"),
            ValueKind::Shown => refuse(expr.span, "stacks and symbols have no truth", "use another condition"),
            _ => Ok(value.text),
        }
    }
}

/// Whether a line has a map's name, and not only as the begin of a longer one.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let after = line.get(at + word.len()..).and_then(|rest| rest.chars().next());
        !after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
