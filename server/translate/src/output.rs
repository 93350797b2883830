//! The script that comes out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use bathyscope_plan::{Diagnostic, Span};

use crate::{Language, MAX_OUTPUT_BYTES, Translation, refusal, refusal::Result};

/// A probe of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) points: Vec<String>,
    pub(crate) predicate: String,
    pub(crate) body: Vec<String>,
}

/// Probes and notes.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) probes: Vec<Probe>,
    /// What `end` does when everything else was done.
    pub(crate) last: BTreeSet<String>,
    notes: BTreeMap<String, Diagnostic>,
}

impl Output {
    /// Says how something differs, once.
    pub(crate) fn note(&mut self, span: Span, message: &str, hint: &str) {
        self.notes.entry(message.to_owned()).or_insert_with(|| Diagnostic::warning(span, message).hint(hint));
    }

    /// Adds a probe; joins it with the one before if they do the same.
    pub(crate) fn probe(&mut self, probe: Probe) {
        match self.probes.last_mut() {
            Some(last) if last.predicate == probe.predicate && last.body == probe.body => {
                for point in probe.points {
                    if !last.points.contains(&point) {
                        last.points.push(point);
                    }
                }
            }
            _ => self.probes.push(probe),
        }
    }

    /// The text, with the original above it.
    pub(crate) fn finish(mut self, language: Language, original: &str) -> Result<Translation> {
        if !self.last.is_empty() {
            let lines: Vec<String> = self.last.iter().cloned().collect();
            match self.probes.iter_mut().find(|it| it.points == ["end"] && it.predicate.is_empty()) {
                Some(end) => end.body.extend(lines),
                None => {
                    self.probes.push(Probe { points: vec!["end".to_owned()], predicate: String::new(), body: lines })
                }
            }
        }
        let mut script = format!("// Translated from {}:\n", language.name());
        for line in original.trim().lines() {
            let line: String = line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
            let _infallible = writeln!(script, "//   {}", line.trim_end());
        }
        for probe in &self.probes {
            let predicate = if probe.predicate.is_empty() { String::new() } else { format!("\n/{}/", probe.predicate) };
            let _infallible = write!(script, "\n{}{predicate} {{\n", probe.points.join(",\n"));
            let mut depth = 1_usize;
            for line in &probe.body {
                if line.starts_with('}') {
                    depth = depth.saturating_sub(1);
                }
                let _infallible = writeln!(script, "{}{line}", "  ".repeat(depth));
                if line.ends_with('{') {
                    depth += 1;
                }
            }
            script.push_str("}\n");
        }
        if self.probes.is_empty() {
            return refusal::refuse(Span::default(), "the script has no probe", "write one");
        }
        if script.len() > MAX_OUTPUT_BYTES {
            let message =
                format!("the translation has {} bytes; a script has at most {MAX_OUTPUT_BYTES}", script.len());
            return refusal::refuse(Span::default(), message, "name fewer probes in one list");
        }
        Ok(Translation { script, notes: self.notes.into_values().collect() })
    }
}
