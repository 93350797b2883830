//! Functions that queries have besides SQLite's own.

use std::{
    collections::HashMap,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use bathyscope_views::{Dictionaries, frame_names};
use rusqlite::{
    Connection, Error, Result,
    functions::{Aggregate, Context, FunctionFlags},
    types::{Type, Value, ValueRef},
};

use crate::{shared::Shared, stacks::function_of};

/// The names, as the list of what may be called has them.
pub(crate) const NAMES: [&str; 10] =
    ["frame", "stack", "stack_top", "hist", "percentile", "overlap", "floor", "ceil", "log2", "sqrt"];

/// Texts of stacks that are kept while a query runs.
const KEPT_STACKS: usize = 1 << 14;
/// The longest text of a stack that is kept, in bytes.
const KEPT_BYTES: usize = 2 << 10;

fn pure() -> FunctionFlags {
    FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS
}

/// Makes the functions known.
pub(crate) fn add(connection: &Connection, shared: &Arc<Shared>) -> Result<()> {
    let own = Held(Arc::clone(shared));
    connection.create_scalar_function("frame", 1, pure(), move |context| {
        let Some(frame) = id(context) else { return Ok(None) };
        let dictionaries = own.0.capture.source.dictionaries();
        Ok(dictionaries.frame(frame).map(|_known| function_of(dictionaries, frame)))
    })?;
    let own = Held(Arc::clone(shared));
    connection.create_scalar_function("stack_top", 1, pure(), move |context| {
        let Some(stack) = id(context) else { return Ok(None) };
        let dictionaries = own.0.capture.source.dictionaries();
        let innermost = dictionaries.stack(stack).and_then(|frames| frames.first());
        Ok(innermost.and_then(|frame| frame_names(dictionaries, *frame).into_iter().next()).map(|(name, _kind)| name))
    })?;
    let own = Held(Arc::clone(shared));
    let kept: Mutex<HashMap<u32, Option<String>>> = Mutex::default();
    connection.create_scalar_function("stack", 1, pure(), move |context| {
        let Some(stack) = id(context) else { return Ok(None) };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = kept.get(&stack) {
            return Ok(text.clone());
        }
        let text = folded(own.0.capture.source.dictionaries(), stack);
        if kept.len() < KEPT_STACKS && text.as_ref().is_none_or(|text| text.len() <= KEPT_BYTES) {
            kept.insert(stack, text.clone());
        }
        Ok(text)
    })?;
    add_arithmetic(connection)?;
    connection.create_aggregate_function("hist", 1, pure(), Histogram)?;
    connection.create_aggregate_function("percentile", 2, pure(), Percentile(Held(Arc::clone(shared))))
}

fn add_arithmetic(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("overlap", 4, pure(), |context| {
        let [Some(a_start), Some(a_end), Some(b_start), Some(b_end)] = [0, 1, 2, 3].map(|index| whole(context, index))
        else {
            return Ok(None);
        };
        Ok(Some(a_end.min(b_end).saturating_sub(a_start.max(b_start)).max(0)))
    })?;
    let real = |name: &'static str, of: fn(f64) -> f64| {
        connection.create_scalar_function(name, 1, pure(), move |context| {
            Ok(number(context.get_raw(0)).map(of).filter(|result| result.is_finite()))
        })
    };
    real("log2", f64::log2)?;
    real("sqrt", f64::sqrt)?;
    let rounded = |name: &'static str, of: fn(f64) -> f64| {
        connection.create_scalar_function(name, 1, pure(), move |context| {
            Ok(match context.get_raw(0) {
                ValueRef::Integer(whole) => Value::Integer(whole),
                other => number(other).map_or(Value::Null, |value| match of(value) {
                    // Whole numbers that fit are whole numbers.
                    rounded if rounded.abs() < 9e18 => Value::Integer(rounded as i64),
                    rounded => Value::Real(rounded),
                }),
            })
        })
    };
    rounded("floor", f64::floor)?;
    rounded("ceil", f64::ceil)
}

/// What functions hold of the query. A panic in one ends the query, and nothing of it is used after that.
pub(crate) struct Held(pub(crate) Arc<Shared>);

impl UnwindSafe for Held {}
impl RefUnwindSafe for Held {}

fn number(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        _ => None,
    }
}

fn whole(context: &Context<'_>, index: usize) -> Option<i64> {
    match context.get_raw(index) {
        ValueRef::Integer(number) => Some(number),
        // Moments that were divided and multiplied again.
        ValueRef::Real(number) => Some(number as i64),
        _ => None,
    }
}

fn id(context: &Context<'_>) -> Option<u32> {
    whole(context, 0).and_then(|id| u32::try_from(id).ok())
}

/// A stack as folded text: functions from the outermost to the innermost, with `;` between them.
fn folded(dictionaries: &Dictionaries, stack: u32) -> Option<String> {
    let frames = dictionaries.stack(stack)?;
    let names = frames.iter().rev().flat_map(|frame| frame_names(dictionaries, *frame).into_iter().rev());
    Some(names.map(|(name, _kind)| name).collect::<Vec<_>>().join(";"))
}

/// `hist(x)`: how many values there are between each two powers of two, as JSON `[[from, to, count], …]`.
struct Histogram;

/// Values below zero, then zero, then from each power of two to before the next.
type Buckets = Box<[u64; 65]>;

impl Aggregate<(u64, Buckets), Option<String>> for Histogram {
    fn init(&self, _context: &mut Context<'_>) -> Result<(u64, Buckets)> {
        Ok((0, Box::new([0; 65])))
    }

    fn step(&self, context: &mut Context<'_>, (negative, buckets): &mut (u64, Buckets)) -> Result<()> {
        let Some(value) = whole(context, 0) else { return Ok(()) };
        match u64::try_from(value) {
            Ok(value) => {
                if let Some(bucket) = buckets.get_mut((u64::BITS - value.leading_zeros()) as usize) {
                    *bucket += 1;
                }
            }
            Err(_below_zero) => *negative += 1,
        }
        Ok(())
    }

    fn finalize(&self, _context: &mut Context<'_>, state: Option<(u64, Buckets)>) -> Result<Option<String>> {
        let Some((negative, buckets)) = state else { return Ok(None) };
        let below = (negative > 0).then(|| format!("[null,-1,{negative}]"));
        let ends = |index: u32| match index {
            0 => (0, 0),
            _ => (1_u64 << (index - 1), (1_u64 << (index - 1)) * 2 - 1),
        };
        let filled = (0_u32..64).zip(buckets.iter()).filter(|(_, count)| **count > 0);
        let lines = below.into_iter().chain(filled.map(|(index, count)| {
            let (from, to) = ends(index);
            format!("[{from},{to},{count}]")
        }));
        Ok(Some(format!("[{}]", lines.collect::<Vec<_>>().join(","))))
    }
}

/// `percentile(x, p)`: the least value that at least `p` percent of all values do not exceed.
struct Percentile(Held);

/// The values of a percentile, counted as memory of the query.
struct Values {
    held: Held,
    counted: u64,
    percent: f64,
    whole: Vec<i64>,
    real: Vec<f64>,
}

impl Values {
    fn count(&mut self) {
        let bytes = (self.whole.capacity() + self.real.capacity()) as u64 * 8;
        self.held.0.held.fetch_add(bytes.saturating_sub(self.counted), Ordering::Relaxed);
        self.counted = self.counted.max(bytes);
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        self.held.0.held.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

impl Aggregate<Values, Value> for Percentile {
    fn init(&self, _context: &mut Context<'_>) -> Result<Values> {
        let held = Held(Arc::clone(&self.0.0));
        Ok(Values { held, counted: 0, percent: f64::NAN, whole: Vec::new(), real: Vec::new() })
    }

    fn step(&self, context: &mut Context<'_>, values: &mut Values) -> Result<()> {
        let percent = number(context.get_raw(1)).filter(|percent| (0.0..=100.0).contains(percent));
        values.percent = percent.ok_or_else(|| {
            let why = "the second argument of percentile() is from 0 to 100, such as 99";
            Error::FromSqlConversionFailure(1, Type::Real, why.into())
        })?;
        let before = values.whole.capacity() + values.real.capacity();
        match context.get_raw(0) {
            ValueRef::Integer(value) => values.whole.push(value),
            ValueRef::Real(value) => values.real.push(value),
            _ => {}
        }
        if values.whole.capacity() + values.real.capacity() != before {
            values.count();
        }
        Ok(())
    }

    fn finalize(&self, _context: &mut Context<'_>, values: Option<Values>) -> Result<Value> {
        let Some(mut values) = values else { return Ok(Value::Null) };
        let count = values.whole.len() + values.real.len();
        if count == 0 {
            return Ok(Value::Null);
        }
        let rank = ((values.percent / 100.0 * count as f64).ceil() as usize).clamp(1, count) - 1;
        if values.real.is_empty() {
            return Ok(Value::Integer(*values.whole.select_nth_unstable(rank).1));
        }
        let mut all = std::mem::take(&mut values.real);
        all.extend(values.whole.iter().map(|value| *value as f64));
        Ok(Value::Real(*all.select_nth_unstable_by(rank, f64::total_cmp).1))
    }
}
