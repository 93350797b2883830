//! `compare`: two captures beside each other: what was asked for, hosts, losses, numbers of their rows, and what changed most. The
//! functions of profiles alone, with all that `perf diff` tells, are what `diff` prints. With `--in` it is one table, line by line.

mod table;

use std::fmt::Write as _;

use bathyscope_capture::{CaptureId, Display, SpecLine};
use bathyscope_reader::{CaptureCache, ComparedCapture, ComparedCaptures, compared_captures};
use bathyscope_store::{Store, StoreError};
use bathyscope_views::{Cancel, ComparedColumn, ComparedNumber, ComparedStream, DifferenceVerdict, ViewError};
use clap::Args;
use serde::Serialize;

use self::table::TableArgs;
use super::{chosen::ChosenCapture, open, print_all, range::RangeArgs, text};
use crate::{Failure, Outcome, config::DataArgs};

/// What `compare` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A difference is said to be more than chance by parts of time that are drawn again, as `bathyscope diff` does; rows that were lost can \
explain one. `bathyscope diff` prints all functions of profiles. Tables of `--in` are those that the page of B shows against A: processes \
and threads count by their name, as their numbers are others in each recording.

Examples:
  bathyscope compare                                    the newest with the one before
  bathyscope compare 00f1e2d3c4b5a697 newest
  bathyscope compare 00f1e2d3c4b5a697 11f1e2d3c4b5a697 --json
  bathyscope compare --in syscalls --by process_call    calls, errors and times of each, a second
  bathyscope compare --in groups --stream block:block_rq_issue --by comm --values count,sum:bytes
  bathyscope compare --in calls --way vfs_read --per total
  bathyscope compare --in map --stream @bytes --order -0.difference")]
pub struct CompareArgs {
    /// The capture that it was before: an id, `newest` or `previous`
    #[arg(value_name = "A", default_value = "previous")]
    pub a: ChosenCapture,
    /// The one that it is now
    #[arg(value_name = "B", default_value = "newest")]
    pub b: ChosenCapture,
    /// Which table, if it is one.
    #[command(flatten)]
    pub table: TableArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Prints it.
///
/// # Errors
/// If a capture is not there, or cannot be read.
pub fn run(args: &CompareArgs) -> Outcome {
    match args.table.table {
        None if args.table.range != RangeArgs::default() => {
            let failure = Failure::new("all of both captures is compared, and a part of one is given");
            Err(failure.remedy("Choose a table with `--in`, such as `--in syscalls`, or leave out --start and --end."))
        }
        None => beside(args),
        Some(what) => {
            let found = open::reading(&args.data, async |store| table::table(store, args, what).await)?;
            print(args, found, table::told)
        }
    }
}

/// Prints what was compared, in words or as JSON.
fn print<T: Serialize>(args: &CompareArgs, found: Option<Result<T, ViewError>>, told: fn(&T) -> String) -> Outcome {
    let Some(found) = found else {
        let failure = Failure::new("there are no two captures to compare");
        return Err(failure.remedy("Record them, such as with `bathyscope record --recipe machine`."));
    };
    let found = found.map_err(|error| Failure::because("comparing the captures", error))?;
    let told = if args.json {
        serde_json::to_string(&found).map_err(|error| Failure::because("writing JSON", error))? + "\n"
    } else {
        told(&found)
    };
    print_all(&told)
}

/// Two captures beside each other.
fn beside(args: &CompareArgs) -> Outcome {
    let found = open::reading(&args.data, async |store| {
        let (Some(a), Some(b)) = (args.a.compared_id(&store).await?, args.b.compared_id(&store).await?) else {
            return Ok(None);
        };
        Ok(Some(if a == b { Err(a) } else { Ok(compared(store, a, b).await?) }))
    })?;
    match found {
        Some(Err(id)) => {
            let failure = Failure::new(format!("comparing the captures: both are {id}"));
            Err(failure.remedy("Choose another one to compare it with; `compare --in WHAT` compares parts of one."))
        }
        found => print(args, found.and_then(Result::ok), told),
    }
}

async fn compared(store: Store, a: CaptureId, b: CaptureId) -> Result<Result<ComparedCaptures, ViewError>, StoreError> {
    let cache = CaptureCache::new(store.clone());
    let (a, b) = (cache.view(a, false).await?, cache.view(b, false).await?);
    // Nothing else runs here that the work could hold up.
    Ok(tokio::task::block_in_place(|| compared_captures(&a, &b, &Cancel::new(false))))
}

/// All of it as text.
fn told(found: &ComparedCaptures) -> String {
    let mut out = String::new();
    heads(found, &mut out);
    // Writing to a text cannot fail.
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _infallible = writeln!(out, "\n{title}");
            lines.iter().for_each(|line| out.push_str(&format!("  {line}\n")));
        }
    };
    section("Beware", found.cautions.clone());
    section("Asked differently", found.spec.iter().filter(|line| !line.same).map(spec_line).collect());
    let host = found.host.iter().filter(|fact| !fact.same);
    section("Hosts", host.map(|fact| format!("{}: {} → {}", fact.what, known(&fact.a), known(&fact.b))).collect());
    for stream in &found.rows.streams {
        section(&stream.name, stream_lines(stream));
    }
    let only =
        |which: &str, names: &[String]| names.iter().map(|name| format!("{name}: only in {which}")).collect::<Vec<_>>();
    section("Not compared", [only("the first", &found.rows.only_a), only("the second", &found.rows.only_b)].concat());
    section("Processes and calls that changed", names(found));
    section("Functions that changed", functions(found));
    out
}

fn heads(found: &ComparedCaptures, out: &mut String) {
    let head = |which: &str, of: &ComparedCapture| {
        let lost = match (of.lost, of.lost_at_least) {
            (0, false) => "nothing lost".to_owned(),
            (lost, false) => format!("{} lost", text::count(lost)),
            (lost, true) => format!("at least {} lost", text::count(lost)),
        };
        let cost = of.cpu_permille.map_or_else(String::new, |cpu| format!(", {:.1} % CPU", cpu / 10.0));
        format!(
            "{which} {} {}: {}, {}, {} rows, {lost}{cost}\n",
            of.id,
            of.title,
            text::wall_time(of.started_unix_ns),
            text::duration(of.duration_ns),
            text::count(of.rows),
        )
    };
    out.push_str(&head("A", &found.a));
    out.push_str(&head("B", &found.b));
}

fn known(text: &str) -> &str {
    if text.is_empty() { "not known" } else { text }
}

fn spec_line(line: &SpecLine) -> String {
    let said =
        |text: &Option<String>| text.as_ref().map_or_else(|| "nothing".to_owned(), |text| text.replace('\n', " ⏎ "));
    format!("{}: {}: {} → {}", line.part, line.what, said(&line.a), said(&line.b))
}

fn stream_lines(stream: &ComparedStream) -> Vec<String> {
    let plain = |number: &ComparedNumber| number_line("", number, &|value| format!("{value:.0}"));
    let mut lines: Vec<String> = stream.numbers.iter().map(plain).collect();
    for column in &stream.columns {
        lines.extend(column.numbers.iter().map(|number| column_line(column, number)));
    }
    if stream.left_out > 0 {
        lines.push(format!("{} more columns are not compared", stream.left_out));
    }
    lines
}

fn column_line(column: &ComparedColumn, number: &ComparedNumber) -> String {
    let is_time = column.of.display == Display::DurationNs && number.what != "count";
    let value = |value: f64| {
        if is_time && value >= 0.0 { text::duration(value as u64) } else { format!("{value:.0}") }
    };
    number_line(&format!("{} ", column.of.column), number, &value)
}

fn number_line(of: &str, number: &ComparedNumber, value: &dyn Fn(f64) -> String) -> String {
    let (a, b) = (value(number.a.value), value(number.b.value));
    format!(
        "{:<28} {a:>12} {b:>12} {:>9}  {}",
        format!("{of}{}", number.what),
        change(number.a.value, number.b.value),
        verdict(number.verdict)
    )
}

/// How much more in percent of what it was.
fn change(a: f64, b: f64) -> String {
    if a == 0.0 {
        if b == 0.0 { "0 %".to_owned() } else { "new".to_owned() }
    } else {
        format!("{:+.1} %", (b - a) / a.abs() * 100.0)
    }
}

/// What a difference is worth, in words.
pub(super) const fn verdict(verdict: DifferenceVerdict) -> &'static str {
    match verdict {
        DifferenceVerdict::BeyondChance => "more than chance",
        DifferenceVerdict::WithinChance => "within chance",
        DifferenceVerdict::TooFew => "too few rows to tell",
        DifferenceVerdict::LostRows => "lost rows can explain it",
        DifferenceVerdict::Untested => "",
    }
}

fn names(found: &ComparedCaptures) -> Vec<String> {
    let changed = found.rows.names.iter().filter(|name| name.verdict == DifferenceVerdict::BeyondChance);
    let line = |name: &bathyscope_views::ComparedName| {
        let (what, unit) = match name.kind {
            "call" => ("call", "/s"),
            "call_time" => ("call", " s/s"),
            _ => ("process", " rows/s"),
        };
        let value =
            |value: f64| if name.kind == "call_time" { format!("{:.4}", value / 1e9) } else { format!("{value:.1}") };
        let (a, b) = (value(name.a.value), value(name.b.value));
        format!(
            "{:<28} {a:>12} {b:>12} {:>9}  {unit}",
            format!("{what} {}", name.name),
            change(name.a.value, name.b.value)
        )
    };
    changed.map(line).collect()
}

fn functions(found: &ComparedCaptures) -> Vec<String> {
    let functions = &found.functions;
    if let Some(why) = &functions.why_not {
        return vec![format!("not compared: {why}")];
    }
    let whole = functions.b_total.max(1) as f64;
    let changed = functions.items.iter().filter(|function| function.is_significant);
    let line = |function: &bathyscope_views::ComparedFunction| {
        let (a, b) = (function.other_own / whole * 100.0, function.own as f64 / whole * 100.0);
        format!("{a:>7.2} % {b:>7.2} % {:>+8.2} %  {}", b - a, function.name)
    };
    let mut lines: Vec<String> = changed.map(line).collect();
    if lines.is_empty() {
        lines.push(format!("none of {} by more than chance", functions.compared));
    }
    lines
}
