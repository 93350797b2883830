//! Rows of system calls → lines in the look of strace.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bathyscope_capture::{CaptureId, ShownCell, StreamSchema};
use bathyscope_catalog::{
    constants::{Arch, signal_name},
    syscalls::{Abi, Summary, SummaryColumn, SummaryOrder, number_of, result_text},
};
use bathyscope_commands::strace::Quiet;
use bathyscope_protocol::TargetState;
use bathyscope_recorder::{Recorder, syscall_columns, syscall_kinds::kind};
use bathyscope_store::Store;

use super::{Precision, dump::Dumps, output::LineOutput, stacks::Stacks};
use crate::{
    Failure,
    verbs::trace::rows::{RowReader, StreamRow, json_line},
};

/// What stands where an address is not known.
const NO_ADDRESS: &str = "????????????????";

/// Which time a line begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    #[default]
    None,
    /// `09:15:02.123456`, as exact as is said.
    Day(Precision),
    /// `1795327056.769396`.
    Epoch(Precision),
    /// Since the call before.
    Relative(Precision),
}

/// How lines look.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "strace's own switches")]
pub(super) struct LineStyle {
    pub(super) clock: Clock,
    /// How long calls took, and how exact.
    pub(super) durations: Option<Precision>,
    pub(super) json: bool,
    pub(super) lines: bool,
    pub(super) summary: Option<SummaryOrder>,
    /// The columns of the table.
    pub(super) columns: Vec<SummaryColumn>,
    pub(super) in_file: bool,
    /// Whether there may be several processes.
    pub(super) many: bool,
    /// Whether each thread has a file of its own.
    pub(super) separately: bool,
    /// Whether the table tells how long calls took, instead of how long they ran on a CPU.
    pub(super) wall: bool,
    /// The numbers of calls.
    pub(super) numbers: bool,
    /// Where programs called from.
    pub(super) addresses: bool,
    /// The functions that were called until then.
    pub(super) stacks: bool,
    /// The column in which the equals sign stands, if what is before it is shorter.
    pub(super) column: usize,
    pub(super) quiet: Quiet,
    /// Signals that are shown; none if all are.
    pub(super) signals: Option<BTreeSet<String>>,
    /// Calls whose results are written as their arguments: as numbers.
    pub(super) raw: BTreeSet<i64>,
}

/// A call, as its row tells it.
struct Shown<'a> {
    time_ns: u64,
    pid: u64,
    tid: u64,
    call: &'a str,
    arguments: String,
    result: i64,
    is_error: bool,
    duration_ns: u64,
    note: String,
    has_entry: bool,
    kind: &'a str,
    /// Whose call it is.
    abi: Abi,
    /// How long it ran on a CPU, and where it was made, if that is recorded.
    cpu_ns: Option<u64>,
    address: Option<u64>,
    /// Its number as the row tells it: of what is no call, that of the call that its thread is in or has made last.
    told_number: Option<i64>,
}

impl<'a> Shown<'a> {
    /// The columns of `recorder::syscall_rows`, in their order.
    fn of(row: &'a StreamRow, places: Places) -> Option<Self> {
        let number = |at: usize| match row.cells.get(at) {
            Some(ShownCell::Number(number)) => *number,
            _ => 0,
        };
        let text = |at: usize| match row.cells.get(at) {
            Some(ShownCell::Text(text)) => text.as_str(),
            _ => "",
        };
        // Decoded text is printable, so that a backslash is all that was escaped.
        let plain = |at: usize| text(at).replace("\\\\", "\\");
        let own = StreamSchema::COMMON.len();
        let unsigned = |at: usize| u64::try_from(number(at)).unwrap_or(0);
        Some(Self {
            time_ns: row.time_ns,
            pid: unsigned(StreamSchema::PID),
            tid: unsigned(StreamSchema::TID),
            call: row.cells.get(own).map(|_| text(own))?,
            arguments: plain(own + 1),
            result: i64::try_from(number(own + 2)).unwrap_or(0),
            is_error: !text(own + 3).is_empty(),
            duration_ns: unsigned(own + 4),
            note: plain(own + 5),
            has_entry: text(own + 1) != "?",
            // Captures that were made before there were kinds have calls only.
            kind: if row.cells.len() > own + 6 { text(own + 6) } else { kind::CALL },
            // Before there were interfaces, all calls were taken for the processor's own.
            abi: Abi::of_word(text(own + 7)),
            cpu_ns: places.cpu_ns.map(unsigned),
            address: places.address.map(unsigned).filter(|address| *address != 0),
            told_number: places.number.and_then(|at| i64::try_from(number(at)).ok()).filter(|number| *number >= 0),
        })
    }

    fn returns(&self) -> bool {
        self.kind == kind::CALL && !matches!(self.call, "exit" | "exit_group")
    }

    /// What is no call that has ended.
    fn other(&self, before: &str) -> Option<String> {
        Some(match self.kind {
            kind::INSIDE => format!("{before}{}({} <detached ...>\n", self.call, self.arguments),
            kind::SIGNAL => format!("{before}--- {} {} ---\n", self.call, self.arguments),
            kind::EXIT if self.call == "exited" => format!("{before}+++ exited with {} +++\n", self.arguments),
            kind::EXIT => format!("{before}+++ killed by {} +++\n", self.arguments),
            _ => return None,
        })
    }

    /// The signal that its thread was killed by, if it is the end of one.
    fn killed_by(&self) -> Option<&str> {
        let is_killed = self.kind == kind::EXIT && self.call != "exited";
        is_killed.then(|| self.arguments.split(' ').next().unwrap_or_default())
    }

    /// Its number, as its interface has it.
    fn number(&self) -> i64 {
        number_of(Arch::HOST, self.abi, self.call).unwrap_or(-1)
    }

    /// `NAME(ARGUMENTS) = RESULT`, after `before`.
    fn line(&self, before: &str, look: &LineStyle) -> String {
        if let Some(line) = self.other(before) {
            return line;
        }
        let mut line = match self.has_entry {
            true if self.kind == kind::UNFINISHED => {
                format!("{before}{}({} <unfinished ...>)", self.call, self.arguments)
            }
            true => format!("{before}{}({})", self.call, self.arguments),
            false => format!("{before}<... {} resumed>)", self.call),
        };
        while line.len() + 1 < look.column {
            line.push(' ');
        }
        let (number, result) = (self.number(), self.returns().then_some(self.result));
        let as_number = result.filter(|_| !self.is_error && look.raw.contains(&number));
        let result = match as_number {
            Some(0) => "0".to_owned(),
            Some(result) => format!("{result:#x}"),
            None => result_text(Arch::HOST, number, result, &self.note),
        };
        line.push_str(&format!(" = {result}"));
        if let Some(precision) = look.durations.filter(|_| self.returns()) {
            let (seconds, ns) = (self.duration_ns / 1_000_000_000, self.duration_ns % 1_000_000_000);
            line.push_str(&format!(" <{seconds}{}>", fraction(ns, precision)));
        }
        line.push('\n');
        line
    }
}

/// What stands behind the seconds, with its point.
fn fraction(ns: u64, precision: Precision) -> String {
    match precision {
        Precision::S => String::new(),
        Precision::Ms => format!(".{:03}", ns / 1_000_000),
        Precision::Us => format!(".{:06}", ns / 1000),
        Precision::Ns => format!(".{ns:09}"),
    }
}

/// Where columns are that only some captures have.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    cpu_ns: Option<usize>,
    address: Option<usize>,
    number: Option<usize>,
}

impl Places {
    fn of(schema: &StreamSchema) -> Self {
        let place = |name: &str| schema.columns.iter().position(|column| column.name == name);
        let own = |name: &str| place(name).filter(|place| *place >= StreamSchema::COMMON.len());
        Self {
            cpu_ns: own(syscall_columns::CPU),
            address: own(syscall_columns::ADDRESS),
            number: own(syscall_columns::NUMBER),
        }
    }
}

/// Prints the calls of a capture.
pub(super) struct Writer {
    reader: RowReader,
    store: Store,
    id: CaptureId,
    look: LineStyle,
    to: LineOutput,
    /// What to add to a monotonic moment for one of the wall clock.
    wall_ns: Option<i128>,
    last_ns: Option<u64>,
    threads: HashSet<u64>,
    /// Threads whose last call was not by the processor's own interface.
    abis: HashMap<u64, Abi>,
    /// The last call of each thread, by number.
    numbers: HashMap<u64, i64>,
    exited: bool,
    /// By whose calls they are.
    summaries: BTreeMap<Abi, Summary>,
    stacks: Stacks,
    /// What threads have moved whose call comes next.
    dumps: Dumps,
}

impl Writer {
    pub(super) fn new(store: Store, id: CaptureId, look: LineStyle, to: LineOutput) -> Self {
        Self {
            reader: RowReader::new(store.clone(), id),
            store,
            id,
            look,
            to,
            wall_ns: None,
            last_ns: None,
            threads: HashSet::new(),
            abis: HashMap::new(),
            numbers: HashMap::new(),
            exited: false,
            summaries: BTreeMap::new(),
            stacks: Stacks::default(),
            dumps: Dumps::default(),
        }
    }

    /// Prints what is new. Says whether anybody reads it.
    pub(super) async fn print_new(&mut self, recorder: &Recorder) -> Result<bool, Failure> {
        let failed = |error| Failure::because("reading back what was stored", error);
        if self.wall_ns.is_none() {
            let record = self.store.capture(self.id).await.map_err(failed)?;
            self.wall_ns = Some(i128::from(record.started_unix_ns) - i128::from(record.start_ns));
        }
        let rows = self.reader.new_rows().await.map_err(failed)?;
        if self.look.stacks {
            self.stacks.load(recorder, &self.store, self.id, &rows).await.map_err(failed)?;
        }
        let mut texts: BTreeMap<u64, String> = BTreeMap::new();
        let separate = self.to.is_separate();
        for row in &rows {
            let tid = match row.cells.get(StreamSchema::TID) {
                Some(ShownCell::Number(tid)) if separate => u64::try_from(*tid).unwrap_or(0),
                _ => 0,
            };
            let text = texts.entry(tid).or_default();
            self.row(row, text);
        }
        if texts.is_empty() {
            // Whether anybody reads is asked all the same.
            return self.to.put(0, "");
        }
        let mut is_read = true;
        for (tid, text) in texts {
            is_read &= self.to.put(tid, &text)?;
        }
        Ok(is_read)
    }

    fn row(&mut self, row: &StreamRow, text: &mut String) {
        if self.look.json {
            text.push_str(&self.json(row).unwrap_or_default());
            return;
        }
        let places = self.reader.schema(row.stream).map(Places::of).unwrap_or_default();
        let Some(shown) = Shown::of(row, places) else { return };
        if self.look.summary.is_some() && shown.returns() {
            let time_ns = if self.look.wall { shown.duration_ns } else { shown.cpu_ns.unwrap_or(shown.duration_ns) };
            self.summaries.entry(shown.abi).or_default().add(shown.call, time_ns, shown.is_error);
        }
        if !self.look.lines {
            return;
        }
        if shown.kind == kind::DATA {
            self.dumps.keep(shown.tid, &shown.note, shown.result, &shown.arguments);
            return;
        }
        // Where threads are not told apart, the end of one would look like that of the process.
        let of_thread = shown.kind == kind::EXIT && shown.pid != shown.tid && !self.look.many;
        if of_thread || shown.kind == kind::THREAD {
            return;
        }
        self.exited |= shown.kind == kind::EXIT;
        let unwanted = match shown.kind {
            kind::EXIT => self.look.quiet.exits || shown.killed_by().is_some_and(|signal| !self.shows_signal(signal)),
            kind::SIGNAL => !self.shows_signal(shown.call),
            _ => false,
        };
        if unwanted {
            return;
        }
        self.switched(&shown, text);
        let before = self.before(&shown);
        text.push_str(&shown.line(&before, &self.look));
        if shown.kind == kind::CALL {
            text.push_str(&self.dumps.of_call(shown.tid, shown.call, shown.result));
        }
        if self.look.stacks && matches!(shown.kind, kind::CALL | kind::SIGNAL) {
            text.push_str(&self.stacks.lines(row));
        }
    }

    fn shows_signal(&self, signal: &str) -> bool {
        self.look.signals.as_ref().is_none_or(|signals| signals.contains(signal))
    }

    /// A row as an object; its stack, which is in the last column, with its frames.
    fn json(&self, row: &StreamRow) -> Option<String> {
        let schema = self.reader.schema(row.stream)?;
        if !self.look.stacks {
            return Some(json_line(schema, &row.cells));
        }
        let (_, cells) = row.cells.split_last()?;
        let line = json_line(schema, cells);
        let begin = line.strip_suffix("}\n")?;
        Some(format!("{begin},\"{}\":{}}}\n", syscall_columns::STACK, self.stacks.values(row)))
    }

    /// Says that a thread makes calls by another interface from now on; files have calls only, as strace's.
    fn switched(&mut self, shown: &Shown<'_>, text: &mut String) {
        let is_call = matches!(shown.kind, kind::CALL | kind::UNFINISHED | kind::INSIDE);
        if self.look.in_file || !is_call || self.look.quiet.personality {
            return;
        }
        let known = self.abis.get(&shown.tid).copied().unwrap_or_default();
        if known != shown.abi {
            let before = self.before(shown);
            text.push_str(&format!("{before}[ Process PID={} runs in {} mode. ]\n", shown.tid, shown.abi.mode()));
        }
        // The processor's own is what is taken for granted.
        match shown.abi {
            Abi::Native => self.abis.remove(&shown.tid),
            abi => self.abis.insert(shown.tid, abi),
        };
    }

    /// What a line begins with: its thread where there are several, its time, its number, where it was made.
    fn before(&mut self, shown: &Shown<'_>) -> String {
        let (tid, time_ns) = (shown.tid, shown.time_ns);
        self.threads.insert(tid);
        let mut before = match (self.look.many && !self.look.separately, self.look.in_file) {
            (true, true) => format!("{tid:<5} "),
            (true, false) if self.threads.len() > 1 => format!("[pid {tid:>5}] "),
            _ => String::new(),
        };
        let wall = i128::from(time_ns) + self.wall_ns.unwrap_or(0);
        let (seconds, ns) = (wall / 1_000_000_000, u64::try_from(wall % 1_000_000_000).unwrap_or(0));
        match self.look.clock {
            Clock::None => {}
            Clock::Epoch(precision) => before.push_str(&format!("{seconds}{} ", fraction(ns, precision))),
            Clock::Day(precision) => before.push_str(&format!("{}{} ", day(seconds), fraction(ns, precision))),
            Clock::Relative(precision) => {
                let since = time_ns.saturating_sub(self.last_ns.unwrap_or(time_ns));
                let (seconds, ns) = (since / 1_000_000_000, since % 1_000_000_000);
                before.push_str(&format!("{seconds:6}{} ", fraction(ns, precision)));
            }
        }
        self.last_ns = Some(time_ns);
        if self.look.numbers {
            // What interrupts a thread outside of a call tells none: then the call before.
            let number = shown.told_number.or_else(|| self.numbers.get(&tid).copied());
            before.push_str(&number.map_or_else(|| "[????] ".to_owned(), |number| format!("[{number:>4}] ")));
            self.numbers.extend(number.map(|number| (tid, number)));
        }
        if self.look.addresses {
            let address = shown.address.map(|address| format!("[{address:016x}] "));
            before.push_str(&address.unwrap_or_else(|| format!("[{NO_ADDRESS}] ")));
        }
        before
    }

    /// How the command ended, if no line has told it, and the table.
    pub(super) fn finish(&mut self, state: TargetState) -> Result<(), Failure> {
        let mut text = String::new();
        let lines = self.look.lines && !self.look.json && !self.look.quiet.exits && !self.look.separately;
        match state {
            TargetState::Exited { signal: Some(signal), .. } if lines && !self.exited => {
                let name = signal_name(i64::from(signal)).map_or_else(|| signal.to_string(), str::to_owned);
                if self.shows_signal(&name) {
                    text.push_str(&format!("+++ killed by {name} +++\n"));
                }
            }
            TargetState::Exited { code: Some(code), .. } if lines && !self.exited && !self.look.many => {
                text.push_str(&format!("+++ exited with {code} +++\n"));
            }
            _ => {}
        }
        if let Some(order) = self.look.summary {
            text.push_str(if self.look.wall { WALL } else { ON_CPU });
            text.push_str(&tables(&self.summaries, order, &self.look.columns));
        }
        if self.look.separately {
            print_table(&text);
            return Ok(());
        }
        self.to.put(0, &text).map(|_read| ())
    }
}

/// What stands above the tables.
const ON_CPU: &str = "Time: how long calls ran on a CPU (-w: from their begin to their end)\n";
const WALL: &str = "Time: from the begin of calls to their end\n";

/// Where each thread has a file, the table goes where it would without.
#[expect(clippy::print_stderr, reason = "standard output is the command's")]
fn print_table(text: &str) {
    eprint!("{text}");
}

/// The tables of calls of 64-bit programs and of others; that of the former is there even if it is empty and the only one.
fn tables(summaries: &BTreeMap<Abi, Summary>, order: SummaryOrder, columns: &[SummaryColumn]) -> String {
    if summaries.is_empty() {
        return Summary::default().table(order, columns);
    }
    let table = |(abi, summary): (&Abi, &Summary)| match abi {
        Abi::Native => summary.table(order, columns),
        other => format!("System call usage summary for {} mode:\n{}", other.mode(), summary.table(order, columns)),
    };
    summaries.iter().map(table).collect()
}

/// The time of day where this runs.
fn day(seconds: i128) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let zoned = moment.map(|moment| moment.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(String::new, |zoned| zoned.strftime("%H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(call: &str, arguments: &str, result: i64, note: Option<&str>) -> StreamRow {
        let (number, text) =
            (|number: i64| ShownCell::Number(number.into()), |text: &str| ShownCell::Text(text.to_owned()));
        let error = if result < 0 { text("ENOENT") } else { ShownCell::Null };
        let common = [number(0), number(1), number(70), number(70), text("ls")];
        let own =
            [text(call), text(arguments), number(result), error, number(1_234_567), note.map_or(ShownCell::Null, text)];
        StreamRow { time_ns: 5, stream: 0, cells: common.into_iter().chain(own).collect(), text: None }
    }

    fn of_kind(kind: &str, row: StreamRow) -> StreamRow {
        StreamRow { cells: row.cells.into_iter().chain([ShownCell::Text(kind.to_owned())]).collect(), ..row }
    }

    fn of_abi(abi: &str, row: StreamRow) -> StreamRow {
        let row = of_kind("call", row);
        StreamRow { cells: row.cells.into_iter().chain([ShownCell::Text(abi.to_owned())]).collect(), ..row }
    }

    #[test]
    fn there_is_a_table_for_each_interface() {
        let mut summaries: BTreeMap<Abi, Summary> = BTreeMap::new();
        let tables = |summaries: &BTreeMap<Abi, Summary>| tables(summaries, SummaryOrder::Calls, &SummaryColumn::USUAL);
        assert_eq!(tables(&summaries).lines().count(), 4);
        for abi in [Abi::I386, Abi::Native] {
            summaries.entry(abi).or_default().add("getpid", 1000, false);
        }
        let text = tables(&summaries);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 11);
        assert!(lines[0].starts_with("% time") && lines[5] == "System call usage summary for 32 bit mode:", "{text}");
    }

    fn line(row: &StreamRow) -> String {
        Shown::of(row, Places::default()).unwrap().line("", &look(40, Precision::Us))
    }

    fn look(column: usize, precision: Precision) -> LineStyle {
        LineStyle { column, durations: Some(precision), ..LineStyle::default() }
    }

    #[test]
    fn results_of_raw_calls_are_numbers_but_for_errors() {
        let raw = [0, 1, 231].into_iter().collect();
        let look = LineStyle { raw, column: 0, ..LineStyle::default() };
        let cases = [
            (row("read", "0x3, 0x1000, 0x20", 27, None), "read(0x3, 0x1000, 0x20) = 0x1b\n"),
            (row("read", "0x3, 0x1000, 0x20", 0, None), "read(0x3, 0x1000, 0x20) = 0\n"),
            (row("read", "0x3, 0, 0", -2, None), "read(0x3, 0, 0) = -1 ENOENT (No such file or directory)\n"),
            (row("exit_group", "0x1", 0, None), "exit_group(0x1) = ?\n"),
            (row("openat", "AT_FDCWD", 27, None), "openat(AT_FDCWD) = 27\n"),
        ];
        for (row, expected) in &cases {
            assert_eq!(Shown::of(row, Places::default()).unwrap().line("", &look), *expected);
        }
    }

    #[test]
    fn times_are_as_exact_as_was_asked_for() {
        let row = row("close", "3", 0, None);
        let with = |precision| Shown::of(&row, Places::default()).unwrap().line("", &look(0, precision));
        let times = [Precision::S, Precision::Ms, Precision::Us, Precision::Ns].map(with);
        let expected = ["<0>", "<0.001>", "<0.001234>", "<0.001234567>"].map(|time| format!("close(3) = 0 {time}\n"));
        assert_eq!(times, expected);
    }

    #[test]
    fn lines_look_as_straces_do() {
        let cases = [
            (row("chdir", "\"/tmp\"", 0, None), "chdir(\"/tmp\")                           = 0 <0.001234>\n"),
            (
                row("openat", "AT_FDCWD, \"/nowhere/that/is\\\\n\", O_RDONLY", -2, None),
                "openat(AT_FDCWD, \"/nowhere/that/is\\n\", O_RDONLY) = -1 ENOENT (No such file or directory) <0.001234>\n",
            ),
            (row("dup", "3</a>", 4, Some("</a>")), "dup(3</a>)                              = 4</a> <0.001234>\n"),
            (row("exit_group", "0", 0, None), "exit_group(0)                           = ?\n"),
            (of_kind("unfinished", row("read", "3, ", 0, None)), "read(3,  <unfinished ...>)              = ?\n"),
            (of_kind("inside", row("read", "3, ", 0, None)), "read(3,  <detached ...>\n"),
            (of_kind("signal", row("SIGHUP", "{si_signo=SIGHUP}", 1, None)), "--- SIGHUP {si_signo=SIGHUP} ---\n"),
            (of_kind("exit", row("exited", "3", 3, None)), "+++ exited with 3 +++\n"),
            (of_kind("exit", row("killed", "SIGKILL", 9, None)), "+++ killed by SIGKILL +++\n"),
            (
                of_abi("32", row("mmap2", "NULL, 4096", 0x7f00_0000, None)),
                "mmap2(NULL, 4096)                       = 0x7f000000 <0.001234>\n",
            ),
            (of_abi("x32", row("getpid", "", 7, None)), "getpid()                                = 7 <0.001234>\n"),
            (of_kind("call", row("read", "?", 3, None)), "<... read resumed>)                     = 3 <0.001234>\n"),
        ];
        for (row, expected) in &cases {
            assert_eq!(line(row), *expected);
        }
    }
}
