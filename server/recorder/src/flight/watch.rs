//! Looks at rows of a flight recorder for conditions, with the same eyes as views look at stored ones.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicBool},
};

use bathyscope_capture::{
    Batch, ColumnData, ColumnType, Display, EncodedChunk, FiringKind, FlightTrigger, Loss, Predicate, ProcessChange,
    ShownCell, StreamSchema, StringId, decode_chunk, encode_chunk,
};
use bathyscope_derive::{DerivationHost, RecordedThreads, Rule, RuleInput, RuleOptions, RuleSpec};
use bathyscope_views::{ChunkMeta, Dictionaries, Filter, RowsQuery, Source, ViewError, page};

use super::{condition::row_filter, window::FlightItem};
use crate::flight_state::FireCause;

/// For so long a stream without rows may still get one of then: rows wait for about as long before they come here.
const QUIET_NS: u64 = 1_000_000_000;
/// The most texts of computed rows that are kept.
const MAX_TEXTS: usize = 1 << 16;
/// Ids of texts of computed rows begin here: those of the recorder are below.
const FIRST_OWN_TEXT: StringId = 1 << 31;
/// The longest value that is told.
const MAX_VALUE_BYTES: usize = 512;

/// The conditions of a flight recorder.
pub(crate) struct RowWatch {
    schemas: Vec<StreamSchema>,
    start_ns: u64,
    conditions: Vec<RowCondition>,
    /// Rules whose streams some condition is about.
    computed: Vec<ComputedRows>,
}

/// A condition on rows.
struct RowCondition {
    words: String,
    filter: Filter,
    /// The recorded streams that it is about.
    recorded: Vec<u16>,
    /// A computed stream: the rule's place among all, and the stream's number among those of the rule.
    computed: Option<(usize, usize)>,
}

/// Rows that match.
pub(super) struct Found {
    pub(super) cause: FireCause,
    /// How many there are.
    pub(super) rows: u64,
}

impl RowWatch {
    /// For the conditions among `triggers`.
    ///
    /// # Errors
    /// In words, if one cannot be read, or fits no stream.
    pub(crate) fn new(schemas: Vec<StreamSchema>, triggers: &[FlightTrigger], start_ns: u64) -> Result<Self, String> {
        let mut watch = Self { schemas, start_ns, conditions: Vec::new(), computed: Vec::new() };
        for trigger in triggers {
            if let FlightTrigger::Rows { condition, stream } = trigger {
                let made = watch.condition(trigger.to_string(), condition, stream);
                let made = made.map_err(|why| format!("the condition `{}` cannot be used: {why}", condition.trim()))?;
                watch.conditions.push(made);
            }
        }
        Ok(watch)
    }

    fn condition(&mut self, words: String, condition: &str, stream: &str) -> Result<RowCondition, String> {
        let filter = row_filter((condition, stream), &self.schemas)?;
        if let Filter::Predicate(predicate) = &filter
            && has_frame(predicate)
        {
            return Err("functions of stacks have no names yet while rows are in memory".to_owned());
        }
        let all = (0_u16..).zip(&self.schemas);
        let named: Vec<u16> =
            all.filter(|(_, schema)| stream.is_empty() || schema.name == stream).map(|(index, _)| index).collect();
        if named.is_empty() {
            let computed = Some(self.computed(stream, &filter)?);
            return Ok(RowCondition { words, filter, recorded: Vec::new(), computed });
        }
        let mut why = String::new();
        let fits = |index: &u16| match self.first(*index, &filter, &[], &Dictionaries::default()) {
            Ok(_none) => true,
            Err(error) => {
                why = bathyscope_link::words(&error);
                false
            }
        };
        let recorded: Vec<u16> = named.into_iter().filter(fits).collect();
        if recorded.is_empty() { Err(why) } else { Ok(RowCondition { words, filter, recorded, computed: None }) }
    }

    /// Where the rows of a computed stream come from.
    fn computed(&mut self, stream: &str, filter: &Filter) -> Result<(usize, usize), String> {
        let find = |computed: &[ComputedRows]| {
            let rules = computed.iter().enumerate();
            rules
                .filter_map(|(at, rule)| Some((at, rule.schemas.iter().position(|schema| schema.name == stream)?)))
                .next()
        };
        if find(&self.computed).is_none() {
            let rules = RuleSpec::built_in(&self.schemas);
            let mut made = rules.iter().filter_map(|rule| ComputedRows::new(rule, &self.schemas));
            self.computed.extend(made.find(|rule| rule.schemas.iter().any(|schema| schema.name == stream)));
        }
        let Some((rule, output)) = find(&self.computed) else {
            let recorded = self.schemas.iter().map(|schema| schema.name.clone());
            let rules = RuleSpec::built_in(&self.schemas);
            let computed = rules.iter().filter_map(|rule| ComputedRows::new(rule, &self.schemas));
            let computed = computed.flat_map(|rule| rule.schemas.into_iter().map(|schema| schema.name));
            let known: Vec<String> = recorded.chain(computed).collect();
            return Err(format!("there is no stream `{stream}`; there are {}", known.join(", ")));
        };
        let schemas = self.computed.get(rule).map_or(&[][..], |rule| rule.schemas.as_slice());
        let rows = ChunkRows::new(schemas, self.start_ns);
        rows.first(u16::try_from(output).unwrap_or(u16::MAX), filter)
            .map_err(|error| bathyscope_link::words(&error))?;
        Ok((rule, output))
    }

    /// The first row of some chunks of a stream that matches.
    fn first(
        &self,
        stream: u16,
        filter: &Filter,
        chunks: &[&EncodedChunk],
        dictionaries: &Dictionaries,
    ) -> Result<Option<FoundRow>, ViewError> {
        let mut rows = ChunkRows::new(&self.schemas, self.start_ns);
        rows.dictionaries = Some(dictionaries);
        rows.put(stream, chunks.iter().map(|chunk| (*chunk).clone()).collect());
        rows.first(stream, filter)
    }

    /// What of an item fires, one for each condition that holds. What it refers to is in `dictionaries` already.
    pub(super) fn look(&mut self, item: &FlightItem, dictionaries: &Dictionaries) -> Vec<Found> {
        let mut found = Vec::new();
        for condition in &self.conditions {
            for stream in &condition.recorded {
                let chunks: Vec<&EncodedChunk> =
                    item.chunks.iter().filter(|(of, _)| of == stream).map(|(_, chunk)| chunk).collect();
                if chunks.is_empty() {
                    continue;
                }
                match self.first(*stream, &condition.filter, &chunks, dictionaries) {
                    Ok(row) => found.extend(row.map(|row| row.found(condition))),
                    Err(error) => tracing::warn!(%error, "rows of a flight recorder cannot be looked at"),
                }
            }
        }
        let conditions = &self.conditions;
        for (number, rule) in self.computed.iter_mut().enumerate() {
            let of_rule = conditions.iter().filter_map(|it| Some((it, it.computed.filter(|(at, _)| *at == number)?.1)));
            let of_rule: Vec<_> = of_rule.collect();
            found.extend(rule.look(item, (&self.schemas, dictionaries), &of_rule, self.start_ns));
        }
        found
    }
}

fn has_frame(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::HasFrame { .. } => true,
        Predicate::Not(inner) => has_frame(inner),
        Predicate::All(parts) | Predicate::Any(parts) => parts.iter().any(has_frame),
        Predicate::Compare { .. } | Predicate::In { .. } | Predicate::Between { .. } => false,
    }
}

/// Chunks in memory, as views read them.
struct ChunkRows<'a> {
    schemas: &'a [StreamSchema],
    origin_ns: u64,
    dictionaries: Option<&'a Dictionaries>,
    none: Dictionaries,
    stream: u16,
    metas: Vec<ChunkMeta>,
    chunks: Vec<EncodedChunk>,
}

/// The first row that matches, and how many do.
struct FoundRow {
    value: String,
    since_ns: u64,
    fired_ns: u64,
    rows: u64,
}

impl FoundRow {
    fn found(self, condition: &RowCondition) -> Found {
        let Self { value, since_ns, fired_ns, rows } = self;
        let (kind, trigger) = (FiringKind::Row, condition.words.clone());
        let cause = FireCause { kind, trigger, value, fired_ns: Some(fired_ns), since_ns: Some(since_ns) };
        Found { cause, rows }
    }
}

impl<'a> ChunkRows<'a> {
    fn new(schemas: &'a [StreamSchema], origin_ns: u64) -> Self {
        let (metas, chunks) = (Vec::new(), Vec::new());
        Self { schemas, origin_ns, dictionaries: None, none: Dictionaries::default(), stream: 0, metas, chunks }
    }

    fn put(&mut self, stream: u16, chunks: Vec<EncodedChunk>) {
        self.stream = stream;
        self.metas = chunks.iter().map(ChunkMeta::from).collect();
        self.chunks = chunks;
    }

    fn first(&self, stream: u16, filter: &Filter) -> Result<Option<FoundRow>, ViewError> {
        let query = RowsQuery { filter: Some(filter.clone()), limit: 1, ..RowsQuery::new(stream) };
        let found = page(self, &query, &AtomicBool::new(false))?;
        let (Some(row), Some(schema)) = (found.rows.first(), self.schemas.get(usize::from(stream))) else {
            return Ok(None);
        };
        let number = |at: usize| match row.get(at) {
            Some(ShownCell::Number(number)) => i64::try_from(*number).unwrap_or(0),
            _ => 0,
        };
        let since_ns = self.origin_ns.saturating_add_signed(number(StreamSchema::TIME));
        let lasted_ns = schema.duration_column().map_or(0, number);
        let fired_ns = since_ns.saturating_add_signed(lasted_ns);
        Ok(Some(FoundRow { value: value_words(schema, row, filter), since_ns, fired_ns, rows: found.matched }))
    }
}

/// What a row has in the columns that a condition names, and whose it is.
fn value_words(schema: &StreamSchema, row: &[ShownCell], filter: &Filter) -> String {
    let mut named: Vec<&str> = match filter {
        Filter::Predicate(predicate) => predicate.fields(),
        Filter::Substring(_) => Vec::new(),
    };
    for usual in ["call", "comm", "pid", "tid"] {
        if !named.contains(&usual) {
            named.push(usual);
        }
    }
    let cell = |name: &&str| {
        let at = schema.column(name).or_else(|| schema.column(name.strip_prefix("args.")?))?;
        let (column, cell) = (schema.columns.get(at)?, row.get(at)?);
        let text = match cell {
            ShownCell::Number(number) if column.display == Display::DurationNs || column.name == "duration_ns" => {
                duration_words(u64::try_from(*number).unwrap_or(0))
            }
            ShownCell::Number(number) if column.display == Display::Hex => format!("{number:#x}"),
            ShownCell::Number(number) => number.to_string(),
            ShownCell::Text(text) => text.clone(),
            _ => return None,
        };
        Some(format!("{} {text}", column.name))
    };
    let words: Vec<String> = named.iter().filter_map(cell).collect();
    let words = format!("{}: {}", schema.name, words.join(", "));
    String::from_utf8_lossy(&bathyscope_capture::cut_text(words.as_bytes(), MAX_VALUE_BYTES)).into_owned()
}

/// A length of time with three digits: `153 ms`.
fn duration_words(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

impl Source for ChunkRows<'_> {
    fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    fn streams(&self) -> &[StreamSchema] {
        self.schemas
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        if stream == self.stream { &self.metas } else { &[] }
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let missing = ViewError::Shape { stream, chunk, what: "there is no such chunk" };
        let (Some(schema), Some(encoded)) = (self.schemas.get(usize::from(stream)), self.chunks.get(chunk)) else {
            return Err(missing);
        };
        let batch = decode_chunk(schema, &encoded.bytes, wanted);
        batch.map(Arc::new).map_err(|source| ViewError::Chunk { stream, chunk, source })
    }

    fn dictionaries(&self) -> &Dictionaries {
        self.dictionaries.unwrap_or(&self.none)
    }

    fn losses(&self) -> &[Loss] {
        &[]
    }
}

/// A rule that is applied to rows as they come, for its rows to be looked at.
struct ComputedRows {
    rule: Box<dyn Rule>,
    schemas: Vec<StreamSchema>,
    inputs: Vec<RuleInput>,
    texts: OwnTexts,
}

/// Texts of computed rows that the recorder does not have.
#[derive(Default)]
struct OwnTexts {
    ids: HashMap<Vec<u8>, StringId>,
    texts: Vec<Vec<u8>>,
}

impl OwnTexts {
    fn text(&self, id: StringId) -> Option<&[u8]> {
        self.texts.get(id.checked_sub(FIRST_OWN_TEXT)? as usize).map(Vec::as_slice)
    }
}

/// What a rule asks of its capture while rows are in memory.
struct WatchHost<'a> {
    dictionaries: &'a Dictionaries,
    texts: &'a mut OwnTexts,
    rows: Vec<(usize, Batch)>,
}

impl DerivationHost for WatchHost<'_> {
    fn string_id(&mut self, text: &[u8]) -> StringId {
        if let Some(id) = self.texts.ids.get(text) {
            return *id;
        }
        let Ok(number) = u32::try_from(self.texts.texts.len()) else { return 0 };
        if self.texts.texts.len() >= MAX_TEXTS {
            return 0;
        }
        let id = FIRST_OWN_TEXT.saturating_add(number);
        self.texts.ids.insert(text.to_vec(), id);
        self.texts.texts.push(text.to_vec());
        id
    }

    fn string(&mut self, id: StringId) -> Option<Vec<u8>> {
        self.texts.text(id).or_else(|| self.dictionaries.text(id)).map(<[u8]>::to_vec)
    }

    fn rows(&mut self, output: usize, rows: Batch) {
        self.rows.push((output, rows));
    }
}

impl ComputedRows {
    fn new(rule: &RuleSpec, streams: &[StreamSchema]) -> Option<Self> {
        let mut texts = OwnTexts::default();
        let dictionaries = Dictionaries::default();
        let mut host = WatchHost { dictionaries: &dictionaries, texts: &mut texts, rows: Vec::new() };
        let options = RuleOptions { start_ns: None, recorded: RecordedThreads::All, by_name: false };
        let rule = rule.rule(streams, &options, &mut host).ok()?;
        let (schemas, inputs) = (rule.streams().to_vec(), rule.inputs());
        Some(Self { rule, schemas, inputs, texts })
    }

    fn look(
        &mut self,
        item: &FlightItem,
        (streams, dictionaries): (&[StreamSchema], &Dictionaries),
        conditions: &[(&RowCondition, usize)],
        start_ns: u64,
    ) -> Vec<Found> {
        let rows = self.compute(item, streams, dictionaries);
        let mut found = Vec::new();
        for (output, batch) in rows {
            for (condition, _) in conditions.iter().filter(|(_, of)| *of == output) {
                found.extend(self.first(output, &batch, condition, dictionaries, start_ns));
            }
        }
        found
    }

    /// The rows that are complete.
    fn compute(
        &mut self,
        item: &FlightItem,
        streams: &[StreamSchema],
        dictionaries: &Dictionaries,
    ) -> Vec<(usize, Batch)> {
        let mut host = WatchHost { dictionaries, texts: &mut self.texts, rows: Vec::new() };
        item.processes.iter().for_each(|change: &ProcessChange| self.rule.learn(change));
        for (stream, chunk) in &item.chunks {
            let input = self.inputs.iter().find(|input| input.stream == *stream);
            let (Some(input), Some(schema)) = (input, streams.get(usize::from(*stream))) else { continue };
            match decode_chunk(schema, &chunk.bytes, &input.columns) {
                Ok(batch) => self.rule.push(*stream, Arc::new(batch), &mut host),
                Err(error) => tracing::warn!(%error, "rows of a flight recorder cannot be looked at"),
            }
        }
        self.rule.advance(item.end_ns.saturating_sub(QUIET_NS), &mut host);
        self.rule.flush(&mut host);
        host.rows
    }

    fn first(
        &self,
        output: usize,
        batch: &Batch,
        condition: &RowCondition,
        dictionaries: &Dictionaries,
        start_ns: u64,
    ) -> Option<Found> {
        let schema = self.schemas.get(output)?;
        let (batch, own) = self.with_own_texts(schema, batch, dictionaries);
        let stream = u16::try_from(output).ok()?;
        let mut rows = ChunkRows::new(&self.schemas, start_ns);
        rows.dictionaries = Some(&own);
        rows.put(stream, vec![encode_chunk(schema, &batch).ok()?]);
        rows.first(stream, &condition.filter).ok()?.map(|row| row.found(condition))
    }

    /// The same rows with ids of texts of a dictionary of their own; stacks are left out.
    fn with_own_texts(&self, schema: &StreamSchema, batch: &Batch, all: &Dictionaries) -> (Batch, Dictionaries) {
        let (mut own, mut ids) = (Dictionaries::default(), HashMap::<StringId, StringId>::new());
        let mut columns = batch.columns.clone();
        for (column, data) in schema.columns.iter().zip(&mut columns) {
            let ColumnData::Id(values) = data else { continue };
            for id in values.iter_mut() {
                let text = self.texts.text(*id).or_else(|| all.text(*id));
                let next = u32::try_from(ids.len()).unwrap_or(u32::MAX - 1) + 1;
                *id = match (column.ty, text) {
                    (ColumnType::Text, Some(text)) => *ids.entry(*id).or_insert_with(|| {
                        own.insert_string(next, text);
                        next
                    }),
                    _ => 0,
                };
            }
        }
        (Batch { columns }, own)
    }
}
