//! JSON: one object a line, always valid UTF-8.

use bathyscope_plan::{Aggregation, Shown, Type};

use super::{
    Aggregated, Bucket, Value, histogram, series,
    text::{Context, Part, part_types},
};

/// `{"type": …, "data": …}` with what is JSON already.
pub(super) fn line(kind: &str, data: &str) -> Vec<u8> {
    format!("{{\"type\": {}, \"data\": {data}}}\n", string(kind.as_bytes())).into_bytes()
}

/// Text as JSON. What is not UTF-8 appears as the replacement character: JSON has no way to say which byte it was.
pub(super) fn string(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in String::from_utf8_lossy(text).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Context<'_> {
    /// A value; numbers with names are numbers, everything else that is not composed is text.
    pub(super) fn json(&self, ty: &Type, value: &Value) -> String {
        match (ty, value) {
            (Type::Shown(Shown::Probe | Shown::Username), _) => string(&self.value(ty, value)),
            (Type::Shown(_) | Type::Stack { .. }, _) => string(&self.value(ty, value)),
            (_, Value::Text(_)) => string(&self.value(ty, value)),
            (_, Value::Buffer(bytes)) => {
                let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
                format!("[{}]", bytes.join(","))
            }
            (_, Value::List(parts)) => self.json_parts(ty, parts),
            (_, Value::None) => "null".to_owned(),
            (_, Value::Bool(value)) => value.to_string(),
            (_, value) => value.number().map_or_else(|| "null".to_owned(), |number| number.to_string()),
        }
    }

    fn json_parts(&self, ty: &Type, parts: &[Value]) -> String {
        let named = matches!(ty, Type::Record(_) | Type::Struct(_));
        let part = |(value, (name, part)): (&Value, (&str, Part<'_>))| {
            let value = self.json(part.ty(), value);
            if named { format!("{}: {value}", string(name.as_bytes())) } else { value }
        };
        let parts: Vec<String> = parts.iter().zip(part_types(ty)).map(part).collect();
        if named { format!("{{{}}}", parts.join(", ")) } else { format!("[{}]", parts.join(",")) }
    }

    /// What a map aggregated; `newest` is the last interval of any element.
    pub(super) fn json_aggregate(&self, aggregation: &Aggregation, value: &Aggregated, div: i128) -> String {
        match value {
            Aggregated::Number(number) => (number.unwrap_or(0) / div).to_string(),
            Aggregated::Stats { count, total } => {
                let average = super::aggregate::average(*count, *total) / div;
                format!("{{\"count\": {count}, \"average\": {average}, \"total\": {total}}}")
            }
            Aggregated::Buckets(counts) => {
                let all: Vec<String> =
                    histogram::buckets(aggregation, counts).iter().map(|it| bucket(it, div)).collect();
                format!("[{}]", all.join(","))
            }
            Aggregated::Series(points) => {
                let intervals = series::Intervals::of(aggregation);
                let point = |point: &super::Point| {
                    let begin = series::begin(point.interval, intervals, self.names);
                    format!("{{\"interval_start\":{},\"value\":{}}}", string(begin.as_bytes()), point.value)
                };
                format!("[{}]", points.iter().map(point).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// `min` and `max` are both in the bucket; one without limit is left out.
fn bucket(bucket: &Bucket, div: i128) -> String {
    let low = bucket.low.map_or_else(String::new, |low| format!("\"min\": {low}, "));
    let high = bucket.high.map_or_else(String::new, |high| format!("\"max\": {}, ", high - 1));
    format!("{{{low}{high}\"count\": {}}}", i128::from(bucket.count) / div)
}
