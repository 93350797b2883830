//! Counts what only one of two captures asked for, and hides it from views: where the other has no such rows, it has them not because
//! nothing happened, but because nobody looked.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bathyscope_capture::{Batch, Loss, StreamSchema, StringId, shown};

use crate::{
    Cancel, ChunkMeta, Dictionaries, Filter, Source, TimeRange, ViewError,
    scan::Scan,
    unasked::{UnaskedRows, columns_of},
};

/// The most names that a sentence has.
const MAX_NAMED: usize = 8;

/// How many rows of a side are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnaskedCount {
    /// All of them.
    pub rows: u64,
    /// By the name of the call, or of the signal.
    pub by_name: BTreeMap<String, u64>,
}

impl UnaskedRows {
    /// Counts such rows of a capture; `stream` is the one that is looked at, all if it is none.
    ///
    /// # Errors
    /// If chunks cannot be loaded, the filter fits no stream, or `cancel` was set.
    pub fn count(
        &self,
        source: &dyn Source,
        stream: Option<u16>,
        (range, filter): (TimeRange, Option<&Filter>),
        cancel: &Cancel,
    ) -> Result<UnaskedCount, ViewError> {
        let mut found = UnaskedCount::default();
        let is_looked_at = |scan: &Scan<'_>| stream.is_none_or(|stream| stream == scan.stream());
        let wanted = |schema: &StreamSchema| columns_of(schema).map(Vec::from).unwrap_or_default();
        let scans = Scan::all(source, range, filter, wanted, cancel, |schema| columns_of(schema).is_some())?;
        for mut scan in scans.into_iter().filter(is_looked_at) {
            let Some([call, kind]) = columns_of(scan.schema()) else { continue };
            let mut by_call: HashMap<StringId, u64> = HashMap::new();
            let mut known: [HashMap<StringId, bool>; 2] = Default::default();
            scan.for_each_hit(|hit| {
                let (calls, kinds) = (hit.ids(call)?, hit.ids(kind)?);
                hit.picked.for_each(|row| {
                    let (Some(call), Some(kind)) = (calls.get(row), kinds.get(row)) else { return };
                    let mut is_unasked = |id: &StringId, at: usize| {
                        let (Some(known), Some(texts)) = (known.get_mut(at), self.texts.get(at)) else { return false };
                        *known.entry(*id).or_insert_with(|| {
                            let text = source.dictionaries().text(*id).and_then(|text| std::str::from_utf8(text).ok());
                            text.is_some_and(|text| texts.contains(text))
                        })
                    };
                    if is_unasked(call, 0) || is_unasked(kind, 1) {
                        *by_call.entry(*call).or_insert(0) += 1;
                    }
                });
                Ok(())
            })?;
            for (id, rows) in by_call {
                let name = source.dictionaries().text(id).map(String::from_utf8_lossy).unwrap_or_default();
                *found.by_name.entry(shown(&name)).or_insert(0) += rows;
                found.rows += rows;
            }
        }
        Ok(found)
    }
}

impl UnaskedCount {
    /// As a sentence, if there are some: whose they are, and that the other one did not ask for them.
    pub fn sentence(&self, whose: &str, unasked: &str) -> Option<String> {
        if self.rows == 0 {
            return None;
        }
        let mut names: Vec<(&String, &u64)> = self.by_name.iter().collect();
        names.sort_by_key(|(_, rows)| std::cmp::Reverse(**rows));
        let mut named: Vec<String> =
            names.iter().take(MAX_NAMED).map(|(name, rows)| format!("{name} {rows}")).collect();
        let others = names.len().saturating_sub(MAX_NAMED);
        if others > 0 {
            named.push(format!("{others} others"));
        }
        let rows = if self.rows == 1 { "1 row".to_owned() } else { format!("{} rows", self.rows) };
        Some(format!(
            "Not recorded on both sides: {rows} {whose} of what {unasked} ({}). They are left out.",
            named.join(", ")
        ))
    }
}

/// A capture without rows that the other one did not ask for. It has no index, as that counts them too.
#[derive(Clone, Copy)]
pub struct AskedOfBoth<'a> {
    inner: &'a dyn Source,
    unasked: &'a UnaskedRows,
}

impl<'a> AskedOfBoth<'a> {
    /// `inner` without these.
    pub fn new(inner: &'a dyn Source, unasked: &'a UnaskedRows) -> Self {
        Self { inner, unasked }
    }
}

impl Source for AskedOfBoth<'_> {
    fn origin_ns(&self) -> u64 {
        self.inner.origin_ns()
    }

    fn streams(&self) -> &[StreamSchema] {
        self.inner.streams()
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.inner.chunks(stream)
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        self.inner.batch(stream, chunk, wanted)
    }

    fn sample_period_ns(&self, stream: u16) -> Option<u64> {
        self.inner.sample_period_ns(stream)
    }

    fn unasked(&self) -> Option<&UnaskedRows> {
        Some(self.unasked)
    }

    fn dictionaries(&self) -> &Dictionaries {
        self.inner.dictionaries()
    }

    fn losses(&self) -> &[Loss] {
        self.inner.losses()
    }
}
