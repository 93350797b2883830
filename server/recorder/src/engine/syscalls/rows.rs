//! Records of system calls, signals and ends of threads → rows, as far as a filter asks for them.

use std::{
    cell::{self, RefCell},
    collections::{BTreeSet, HashMap},
    io::Read as _,
};

use bathyscope_capture::{Cell, HexTexts, StackId, SyscallSpec, Target};
use bathyscope_catalog::{
    constants::Arch,
    elf::Registers,
    syscalls::{Abi, Beside, Call, Decoded, Hex, Moment, Piece, Style, decode, definition, error_of, select},
};
use bathyscope_decode::calls::{CallEvent, CallRecord};
use bathyscope_decode::perf::CopiedStack;
use bathyscope_formats::CallFilter;
use bathyscope_protocol::ProcessFile;

use super::{
    facts::{Facts, Named},
    files::{ProcessFiles, Shows},
    kinds::{self, Ends, Words, kind},
    owners::Owners,
    shown::ShownCalls,
};
use crate::{
    AgentLink,
    row::{NewCell, NewRow, PlacedStack},
};

/// The most processes whose words are kept.
const MAX_PROGRAMS: usize = 4096;
/// The most bytes of a program's words.
const MAX_WORDS_BYTES: u64 = 64 << 10;

/// Finds the stack of a process that a copy tells, and how many frames it has.
pub(crate) type PlaceStack<'a> = dyn FnMut(u32, CopiedStack) -> (StackId, usize) + 'a;

/// The most threads whose stack waits for its call.
const MAX_COPIES: usize = 1 << 10;

/// Makes rows of records.
pub(crate) struct SyscallRows {
    strings: usize,
    hex: Hex,
    verbose: bool,
    shows: Shows,
    /// Calls whose structures are not written whole, and those whose structures are read if not all are.
    abbreviated: BTreeSet<i64>,
    structures: Option<BTreeSet<i64>>,
    /// Calls whose arguments are written as numbers.
    raw: BTreeSet<i64>,
    cpu_time: bool,
    addresses: bool,
    numbers: bool,
    stacks: bool,
    /// Stacks of threads whose next record is that of the call.
    copies: RefCell<HashMap<u32, CopiedStack>>,
    /// Data of threads whose next record is that of the call.
    data: RefCell<HashMap<u32, Vec<NewRow>>>,
    /// Whether numbers tell calls of 32-bit programs from others.
    tells_abi: bool,
    fd_paths: bool,
    files: Option<ProcessFiles>,
    filter: Option<CallFilter>,
    /// Which calls are rows, where others are recorded for what they tell of descriptors.
    shown: Option<ShownCalls>,
    target: Target,
    left_out: cell::Cell<u64>,
    /// The words of programs, for filters.
    programs: RefCell<HashMap<u32, Vec<String>>>,
    ends: RefCell<Ends>,
    owners: Owners,
    link: AgentLink,
}

impl SyscallRows {
    /// `filter` is that of the spec.
    pub(crate) fn new(
        spec: &SyscallSpec,
        filter: Option<CallFilter>,
        target: &Target,
        tells_abi: bool,
        link: AgentLink,
    ) -> Self {
        let files = (spec.fd_paths || filter.is_some()).then(|| ProcessFiles::new(link.clone()));
        let hex = match spec.look.hex {
            HexTexts::None => Hex::None,
            HexTexts::NonAscii => Hex::NonAscii,
            HexTexts::Characters => Hex::Characters,
            HexTexts::All => Hex::All,
        };
        let calls_of = |words: &[String]| select(Arch::HOST, &words.join(",")).unwrap_or_default();
        let raw = calls_of(&spec.look.raw);
        Self {
            strings: usize::from(spec.string_bytes),
            hex,
            verbose: spec.look.verbose,
            shows: Shows {
                paths: !spec.look.no_paths,
                sockets: spec.look.sockets,
                devices: spec.look.devices,
                processes: spec.look.processes,
            },
            abbreviated: calls_of(&spec.look.abbreviated),
            structures: (!spec.look.structures.is_empty()).then(|| calls_of(&spec.look.structures)),
            raw,
            cpu_time: spec.cpu_time,
            addresses: spec.addresses,
            numbers: spec.numbers,
            stacks: spec.stacks,
            copies: RefCell::default(),
            data: RefCell::default(),
            tells_abi,
            fd_paths: spec.fd_paths,
            files,
            shown: ShownCalls::of(spec, filter.as_ref()),
            filter,
            target: target.clone(),
            left_out: cell::Cell::new(0),
            programs: RefCell::default(),
            ends: RefCell::default(),
            owners: Owners::new(link.clone()),
            link,
        }
    }

    /// Asks for the files of a process that is to be recorded, as long as it is certainly there.
    pub(crate) fn expect(&self, pid: u32) {
        // At once, as it may go on before a second question is answered.
        if let Some(files) = &self.files {
            files.ask(pid);
        }
        self.note_process(pid);
    }

    /// How many rows were left out by the filter since this was asked before.
    pub(crate) fn take_left_out(&self) -> u64 {
        self.left_out.take()
    }

    /// Whether there are stacks: then what processes map must be known of the moment of each record.
    pub(crate) fn has_stacks(&self) -> bool {
        self.stacks
    }

    /// The rows of a record; none if it is no record. Its end comes with them: rows come in the order of ends.
    pub(crate) fn rows(&self, bytes: &[u8], place: &mut PlaceStack<'_>) -> Option<(Vec<NewRow>, u64)> {
        let record = CallRecord::read(bytes)?;
        let end_ns = record.start_ns.saturating_add(record.duration_ns);
        if matches!(record.what, CallEvent::Stack | CallEvent::Data) {
            match record.what {
                CallEvent::Stack => self.keep_copy(&record),
                _ => self.keep_data(&record),
            }
            return Some((Vec::new(), end_ns));
        }
        let copy = self.copies.borrow_mut().remove(&record.tid);
        let mut rows = self.rows_of(&record);
        if self.stacks {
            let has_one = matches!(record.what, CallEvent::Call | CallEvent::Signal);
            let mut stack = copy.filter(|_| has_one && !rows.is_empty()).map(|copy| place(record.pid, copy));
            // Before the row of a call are those of its data.
            for row in rows.iter_mut().rev() {
                let (id, depth) = stack.take().unwrap_or_default();
                row.extend([Cell::Stack(PlacedStack { id, depth })]);
            }
        }
        Some((rows, end_ns))
    }

    fn keep_data(&self, record: &CallRecord<'_>) {
        let mut data = self.data.borrow_mut();
        if data.len() >= MAX_COPIES {
            // Of calls whose record was lost.
            self.leave_out(data.drain().map(|(_, rows)| rows.len()).sum());
        }
        let call = record.call();
        let name = definition(Arch::HOST, call.number).map_or("", |definition| definition.name);
        let mut row = kinds::data(record, name);
        row.extend(self.beside(&[], Some(call.number)));
        data.entry(record.tid).or_default().push(row);
    }

    fn keep_copy(&self, record: &CallRecord<'_>) {
        let mut copies = self.copies.borrow_mut();
        if copies.len() >= MAX_COPIES {
            // Of calls whose record was lost.
            copies.clear();
        }
        let stack = record.stack();
        let registers = Registers { ip: stack.ip, sp: stack.sp, bp: stack.bp };
        copies.insert(record.tid, CopiedStack { registers, bytes: stack.bytes.to_vec() });
    }

    fn rows_of(&self, record: &CallRecord<'_>) -> Vec<NewRow> {
        match record.what {
            CallEvent::Stack | CallEvent::Data => Vec::new(),
            CallEvent::Signal => self.asked_for(record, vec![kinds::signal(record)]),
            CallEvent::End(end) => {
                let rows = self.ends.borrow_mut().rows(record, end);
                let rows = self.asked_for(record, rows);
                if end.is_last {
                    self.gone(record.pid);
                }
                rows
            }
            CallEvent::Call | CallEvent::Unfinished | CallEvent::Inside => {
                let mut rows = self.data.borrow_mut().remove(&record.tid).unwrap_or_default();
                match self.call(record) {
                    Some(row) => rows.push(row),
                    None => {
                        self.leave_out(1 + rows.len());
                        rows.clear();
                    }
                }
                rows
            }
        }
    }

    /// What is left when everything was read.
    pub(crate) fn finish(&self) -> Vec<NewRow> {
        let mut rows = self.completed(self.ends.borrow_mut().finish(), None, None);
        if self.stacks {
            rows.iter_mut().for_each(|row| row.extend([Cell::Null]));
        }
        rows
    }

    /// Rows of what is no call, with the cells that only calls have something for.
    fn completed(&self, mut rows: Vec<NewRow>, inside: Option<u32>, address: Option<u64>) -> Vec<NewRow> {
        let (address, cpu_ns) = (address.map(u64::to_le_bytes), 0_u64.to_le_bytes());
        let piece = |argument, bytes| Piece { argument, part: 0, exit: true, bytes };
        let pieces = [
            piece(Beside::CPU_NS, Some(&cpu_ns[..])),
            piece(Beside::ADDRESS, address.as_ref().map(|bytes| &bytes[..])),
        ];
        rows.iter_mut().for_each(|row| row.extend(self.beside(&pieces, inside.map(i64::from))));
        rows
    }

    fn leave_out(&self, rows: usize) {
        self.left_out.set(self.left_out.get() + rows as u64);
    }

    /// Rows of what is no call, if they are asked for.
    fn asked_for(&self, record: &CallRecord<'_>, rows: Vec<NewRow>) -> Vec<NewRow> {
        let (call, decoded) = (record.call(), Decoded::default());
        if rows.is_empty() || self.holds(record, &call, &decoded, &[]) {
            return self.completed(rows, record.inside, record.address);
        }
        self.leave_out(rows.len());
        Vec::new()
    }

    fn holds(&self, record: &CallRecord<'_>, call: &Call<'_>, decoded: &Decoded, files: &[Named]) -> bool {
        let Some(filter) = &self.filter else { return true };
        let programs = self.programs.borrow();
        let words = programs.get(&record.pid).map(Vec::as_slice).unwrap_or_default();
        let working_directory = self.files.as_ref().and_then(|files| files.working_directory(record.pid));
        let working_directory = working_directory.as_deref();
        let (target, owners) = (&self.target, &self.owners);
        filter.holds(&Facts { record, call, decoded, files, words, working_directory, target, owners })
    }

    fn call(&self, record: &CallRecord<'_>) -> Option<NewRow> {
        self.note_process(record.pid);
        let call = record.call();
        let files = self.files.as_ref();
        let of_process = |fd: i32, moment: Moment| files?.shown(record.pid, fd, moment, self.shows);
        // A result that is a descriptor is shown with its file, so the file must be known before.
        if let Some(files) = files {
            files.learn(record, &call);
        }
        let style = Style {
            strings: self.strings,
            hex: self.hex,
            verbose: self.verbose && !self.abbreviated.contains(&call.number),
            pointers: self.structures.as_ref().is_some_and(|calls| !calls.contains(&call.number)),
            raw: self.raw.contains(&call.number),
            file_of: self.fd_paths.then_some(&of_process),
        };
        let mut decoded = decode(Arch::HOST, &call, &style);
        if !record.has_entry {
            decoded.arguments = "?".to_owned();
        }
        let named = match (&self.filter, files) {
            (Some(_), Some(files)) => files.of_call(record, &call),
            _ => Vec::new(),
        };
        self.note_program(record, &call, &decoded.name);
        let is_shown = self.shown.as_ref().is_none_or(|shown| shown.shows(record, &call));
        let holds = is_shown && self.holds(record, &call, &decoded, &named);
        if let Some(files) = files {
            files.forget(record, &call);
        }
        holds.then(|| self.row(record, &call, &decoded))
    }

    fn row(&self, record: &CallRecord<'_>, call: &Call<'_>, decoded: &Decoded) -> NewRow {
        let kind = match record.what {
            CallEvent::Unfinished => kind::UNFINISHED,
            CallEvent::Inside => kind::INSIDE,
            CallEvent::Call | CallEvent::Signal | CallEvent::End(_) | CallEvent::Stack | CallEvent::Data => kind::CALL,
        };
        let error = record.result.and_then(error_of).unwrap_or_default();
        let abi = if self.tells_abi { Abi::of(Arch::HOST, call.number).word() } else { "" };
        let words = Words { call: &decoded.name, arguments: &decoded.arguments, error, note: &decoded.note, abi };
        let mut row = kinds::row(record, kind, record.result.unwrap_or(0), &words);
        row.extend(self.beside(call.pieces, Some(call.number)));
        row
    }

    /// The cells of the columns that are only there where they were asked for.
    fn beside(&self, pieces: &[Piece<'_>], call: Option<i64>) -> Vec<NewCell> {
        let number = |which: u8| {
            let piece = pieces.iter().find(|piece| piece.argument == which).and_then(|piece| piece.bytes);
            let number = piece.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
            Cell::U64(number.unwrap_or(0))
        };
        let wanted = [(self.cpu_time, Beside::CPU_NS), (self.addresses, Beside::ADDRESS)];
        let mut cells: Vec<NewCell> =
            wanted.into_iter().filter(|(wanted, _)| *wanted).map(|(_, which)| number(which)).collect();
        if self.numbers {
            let plain = call.map(|number| number & !(Abi::I386_BIT | Abi::X32_BIT));
            cells.push(Cell::I64(plain.unwrap_or(-1)));
        }
        cells
    }

    /// Takes note of a process, if it is new.
    fn note_process(&self, pid: u32) {
        if let Some(files) = &self.files {
            files.note_process(pid);
        }
        if self.filter.is_none() || self.programs.borrow().contains_key(&pid) {
            return;
        }
        let open = self.link.call_blocking(move |client| client.open_process_file(pid, ProcessFile::Cmdline));
        let mut bytes = Vec::new();
        if let Ok(file) = open
            && let Err(error) = std::fs::File::from(file).take(MAX_WORDS_BYTES).read_to_end(&mut bytes)
        {
            tracing::debug!(pid, %error, "the arguments of a process cannot be read");
        }
        let words = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let mut words: Vec<String> = words.collect();
        words.pop_if(|last| last.is_empty());
        self.keep_program(pid, words);
    }

    fn keep_program(&self, pid: u32, words: Vec<String>) {
        let mut programs = self.programs.borrow_mut();
        if programs.len() >= MAX_PROGRAMS {
            // They are asked for again where they still run.
            programs.clear();
        }
        programs.insert(pid, words);
    }

    /// Takes note of a program that was executed, and of a process that was made.
    fn note_program(&self, record: &CallRecord<'_>, call: &Call<'_>, name: &str) {
        if self.filter.is_none() || !record.has_entry {
            return;
        }
        match (name, record.result) {
            ("execve" | "execveat", Some(0)) => {
                self.programs.borrow_mut().remove(&record.pid);
                self.keep_program(record.pid, executed_words(call));
            }
            ("clone" | "clone3" | "fork" | "vfork", Some(child @ 1..)) => {
                let words = self.programs.borrow().get(&record.pid).cloned();
                if let (Some(words), Ok(child)) = (words, u32::try_from(child)) {
                    self.keep_program(child, words);
                }
            }
            _ => {}
        }
    }

    fn gone(&self, pid: u32) {
        if let Some(files) = &self.files {
            files.gone(pid);
        }
        self.programs.borrow_mut().remove(&pid);
    }
}

/// The words that a program was executed with, as far as they were recorded.
fn executed_words(call: &Call<'_>) -> Vec<String> {
    let is_execveat = definition(Arch::HOST, call.number).is_some_and(|definition| definition.name == "execveat");
    let argument = if is_execveat { 2 } else { 1 };
    let word = |part: u8| {
        let mut pieces = call.pieces.iter().filter(|piece| (piece.argument, piece.part) == (argument, part));
        let bytes = pieces.find_map(|piece| piece.bytes)?;
        Some(String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned())
    };
    (1..u8::MAX).map_while(word).collect()
}
