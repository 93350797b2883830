//! A table as SQLite reads it: what it offers when a statement is prepared, and its cursor.

use std::{
    ops::Range,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use bathyscope_capture::StreamSchema;
use bathyscope_views::ChunkMeta;
use rusqlite::{
    fallible_iterator::FallibleIterator as _,
    types::{Value, ValueRef},
    vtab::{Context, DistinctMode, Filters, IndexConstraintOp, IndexInfo, OrderBy},
};

use crate::{
    group::{self, Grouped},
    lists::List,
    names::Content,
    plan::{By, Op, Order, Plan, Term},
    scan::{self, Hit, Left, Scan},
    shared::{RowMode, Shared, Stop},
    values::Reading,
};

const fn op_of(op: &IndexConstraintOp) -> Option<Op> {
    match op {
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ => Some(Op::Equal),
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LT => Some(Op::Less),
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LE => Some(Op::LessOrEqual),
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GT => Some(Op::Greater),
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GE => Some(Op::GreaterOrEqual),
        _ => None,
    }
}

/// What a column can be asked for beforehand.
fn takes(content: Content, readings: &[Reading], column: usize, op: Op) -> bool {
    match content {
        Content::Stream(_) => match readings.get(column) {
            Some(Reading::Text) => op == Op::Equal,
            Some(_) => true,
            None => false,
        },
        Content::List(list) => list.has_id() && column == 0 && op == Op::Equal,
        Content::Union(_) => false,
    }
}

fn readings(shared: &Shared, content: Content) -> Vec<Reading> {
    match content {
        Content::Stream(stream) => {
            shared.capture.source.streams().get(usize::from(stream)).map(Reading::of).unwrap_or_default()
        }
        Content::List(_) | Content::Union(_) => Vec::new(),
    }
}

/// Answers how a table would be read under the conditions that SQLite has.
pub(crate) fn best_index(shared: &Shared, table: usize, info: &mut IndexInfo) -> rusqlite::Result<()> {
    let Some(about) = shared.tables.get(table) else { return Ok(()) };
    let readings = readings(shared, about.content);
    let mut plan = Plan { used: info.col_used(), ..Plan::default() };
    let found: Vec<(usize, usize, Op)> = info
        .constraints()
        .enumerate()
        .filter(|(_, constraint)| constraint.is_usable())
        .filter_map(|(index, constraint)| {
            let column = usize::try_from(constraint.column()).ok()?;
            let op = op_of(&constraint.operator())?;
            takes(about.content, &readings, column, op).then_some((index, column, op))
        })
        .collect();
    for (index, column, op) in found {
        // Text compares by its bytes only under this collation.
        let is_text = readings.get(column) == Some(&Reading::Text);
        if is_text && info.collation(index)? != "BINARY" {
            continue;
        }
        let is_in = op == Op::Equal && info.is_in_constraint(index)?;
        if is_in && matches!(about.content, Content::List(_)) {
            // One look-up for each value is what SQLite does by itself.
        } else if is_in && !info.set_in_constraint(index, true)? {
            continue;
        }
        let many = is_in && matches!(about.content, Content::Stream(_));
        plan.terms.push(Term { column, op: if many { Op::In } else { op } });
        let number = i32::try_from(plan.terms.len()).unwrap_or(i32::MAX);
        let of_stream = readings.get(column).copied().filter(|_| !many);
        let exact = match (of_stream, info.rhs_value(index)?) {
            (Some(reading), Some(value)) => scan::decides(reading, value),
            _ => false,
        };
        let mut usage = info.constraint_usage(index);
        usage.set_argv_index(number);
        usage.set_omit(exact);
    }
    plan.order = order(shared, about.content, &readings, &plan, info);
    info.set_order_by_consumed(plan.order != Order::Stored || is_by_time(shared, about.content, info) == Some(false));
    let rows = about.rows.max(1) as f64 * plan.terms.iter().map(|term| share(about.content, *term)).product::<f64>();
    info.set_estimated_rows(rows.max(1.0) as i64);
    info.set_estimated_cost(rows + 10.0);
    info.set_idx_str(&plan.to_string());
    Ok(())
}

/// What part of the rows a condition is thought to leave.
fn share(content: Content, term: Term) -> f64 {
    let is_id = matches!(content, Content::List(_));
    match term.op {
        Op::Equal if is_id || term.column == StreamSchema::TIME => 0.0001,
        Op::Equal => 0.05,
        Op::In => 0.1,
        _ if term.column == StreamSchema::TIME => 0.1,
        _ => 0.4,
    }
}

/// Whether rows are wanted by time alone and come so: forwards (false) or backwards (true).
fn is_by_time(shared: &Shared, content: Content, info: &IndexInfo) -> Option<bool> {
    let Content::Stream(stream) = content else { return None };
    let mut orders = info.order_bys();
    let (first, more) = (orders.next()?, orders.next());
    let is_time = usize::try_from(first.column()) == Ok(StreamSchema::TIME);
    let sorted = || shared.capture.source.chunks(stream).is_sorted_by(|a: &ChunkMeta, b| a.last_ns <= b.first_ns);
    (is_time && more.is_none() && sorted()).then(|| first.is_order_by_desc())
}

fn order(shared: &Shared, content: Content, readings: &[Reading], plan: &Plan, info: &IndexInfo) -> Order {
    if let Some(descending) = is_by_time(shared, content, info) {
        return if descending { Order::Backwards } else { Order::Stored };
    }
    let Content::Stream(stream) = content else { return Order::Stored };
    let by = |order: OrderBy<'_>| {
        Some(By { column: usize::try_from(order.column()).ok()?, falling: order.is_order_by_desc() })
    };
    let keys: Option<Vec<By>> = info.order_bys().map(by).collect();
    let once = match info.distinct() {
        DistinctMode::Grouped => false,
        DistinctMode::Distinct => true,
        _ => return Order::Stored,
    };
    let Some(keys) = keys.filter(|keys| shared.mode != RowMode::Single && (1..=group::MAX_KEYS).contains(&keys.len()))
    else {
        return Order::Stored;
    };
    let rows = shared.capture.source.chunks(stream).iter().map(|chunk| u64::from(chunk.rows)).sum();
    let others = others(plan, readings, &keys).into_iter().filter_map(|other| readings.get(other).copied());
    let summed = shared.mode == RowMode::Summed && rows < u64::from(u32::MAX);
    match summed || group::fits(rows, others) {
        true if once => Order::Distinct(keys),
        true => Order::Grouped(keys),
        false => Order::Stored,
    }
}

/// The columns that are read and not grouped by.
fn others(plan: &Plan, readings: &[Reading], keys: &[By]) -> Vec<usize> {
    (0..readings.len()).filter(|column| plan.uses(*column) && !keys.iter().any(|key| key.column == *column)).collect()
}

/// A cursor over a table.
pub(crate) struct Cursor {
    shared: Arc<Shared>,
    rows: Rows,
}

enum Rows {
    None,
    Stream(Walk),
    Grouped(Box<(Scan, Grouped)>),
    List(List, Range<usize>),
}

/// A walk through chunks, forwards or backwards.
struct Walk {
    scan: Scan,
    backwards: bool,
    /// How many chunks were begun.
    begun: usize,
    hit: Option<Hit>,
    at: usize,
}

impl Walk {
    fn seek(&mut self) -> rusqlite::Result<()> {
        self.at = 0;
        let chunks = self.scan.chunks();
        while self.begun < chunks {
            let chunk = if self.backwards { chunks - 1 - self.begun } else { self.begun };
            self.begun += 1;
            self.hit = self.scan.hit(chunk)?;
            if self.hit.is_some() {
                return Ok(());
            }
        }
        self.hit = None;
        Ok(())
    }

    fn row(&self, hit: &Hit) -> usize {
        let index = if self.backwards { hit.len().saturating_sub(1).saturating_sub(self.at) } else { self.at };
        hit.row(index)
    }
}

/// The values of an argument: one, or all of a list.
fn values(args: &Filters<'_>, index: usize, op: Op) -> rusqlite::Result<Vec<Value>> {
    if op == Op::In {
        return args.in_values(index)?.map(|value| Ok(Value::try_from(value)?)).collect();
    }
    args.get(index).map(|value| vec![value])
}

impl Cursor {
    pub(crate) fn new(shared: &Arc<Shared>, table: usize) -> Self {
        let rows = match shared.tables.get(table).map(|table| table.content) {
            Some(Content::List(list)) => Rows::List(list, 0..0),
            Some(Content::Stream(stream)) => {
                let scan = Scan::new(shared, stream, &Plan::default(), Vec::new());
                Rows::Stream(Walk { scan, backwards: false, begun: 0, hit: None, at: 0 })
            }
            // The latter is a view, which SQLite opens as what it is over.
            None | Some(Content::Union(_)) => Rows::None,
        };
        Self { shared: Arc::clone(shared), rows }
    }

    pub(crate) fn filter(&mut self, plan: &str, args: &Filters<'_>) -> rusqlite::Result<()> {
        let lost = || rusqlite::Error::ModuleError("the plan of a table was lost".to_owned());
        let plan = Plan::parse(plan).ok_or_else(lost)?;
        self.release();
        let stream = match &mut self.rows {
            Rows::None => return Ok(()),
            Rows::List(..) if self.shared.mode == RowMode::Summed => return Err(self.shared.fail(Stop::OtherMode)),
            Rows::List(list, range) => {
                *range = 0..list.rows(&self.shared.capture, || self.shared.stacks().len());
                for (index, term) in plan.terms.iter().enumerate() {
                    *range = match scan::compared(term.op, ValueRef::from(&args.get::<Value>(index)?)) {
                        Left::Some(scan::Want::Between(id, _)) => list.of_id(&self.shared, id),
                        Left::All => range.clone(),
                        _ => 0..0,
                    };
                }
                let rows = range.len() as u64;
                self.shared.rows.fetch_add(rows, Ordering::Relaxed);
                return Ok(());
            }
            Rows::Stream(walk) => walk.scan.stream,
            Rows::Grouped(read) => read.0.stream,
        };
        let scan = self.scan(stream, &plan, args)?;
        self.rows = match &plan.order {
            Order::Grouped(keys) | Order::Distinct(keys) => {
                let others = others(&plan, &scan.readings, keys);
                let once = matches!(plan.order, Order::Distinct(_));
                let grouped = Grouped::read(&scan, keys, &others, once)?;
                Rows::Grouped(Box::new((scan, grouped)))
            }
            order => {
                let backwards = *order == Order::Backwards;
                let mut walk = Walk { scan, backwards, begun: 0, hit: None, at: 0 };
                walk.seek()?;
                Rows::Stream(walk)
            }
        };
        self.tell_members();
        Ok(())
    }

    /// Tells aggregates what the present row stands for, if it is one for many.
    fn tell_members(&self) {
        if self.shared.mode != RowMode::Summed {
            return;
        }
        let members = match &self.rows {
            Rows::Stream(walk) => walk.hit.as_ref().map(|hit| hit.members(&walk.scan)),
            Rows::Grouped(read) => Some(read.1.members(&read.0)),
            Rows::None | Rows::List(..) => None,
        };
        *self.shared.members.lock().unwrap_or_else(PoisonError::into_inner) = members.unwrap_or_default();
    }

    fn scan(&self, stream: u16, plan: &Plan, args: &Filters<'_>) -> rusqlite::Result<Scan> {
        let readings = readings(&self.shared, Content::Stream(stream));
        let mut left = Vec::new();
        for (index, term) in plan.terms.iter().enumerate() {
            let values = values(args, index, term.op)?;
            let refs = values.iter().map(ValueRef::from);
            let of_term = match (readings.get(term.column), term.op, values.as_slice()) {
                (Some(Reading::Text), ..) => scan::texts(&self.shared, refs),
                (_, Op::In, _) => scan::one_of(refs),
                (_, op, [value]) => scan::compared(op, ValueRef::from(value)),
                _ => Left::All,
            };
            left.push((*term, of_term));
        }
        Ok(Scan::new(&self.shared, stream, plan, left))
    }

    /// Gives back what was counted for rows that were put together.
    fn release(&mut self) {
        if let Rows::Grouped(read) = &mut self.rows {
            self.shared.held.fetch_sub(read.1.take_held(), Ordering::Relaxed);
        }
    }

    pub(crate) fn next(&mut self) -> rusqlite::Result<()> {
        if self.shared.mode == RowMode::Summed {
            match &mut self.rows {
                Rows::Stream(walk) => walk.seek()?,
                Rows::Grouped(read) => read.1.advance_group(),
                Rows::None | Rows::List(..) => {}
            }
            self.tell_members();
            return Ok(());
        }
        match &mut self.rows {
            Rows::None => Ok(()),
            Rows::Stream(walk) => {
                walk.at += 1;
                if walk.hit.as_ref().is_some_and(|hit| walk.at < hit.len()) {
                    return Ok(());
                }
                walk.seek()
            }
            Rows::Grouped(read) => {
                read.1.advance();
                Ok(())
            }
            Rows::List(_, range) => {
                range.start += 1;
                Ok(())
            }
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        match &self.rows {
            Rows::None => true,
            Rows::Stream(walk) => walk.hit.is_none(),
            Rows::Grouped(read) => read.1.is_done(),
            Rows::List(_, range) => range.is_empty(),
        }
    }

    pub(crate) fn column(&self, context: &mut Context, column: usize) -> rusqlite::Result<()> {
        if self.shared.mode == RowMode::Summed {
            return self.summed_column(context, column);
        }
        match &self.rows {
            Rows::None => Ok(()),
            Rows::Stream(walk) => {
                let Some(hit) = &walk.hit else { return Ok(()) };
                let (Some(batch), Some(reading)) = (&hit.batch, walk.scan.readings.get(column)) else { return Ok(()) };
                let source = &self.shared.capture.source;
                let data = batch.columns.get(column);
                let number = data.and_then(|data| reading.number(source.origin_ns(), data, walk.row(hit)));
                match number {
                    // The most frequent case, without a detour.
                    Some(number) if reading.is_number() && !reading.is_none(number) => context.set_result(&number),
                    Some(number) => reading.value(source.dictionaries(), number).give(context),
                    None => Ok(()),
                }
            }
            Rows::Grouped(read) => read.1.value(&self.shared, &read.0.readings, column).give(context),
            Rows::List(list, range) => list.value(&self.shared, range.start, column).give(context),
        }
    }

    /// The same of a row that stands for many: a column that is not grouped by has its number, by which aggregates find it.
    fn summed_column(&self, context: &mut Context, column: usize) -> rusqlite::Result<()> {
        let scan = match &self.rows {
            Rows::Grouped(read) if read.1.is_key(column) => {
                return read.1.value(&self.shared, &read.0.readings, column).give(context);
            }
            Rows::Grouped(read) => &read.0,
            Rows::Stream(walk) => &walk.scan,
            Rows::None | Rows::List(..) => return Ok(()),
        };
        // A text or a stack may be no value, and no number.
        if scan.readings.get(column).is_none_or(|reading| !reading.is_number()) {
            return Err(self.shared.fail(Stop::OtherMode));
        }
        context.set_result(&i64::try_from(column).unwrap_or(i64::MAX))
    }

    pub(crate) fn row_id(&self) -> i64 {
        let place = match &self.rows {
            Rows::None => 0,
            Rows::Stream(walk) => walk.hit.as_ref().map_or(0, |hit| (hit.chunk << 16) + walk.row(hit)),
            Rows::Grouped(read) => read.1.place(),
            Rows::List(_, range) => range.start,
        };
        i64::try_from(place).unwrap_or(i64::MAX)
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.release();
    }
}
