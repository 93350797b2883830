//! What was counted, as text: the table that people know from `perf stat`, fields with a separator, or JSON.

use std::{
    fs::File,
    io::{self, Write},
};

use bathyscope_capture::{CaptureId, visible};
use bathyscope_store::Store;
use bathyscope_views::{Counted, EventSum, ValueRange, counted, is_time};

use super::{StatArgs, sums::Sums};
use crate::Failure;

/// Where the table begins to be repeated when intervals are shown.
const HEAD_EVERY: u64 = 25;

/// How counts are written.
#[derive(Clone, Debug)]
enum Form {
    Table,
    Fields(String),
    Json,
}

/// Writes what was counted.
pub(super) struct Report {
    to: Box<dyn Write>,
    form: Form,
    title: String,
    intervals: bool,
    shown: u64,
    /// What is to be said beside the numbers.
    notes: Vec<String>,
}

impl Report {
    /// Opens what is written to, before rights are given up.
    pub(super) fn open(args: &StatArgs) -> Result<Self, Failure> {
        let to: Box<dyn Write> = match args.output.as_deref() {
            None => Box::new(io::stderr()),
            Some(path) if path.as_os_str() == "-" => Box::new(io::stdout()),
            Some(path) => {
                let doing = || format!("writing {}", path.display());
                Box::new(File::create(path).map_err(|error| Failure::because(doing(), error))?)
            }
        };
        let form = match (&args.field_separator, args.json) {
            (_, true) => Form::Json,
            (Some(separator), false) => Form::Fields(separator.clone()),
            (None, false) => Form::Table,
        };
        let (title, intervals) = (title(args), args.interval.is_some());
        Ok(Self { to, form, title, intervals, shown: 0, notes: Vec::new() })
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        match self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush()) {
            // Whoever read it has seen enough.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::because("writing what was counted", error))
            }
            _ => Ok(()),
        }
    }

    /// An interval that ended at a moment from the beginning of counting.
    pub(super) fn interval(&mut self, time_ns: u64, sums: &[EventSum]) -> Result<(), Failure> {
        let seconds = time_ns as f64 / 1e9;
        let mut text = String::new();
        if matches!(self.form, Form::Table) && self.shown.is_multiple_of(HEAD_EVERY) {
            text.push_str("#           time             counts unit events\n");
        }
        self.shown += 1;
        for count in counted(sums) {
            match &self.form {
                Form::Table => text.push_str(&format!("{seconds:>16.9} {}", line(&count, None))),
                Form::Fields(separator) => text.push_str(&fields(&count, separator, Some(seconds))),
                Form::Json => text.push_str(&json(&count, Some(seconds), None)),
            }
        }
        self.write(&text)
    }

    /// What is to be said of a run that has ended, if anything.
    pub(super) async fn note(&mut self, store: &Store, id: CaptureId, kept: bool) -> Result<(), Failure> {
        let record = store.capture(id).await.map_err(|error| Failure::because("reading the capture", error))?;
        if !record.ledger.losses.is_empty() || record.reason.contains("not kept") {
            self.notes.push(record.reason.clone());
        }
        let lost = record.ledger.lost_total();
        if record.ledger.is_lower_bound() {
            self.notes.push(record.ledger.lost_words());
        } else if lost > 0 {
            self.notes.push(format!("{lost} readings came late; what they counted is in the next"));
        }
        if kept {
            self.notes.push(format!("kept as {id}"));
        }
        Ok(())
    }

    /// The sums of all runs.
    pub(super) fn total(&mut self, runs: &[Sums]) -> Result<(), Failure> {
        let mean = Mean::of(runs);
        let mut text = String::new();
        match &self.form {
            // They were shown one by one.
            Form::Fields(_) | Form::Json if self.intervals => {}
            Form::Fields(separator) => {
                counted(&mean.sums).iter().for_each(|count| text.push_str(&fields(count, separator, None)));
            }
            Form::Json => {
                let counts = counted(&mean.sums);
                let lines = counts.iter().zip(&mean.deviations).map(|(count, deviation)| json(count, None, *deviation));
                lines.for_each(|line| text.push_str(&line));
            }
            Form::Table if self.intervals => {}
            Form::Table => text = mean.table(&self.title, runs.len()),
        }
        for note in std::mem::take(&mut self.notes) {
            if matches!(self.form, Form::Table) {
                text.push_str(&format!("{}\n", visible(note.as_bytes())));
            }
        }
        self.write(&text)
    }
}

fn title(args: &StatArgs) -> String {
    let words = args.words.join(" ");
    let what = match args {
        StatArgs { tid: tids, .. } if !tids.is_empty() => format!("thread id '{}'", list(tids)),
        StatArgs { pid: pids, .. } if !pids.is_empty() => format!("process id '{}'", list(pids)),
        StatArgs { cpu: Some(cpus), .. } => format!("'CPU(s) {}'", visible(cpus.as_bytes())),
        StatArgs { all_cpus: true, .. } => "'system wide'".to_owned(),
        _ if words.is_empty() => "'system wide'".to_owned(),
        _ => format!("'{}'", visible(words.as_bytes())),
    };
    format!("Performance counter stats for {what}")
}

fn list(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// The means of several runs and how far they lie apart.
struct Mean {
    sums: Vec<EventSum>,
    /// Of each sum, the deviation of its mean in parts of it.
    deviations: Vec<Option<f64>>,
    elapsed: Vec<f64>,
    /// Seconds in user space and in the kernel of each run with a command.
    used: Vec<[f64; 2]>,
}

impl Mean {
    fn of(runs: &[Sums]) -> Self {
        let first = runs.first().map(Sums::total).unwrap_or_default();
        let (mut sums, mut deviations) = (Vec::new(), Vec::new());
        for sum in first {
            let same = |run: &Sums| {
                let own = run.total().iter().find(|it| it.event == sum.event && it.scope == sum.scope);
                own.cloned().unwrap_or_default()
            };
            let all: Vec<EventSum> = runs.iter().map(same).collect();
            let mean = |of: &dyn Fn(&EventSum) -> u64| {
                let sum: u128 = all.iter().map(|it| u128::from(of(it))).sum();
                u64::try_from(sum / all.len().max(1) as u128).unwrap_or(u64::MAX)
            };
            deviations.push(deviation(&all.iter().map(|it| it.value as f64).collect::<Vec<_>>()));
            sums.push(EventSum {
                value: mean(&|it| it.value),
                enabled_ns: mean(&|it| it.enabled_ns),
                running_ns: mean(&|it| it.running_ns),
                span_ns: mean(&|it| it.span_ns),
                range: all.iter().filter_map(|it| it.range).reduce(ValueRange::with),
                ..sum.clone()
            });
        }
        let used = |run: &Sums| run.command.map(|time| [time.user_ns, time.system_ns].map(|ns| ns as f64 / 1e9));
        Self {
            sums,
            deviations,
            elapsed: runs.iter().map(|run| run.elapsed_ns() as f64 / 1e9).collect(),
            used: runs.iter().filter_map(used).collect(),
        }
    }

    fn table(&self, title: &str, runs: usize) -> String {
        let times = if runs > 1 { format!(" ({runs} runs)") } else { String::new() };
        let mut text = format!("\n {title}{times}:\n\n");
        for (count, deviation) in counted(&self.sums).iter().zip(&self.deviations) {
            text.push_str(&line(count, *deviation));
        }
        let line = |seconds: &[f64], what: &str| {
            let mean = seconds.iter().sum::<f64>() / seconds.len().max(1) as f64;
            let apart = deviation(seconds).map_or_else(String::new, apart);
            format!("\n{mean:>18.9} seconds {what}{apart}\n")
        };
        text.push_str(&line(&self.elapsed, "time elapsed"));
        if !self.used.is_empty() {
            let (user, system): (Vec<f64>, Vec<f64>) = self.used.iter().map(|[user, system]| (*user, *system)).unzip();
            text.push_str(&line(&user, "user"));
            text.push_str(line(&system, "sys").trim_start_matches('\n'));
        }
        text.push('\n');
        text
    }
}

/// The deviation of the mean of several values, in parts of the mean.
fn deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    (values.len() > 1 && mean > 0.0).then(|| (squares / (count - 1.0) / count).sqrt() / mean)
}

fn apart(deviation: f64) -> String {
    format!("  ( +-{:>6.2}% )", 100.0 * deviation)
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The value and its unit.
fn value(count: &Counted) -> (String, &'static str) {
    match count {
        Counted { counted: false, state, .. } if !state.is_empty() => ("<not supported>".to_owned(), ""),
        Counted { counted: false, .. } => ("<not counted>".to_owned(), ""),
        Counted { event, value, .. } if is_time(event) => (grouped(*value), "ns"),
        Counted { value, unit, is_clock, .. } if *is_clock || unit == "ns" => {
            (format!("{:.2}", *value as f64 / 1e6), "msec")
        }
        Counted { value, unit, .. } if unit == "bytes" => (mib(*value), "MiB"),
        Counted { value, .. } => (grouped(*value), ""),
    }
}

/// As perf has sizes.
fn mib(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    format!("{}.{:02}", grouped(bytes / MIB), bytes % MIB * 100 / MIB)
}

/// The same for programs: sizes and what threads waited in their own units, with every digit.
fn plain_value(count: &Counted) -> (String, String) {
    match value(count) {
        (_, "ns") => (count.value.to_string(), "ns".to_owned()),
        (_, _) if count.counted && !count.is_clock => (count.value.to_string(), count.unit.clone()),
        (value, unit) => (value, unit.to_owned()),
    }
}

fn line(count: &Counted, deviation: Option<f64>) -> String {
    let (value, unit) = value(count);
    let scope = if count.scope == "all" { String::new() } else { format!("{:<16} ", count.scope) };
    let mut text = format!("{scope}{value:>18} {unit:<4} {:<30}", count.event);
    if let Some(derived) = &count.derived {
        text.push_str(&format!(" # {:>8.3} {:<24}", derived.value, derived.unit));
    } else if let Some(ValueRange { least, most }) = count.range {
        text.push_str(&format!(" # from {} to {} MiB", mib(least), mib(most)));
    } else if !count.state.is_empty() {
        text.push_str(&format!(" # {}", count.state.trim_start_matches("not supported: ")));
    }
    text.push_str(&deviation.map_or_else(String::new, apart));
    if let Some(share) = count.share {
        text.push_str(&format!("  ({:.2}%)", 100.0 * share));
    }
    format!("{}\n", text.trim_end())
}

/// Seconds, scope, value, unit, event, nanoseconds on a counter, its part of the time in percent, and what it says
/// together with others.
fn fields(count: &Counted, separator: &str, seconds: Option<f64>) -> String {
    let (value, unit) = plain_value(count);
    let percent = format!("{:.2}", if count.counted { 100.0 * count.share.unwrap_or(1.0) } else { 0.0 });
    let (metric, words) = count
        .derived
        .as_ref()
        .map_or_else(Default::default, |derived| (format!("{:.3}", derived.value), derived.unit.clone()));
    let mut all: Vec<String> = seconds.map(|seconds| format!("{seconds:.9}")).into_iter().collect();
    all.extend((count.scope != "all").then(|| count.scope.clone()));
    let running = count.running_ns.to_string();
    all.extend([value, unit, count.event.clone(), running, percent, metric, words]);
    format!("{}\n", all.join(separator))
}

/// The names that perf gives.
fn json(count: &Counted, seconds: Option<f64>, deviation: Option<f64>) -> String {
    let (value, unit) = plain_value(count);
    let mut all = serde_json::Map::new();
    let mut put = |name: &str, value: serde_json::Value| drop(all.insert(name.to_owned(), value));
    if let Some(seconds) = seconds {
        put("interval", seconds.into());
    }
    if count.scope != "all" {
        put("scope", count.scope.clone().into());
    }
    put("counter-value", value.into());
    put("unit", unit.into());
    put("event", count.event.clone().into());
    put("event-runtime", count.running_ns.into());
    put("pcnt-running", if count.counted { (100.0 * count.share.unwrap_or(1.0)).into() } else { 0.0.into() });
    if let Some(derived) = &count.derived {
        put("metric-value", derived.value.into());
        put("metric-unit", derived.unit.clone().into());
    }
    if let Some(ValueRange { least, most }) = count.range {
        put("least", least.into());
        put("most", most.into());
    }
    if let Some(deviation) = deviation {
        put("variance", (100.0 * deviation).into());
    }
    if !count.state.is_empty() {
        put("state", count.state.clone().into());
    }
    format!("{}\n", serde_json::Value::Object(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums() -> Vec<EventSum> {
        let sum = |event: &str, value| EventSum {
            event: event.to_owned(),
            scope: "all".to_owned(),
            value,
            enabled_ns: 1_000_000_000,
            running_ns: 1_000_000_000,
            span_ns: 2_000_000_000,
            ..EventSum::default()
        };
        let mut cycles = sum("cycles", 0);
        (cycles.state, cycles.running_ns) = ("not supported: this machine has no counter for it".to_owned(), 0);
        let shared = EventSum { running_ns: 250_000_000, ..sum("branches", 1_234_567) };
        vec![sum("task-clock", 500_000_000), cycles, sum("page-faults", 0), shared]
    }

    #[test]
    fn lines_are_as_people_know_them() {
        let lines: Vec<String> = counted(&sums()).iter().map(|count| line(count, None)).collect();
        let expected = [
            "            500.00 msec task-clock                     #    0.250 CPUs utilized\n",
            "   <not supported>      cycles                         # this machine has no counter for it\n",
            "                 0      page-faults                    #    0.000 /sec\n",
            "         1,234,567      branches                       #    2.469 M/sec                     (25.00%)\n",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn fields_and_json_can_be_read_by_programs() {
        let counts = counted(&sums());
        let lines: String = counts.iter().map(|count| fields(count, ",", None)).collect();
        let expected = "500.00,msec,task-clock,1000000000,100.00,0.250,CPUs utilized\n\
            <not supported>,,cycles,0,0.00,,\n\
            0,,page-faults,1000000000,100.00,0.000,/sec\n\
            1234567,,branches,250000000,25.00,2.469,M/sec\n";
        assert_eq!(lines, expected);
        let first = fields(&Counted { scope: "CPU1".to_owned(), ..counts[0].clone() }, ";", Some(1.5));
        assert!(first.starts_with("1.500000000;CPU1;500.00;msec;task-clock;"), "{first}");
        let object: serde_json::Value = serde_json::from_str(&json(&counts[3], Some(1.0), None)).unwrap();
        assert_eq!((object["counter-value"].as_str(), object["pcnt-running"].as_f64()), (Some("1234567"), Some(25.0)));
    }

    #[test]
    fn gauges_and_pressure_have_units() {
        let sum = |event: &str, unit: &str, value| EventSum {
            event: event.to_owned(),
            unit: unit.to_owned(),
            value,
            ..sums()[0].clone()
        };
        let range = Some(ValueRange { least: 512 << 10, most: 3 << 30 });
        let counts = counted(&[
            EventSum { range, ..sum("memory:free", "bytes", 2_000_000_000) },
            sum("pressure:io-some", "ns", 40_000_000),
            sum("vm:pgpgin", "bytes", 3 << 20),
        ]);
        let lines: Vec<String> = counts.iter().map(|count| line(count, None)).collect();
        let expected = [
            "          1,907.34 MiB  memory:free                    # from 0.50 to 3,072.00 MiB\n",
            "             40.00 msec pressure:io-some               #    2.000 % of the time\n",
            "              3.00 MiB  vm:pgpgin                      #    1.500 MiB/sec\n",
        ];
        assert_eq!(lines, expected);
        let lines: String = counts.iter().map(|count| fields(count, ",", None)).collect();
        let expected = "2000000000,bytes,memory:free,1000000000,100.00,,\n\
            40000000,ns,pressure:io-some,1000000000,100.00,2.000,% of the time\n\
            3145728,bytes,vm:pgpgin,1000000000,100.00,1.500,MiB/sec\n";
        assert_eq!(lines, expected);
        let object: serde_json::Value = serde_json::from_str(&json(&counts[0], None, None)).unwrap();
        assert_eq!((object["unit"].as_str(), object["least"].as_u64()), (Some("bytes"), Some(512 << 10)));
    }

    #[test]
    fn numbers_are_grouped_and_runs_lie_apart() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, expected) in cases {
            assert_eq!(grouped(number), expected);
        }
        assert_eq!(deviation(&[5.0]), None);
        assert_eq!(deviation(&[4.0, 4.0]), Some(0.0));
        let apart = deviation(&[9.0, 11.0]).unwrap();
        assert!((apart - 0.1).abs() < 1e-9, "{apart}");
    }
}
