//! Rows of system calls → lines in the look of strace.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{ErrorKind, Write},
};

use bathyscope_capture::{CaptureId, StreamSchema};
use bathyscope_catalog::{
    constants::{Arch, signal_name},
    syscalls::{Abi, Summary, SummaryOrder, number_of, result_text},
};
use bathyscope_protocol::TargetState;
use bathyscope_store::Store;
use bathyscope_views::Cell;

use crate::{
    Failure,
    cli::trace::rows::{Row, RowReader, json_line},
    recorder::syscall_kinds::kind,
};

/// The column in which the equals sign stands, if what is before it is shorter.
const RESULT_COLUMN: usize = 40;

/// Which time a line begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    None,
    /// `09:15:02`.
    Day,
    /// `09:15:02.123456`.
    DayMicroseconds,
    /// `1795327056.769396`.
    Epoch,
    /// Since the call before.
    Relative,
}

/// How lines look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) clock: Clock,
    pub(super) durations: bool,
    pub(super) json: bool,
    pub(super) lines: bool,
    pub(super) summary: Option<SummaryOrder>,
    pub(super) in_file: bool,
    /// Whether there may be several processes.
    pub(super) many: bool,
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
}

impl<'a> Shown<'a> {
    /// The columns of `recorder::syscall_rows`, in their order.
    fn of(row: &'a Row) -> Option<Self> {
        let number = |at: usize| match row.cells.get(at) {
            Some(Cell::Number(number)) => *number,
            _ => 0,
        };
        let text = |at: usize| match row.cells.get(at) {
            Some(Cell::Text(text)) => text.as_str(),
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

    /// `NAME(ARGUMENTS) = RESULT`, after `before`.
    fn line(&self, before: &str, with_duration: bool) -> String {
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
        while line.len() + 1 < RESULT_COLUMN {
            line.push(' ');
        }
        let number = number_of(Arch::HOST, self.abi, self.call).unwrap_or(-1);
        let result = result_text(Arch::HOST, number, self.returns().then_some(self.result), &self.note);
        line.push_str(&format!(" = {result}"));
        if with_duration && self.returns() {
            line.push_str(&format!(
                " <{}.{:06}>",
                self.duration_ns / 1_000_000_000,
                self.duration_ns / 1000 % 1_000_000
            ));
        }
        line.push('\n');
        line
    }
}

/// Prints the calls of a capture.
pub(super) struct Writer {
    reader: RowReader,
    store: Store,
    id: CaptureId,
    look: Look,
    to: Box<dyn Write>,
    /// What to add to a monotonic moment for one of the wall clock.
    wall_ns: Option<i128>,
    last_ns: Option<u64>,
    threads: HashSet<u64>,
    /// Threads whose last call was not by the processor's own interface.
    abis: HashMap<u64, Abi>,
    exited: bool,
    /// By whose calls they are.
    summaries: BTreeMap<Abi, Summary>,
}

impl Writer {
    pub(super) fn new(store: Store, id: CaptureId, look: Look, to: Box<dyn Write>) -> Self {
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
            exited: false,
            summaries: BTreeMap::new(),
        }
    }

    /// Prints what is new. Says whether anybody reads it.
    pub(super) async fn print_new(&mut self) -> Result<bool, Failure> {
        let failed = |error| Failure::because("reading back what was stored", error);
        if self.wall_ns.is_none() {
            let record = self.store.capture(self.id).await.map_err(failed)?;
            self.wall_ns = Some(i128::from(record.started_unix_ns) - i128::from(record.start_ns));
        }
        let rows = self.reader.new_rows().await.map_err(failed)?;
        let mut text = String::new();
        for row in &rows {
            self.row(row, &mut text);
        }
        self.put(&text)
    }

    fn put(&mut self, text: &str) -> Result<bool, Failure> {
        match self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::because("printing calls", error)),
        }
    }

    fn row(&mut self, row: &Row, text: &mut String) {
        if self.look.json {
            if let Some(schema) = self.reader.schema(row.stream) {
                text.push_str(&json_line(schema, &row.cells));
            }
            return;
        }
        let Some(shown) = Shown::of(row) else { return };
        if self.look.summary.is_some() && shown.returns() {
            self.summaries.entry(shown.abi).or_default().add(shown.call, shown.duration_ns, shown.is_error);
        }
        if !self.look.lines {
            return;
        }
        // Where threads are not told apart, the end of one would look like that of the process.
        let of_thread = shown.kind == kind::EXIT && shown.pid != shown.tid && !self.look.many;
        if of_thread || shown.kind == kind::THREAD {
            return;
        }
        self.exited |= shown.kind == kind::EXIT;
        self.switched(&shown, text);
        let before = self.before(shown.tid, shown.time_ns);
        text.push_str(&shown.line(&before, self.look.durations));
    }

    /// Says that a thread makes calls by another interface from now on; files have calls only, as strace's.
    fn switched(&mut self, shown: &Shown<'_>, text: &mut String) {
        let is_call = matches!(shown.kind, kind::CALL | kind::UNFINISHED | kind::INSIDE);
        if self.look.in_file || !is_call {
            return;
        }
        let known = self.abis.get(&shown.tid).copied().unwrap_or_default();
        if known != shown.abi {
            let before = self.before(shown.tid, shown.time_ns);
            text.push_str(&format!("{before}[ Process PID={} runs in {} mode. ]\n", shown.tid, shown.abi.mode()));
        }
        // The processor's own is what is taken for granted.
        match shown.abi {
            Abi::Native => self.abis.remove(&shown.tid),
            abi => self.abis.insert(shown.tid, abi),
        };
    }

    /// What a line begins with: its thread where there are several, and its time.
    fn before(&mut self, tid: u64, time_ns: u64) -> String {
        self.threads.insert(tid);
        let mut before = match (self.look.many, self.look.in_file) {
            (true, true) => format!("{tid:<5} "),
            (true, false) if self.threads.len() > 1 => format!("[pid {tid:>5}] "),
            _ => String::new(),
        };
        let wall = i128::from(time_ns) + self.wall_ns.unwrap_or(0);
        let (seconds, micros) = (wall / 1_000_000_000, wall / 1000 % 1_000_000);
        match self.look.clock {
            Clock::None => {}
            Clock::Epoch => before.push_str(&format!("{seconds}.{micros:06} ")),
            Clock::Day => before.push_str(&format!("{} ", day(seconds))),
            Clock::DayMicroseconds => before.push_str(&format!("{}.{micros:06} ", day(seconds))),
            Clock::Relative => {
                let since = time_ns.saturating_sub(self.last_ns.unwrap_or(time_ns));
                before.push_str(&format!("{:6}.{:06} ", since / 1_000_000_000, since / 1000 % 1_000_000));
            }
        }
        self.last_ns = Some(time_ns);
        before
    }

    /// How the command ended, if no line has told it, and the table.
    pub(super) fn finish(&mut self, state: TargetState) -> Result<(), Failure> {
        let mut text = String::new();
        let lines = self.look.lines && !self.look.json;
        match state {
            TargetState::Exited { signal: Some(signal), .. } if lines && !self.exited => {
                let name = signal_name(i64::from(signal)).map_or_else(|| signal.to_string(), str::to_owned);
                text.push_str(&format!("+++ killed by {name} +++\n"));
            }
            TargetState::Exited { code: Some(code), .. } if lines && !self.exited && !self.look.many => {
                text.push_str(&format!("+++ exited with {code} +++\n"));
            }
            _ => {}
        }
        if let Some(order) = self.look.summary {
            text.push_str(&tables(&self.summaries, order));
        }
        self.put(&text).map(|_read| ())
    }
}

/// The tables of calls of 64-bit programs and of others; that of the former is there even if it is empty and the only one.
fn tables(summaries: &BTreeMap<Abi, Summary>, order: SummaryOrder) -> String {
    if summaries.is_empty() {
        return Summary::default().table(order);
    }
    let table = |(abi, summary): (&Abi, &Summary)| match abi {
        Abi::Native => summary.table(order),
        other => format!("System call usage summary for {} mode:\n{}", other.mode(), summary.table(order)),
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

    fn row(call: &str, arguments: &str, result: i64, note: Option<&str>) -> Row {
        let (number, text) = (|number: i64| Cell::Number(number.into()), |text: &str| Cell::Text(text.to_owned()));
        let error = if result < 0 { text("ENOENT") } else { Cell::Null };
        let common = [number(0), number(1), number(70), number(70), text("ls")];
        let own =
            [text(call), text(arguments), number(result), error, number(1_234_567), note.map_or(Cell::Null, text)];
        Row { time_ns: 5, stream: 0, cells: common.into_iter().chain(own).collect() }
    }

    fn of_kind(kind: &str, row: Row) -> Row {
        Row { cells: row.cells.into_iter().chain([Cell::Text(kind.to_owned())]).collect(), ..row }
    }

    fn of_abi(abi: &str, row: Row) -> Row {
        let row = of_kind("call", row);
        Row { cells: row.cells.into_iter().chain([Cell::Text(abi.to_owned())]).collect(), ..row }
    }

    #[test]
    fn there_is_a_table_for_each_interface() {
        let mut summaries: BTreeMap<Abi, Summary> = BTreeMap::new();
        assert_eq!(tables(&summaries, SummaryOrder::Calls).lines().count(), 4);
        for abi in [Abi::I386, Abi::Native] {
            summaries.entry(abi).or_default().add("getpid", 1000, false);
        }
        let text = tables(&summaries, SummaryOrder::Calls);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 11);
        assert!(lines[0].starts_with("% time") && lines[5] == "System call usage summary for 32 bit mode:", "{text}");
    }

    fn line(row: &Row) -> String {
        Shown::of(row).unwrap().line("", true)
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
