//! Which rows of a stream begin or end a span.

use bathyscope_capture::{
    Batch, ColumnData, ColumnType, IdMap, Predicate, PredicateError, StreamSchema, StringId, Value,
};

use crate::DerivationHost;

/// The most texts that are remembered.
const MAX_TEXTS: usize = 4096;

/// A predicate with its names resolved for one stream; none holds for each row.
#[derive(Debug, Default)]
pub(super) struct Condition {
    predicate: Option<Predicate>,
    /// The names with their columns.
    columns: Vec<(String, usize)>,
    texts: IdMap<StringId, Vec<u8>>,
}

/// Why a condition does not fit a stream.
#[derive(Debug)]
pub(super) enum Misfit {
    /// There is no such column of numbers or text.
    NoColumn(String),
    /// A number with a unit that does not fit.
    Unit(PredicateError),
}

impl Condition {
    /// Names are resolved as in filters: a common column first, then the event's own field; `args.NAME` is always the event's
    /// own field.
    ///
    /// # Errors
    /// The first name that no column of numbers or text has, or the first number with a unit that does not fit its column.
    pub(super) fn new(predicate: &Predicate, schema: &StreamSchema) -> Result<Self, Misfit> {
        let is_own = |at: &usize| *at >= StreamSchema::COMMON.len();
        let resolve = |name: &str| {
            let own = || name.strip_prefix("args.").and_then(|own| schema.column(own).filter(is_own));
            let column = schema.column(name).or_else(own)?;
            schema.columns.get(column).filter(|column| column.ty != ColumnType::Stack).map(|_| column)
        };
        let column = |name: &str| Ok((name.to_owned(), resolve(name).ok_or_else(|| name.to_owned())?));
        let columns = predicate.fields().into_iter().map(column).collect::<Result<Vec<_>, String>>();
        let columns = columns.map_err(Misfit::NoColumn)?;
        let unit_of = |name: &str| {
            let (_, column) = columns.iter().find(|(known, _)| known == name)?;
            schema.unit_of(*column)
        };
        let predicate = predicate.in_units(&mut { unit_of }).map_err(Misfit::Unit)?;
        Ok(Self { predicate: Some(predicate), columns, texts: IdMap::default() })
    }

    /// The columns that it reads.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|(_, column)| *column)
    }

    /// Whether it holds for a row.
    pub(super) fn holds(&mut self, rows: &Batch, row: usize, host: &mut dyn DerivationHost) -> bool {
        let Some(predicate) = &self.predicate else { return true };
        if self.texts.len() >= MAX_TEXTS {
            self.texts.clear();
        }
        for (_, column) in &self.columns {
            if let Some(ColumnData::Id(ids)) = rows.columns.get(*column)
                && let Some(id) = ids.get(row).filter(|id| **id != 0)
                && !self.texts.contains_key(id)
                && let Some(text) = host.string(*id)
            {
                self.texts.insert(*id, text);
            }
        }
        let Self { columns, texts, .. } = self;
        predicate.eval(&mut |name| {
            let (_, column) = columns.iter().find(|(known, _)| known == name)?;
            match rows.columns.get(*column)? {
                ColumnData::U64(values) => values.get(row).map(|value| Value::Unsigned(*value)),
                ColumnData::I64(values) => values.get(row).map(|value| Value::Signed(*value)),
                ColumnData::Id(ids) => ids.get(row).and_then(|id| texts.get(id)).map(|text| Value::Text(text)),
            }
        })
    }
}
