//! What is written for each record and map, as text or as JSON.

use bathyscope_plan::{Action, Aggregation, Clock, MapPlan, Output, Plan, Site, Type};

use super::{
    Aggregated, Entry, Names, Record, Snapshot, Value, aggregate, histogram, json, series,
    text::{Context, INDENT},
    time,
};

/// How output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As people read it.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Something to write, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Where it belongs.
    pub to: Output,
    /// The bytes. Text of events is in it as it came: see [`super::safe_for_terminal`].
    pub bytes: Vec<u8>,
}

/// Writes what a script sends.
#[derive(Clone, Copy)]
pub struct Renderer<'a> {
    form: Form,
    plan: &'a Plan,
    names: &'a dyn Names,
    source: (&'a str, &'a str),
    raw: bool,
}

impl<'a> Renderer<'a> {
    /// For a script's plan.
    pub fn new(form: Form, plan: &'a Plan, names: &'a dyn Names) -> Self {
        Self { form, plan, names, source: ("", ""), raw: false }
    }

    /// Leaves text of events as it came; else it is a part of a line, with escapes.
    #[must_use]
    pub fn raw(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }

    /// With the script's name and text, for messages that tell their place in it.
    #[must_use]
    pub fn source(mut self, name: &'a str, text: &'a str) -> Self {
        self.source = (name, text);
        self
    }

    /// How it writes.
    pub fn form(&self) -> Form {
        self.form
    }

    fn context(&self, indent: usize) -> Context<'a> {
        // JSON has escapes of its own.
        Context { plan: self.plan, names: self.names, indent, raw: self.raw || self.is_json(), is_compact: false }
    }

    fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Text of a kind, as it is or as data of JSON.
    fn of_kind(&self, kind: &str, text: Vec<u8>) -> Vec<u8> {
        if self.is_json() { json::line(kind, &json::string(&text)) } else { text }
    }

    /// `Attached 3 probes`: for standard error as text, for the output as JSON.
    pub fn attached(&self, probes: usize) -> Message {
        if self.is_json() {
            let line =
                format!("{{\"type\": \"attached_probes\", \"count\": {probes}, \"data\": {{\"probes\": {probes}}}}}\n");
            return Message { to: Output::Out, bytes: line.into_bytes() };
        }
        let plural = if probes == 1 { "" } else { "s" };
        Message { to: Output::Error, bytes: format!("Attached {probes} probe{plural}\n").into_bytes() }
    }

    /// Records that the ring had no room for.
    pub fn lost(&self, events: u64) -> Message {
        if self.is_json() {
            let bytes = json::line("lost_events", &format!("{{\"events\": {events}}}"));
            return Message { to: Output::Out, bytes };
        }
        Message { to: Output::Error, bytes: format!("Lost {events} events\n").into_bytes() }
    }

    /// What stands between the output and the maps that are printed at the end.
    pub fn end(&self) -> Vec<u8> {
        if self.is_json() { Vec::new() } else { b"\n\n".to_vec() }
    }

    /// What a record shows by itself; none where more is to be done: with maps, files or programs.
    pub fn record(&self, record: &Record) -> Option<Message> {
        let site = self.plan.sites.get(record.site as usize)?;
        let out = |bytes| Some(Message { to: Output::Out, bytes });
        match &site.action {
            Action::Print { to, format } => {
                Some(self.printed(site, *to, self.context(INDENT).format(format, &site.fields, &record.values)))
            }
            Action::PrintValue => out(self.value(&site.fields.first()?.ty, record.values.first()?)),
            Action::Time { format } => out(self.time(format, record.time_ns)),
            Action::Join { delimiter } => out(self.join(delimiter, &record.values)),
            Action::PrintElement { map, div } => {
                let map = self.plan.maps.get(*map as usize)?;
                let key = record.values.get(..map.key.len())?;
                // Without a value in the record it aggregates and has to be read from the map.
                let value = record.values.get(map.key.len())?;
                let entry = Entry { key: key.to_vec(), value: value.clone() };
                out(self.element(map, &entry, *div))
            }
            Action::HelperFailed { helper } => {
                let result = record.values.first().and_then(Value::number).unwrap_or(0);
                Some(self.helper_failed(site, helper, result))
            }
            _ => None,
        }
    }

    /// The text of a site's format, for those actions that need it: what to show, or to run.
    pub fn formatted(&self, record: &Record) -> Option<Vec<u8>> {
        let site = self.plan.sites.get(record.site as usize)?;
        match &site.action {
            Action::Print { format, .. } => Some(self.context(INDENT).format(format, &site.fields, &record.values)),
            // A path, or words of a command: not what is shown.
            Action::Cat { format } | Action::System { format } => {
                let context = Context { raw: true, ..self.context(INDENT) };
                Some(context.format(format, &site.fields, &record.values))
            }
            _ => None,
        }
    }

    fn printed(&self, site: &Site, to: Output, text: Vec<u8>) -> Message {
        let (kind, word) = match to {
            Output::Out => return Message { to, bytes: self.of_kind("printf", text) },
            Output::Error => ("errorf", "ERROR"),
            Output::Warning => ("warnf", "WARNING"),
        };
        let (name, text_of_script) = self.source;
        let (line, column) = place(text_of_script, site.start);
        if self.is_json() {
            let (kind, name, text) =
                (json::string(kind.as_bytes()), json::string(name.as_bytes()), json::string(&text));
            let bytes = format!(
                "{{\"type\": {kind}, \"msg\": {text}, \"filename\": {name}, \"line\": {line}, \"col\": {column}}}\n"
            );
            return Message { to: Output::Out, bytes: bytes.into_bytes() };
        }
        let mut bytes = format!("{name}:{}: {word}: ", range(text_of_script, (site.start, site.end))).into_bytes();
        bytes.extend(text);
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        for call in &site.calls {
            let range = range(text_of_script, *call);
            bytes.extend(format!("{name}:{range}: {word}: expanded from\n").into_bytes());
            bytes.extend(marked(text_of_script, *call).into_bytes());
        }
        Message { to, bytes }
    }

    fn helper_failed(&self, site: &Site, helper: &str, result: i128) -> Message {
        let errno = i64::try_from(result).unwrap_or(0);
        let why = bathyscope_catalog::constants::errno_text(errno).map_or_else(|| result.to_string(), str::to_owned);
        let (name, text) = self.source;
        let (line, column) = place(text, site.start);
        if self.is_json() {
            let (why, helper, name) =
                (json::string(why.as_bytes()), json::string(helper.as_bytes()), json::string(name.as_bytes()));
            let bytes = format!(
                "{{\"type\": \"helper_error\", \"msg\": {why}, \"helper\": {helper}, \"retcode\": {result}, \
                \"filename\": {name}, \"line\": {line}, \"col\": {column}}}\n"
            );
            return Message { to: Output::Out, bytes: bytes.into_bytes() };
        }
        let bytes = format!("{name}:{line}:{column}: WARNING: {why} ({helper} returned {result})\n").into_bytes();
        Message { to: Output::Warning, bytes }
    }

    /// `print(value)`.
    pub fn value(&self, ty: &Type, value: &Value) -> Vec<u8> {
        let context = self.context(INDENT);
        if self.is_json() {
            return json::line("value", &context.json(ty, value));
        }
        let mut text = context.value(ty, value);
        text.push(b'\n');
        text
    }

    /// `time(format)` at a moment of the monotonic clock.
    pub fn time(&self, format: &str, time_ns: u64) -> Vec<u8> {
        let wall = self.names.wall_time(Clock::Monotonic, time_ns);
        let text = wall.map_or_else(|| time_ns.to_string(), |wall| time::format_time(format, &wall));
        self.of_kind("time", text.into_bytes())
    }

    fn join(&self, delimiter: &str, values: &[Value]) -> Vec<u8> {
        let mut text = Vec::new();
        // A record has places for more words than there are.
        let is_empty = |value: &Value| matches!(value, Value::Text(text) if text.is_empty());
        let count = values.iter().rposition(|value| !is_empty(value)).map_or(0, |last| last + 1);
        let values = values.get(..count).unwrap_or_default();
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                text.extend(delimiter.as_bytes());
            }
            text.extend(self.context(INDENT).value(&Type::None, value));
        }
        self.ended("join", text)
    }

    /// Content of a file that `cat` shows.
    pub fn cat(&self, content: Vec<u8>) -> Vec<u8> {
        self.of_kind("cat", content)
    }

    /// What a program that `system` ran printed.
    pub fn system(&self, output: Vec<u8>) -> Vec<u8> {
        self.of_kind("syscall", output)
    }

    fn ended(&self, kind: &str, mut text: Vec<u8>) -> Vec<u8> {
        if self.is_json() {
            return json::line(kind, &json::string(&text));
        }
        text.push(b'\n');
        text
    }

    /// `print(@map, top, div)`, and what is printed of each map at the end. Nothing is written for an empty map.
    pub fn map(&self, plan: &MapPlan, snapshot: &Snapshot, top: Option<u64>, div: Option<u64>) -> Vec<u8> {
        self.entries(plan, snapshot.top(top), div)
    }

    /// `print(@map[key])`: the value alone, but of histograms and series, which need their name above them.
    pub fn element(&self, plan: &MapPlan, entry: &Entry, div: Option<u64>) -> Vec<u8> {
        if let Value::Aggregate(Aggregated::Buckets(_) | Aggregated::Series(_)) = &entry.value {
            return self.entries(plan, std::slice::from_ref(entry), div);
        }
        let shown = Shown { div: div.map_or(1, i128::from).max(1), newest: 0 };
        if self.is_json() {
            return json::line("value", &self.json_of(plan, &entry.value, &shown));
        }
        let text = self.text_of(plan, &entry.value, &shown);
        text.strip_prefix(b" ").unwrap_or(&text).to_vec()
    }

    fn entries(&self, plan: &MapPlan, entries: &[Entry], div: Option<u64>) -> Vec<u8> {
        let shown = Shown { div: div.map_or(1, i128::from).max(1), newest: newest(entries) };
        if self.is_json() {
            return self.json_map(plan, entries, &shown);
        }
        let mut out = Vec::new();
        for entry in entries {
            out.extend(plan.name.as_bytes());
            if !plan.key.is_empty() {
                out.push(b'[');
                out.extend(self.key(plan, &entry.key, ", "));
                out.push(b']');
            }
            out.push(b':');
            out.extend(self.text_of(plan, &entry.value, &shown));
        }
        out
    }

    /// The parts of a key; a tuple that is the only part goes without its parentheses.
    fn key(&self, plan: &MapPlan, key: &[Value], separator: &str) -> Vec<u8> {
        let context = self.context(if self.is_json() { 0 } else { INDENT }).compact(self.is_json());
        let mut out = Vec::new();
        let (types, values): (&[Type], &[Value]) = match (plan.key.as_slice(), key) {
            ([Type::Tuple(types)], [Value::List(values)]) => (types, values),
            other => other,
        };
        for (at, (ty, value)) in types.iter().zip(values).enumerate() {
            if at > 0 {
                out.extend(separator.as_bytes());
            }
            out.extend(context.value(ty, value));
        }
        out
    }

    fn text_of(&self, plan: &MapPlan, value: &Value, shown: &Shown) -> Vec<u8> {
        let (Some(aggregation), Value::Aggregate(aggregated)) = (plan.aggregation(), value) else {
            let mut out = vec![b' '];
            match value {
                Value::Unsigned(_) | Value::Signed(_) if shown.div > 1 => {
                    out.extend((value.number().unwrap_or(0) / shown.div).to_string().into_bytes());
                }
                value => out.extend(self.context(INDENT).value(&plan.value, value)),
            }
            out.push(b'\n');
            return out;
        };
        match aggregated {
            Aggregated::Number(number) => format!(" {}\n", number.unwrap_or(0) / shown.div),
            Aggregated::Stats { count, total } => {
                let average = aggregate::average(*count, *total) / shown.div;
                format!(" {{ .count = {count}, .average = {average}, .total = {total} }}\n")
            }
            Aggregated::Buckets(counts) => {
                let mut buckets = histogram::buckets(aggregation, counts);
                for bucket in &mut buckets {
                    bucket.count /= u64::try_from(shown.div).unwrap_or(1);
                }
                // What was emptied has no buckets, and no line for them.
                format!("\n{}\n", histogram::picture(aggregation, &buckets))
            }
            Aggregated::Series(points) => {
                let intervals = series::Intervals::of(aggregation);
                format!("\n{}\n", series::chart(points, (shown.newest, slots(aggregation)), intervals, self.names))
            }
        }
        .into_bytes()
    }

    fn json_of(&self, plan: &MapPlan, value: &Value, shown: &Shown) -> String {
        let context = self.context(0);
        match (plan.aggregation(), value) {
            (Some(aggregation), Value::Aggregate(it)) => context.json_aggregate(aggregation, it, shown.div),
            (_, Value::Unsigned(_) | Value::Signed(_)) if shown.div > 1 => {
                (value.number().unwrap_or(0) / shown.div).to_string()
            }
            _ => context.json(&plan.value, value),
        }
    }

    fn json_map(&self, plan: &MapPlan, entries: &[Entry], shown: &Shown) -> Vec<u8> {
        let kind = match plan.aggregation() {
            Some(Aggregation::Hist { .. } | Aggregation::LinearHist { .. }) => "hist",
            Some(Aggregation::Average { .. } | Aggregation::Stats { .. }) => "stats",
            Some(Aggregation::TimeSeries { .. }) => "tseries",
            _ => "map",
        };
        let value = |value: &Value| self.json_of(plan, value, shown);
        let name = json::string(plan.name.as_bytes());
        if plan.key.is_empty() {
            let Some(entry) = entries.first() else { return Vec::new() };
            return json::line(kind, &format!("{{{name}: {}}}", value(&entry.value)));
        }
        if entries.is_empty() {
            return Vec::new();
        }
        let all: Vec<String> = entries
            .iter()
            .map(|entry| format!("{}: {}", json::string(&self.key(plan, &entry.key, ",")), value(&entry.value)))
            .collect();
        json::line(kind, &format!("{{{name}: {{{}}}}}", all.join(", ")))
    }
}

/// What all elements of a map are shown with.
struct Shown {
    div: i128,
    /// The last interval of any element.
    newest: u64,
}

fn newest(entries: &[Entry]) -> u64 {
    let last = |entry: &Entry| match &entry.value {
        Value::Aggregate(Aggregated::Series(points)) => points.last().map(|point| point.interval),
        _ => None,
    };
    entries.iter().filter_map(last).max().unwrap_or(0)
}

fn slots(aggregation: &Aggregation) -> u32 {
    if let Aggregation::TimeSeries { slots, .. } = aggregation { *slots } else { 1 }
}

/// Line and column, from 1.
fn place(text: &str, at: u32) -> (usize, usize) {
    let before = text.as_bytes().get(..at as usize).unwrap_or(text.as_bytes());
    let line = before.split(|byte| *byte == b'\n').count();
    let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
    (line, column)
}

/// A range of the script, counted from 1: within one line it has both of its columns, else both lines.
fn range(text: &str, (start, end): (u32, u32)) -> String {
    let ((line, column), (last, behind)) = (place(text, start), place(text, end));
    match (last == line, behind > column) {
        (true, true) => format!("{line}:{column}-{behind}"),
        (true, false) => format!("{line}:{column}"),
        (false, _) => format!("{line}-{last}"),
    }
}

/// The line in which a range begins, with what of it is meant below; all lines of a range over several.
fn marked(text: &str, (start, end): (u32, u32)) -> String {
    let ((line, column), (last, behind)) = (place(text, start), place(text, end));
    let count = last.saturating_sub(line) + 1;
    let lines: String = text.lines().skip(line.saturating_sub(1)).take(count).flat_map(|line| [line, "\n"]).collect();
    if last > line {
        return lines;
    }
    format!("{lines}{}{}\n", " ".repeat(column.saturating_sub(1)), "~".repeat(behind.saturating_sub(column)))
}
