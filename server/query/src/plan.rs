//! How a table is read: agreed on when a statement is prepared, followed when it runs.
//!
//! SQLite keeps the plan as text between the two, and shows it in `explain query plan`; so it is written to be read.

use std::fmt::{self, Write as _};

/// How a column is compared with a value that is known when the statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Equal to one of several.
    In,
}

impl Op {
    const ALL: [(Self, &'static str); 6] = [
        (Self::LessOrEqual, "<="),
        (Self::GreaterOrEqual, ">="),
        (Self::Equal, "="),
        (Self::Less, "<"),
        (Self::Greater, ">"),
        (Self::In, " in"),
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(op, _)| *op == self).map_or("", |(_, text)| text)
    }
}

/// A condition; its value is the argument with the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) column: usize,
    pub(crate) op: Op,
}

/// In which order rows come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they are stored.
    #[default]
    Stored,
    /// The last one first.
    Backwards,
    /// By these columns.
    Grouped(Vec<By>),
    /// The same; of rows that are the same in all that is read one is enough.
    Distinct(Vec<By>),
}

/// A column that rows are in order of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct By {
    pub(crate) column: usize,
    pub(crate) falling: bool,
}

impl By {
    fn parse(text: &str) -> Option<Self> {
        let (number, falling) = text.strip_suffix('-').map_or((text, false), |number| (number, true));
        Some(Self { column: number.parse().ok()?, falling })
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.column, if self.falling { "-" } else { "" })
    }
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// A bit for each column that is read; the last one stands for all from 63 on.
    pub(crate) used: u64,
    pub(crate) order: Order,
    pub(crate) terms: Vec<Term>,
}

impl Plan {
    /// Whether a column is read.
    pub(crate) fn uses(&self, column: usize) -> bool {
        self.used >> column.min(63) & 1 == 1
    }

    /// Reads what [`fmt::Display`] wrote; none if it is something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut plan = Self::default();
        for part in text.split("; ") {
            let (key, value) = part.split_once(' ')?;
            match key {
                "columns" => plan.used = u64::from_str_radix(value, 16).ok()?,
                "order" if value == "backwards" => plan.order = Order::Backwards,
                "group" => plan.order = Order::Grouped(columns(value)?),
                "distinct" => plan.order = Order::Distinct(columns(value)?),
                "where" => plan.terms = value.split(',').map(term).collect::<Option<_>>()?,
                _ => return None,
            }
        }
        Some(plan)
    }
}

fn columns(text: &str) -> Option<Vec<By>> {
    text.split(',').map(By::parse).collect()
}

fn term(text: &str) -> Option<Term> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (column, op) = text.split_at_checked(end)?;
    let op = Op::ALL.iter().find(|(_, known)| *known == op)?.0;
    Some(Term { column: column.parse().ok()?, op })
}

fn list(f: &mut fmt::Formatter<'_>, key: &str, parts: impl Iterator<Item = String>) -> fmt::Result {
    write!(f, "; {key} ")?;
    for (index, part) in parts.enumerate() {
        if index > 0 {
            f.write_char(',')?;
        }
        f.write_str(&part)?;
    }
    Ok(())
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "columns {:x}", self.used)?;
        match &self.order {
            Order::Stored => {}
            Order::Backwards => f.write_str("; order backwards")?,
            Order::Grouped(columns) => list(f, "group", columns.iter().map(By::to_string))?,
            Order::Distinct(columns) => list(f, "distinct", columns.iter().map(By::to_string))?,
        }
        if !self.terms.is_empty() {
            list(f, "where", self.terms.iter().map(|term| format!("{}{}", term.column, term.op.as_str())))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let terms = Op::ALL.iter().enumerate().map(|(column, (op, _))| Term { column, op: *op }).collect();
        let by = |column, falling| By { column, falling };
        let orders = [
            Order::Stored,
            Order::Backwards,
            Order::Grouped(vec![by(1, false), by(12, true)]),
            Order::Distinct(vec![by(4, false)]),
        ];
        for order in orders {
            let plan = Plan { used: u64::MAX, order, terms: Vec::clone(&terms) };
            assert_eq!(Plan::parse(&plan.to_string()).unwrap(), plan, "{plan}");
            let plan = Plan { terms: Vec::new(), ..plan };
            assert_eq!(Plan::parse(&plan.to_string()).unwrap(), plan, "{plan}");
        }
        for text in ["", "columns", "columns x", "columns 1; where 1~", "columns 1; where =", "columns 1; what 1"] {
            assert_eq!(Plan::parse(text), None, "{text}");
        }
        let plan = Plan { used: 1 << 63 | 2, ..Plan::default() };
        assert!(plan.uses(1) && plan.uses(63) && plan.uses(100) && !plan.uses(0));
    }
}
