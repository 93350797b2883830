//! Groups as lines of a table, in the order that was asked for.

use std::cmp::Ordering;

use bathyscope_capture::{Column, ColumnType, CompareOp, Display, Literal, Predicate, ShownCell, StackId};

use super::{
    Aggregate, Found, Key, PivotQuery,
    held::{Held, Value},
};
use crate::{
    Source,
    answers::{Pivot, PivotColumn, PivotLine},
    cell::{stack_cell, top_of},
    needle::shown,
    source::relative,
};

/// A value by which groups are put in order; no value is least.
#[derive(PartialEq, PartialOrd)]
enum Rank {
    Missing,
    Number(i128),
    Real(f64),
    Text(String),
}

impl Rank {
    fn compare(&self, other: &Self) -> Ordering {
        self.partial_cmp(other).unwrap_or(Ordering::Equal)
    }
}

/// What is needed to tell a value.
pub(super) struct Teller<'a> {
    source: &'a dyn Source,
    /// The columns of the key, and whether 0 is no value there.
    by: Vec<(&'a Column, bool)>,
    values: Vec<(&'a Aggregate, Option<&'a Column>)>,
    held: Vec<Held>,
}

/// Fills columns and lines; gives the numbers of the groups of the lines.
pub(super) fn tell(
    source: &dyn Source,
    query: &PivotQuery,
    found: &Found<'_>,
    (keys, mut held): (&[Key], Vec<Held>),
    answer: &mut Pivot,
) -> Vec<usize> {
    held.iter_mut().for_each(Held::close);
    let teller = Teller::new(source, found, held);
    answer.columns = teller.columns();
    let sort = query.sort.unwrap_or(teller.by.len());
    let mut ranked: Vec<(Rank, usize)> =
        keys.iter().enumerate().map(|(n, key)| (teller.rank(sort, n, *key), n)).collect();
    // Groups that are equal are in the order in which they were found.
    ranked.sort_by(|(a, group_a), (b, group_b)| {
        let order = if query.descending { b.compare(a) } else { a.compare(b) };
        order.then_with(|| group_a.cmp(group_b))
    });
    ranked.truncate(query.limit as usize);
    let line = |(_, group): &(Rank, usize)| keys.get(*group).map(|key| teller.line(*group, *key));
    answer.lines = ranked.iter().filter_map(line).collect();
    ranked.into_iter().map(|(_, group)| group).collect()
}

/// The parts of a key.
fn parts((a, b, c, d): Key) -> [u64; 4] {
    [a, b, c, d]
}

fn type_name(ty: ColumnType) -> &'static str {
    match ty {
        ColumnType::U64 => "u64",
        ColumnType::I64 => "i64",
        ColumnType::Text => "text",
        ColumnType::Stack => "stack",
    }
}

impl<'a> Teller<'a> {
    pub(super) fn new(source: &'a dyn Source, found: &Found<'a>, held: Vec<Held>) -> Self {
        let column = |index: usize| found.schema.columns.get(index);
        let key = |index: &usize| Some((column(*index)?, found.schema.zero_is_none(*index)));
        let by = found.by.iter().filter_map(key).collect();
        let values = found.values.iter().map(|(value, index)| (*value, index.and_then(column))).collect();
        Self { source, by, values, held }
    }

    pub(super) fn columns(&self) -> Vec<PivotColumn> {
        let key = |(column, _): &(&Column, bool)| PivotColumn {
            name: column.name.clone(),
            ty: type_name(column.ty),
            display: column.display,
            is_rough: false,
            without: 0,
        };
        let value = |((value, column), held): (&(&Aggregate, Option<&Column>), &Held)| {
            let own = column.map_or((ColumnType::U64, Display::Decimal), |column| (column.ty, column.display));
            let (ty, display) = match value {
                Aggregate::Count | Aggregate::Distinct(_) => ("u64", Display::Decimal),
                // A sum of moments is none.
                Aggregate::Sum(_) if own.1 == Display::TimeNs => (type_name(own.0), Display::Decimal),
                Aggregate::Mean(_) => ("f64", own.1),
                _ => (type_name(own.0), own.1),
            };
            PivotColumn { name: name_of(value), ty, display, is_rough: held.is_rough, without: held.without }
        };
        self.by.iter().map(key).chain(self.values.iter().zip(&self.held).map(value)).collect()
    }

    fn cell(&self, column: &Column, bits: u64) -> ShownCell {
        let dictionaries = self.source.dictionaries();
        match column.ty {
            ColumnType::U64 if column.display == Display::TimeNs => {
                ShownCell::Number(relative(self.source.origin_ns(), bits).into())
            }
            ColumnType::U64 => ShownCell::Number(bits.into()),
            ColumnType::I64 => ShownCell::Number(bits.cast_signed().into()),
            _ if bits == 0 => ShownCell::Null,
            ColumnType::Text => {
                dictionaries.text(bits as u32).map_or(ShownCell::Null, |text| ShownCell::Text(shown(text).into_owned()))
            }
            ColumnType::Stack => stack_cell(dictionaries, bits as StackId),
        }
    }

    /// A number as it is told: moments from the capture's start.
    fn number(&self, at: usize, number: i128) -> i128 {
        let is_moment = self.values.get(at).is_some_and(|(value, column)| {
            let moment = column.is_some_and(|column| column.display == Display::TimeNs);
            moment && !matches!(value, Aggregate::Count | Aggregate::Distinct(_) | Aggregate::Sum(_))
        });
        if is_moment { number - i128::from(self.source.origin_ns()) } else { number }
    }

    fn value(&self, at: usize, group: usize) -> ShownCell {
        let (Some(held), Some((_, column))) = (self.held.get(at), self.values.get(at)) else { return ShownCell::Null };
        match (held.value(group), column) {
            (Value::Number(number), _) => ShownCell::Number(self.number(at, number)),
            (Value::Real(number), Some(column)) if column.display == Display::TimeNs => {
                ShownCell::Real(number - self.source.origin_ns() as f64)
            }
            (Value::Real(number), _) => ShownCell::Real(number),
            (Value::Bits(bits), Some(column)) => self.cell(column, bits),
            (Value::Missing | Value::Bits(_), _) => ShownCell::Null,
        }
    }

    fn rank(&self, sort: usize, group: usize, key: Key) -> Rank {
        let of_bits = |column: &Column, bits: u64| match column.ty {
            // No value is least, and so is 0 in its place.
            ColumnType::U64 => Rank::Number(bits.into()),
            ColumnType::I64 => Rank::Number(bits.cast_signed().into()),
            _ if bits == 0 => Rank::Missing,
            ColumnType::Text => {
                Rank::Text(shown(self.source.dictionaries().text(bits as u32).unwrap_or_default()).into_owned())
            }
            ColumnType::Stack => Rank::Text(top_of(self.source.dictionaries(), bits as StackId)),
        };
        if let Some((column, _)) = self.by.get(sort) {
            return parts(key).get(sort).map_or(Rank::Missing, |bits| of_bits(column, *bits));
        }
        let at = sort - self.by.len();
        let (Some(held), Some((_, column))) = (self.held.get(at), self.values.get(at)) else { return Rank::Missing };
        match (held.value(group), column) {
            (Value::Number(number), _) => Rank::Number(number),
            (Value::Real(number), _) => Rank::Real(number),
            (Value::Bits(bits), Some(column)) => of_bits(column, bits),
            (Value::Missing | Value::Bits(_), _) => Rank::Missing,
        }
    }

    pub(super) fn line(&self, group: usize, key: Key) -> PivotLine {
        let keys = self.by.iter().zip(parts(key)).map(|((column, zero_is_none), bits)| match bits {
            0 if *zero_is_none => ShownCell::Null,
            bits => self.cell(column, bits),
        });
        let cells = keys.chain((0..self.values.len()).map(|at| self.value(at, group))).collect();
        PivotLine { cells, condition: self.condition(key) }
    }

    /// The condition of a group; none where a value has no literal or a column no name that filters know.
    fn condition(&self, key: Key) -> Option<String> {
        let compare = |column: &Column, op, value| {
            let predicate = Predicate::Compare { field: column.name.clone(), op, value };
            predicate.validate().ok().map(|()| predicate)
        };
        let part = |((column, zero_is_none), bits): (&(&Column, bool), u64)| match column.ty {
            ColumnType::Stack => None,
            // What is missing satisfies no comparison.
            _ if bits == 0 && (*zero_is_none || column.ty == ColumnType::Text) => {
                let any = compare(column, CompareOp::Matches, Literal::Text("*".to_owned()))?;
                Some(Predicate::Not(Box::new(any)))
            }
            ColumnType::Text => {
                let text = self.source.dictionaries().text(bits as u32)?;
                compare(column, CompareOp::Eq, Literal::Text(std::str::from_utf8(text).ok()?.to_owned()))
            }
            ColumnType::U64 if column.display == Display::TimeNs => {
                compare(column, CompareOp::Eq, literal(relative(self.source.origin_ns(), bits)))
            }
            ColumnType::U64 => compare(column, CompareOp::Eq, Literal::Number(bits)),
            ColumnType::I64 => compare(column, CompareOp::Eq, literal(bits.cast_signed())),
        };
        let mut all: Vec<Predicate> = self.by.iter().zip(parts(key)).map(part).collect::<Option<_>>()?;
        let condition = if all.len() > 1 { Predicate::All(all) } else { all.pop()? };
        condition.validate().ok().map(|()| condition.to_string())
    }
}

fn literal(number: i64) -> Literal {
    u64::try_from(number).map_or(Literal::Negative(number), Literal::Number)
}

/// What a column of values is called.
fn name_of(value: &Aggregate) -> String {
    let column = value.column().unwrap_or_default();
    match value {
        Aggregate::Count => "rows".to_owned(),
        Aggregate::Sum(_) => format!("sum({column})"),
        Aggregate::Mean(_) => format!("mean({column})"),
        Aggregate::Min(_) => format!("min({column})"),
        Aggregate::Max(_) => format!("max({column})"),
        Aggregate::Percentile(_, thousandths) => {
            let text = format!("{:.3}", f64::from(*thousandths) / 1000.0);
            format!("p{}({column})", text.trim_end_matches('0').trim_end_matches('.'))
        }
        Aggregate::Distinct(_) => format!("distinct({column})"),
        Aggregate::First(_) => format!("first({column})"),
        Aggregate::Last(_) => format!("last({column})"),
    }
}
