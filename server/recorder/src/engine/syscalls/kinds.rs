//! What rows of a capture of system calls are: calls, calls that have not returned, signals, ends of threads.

use std::collections::HashMap;

use bathyscope_capture::{Cell, Row};
use bathyscope_catalog::{constants::signal_name, syscalls::signal_text};
use bathyscope_decode::calls::{CallRecord, ThreadEnd};

use crate::row::NewRow;

/// The words of the column `kind`.
pub mod kind {
    /// A call that has returned or never does.
    pub const CALL: &str = "call";
    /// A call that its thread ended in. Its result and what it would have filled are not known.
    pub const UNFINISHED: &str = "unfinished";
    /// A call that its thread was in when the capture ended.
    pub const INSIDE: &str = "inside";
    /// A signal that was delivered: its name as `call`, its `siginfo_t` as `args`, its number as `result`.
    pub const SIGNAL: &str = "signal";
    /// The end of a thread: `exited` with its code, or `killed` by a signal. That of the first thread is that of its
    /// process, and comes when all threads have ended.
    pub const EXIT: &str = "exit";
    /// What a call has read or written, before the row of the call: in base sixteen as `args`, how many bytes of its buffer came
    /// before as `result`, which buffer of a vector it is as `note`.
    pub const DATA: &str = "data";
    /// The end of a process's first thread, where others of it were still there in the end.
    pub const THREAD: &str = "thread exit";
}

/// The most processes whose first thread has ended before the others that are kept.
const MAX_WAITING: usize = 4096;

/// The texts of a row; empty ones are none.
#[derive(Debug, Default)]
pub(super) struct Words<'a> {
    pub(super) call: &'a str,
    pub(super) arguments: &'a str,
    pub(super) error: &'a str,
    pub(super) note: &'a str,
    /// Whose call it is; nothing of what is no call, and where the kernel does not tell.
    pub(super) abi: &'a str,
}

/// A row of this record.
pub(super) fn row(record: &CallRecord<'_>, kind: &str, result: i64, words: &Words<'_>) -> NewRow {
    let name = |text: &str| Cell::Text(text.as_bytes().to_vec());
    let text = |text: &str| if text.is_empty() { Cell::Null } else { name(text) };
    let comm = record.comm.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
    let mut row = Row::common(record.start_ns, record.cpu, [record.pid, record.tid], comm);
    row.cells.extend([
        name(words.call),
        name(words.arguments),
        Cell::I64(result),
        text(words.error),
        Cell::U64(record.duration_ns),
        text(words.note),
        name(kind),
        text(words.abi),
    ]);
    NewRow { stream: 0, row }
}

/// The row of a signal.
pub(super) fn signal(record: &CallRecord<'_>) -> NewRow {
    let number = i64::from(record.number);
    let (name, info) = signal_text(number, &record.signal());
    row(record, kind::SIGNAL, number, &Words { call: &name, arguments: &info, ..Words::default() })
}

/// The row of a piece of what a call has read or written.
pub(super) fn data(record: &CallRecord<'_>, call: &str) -> NewRow {
    let (offset, buffer, bytes) = record.data();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    let words = Words { call, arguments: &hex, note: &buffer.to_string(), ..Words::default() };
    row(record, kind::DATA, offset, &words)
}

/// The row of the end of a thread, or of its process.
fn end(record: &CallRecord<'_>, status: u32, kind: &str) -> NewRow {
    let (code, signal) = (i64::from(status >> 8 & 0xff), i64::from(status & 0x7f));
    if signal == 0 {
        let words = Words { call: "exited", arguments: &code.to_string(), ..Words::default() };
        return row(record, kind, code, &words);
    }
    let name = signal_name(signal).map_or_else(|| format!("SIG_{signal}"), str::to_owned);
    let name = if status & 0x80 == 0 { name } else { format!("{name} (core dumped)") };
    row(record, kind, signal, &Words { call: "killed", arguments: &name, ..Words::default() })
}

/// A process whose first thread has ended before others.
#[derive(Debug)]
struct UnendedProcess {
    comm: Vec<u8>,
    cpu: u32,
    start_ns: u64,
    status: u32,
}

impl UnendedProcess {
    fn record(&self, pid: u32, start_ns: u64) -> CallRecord<'_> {
        CallRecord {
            what: bathyscope_decode::calls::CallEvent::Call,
            start_ns,
            duration_ns: 0,
            result: None,
            pid,
            tid: pid,
            number: 0,
            cpu: self.cpu,
            arguments: [0; 6],
            comm: &self.comm,
            has_entry: true,
            pieces: Vec::new(),
            content: &[],
            inside: None,
            address: None,
        }
    }
}

/// Ends of threads, of which that of a process's first thread counts when all have ended.
#[derive(Debug, Default)]
pub(super) struct Ends {
    waiting: HashMap<u32, UnendedProcess>,
}

impl Ends {
    /// The rows that follow from the end of a thread: as many as ends, sooner or later.
    pub(super) fn rows(&mut self, record: &CallRecord<'_>, ended: ThreadEnd) -> Vec<NewRow> {
        if record.pid != record.tid {
            let mut rows = vec![end(record, ended.status, kind::EXIT)];
            if ended.is_last
                && let Some(first) = self.waiting.remove(&record.pid)
            {
                let status = if ended.is_of_process { ended.status } else { first.status };
                rows.push(end(&first.record(record.pid, record.start_ns), status, kind::EXIT));
            }
            return rows;
        }
        if ended.is_last || self.waiting.len() >= MAX_WAITING {
            return vec![end(record, ended.status, kind::EXIT)];
        }
        let (comm, cpu, start_ns) = (record.comm.to_vec(), record.cpu, record.start_ns);
        let waiting = UnendedProcess { comm, cpu, start_ns, status: ended.status };
        // Another thread has executed a program since, and became the first: the one before has no other end.
        let before = self.waiting.insert(record.pid, waiting);
        before
            .map(|first| end(&first.record(record.pid, first.start_ns), first.status, kind::THREAD))
            .into_iter()
            .collect()
    }

    /// The rows of first threads whose processes went on.
    pub(super) fn finish(&mut self) -> Vec<NewRow> {
        let mut all: Vec<(u32, UnendedProcess)> = self.waiting.drain().collect();
        all.sort_by_key(|(_, first)| first.start_ns);
        all.iter().map(|(pid, first)| end(&first.record(*pid, first.start_ns), first.status, kind::THREAD)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(start_ns: u64) -> UnendedProcess {
        UnendedProcess { comm: b"made".to_vec(), cpu: 0, start_ns, status: 0 }
    }

    fn told(rows: &[NewRow]) -> Vec<String> {
        let texts = |row: &NewRow| {
            let cells = row.shown(0);
            let text = |at: usize| match cells.get(at) {
                Some(bathyscope_capture::ShownCell::Text(text)) => text.clone(),
                Some(bathyscope_capture::ShownCell::Number(number)) => number.to_string(),
                _ => String::new(),
            };
            format!("{} {} {} {}", text(3), text(5), text(6), text(11))
        };
        rows.iter().map(texts).collect()
    }

    #[test]
    fn the_end_of_a_process_is_told_when_all_its_threads_have_ended() {
        let mut ends = Ends::default();
        let mut rows = |tid, status, is_last, is_of_process| {
            let first = first(u64::from(tid));
            let (record, end) =
                (CallRecord { tid, ..first.record(7, first.start_ns) }, ThreadEnd { status, is_last, is_of_process });
            told(&ends.rows(&record, end))
        };
        assert_eq!(rows(7, 3 << 8, true, true), ["7 exited 3 exit"]);
        assert_eq!(rows(7, 0, false, false), Vec::<String>::new());
        assert_eq!(rows(8, 0, false, false), ["8 exited 0 exit"]);
        assert_eq!(rows(9, 5 << 8, true, true), ["9 exited 5 exit", "7 exited 5 exit"]);
        assert_eq!(rows(7, 1 << 8, false, false), Vec::<String>::new());
        assert_eq!(rows(8, 0, true, false), ["8 exited 0 exit", "7 exited 1 exit"]);
        assert_eq!(rows(7, 0x8b, true, true), ["7 killed SIGSEGV (core dumped) exit"]);
        assert_eq!(rows(7, 0, false, false), Vec::<String>::new());
        assert_eq!(rows(7, 9, false, false), ["7 exited 0 thread exit"]);
        assert_eq!(told(&ends.finish()), ["7 killed SIGKILL thread exit"]);
    }
}
