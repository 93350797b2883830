//! The layout of records of system calls, which programs write and `decode` reads.

/// Bytes of a record of a call before its pieces.
pub const CALL_HEADER_BYTES: u32 = 120;

/// Where a record has what, little endian. After the header come pieces: argument, part, 1 if copied at the exit, 0
/// (a byte each), the length or a negative error (`i32`), then the bytes, filled up to a multiple of 8.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the fields of a record, explained by their names")]
pub struct CallPlace;

#[allow(missing_docs, reason = "the fields of a record, explained by their names")]
impl CallPlace {
    pub const START_NS: u32 = 0;
    pub const DURATION_NS: u32 = 8;
    pub const RESULT: u32 = 16;
    pub const PID: u32 = 24;
    pub const TID: u32 = 28;
    pub const NUMBER: u32 = 32;
    pub const CPU: u32 = 36;
    pub const ARGUMENTS: u32 = 40;
    pub const COMM: u32 = 88;
    /// Of the end of a thread: how it ended, as the kernel has it.
    pub const END: u32 = 40;
    /// Of what is no call: the number of the call that the thread is in or has made last, negative if that is not known.
    pub const INSIDE: u32 = 16;
    /// Of a signal: the next instruction of its thread, 0 if that is not recorded.
    pub const ADDRESS: u32 = 112;
    /// Bytes of pieces.
    pub const USED: u32 = 104;
    /// [`CallFlags`].
    pub const FLAGS: u32 = 108;
    /// Bits of entry pieces that could not be read, tried again at the exit.
    pub const FAILED: u32 = 112;
    /// Whether a path was the one asked for.
    pub const MATCHED: u32 = 116;
    /// The call's place in the table, of 2 bytes as the one before.
    pub const PLACE: u32 = 118;
}

/// Bits of [`CallPlace::FLAGS`].
#[derive(Clone, Copy, Debug)]
pub struct CallFlags;

impl CallFlags {
    /// Its thread is in the call.
    pub const ACTIVE: i64 = 1;
    /// Its entry was not seen: there are no arguments, and the start is the moment of its end.
    pub const NO_START: i64 = 2;
    /// It does not return: there is no result.
    pub const NO_RETURN: i64 = 4;
    /// Its thread ended in it.
    pub const UNFINISHED: i64 = 8;
    /// Its thread was still in it when the capture ended.
    pub const INSIDE: i64 = 16;
    /// No call but a signal: the number is the signal's, and instead of arguments there is the beginning of its
    /// `siginfo_t`.
    pub const SIGNAL: i64 = 32;
    /// No call but the end of a thread: how it ended, as the kernel has it.
    pub const END: i64 = 64;
    /// No call but a copy of a thread's stack: instead of arguments there are its next instruction, its stack pointer and its
    /// frame pointer, and instead of pieces the bytes from the stack pointer on.
    pub const STACK: i64 = 128;
    /// No call but what one has read or written: instead of arguments there are how many bytes of the buffer came before, and which
    /// buffer it is, and instead of pieces the bytes.
    pub const DATA: i64 = 256;
}
