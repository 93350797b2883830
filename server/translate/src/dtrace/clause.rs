//! Clauses of one probe, in their order.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_plan::Span;

use super::{
    DtraceContext, MapUse, default_action,
    parse::SourceClause,
    points::{DtracePoint, DtracePointKind},
};
use crate::{
    emit::Meaning,
    output::Probe,
    refusal::{Result, refuse},
    tree::{Statement, StatementKind},
};

/// How an aggregation is printed next.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) top: i64,
    pub(super) divisor: i64,
    pub(super) span: Span,
}

/// Writes the body of a probe.
pub(super) struct ClauseWriter<'w, 'o> {
    pub(super) point: &'w DtracePoint,
    pub(super) whole: &'w mut DtraceContext<'o>,
    pub(super) lines: Vec<String>,
    /// Variables of `this->` that were assigned.
    pub(super) locals: BTreeSet<String>,
    /// What `trunc` and `normalize` want of the next print.
    pub(super) pending: BTreeMap<String, Pending>,
    /// Aggregations that were cut when they were printed, and must be cleared before they are added to again.
    pub(super) cut: BTreeMap<String, Span>,
    /// What `trace` shows on the line that has not ended.
    pub(super) traced: (Vec<String>, Vec<String>),
    /// The `printf` that did not end its line: which of the lines, its format and values.
    open_line: Option<(usize, String, Vec<String>)>,
}

impl<'w, 'o> ClauseWriter<'w, 'o> {
    pub(super) fn new(point: &'w DtracePoint, whole: &'w mut DtraceContext<'o>) -> Self {
        Self {
            point,
            whole,
            lines: Vec::new(),
            locals: BTreeSet::new(),
            pending: BTreeMap::new(),
            cut: BTreeMap::new(),
            traced: (Vec::new(), Vec::new()),
            open_line: None,
        }
    }

    /// The probe of these clauses.
    pub(super) fn probe(mut self, clauses: &'w [(DtracePoint, &SourceClause)]) -> Result<Probe> {
        let points = vec![self.point.text.clone()];
        let mut predicate = self.point.condition.clone();
        let single = clauses.len() == 1;
        for (point, clause) in clauses {
            if point.names.name != self.point.names.name {
                self.locals.clear();
            }
            self.point = point;
            let condition = match &clause.predicate {
                Some(condition) => self.truth(condition)?,
                None => String::new(),
            };
            let Some(body) = &clause.body else {
                if single {
                    return Ok(default_action(points, both(&predicate, &condition)));
                }
                let line = default_action(Vec::new(), String::new()).body;
                self.guarded(&condition, |it| {
                    it.lines.extend(line);
                    Ok(())
                })?;
                continue;
            };
            if single {
                predicate = both(&predicate, &condition);
                self.body(body)?;
            } else {
                self.guarded(&condition, |it| it.body(body))?;
            }
        }
        self.settle()?;
        Ok(Probe { points, predicate, body: self.lines })
    }

    fn guarded(&mut self, condition: &str, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if condition.is_empty() {
            return body(self);
        }
        self.lines.push(format!("if ({condition}) {{"));
        body(self)?;
        self.lines.push("}".to_owned());
        Ok(())
    }

    /// What a hit prints is a line, unless the script says `quiet`.
    fn body(&mut self, body: &[Statement]) -> Result<()> {
        self.open_line = None;
        self.statements(body)?;
        if let Some((at, mut format, arguments)) = self.open_line.take()
            && self.whole.ends_lines
            && let Some(line) = self.lines.get_mut(at)
        {
            format.push_str("\\n");
            *line = crate::formats::printf(&format, &arguments);
        }
        Ok(())
    }

    /// Prints by a format.
    pub(super) fn print_line(&mut self, format: String, arguments: Vec<String>) {
        self.lines.push(crate::formats::printf(&format, &arguments));
        let ended = format.ends_with("\\n");
        self.open_line = if ended { None } else { Some((self.lines.len() - 1, format, arguments)) };
    }

    pub(super) fn statements(&mut self, body: &[Statement]) -> Result<()> {
        for statement in body {
            self.statement(statement)?;
        }
        self.end_line();
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match &statement.kind {
            StatementKind::Expr(expr) => self.action(expr),
            StatementKind::Block(body) => self.statements(body),
            StatementKind::If { condition, then, otherwise } => {
                self.end_line();
                let condition = self.truth(condition)?;
                self.lines.push(format!("if ({condition}) {{"));
                self.statement(then)?;
                self.end_line();
                if let Some(otherwise) = otherwise {
                    self.lines.push("} else {".to_owned());
                    self.statement(otherwise)?;
                    self.end_line();
                }
                self.lines.push("}".to_owned());
                Ok(())
            }
            _ => refuse(statement.span, "this statement is not part of D", "write an action"),
        }
    }

    /// Prints what `trace` was given since the last line.
    pub(super) fn end_line(&mut self) {
        let (formats, arguments) = std::mem::take(&mut self.traced);
        if !formats.is_empty() {
            self.print_line(format!("{}\\n", formats.join(" ")), arguments);
        }
    }

    /// What the end of the clauses leaves to be done for aggregations.
    fn settle(&mut self) -> Result<()> {
        let is_end = matches!(self.point.kind, DtracePointKind::End);
        for (map, pending) in std::mem::take(&mut self.pending) {
            if !is_end {
                let hint = "print it behind with `printa`, or do this in END";
                return refuse(pending.span, format!("{map} is cut or divided, and not printed in this probe"), hint);
            }
            // At the end DTrace prints it, cut and divided.
            self.lines.push(print(&map, Some(&pending)));
            self.lines.push(format!("clear({map});"));
        }
        if let Some((map, span)) = self.cut.iter().next()
            && !is_end
        {
            let hint = "clear it behind: `trunc(@);` or `clear(@);`";
            return refuse(*span, format!("what `trunc` removes of {map} cannot be removed alone"), hint);
        }
        Ok(())
    }

    /// The name of a map, which stands for one thing in the whole script.
    pub(super) fn map(&mut self, name: String, of: MapUse, span: Span) -> Result<String> {
        match self.whole.maps.get(&name) {
            Some(known) if *known != of => {
                refuse(span, format!("{name} would have two meanings"), "give one of them another name")
            }
            Some(_) => Ok(name),
            None => {
                self.whole.maps.insert(name.clone(), of);
                Ok(name)
            }
        }
    }

    /// A note that is told once.
    pub(super) fn note(&mut self, span: Span, message: &str, hint: &str) {
        self.whole.output.note(span, message, hint);
    }

    pub(super) fn text_of(&mut self, expr: &crate::tree::Expr) -> Result<String> {
        Ok(crate::emit::settled(self.value(expr)?, expr.span)?.text)
    }
}

/// `print`, cut and divided.
pub(super) fn print(map: &str, pending: Option<&Pending>) -> String {
    match pending {
        Some(Pending { top, divisor: 1, .. }) => format!("print({map}, {top});"),
        Some(Pending { top, divisor, .. }) => format!("print({map}, {top}, {divisor});"),
        None => format!("print({map});"),
    }
}

fn both(a: &str, b: &str) -> String {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.to_owned(),
        (_, true) => a.to_owned(),
        _ => format!("{a} && ({b})"),
    }
}
