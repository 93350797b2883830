//! Records of system calls, signals and ends of threads → numbers and pieces. Their layout is [`CallPlace`]; the programs that write
//! them are `bpf::syscalls`.

use bathyscope_capture::{CALL_HEADER_BYTES, CallFlags, CallPlace};
use bathyscope_catalog::syscalls::{Call, Piece};

/// The most pieces of a record that are looked at.
const MAX_PIECES: usize = 64;

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEvent {
    /// A call that has returned, or never does.
    Call,
    /// A call that its thread ended in.
    Unfinished,
    /// A call that its thread was in when the capture ended.
    Inside,
    /// A signal; the number is the signal's.
    Signal,
    /// The end of a thread.
    End(ThreadEnd),
    /// The stack of a thread, for the next call or signal of it.
    Stack,
    /// What a call has read or written, or a part of it; the call's own record follows.
    Data,
}

/// A copy of a thread's registers and of the top of its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackCopy<'a> {
    /// The next instruction.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer.
    pub bp: u64,
    /// What lies from the stack pointer on.
    pub bytes: &'a [u8],
}

/// How a thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadEnd {
    /// As `wait` tells it: the code times 256, or the signal, with 128 where the memory was written to a file.
    pub status: u32,
    /// Whether all threads of its process have ended now.
    pub is_last: bool,
    /// Whether the status is that of the whole process.
    pub is_of_process: bool,
}

/// A bit of `signal_struct.flags`: the process ends as a whole.
const GROUP_EXIT: u32 = 4;

/// A call as the programs recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord<'a> {
    /// What it tells; what is said of calls goes for the others in their own way.
    pub what: CallEvent,
    /// When it began, monotonic; without an entry, when it ended.
    pub start_ns: u64,
    /// How long it took; 0 without an entry or an exit.
    pub duration_ns: u64,
    /// What it returned; none if it does not return.
    pub result: Option<i64>,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The call's number.
    pub number: u32,
    /// The CPU on which it ended.
    pub cpu: u32,
    /// Its arguments; zeros without an entry.
    pub arguments: [u64; 6],
    /// The thread's name, with NULs.
    pub comm: &'a [u8],
    /// Whether its entry was seen.
    pub has_entry: bool,
    /// The memory that was copied.
    pub pieces: Vec<Piece<'a>>,
    /// What lies behind the header.
    pub content: &'a [u8],
    /// Of a signal and of the end of a thread: the number of the call that the thread is in or has made last, if that is known.
    pub inside: Option<u32>,
    /// Of a signal: the next instruction of its thread, if that was recorded.
    pub address: Option<u64>,
}

impl<'a> CallRecord<'a> {
    /// Reads a record; none if it is no such.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let u32_at = |at: u32| {
            let at = at as usize;
            Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        let u64_at = |at: u32| {
            let at = at as usize;
            Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
        };
        let flags = i64::from(u32_at(CallPlace::FLAGS)?);
        let mut arguments = [0; 6];
        for (index, argument) in (0_u32..).zip(&mut arguments) {
            *argument = u64_at(CallPlace::ARGUMENTS + 8 * index)?;
        }
        let used = u32_at(CallPlace::USED)? as usize;
        let content = bytes.get(CALL_HEADER_BYTES as usize..)?;
        let content = content.get(..used)?;
        let what = match flags {
            flags if flags & CallFlags::STACK != 0 => CallEvent::Stack,
            flags if flags & CallFlags::DATA != 0 => CallEvent::Data,
            flags if flags & CallFlags::SIGNAL != 0 => CallEvent::Signal,
            flags if flags & CallFlags::END != 0 => {
                CallEvent::End(thread_end([0, 4, 8, 12].map(|offset| u32_at(CallPlace::END + offset).unwrap_or(0))))
            }
            flags if flags & CallFlags::UNFINISHED != 0 => CallEvent::Unfinished,
            flags if flags & CallFlags::INSIDE != 0 => CallEvent::Inside,
            _ => CallEvent::Call,
        };
        let is_signal = what == CallEvent::Signal;
        let is_no_call = is_signal || matches!(what, CallEvent::End(_));
        let returned = flags & CallFlags::NO_RETURN == 0 && what == CallEvent::Call;
        Some(Self {
            what,
            start_ns: u64_at(CallPlace::START_NS)?,
            duration_ns: u64_at(CallPlace::DURATION_NS)?,
            result: returned.then_some(u64_at(CallPlace::RESULT)?.cast_signed()),
            pid: u32_at(CallPlace::PID)?,
            tid: u32_at(CallPlace::TID)?,
            number: u32_at(CallPlace::NUMBER)?,
            cpu: u32_at(CallPlace::CPU)?,
            arguments,
            comm: bytes.get(CallPlace::COMM as usize..CallPlace::USED as usize)?,
            has_entry: flags & CallFlags::NO_START == 0,
            pieces: if matches!(what, CallEvent::Stack | CallEvent::Data) { Vec::new() } else { pieces(content)? },
            content,
            inside: is_no_call.then_some(u64_at(CallPlace::INSIDE)?).and_then(|number| u32::try_from(number).ok()),
            address: is_signal.then_some(u64_at(CallPlace::ADDRESS)?).filter(|address| *address != 0),
        })
    }

    /// The call, to be written.
    pub fn call(&self) -> Call<'_> {
        Call {
            number: i64::from(self.number),
            arguments: self.arguments,
            result: self.result,
            unfinished: matches!(self.what, CallEvent::Unfinished | CallEvent::Inside),
            pieces: &self.pieces,
        }
    }

    /// The moment when a record was made; nothing else of it is read.
    pub fn end_ns(bytes: &[u8]) -> Option<u64> {
        let at = |at: u32| {
            let at = at as usize;
            Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
        };
        Some(at(CallPlace::START_NS)?.saturating_add(at(CallPlace::DURATION_NS)?))
    }

    /// Of a stack: what was copied.
    pub fn stack(&self) -> StackCopy<'a> {
        let [ip, sp, bp, ..] = self.arguments;
        StackCopy { ip, sp, bp, bytes: self.content }
    }

    /// Of data: how many bytes of their buffer came before them, which buffer of a vector it is, and they.
    pub fn data(&self) -> (u64, u64, &'a [u8]) {
        let [offset, buffer, ..] = self.arguments;
        (offset, buffer, self.content)
    }

    /// Of a signal: the beginning of its `siginfo_t`.
    pub fn signal(&self) -> Vec<u8> {
        self.arguments.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// A thread of a process that ends as a whole ends as its process does, whatever it did itself.
fn thread_end([code, group_code, flags, live]: [u32; 4]) -> ThreadEnd {
    let is_of_process = flags & GROUP_EXIT != 0;
    ThreadEnd { status: if is_of_process { group_code } else { code }, is_last: live == 0, is_of_process }
}

fn pieces(mut bytes: &[u8]) -> Option<Vec<Piece<'_>>> {
    let mut all = Vec::new();
    while !bytes.is_empty() && all.len() < MAX_PIECES {
        let (head, rest) = bytes.split_at_checked(8)?;
        let [argument, part, exit, _, length @ ..] = head else { return None };
        let length = i32::from_le_bytes(length.try_into().ok()?);
        let content = usize::try_from(length).ok();
        let held = content.unwrap_or(0);
        let text = rest.get(..held)?;
        all.push(Piece { argument: *argument, part: *part, exit: *exit != 0, bytes: content.map(|_| text) });
        bytes = rest.get(held.next_multiple_of(8)..)?;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<u8> {
        let mut bytes = vec![0; CALL_HEADER_BYTES as usize];
        let mut put = |at: u32, value: &[u8]| bytes[at as usize..at as usize + value.len()].copy_from_slice(value);
        put(CallPlace::START_NS, &7_u64.to_le_bytes());
        put(CallPlace::RESULT, &(-2_i64).to_le_bytes());
        put(CallPlace::NUMBER, &257_u32.to_le_bytes());
        put(CallPlace::USED, &32_u32.to_le_bytes());
        put(CallPlace::COMM, b"comm");
        bytes.extend([1, 0, 0, 0, 2, 0, 0, 0, b'x', 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([2, 0, 1, 0, 0xf2, 0xff, 0xff, 0xff]);
        bytes.extend([3, 4, 1, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn numbers_and_pieces_are_read() {
        let bytes = record();
        let read = CallRecord::read(&bytes).unwrap();
        assert_eq!((read.start_ns, read.result, read.number, read.has_entry), (7, Some(-2), 257, true));
        let piece = |argument, part, exit, bytes| Piece { argument, part, exit, bytes };
        let expected =
            [piece(1, 0, false, Some(&b"x\0"[..])), piece(2, 0, true, None), piece(3, 4, true, Some(&b""[..]))];
        assert_eq!(read.pieces, expected);
    }

    #[test]
    fn calls_that_do_not_return_signals_and_ends_are_told_apart() {
        let with = |flags: i64, end: [u32; 4]| {
            let mut bytes = record();
            bytes[CallPlace::FLAGS as usize..][..8].copy_from_slice(&flags.to_le_bytes());
            for (at, number) in end.iter().enumerate() {
                bytes[CallPlace::END as usize + 4 * at..][..4].copy_from_slice(&number.to_le_bytes());
            }
            let read = CallRecord::read(&bytes).unwrap();
            (read.what, read.result, read.call().unfinished)
        };
        assert_eq!(with(0, [0; 4]), (CallEvent::Call, Some(-2), false));
        assert_eq!(with(CallFlags::NO_RETURN, [0; 4]), (CallEvent::Call, None, false));
        assert_eq!(with(CallFlags::UNFINISHED, [0; 4]), (CallEvent::Unfinished, None, true));
        assert_eq!(with(CallFlags::INSIDE, [0; 4]), (CallEvent::Inside, None, true));
        assert_eq!(with(CallFlags::SIGNAL, [0; 4]).0, CallEvent::Signal);
        let mut signal = record();
        signal[CallPlace::FLAGS as usize..][..8].copy_from_slice(&CallFlags::SIGNAL.to_le_bytes());
        assert_eq!(CallRecord::read(&signal).unwrap().inside, None);
        signal[CallPlace::INSIDE as usize..][..8].copy_from_slice(&231_u64.to_le_bytes());
        signal[CallPlace::ADDRESS as usize..][..8].copy_from_slice(&0x40_1000_u64.to_le_bytes());
        let read = CallRecord::read(&signal).unwrap();
        assert_eq!((read.inside, read.address), (Some(231), Some(0x40_1000)));
        assert_eq!(with(CallFlags::STACK, [0; 4]).0, CallEvent::Stack);
        assert_eq!(with(CallFlags::DATA, [0; 4]).0, CallEvent::Data);
        let end = |status, is_last, is_of_process| CallEvent::End(ThreadEnd { status, is_last, is_of_process });
        assert_eq!(with(CallFlags::END, [9, 256, 4, 0]).0, end(256, true, true));
        assert_eq!(with(CallFlags::END, [9, 256, 0, 2]).0, end(9, false, false));
    }

    #[test]
    fn a_stack_is_what_lies_behind_the_header() {
        let mut bytes = record();
        bytes[CallPlace::FLAGS as usize..][..8].copy_from_slice(&CallFlags::STACK.to_le_bytes());
        for (at, register) in [0x40_1000_u64, 0x7000, 0x7040].into_iter().enumerate() {
            bytes[CallPlace::ARGUMENTS as usize + 8 * at..][..8].copy_from_slice(&register.to_le_bytes());
        }
        let stack = CallRecord::read(&bytes).unwrap().stack();
        assert_eq!((stack.ip, stack.sp, stack.bp, stack.bytes.len()), (0x40_1000, 0x7000, 0x7040, 32));
        assert_eq!(CallRecord::end_ns(&bytes), Some(7));
        assert_eq!(CallRecord::end_ns(&bytes[..9]), None);
    }

    #[test]
    fn a_record_that_is_cut_anywhere_is_refused() {
        let bytes = record();
        for length in 0..bytes.len() {
            assert_eq!(CallRecord::read(&bytes[..length]), None, "{length}");
        }
        let mut long = record();
        long[CALL_HEADER_BYTES as usize + 4] = 200;
        assert_eq!(CallRecord::read(&long), None);
    }
}
