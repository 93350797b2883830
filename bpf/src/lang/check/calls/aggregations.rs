//! What maps aggregate.

use bathyscope_plan::{Aggregation, SeriesOf, Span, Type};

use super::Call;
use crate::lang::{
    ast::{self, Name},
    check::{Checked, body::BodyChecker, describe::number},
    hir::TypedExpr,
};

/// The most bits of precision of `hist`.
const MAX_HIST_BITS: i64 = 5;
/// The most buckets of `lhist` between the first and the last.
const MAX_LINEAR_BUCKETS: u64 = 1000;
/// The most intervals of `tseries`.
const MAX_SLOTS: i64 = 1000;

/// Anywhere but as what is assigned to a map.
pub(in crate::lang::check) fn misplaced(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let message = format!("`{}()` can only be assigned to a map", call.name);
    body.fail(call.span, message, format!("write `@x = {}(…)`", call.name))
}

/// How many arguments a function that aggregates takes; none for others.
fn argument_counts(function: &str) -> Option<(usize, usize)> {
    Some(match function {
        "count" => (0, 0),
        "sum" | "min" | "max" | "avg" | "stats" => (1, 1),
        "hist" => (1, 2),
        "lhist" => (4, 4),
        "tseries" => (3, 4),
        _ => return None,
    })
}

/// Whether a function aggregates.
pub(in crate::lang::check) fn is_aggregating(function: &str) -> bool {
    argument_counts(function).is_some()
}

impl BodyChecker<'_, '_> {
    /// If the call is one of the functions that aggregate: what it does with which value.
    pub(in crate::lang::check) fn aggregation(
        &mut self,
        function: &Name,
        arguments: &[ast::Expr],
        span: Span,
    ) -> Option<Checked<(Aggregation, Option<TypedExpr>)>> {
        let call = Call { name: &function.text, arguments, span };
        let (least, most) = argument_counts(&function.text)?;
        let count = arguments.len();
        if !(least..=most).contains(&count) {
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let message = format!("`{}` takes {wanted} arguments, and is given {count}", call.name);
            let hint = crate::lang::check::reference::find(call.name)
                .map_or_else(String::new, |it| format!("it is `{}`", it.signature));
            return Some(self.fail(span, message, hint));
        }
        if call.name == "count" {
            return Some(Ok((Aggregation::Count, None)));
        }
        Some(self.aggregated(&call))
    }

    fn aggregated(&mut self, call: &Call<'_>) -> Checked<(Aggregation, Option<TypedExpr>)> {
        let value = self.number_argument(call, 0, "the value")?;
        let signed = number(&value.ty).is_none_or(|(_, signed)| signed);
        let aggregation = match call.name {
            "sum" => Aggregation::Sum { signed },
            "min" => Aggregation::Min { signed },
            "max" => Aggregation::Max { signed },
            "avg" => Aggregation::Average { signed },
            "stats" => Aggregation::Stats { signed },
            "hist" => self.histogram(call)?,
            "lhist" => self.linear_histogram(call)?,
            _ => self.time_series(call, signed)?,
        };
        Ok((aggregation, Some(value.convert(Type::Integer { bytes: 8, signed }))))
    }

    fn histogram(&mut self, call: &Call<'_>) -> Checked<Aggregation> {
        let bits = if call.arguments.len() > 1 { self.constant_argument(call, 1, "the precision")? } else { 0 };
        match u8::try_from(bits) {
            Ok(bits) if i64::from(bits) <= MAX_HIST_BITS => Ok(Aggregation::Hist { bits }),
            _ => {
                let at = call.argument(1).map_or(call.span, |it| it.span);
                self.fail(
                    at,
                    format!("the precision of `hist` is 0 to {MAX_HIST_BITS}, not {bits}"),
                    "2^k buckets for each power of two",
                )
            }
        }
    }

    fn linear_histogram(&mut self, call: &Call<'_>) -> Checked<Aggregation> {
        let min = self.constant_argument(call, 1, "the minimum")?;
        let max = self.constant_argument(call, 2, "the maximum")?;
        let step = self.constant_argument(call, 3, "the step")?;
        if min >= max {
            return self.fail(
                call.span,
                format!("`lhist` from {min} to {max} is empty"),
                "the minimum comes before the maximum",
            );
        }
        let Some(step) = u64::try_from(step).ok().filter(|step| *step > 0) else {
            return self.fail(call.span, format!("the step of `lhist` is at least 1, not {step}"), "");
        };
        let buckets = max.abs_diff(min).div_ceil(step);
        if buckets > MAX_LINEAR_BUCKETS {
            let least = max.abs_diff(min).div_ceil(MAX_LINEAR_BUCKETS);
            let message = format!("`lhist` would have {buckets} buckets, more than {MAX_LINEAR_BUCKETS}");
            return self.fail(call.span, message, format!("use a step of {least} or more"));
        }
        Ok(Aggregation::LinearHist { min, max, step })
    }

    fn time_series(&mut self, call: &Call<'_>, signed: bool) -> Checked<Aggregation> {
        let interval = self.constant_argument(call, 1, "the interval")?;
        let slots = self.constant_argument(call, 2, "the number of intervals")?;
        let Some(interval_ns) = u64::try_from(interval).ok().filter(|ns| *ns > 0) else {
            return self.fail(
                call.span,
                format!("the interval of `tseries` is longer than {interval} ns"),
                "write for instance `100ms`",
            );
        };
        if !(1..=MAX_SLOTS).contains(&slots) {
            let message = format!("`tseries` keeps 1 to {MAX_SLOTS} intervals, not {slots}");
            return self.fail(call.span, message, "");
        }
        let of = match call.arguments.len() {
            4 => self.literal_name(call, 3, "what is kept of an interval")?,
            _ => "last".to_owned(),
        };
        let of = match of.as_str() {
            "last" => SeriesOf::Last,
            "sum" => SeriesOf::Sum,
            "min" => SeriesOf::Min,
            "max" => SeriesOf::Max,
            "avg" => SeriesOf::Average,
            other => {
                let at = call.argument(3).map_or(call.span, |it| it.span);
                return self.fail(
                    at,
                    format!("`tseries` keeps no `{other}`"),
                    "there are avg, max, min, sum, and nothing for the last",
                );
            }
        };
        let phase_ns = self.cx.wall_offset_ns().checked_rem(interval_ns).unwrap_or(0);
        Ok(Aggregation::TimeSeries { interval_ns, phase_ns, slots: u32::try_from(slots).unwrap_or(1), of, signed })
    }
}
