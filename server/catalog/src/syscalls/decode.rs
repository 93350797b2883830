//! A call with the memory that was copied → text.

use super::{
    abi::Abi,
    address::socket_address,
    grab::{Beside, Moment},
    name_set::{map_flags, socket_type},
    sets,
    siginfo::signal_text,
    special,
    structs::{device, epoll_event, mode, signal, structure},
    table::{ArgumentKind, CallArgument, CallDefinition, Returns, definition, set},
    text::{Bytes, octal, pointer, put, quoted, quoted_hex, quoted_with_hex},
};
use crate::constants::{Arch, errno_name, errno_text};

/// Errors of the kernel's that a program never sees: the call is made again, or a signal handler runs first.
const INTERNAL_ERRORS: [(i64, &str, &str); 4] = [
    (512, "ERESTARTSYS", "To be restarted if SA_RESTART is set"),
    (513, "ERESTARTNOINTR", "To be restarted"),
    (514, "ERESTARTNOHAND", "To be restarted if no handler"),
    (516, "ERESTART_RESTARTBLOCK", "Interrupted by signal"),
];
/// The most elements of an array that are shown.
const MAX_ELEMENTS: usize = 32;
/// `AT_FDCWD`.
const WORKING_DIRECTORY: i32 = -100;

/// Memory that was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The argument that points to it.
    pub argument: u8,
    /// Which part of it: 0, or what follows from that (words of `execve`, buffers of a vector).
    pub part: u8,
    /// Whether it was copied after the call had run.
    pub exit: bool,
    /// The bytes; none if they could not be read.
    pub bytes: Option<&'a [u8]>,
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Its number.
    pub number: i64,
    /// Its arguments; those that it does not take are anything.
    pub arguments: [u64; 6],
    /// What it returned, an error as a negative number; none if it did not return.
    pub result: Option<i64>,
    /// Whether it had not returned when its thread or the capture ended: what it would have filled is not shown then.
    pub unfinished: bool,
    /// The memory.
    pub pieces: &'a [Piece<'a>],
}

/// How calls are written.
#[derive(Clone, Copy, Default)]
pub struct Style<'a> {
    /// The most bytes of a text that is no path.
    pub strings: usize,
    /// Which texts are in base sixteen.
    pub hex: Hex,
    /// Whether structures are written whole.
    pub verbose: bool,
    /// Whether structures are written as their addresses; texts are written all the same.
    pub pointers: bool,
    /// Whether all arguments are written as numbers in base sixteen.
    pub raw: bool,
    /// What a descriptor of the process is, if that is shown; -100 asks for the working directory.
    pub file_of: Option<&'a FileOf<'a>>,
}

/// Tells what a descriptor is: before the call was made, or after it.
pub type FileOf<'a> = dyn Fn(i32, Moment) -> Option<FileText> + 'a;

/// What a descriptor is, to be written behind its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileText {
    /// A path, which may have any bytes; of a file that was removed it ends with ` (deleted)`, as the kernel writes it.
    Path(String),
    /// Anything else, written so that it can be shown.
    Plain(String),
}

impl FileText {
    /// In `<>`.
    fn written(&self) -> String {
        const REMOVED: &str = " (deleted)";
        match self {
            Self::Plain(text) => format!("<{text}>"),
            Self::Path(path) => {
                let (path, removed) =
                    path.strip_suffix(REMOVED).map_or((path.as_str(), ""), |path| (path, REMOVED.trim_start()));
                let text = unquoted(path.as_bytes()).replace('<', "\\74").replace('>', "\\76");
                format!("<{text}>{removed}")
            }
        }
    }
}

/// Text as it is written in quotes, without these.
pub fn unquoted(bytes: &[u8]) -> String {
    let mut text = String::new();
    quoted(&mut text, bytes);
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// The protocol of a netlink socket, such as `ROUTE`.
pub fn netlink_protocol(number: u64) -> Option<&'static str> {
    set("netlink").name_of(number)?.strip_prefix("NETLINK_")
}

/// Which texts are written in base sixteen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hex {
    /// None: what cannot be printed is in base eight.
    #[default]
    None,
    /// Those that have something that cannot be printed.
    NonAscii,
    /// None, but what cannot be printed is in base sixteen.
    Characters,
    /// All.
    All,
}

impl Hex {
    /// Appends text in quotes.
    pub(super) fn quoted(self, out: &mut String, bytes: &[u8]) {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t'..=b'\r');
        match self {
            Self::None => quoted(out, bytes),
            Self::Characters => quoted_with_hex(out, bytes),
            Self::NonAscii if bytes.iter().all(is_plain) => quoted(out, bytes),
            Self::NonAscii | Self::All => quoted_hex(out, bytes),
        }
    }
}

impl std::fmt::Debug for Style<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Style").field("strings", &self.strings).finish_non_exhaustive()
    }
}

/// A call in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Its name; `syscall_0x1f4` of a number that has none.
    pub name: String,
    /// Its arguments, without the parentheses.
    pub arguments: String,
    /// What is said after the result, without parentheses; a file in `<>`. Mostly empty.
    pub note: String,
}

/// Writes a call in words.
pub fn decode(arch: Arch, call: &Call<'_>, style: &Style<'_>) -> Decoded {
    let Some(definition) = definition(arch, call.number) else { return unknown(arch, call) };
    let abi = Abi::of(arch, call.number);
    let mut call = *call;
    if abi == Abi::I386 {
        // What is above them in the registers is not looked at.
        call.arguments.iter_mut().for_each(|argument| *argument &= 0xffff_ffff);
    }
    let texts: Vec<Piece<'_>>;
    if style.pointers {
        let is_text = |piece: &&Piece<'_>| {
            let of = |argument: &&CallArgument| argument.register == piece.argument;
            let kinds = definition.arguments.iter().filter(of).map(|argument| argument.kind);
            piece.argument >= Beside::INODE || kinds.into_iter().any(ArgumentKind::is_text)
        };
        texts = call.pieces.iter().filter(is_text).copied().collect();
        call.pieces = &texts;
    }
    let call = &call;
    if style.raw {
        return Decoded { name: definition.name.to_owned(), arguments: raw(definition, call), note: String::new() };
    }
    let (out, note) = (String::with_capacity(64), String::new());
    let mut writer = CallWriter { call, abi, definition, style, out, note, moment: Moment::Entry };
    if special::write(arch, &mut writer).is_none() {
        writer.arguments();
    }
    let returns_fd = definition.returns == Returns::Fd || writer.note == special::DESCRIPTOR;
    if returns_fd {
        writer.note.clear();
        writer.moment = Moment::Exit;
        if let Some(file) = call.result.and_then(|fd| i32::try_from(fd).ok()).and_then(|fd| writer.file_of(fd)) {
            writer.note = file;
        }
    }
    Decoded { name: definition.name.to_owned(), arguments: writer.out, note: writer.note }
}

/// The arguments that a call takes, as numbers.
fn raw(definition: &CallDefinition, call: &Call<'_>) -> String {
    let mut arguments = String::new();
    for argument in definition.arguments.iter().filter(|argument| argument.kind != ArgumentKind::Skip) {
        if !arguments.is_empty() {
            arguments.push_str(", ");
        }
        hex(&mut arguments, value(call, usize::from(argument.register)));
    }
    arguments
}

fn unknown(arch: Arch, call: &Call<'_>) -> Decoded {
    let mut arguments = String::new();
    for (at, argument) in call.arguments.iter().enumerate() {
        if at > 0 {
            arguments.push_str(", ");
        }
        hex(&mut arguments, *argument);
    }
    let number = if Abi::of(arch, call.number) == Abi::I386 { call.number & !Abi::I386_BIT } else { call.number };
    Decoded { name: format!("syscall_{number:#x}"), arguments, note: String::new() }
}

/// The name of the error that a result is, such as `ENOENT`; none of other results and of numbers without a name.
pub fn error_of(result: i64) -> Option<&'static str> {
    let number = failed(result).then_some(result.unsigned_abs() as i64)?;
    let internal = INTERNAL_ERRORS.iter().find(|(known, _, _)| *known == number).map(|(_, name, _)| *name);
    internal.or_else(|| errno_name(number))
}

fn failed(result: i64) -> bool {
    (-4095..0).contains(&result)
}

/// What stands after the equals sign, as strace writes it: `3`, `-1 ENOENT (No such file or directory)`, `0x7f00`,
/// `1 ([{fd=3, revents=POLLIN}])`, `?`.
pub fn result_text(arch: Arch, number: i64, result: Option<i64>, note: &str) -> String {
    let Some(result) = result else { return "?".to_owned() };
    if failed(result) {
        return error_text(result);
    }
    let returns = definition(arch, number).map_or(Returns::Number, |definition| definition.returns);
    let mut out = String::new();
    let mut named = "";
    match returns {
        Returns::Hex => hex(&mut out, result as u64),
        Returns::Octal => put(&mut out, format_args!("0{result:02o}")),
        Returns::Named(name) => {
            put(&mut out, format_args!("{result}"));
            named = set(name).name_of(result as u64).unwrap_or("");
        }
        Returns::Number | Returns::Fd | Returns::Never if note.starts_with("flags") => hex(&mut out, result as u64),
        Returns::Number | Returns::Fd | Returns::Never => put(&mut out, format_args!("{result}")),
    }
    match (note, named) {
        ("", "") => {}
        (note, _) if note.starts_with('<') => out.push_str(note),
        ("", named) => put(&mut out, format_args!(" ({named})")),
        (note, _) => put(&mut out, format_args!(" ({note})")),
    }
    out
}

fn error_text(result: i64) -> String {
    let number = result.unsigned_abs() as i64;
    if let Some((_, name, words)) = INTERNAL_ERRORS.iter().find(|(known, _, _)| *known == number) {
        return format!("? {name} ({words})");
    }
    match errno_name(number) {
        Some(name) => format!("-1 {name} ({})", errno_text(number).unwrap_or("?")),
        None => format!("-1 (errno {number})"),
    }
}

pub(super) fn hex(out: &mut String, number: u64) {
    match number {
        0 => out.push('0'),
        number => put(out, format_args!("{number:#x}")),
    }
}

/// An argument's value.
pub(super) fn value(call: &Call<'_>, at: usize) -> u64 {
    call.arguments.get(at).copied().unwrap_or(0)
}

/// A call that is being written.
pub(super) struct CallWriter<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) abi: Abi,
    pub(super) definition: &'static CallDefinition,
    pub(super) style: &'a Style<'a>,
    pub(super) out: String,
    pub(super) note: String,
    /// Of which moment descriptors are told: what a call has filled is of its end.
    moment: Moment,
}

impl<'a> CallWriter<'a> {
    /// What was copied of an argument; what was copied at the entry, unless `exit`. Bytes that could be read go first.
    pub(super) fn piece(&self, at: usize, part: usize, exit: bool) -> Option<&'a [u8]> {
        let of = |piece: &&Piece<'a>| usize::from(piece.argument) == at && usize::from(piece.part) == part;
        let mut pieces = self.call.pieces.iter().filter(of).filter(|piece| piece.bytes.is_some());
        match exit {
            true => pieces.find(|piece| piece.exit)?.bytes,
            false => pieces.next()?.bytes,
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.call.result.is_none_or(failed)
    }

    pub(super) fn comma(&mut self) {
        if !self.out.is_empty() {
            self.out.push_str(", ");
        }
    }

    /// All arguments, one after the other.
    fn arguments(&mut self) {
        for argument in &self.definition.arguments {
            if self.is_left_out(argument.kind) {
                continue;
            }
            self.comma();
            if self.call.unfinished && argument.out {
                return;
            }
            self.moment = if argument.out { Moment::Exit } else { Moment::Entry };
            self.argument(usize::from(argument.register), argument);
        }
        self.moment = Moment::Entry;
        match self.definition.like {
            "poll" | "ppoll" => self.poll_note(),
            "select" | "pselect6" => sets::select_note(self),
            _ => {}
        }
    }

    fn is_left_out(&self, kind: ArgumentKind) -> bool {
        match kind {
            ArgumentKind::Skip => true,
            ArgumentKind::OpenMode => {
                let at = self.definition.arguments.iter().position(|argument| argument.kind == ArgumentKind::Flags);
                value(self.call, at.unwrap_or(0)) & (0o100 | 0o20_000_000) == 0
            }
            ArgumentKind::MremapAddress => value(self.call, 3) & 2 == 0,
            ArgumentKind::Dev => {
                self.definition.name.starts_with("mknod") && {
                    let at =
                        self.definition.arguments.iter().position(|argument| argument.kind == ArgumentKind::ModeType);
                    !matches!(value(self.call, at.unwrap_or(0)) & 0o170_000, 0o020_000 | 0o060_000)
                }
            }
            _ => false,
        }
    }

    pub(super) fn argument(&mut self, at: usize, argument: &CallArgument) {
        if !self.scalar(at, argument) && !self.name(at, argument) {
            self.memory(at, argument);
        }
    }

    /// Writes an argument that is a number; says whether it was one.
    #[expect(clippy::cast_possible_truncation, reason = "the kernel takes the low half of such arguments")]
    fn scalar(&mut self, at: usize, argument: &CallArgument) -> bool {
        let number = value(self.call, at);
        match argument.kind {
            ArgumentKind::Int | ArgumentKind::Pid => put(&mut self.out, format_args!("{}", number as i32)),
            ArgumentKind::Uint => put(&mut self.out, format_args!("{}", number as u32)),
            ArgumentKind::Long if self.abi == Abi::I386 => put(&mut self.out, format_args!("{}", number as i32)),
            ArgumentKind::Offset64 => {
                let offset = self.two_words(at, at + 1).cast_signed();
                put(&mut self.out, format_args!("{offset}"));
            }
            ArgumentKind::SeekOffset => {
                let offset = self.two_words(at + 1, at).cast_signed();
                put(&mut self.out, format_args!("{offset}"));
            }
            ArgumentKind::PageOffset => hex(&mut self.out, number * 4096),
            ArgumentKind::Uid16 if number as u16 == u16::MAX => self.out.push_str("-1"),
            ArgumentKind::Uid16 => put(&mut self.out, format_args!("{}", number as u16)),
            ArgumentKind::Long => put(&mut self.out, format_args!("{}", number.cast_signed())),
            ArgumentKind::Ulong => put(&mut self.out, format_args!("{number}")),
            ArgumentKind::Hex | ArgumentKind::Offset => hex(&mut self.out, number),
            ArgumentKind::Octal | ArgumentKind::Mode | ArgumentKind::OpenMode => {
                mode_bits(&mut self.out, number & 0xffff)
            }
            ArgumentKind::ModeType => mode(&mut self.out, number & 0xffff),
            ArgumentKind::Dev => device(&mut self.out, number),
            ArgumentKind::Ptr | ArgumentKind::MremapAddress => pointer(&mut self.out, number),
            ArgumentKind::Uid if number as u32 == u32::MAX => self.out.push_str("-1"),
            ArgumentKind::Uid => put(&mut self.out, format_args!("{}", number as u32)),
            ArgumentKind::Fd | ArgumentKind::MapFd => self.descriptor(number as i32),
            ArgumentKind::AtFd if number as i32 == WORKING_DIRECTORY => {
                self.out.push_str("AT_FDCWD");
                let file = self.file_of(WORKING_DIRECTORY).unwrap_or_default();
                self.out.push_str(&file);
            }
            ArgumentKind::AtFd => self.descriptor(number as i32),
            ArgumentKind::Signal => signal(&mut self.out, i64::from(number as i32)),
            ArgumentKind::IpcKey if number as u32 == 0 => self.out.push_str("IPC_PRIVATE"),
            ArgumentKind::IpcKey => put(&mut self.out, format_args!("{:#x}", number as u32)),
            _ => return false,
        }
        true
    }

    /// A number in two arguments of 32 bits.
    fn two_words(&self, low: usize, high: usize) -> u64 {
        value(self.call, low) & 0xffff_ffff | value(self.call, high) << 32
    }

    /// Writes an argument that has names; says whether it was one.
    fn name(&mut self, at: usize, argument: &CallArgument) -> bool {
        let number = value(self.call, at) & 0xffff_ffff;
        let out = &mut self.out;
        match (argument.kind, argument.set) {
            (ArgumentKind::Flags, Some(set)) => set.write_bits(out, number),
            (ArgumentKind::Enum, Some(set)) => set.write_one(out, number),
            (ArgumentKind::IpcFlags, _) => {
                if number & !0o777 != 0 {
                    set("ipcget").write_bits(out, number & !0o777);
                    out.push('|');
                }
                mode_bits(out, number & 0o777);
            }
            (ArgumentKind::MapFlags, _) => map_flags(out, number),
            (ArgumentKind::SocketType, _) => socket_type(out, number),
            (ArgumentKind::SocketProtocol, _) => match value(self.call, 0) {
                2 | 10 => set("ipproto").write_one(&mut self.out, number),
                16 => set("netlink").write_one(&mut self.out, number),
                _ => put(&mut self.out, format_args!("{number}")),
            },
            (ArgumentKind::SocketOption, _) => {
                special::socket_option_set(value(self.call, 1)).write_one(&mut self.out, number)
            }
            _ => return false,
        }
        true
    }

    /// A descriptor, with its file if that is shown.
    pub(super) fn descriptor(&mut self, fd: i32) {
        put(&mut self.out, format_args!("{fd}"));
        if fd >= 0
            && let Some(file) = self.file_of(fd)
        {
            self.out.push_str(&file);
        }
    }

    /// The file of a descriptor, in `<>`.
    fn file_of(&self, fd: i32) -> Option<String> {
        Some((self.style.file_of?)(fd, self.moment)?.written())
    }

    /// Writes what an argument points to, or the address if that was not read.
    fn memory(&mut self, at: usize, argument: &CallArgument) {
        let address = value(self.call, at);
        let length = self.out.len();
        let hidden = argument.out && self.failed() && argument.kind != ArgumentKind::AddressLength;
        if hidden && argument.kind == ArgumentKind::Message && special::message_before(self, at).is_some() {
            return;
        }
        if address == 0 || hidden || self.pointed(at, argument).is_none() {
            self.out.truncate(length);
            pointer(&mut self.out, address);
        }
    }

    fn pointed(&mut self, at: usize, argument: &CallArgument) -> Option<()> {
        let bytes = self.piece(at, 0, argument.out);
        let count = self.length(argument);
        match argument.kind {
            ArgumentKind::Path => {
                let text = bytes?;
                let text = before_nul(text);
                self.style.hex.quoted(&mut self.out, text);
                if text.len() + 1 >= usize::from(super::PATH_ROOM) {
                    self.out.push_str("...");
                }
            }
            ArgumentKind::Text => {
                let text = before_nul(bytes?);
                self.abbreviated(text, text.len() as u64, false);
            }
            ArgumentKind::TextOut => self.style.hex.quoted(&mut self.out, before_nul(bytes?)),
            ArgumentKind::Data | ArgumentKind::HexData if count? == 0 => self.out.push_str("\"\""),
            ArgumentKind::Data => self.abbreviated(bytes?, count?, false),
            ArgumentKind::HexData => self.abbreviated(bytes?, count?, true),
            ArgumentKind::Argv => self.words(at)?,
            ArgumentKind::Envp => self.environment(at, bytes?),
            ArgumentKind::Address => socket_address(&mut self.out, bytes?),
            ArgumentKind::AddressLength => self.address_length(at)?,
            ArgumentKind::Vectors => {
                let out = argument.out;
                self.vectors(at, 0, out)?;
            }
            ArgumentKind::Message => special::message(self, at, argument.out)?,
            ArgumentKind::SocketValue => special::socket_value(self, bytes?)?,
            ArgumentKind::PollFds => special::poll_descriptors(self, at)?,
            ArgumentKind::EpollEvents => {
                let bytes = bytes.unwrap_or_default();
                self.array(bytes, 12, count?, epoll_event)?;
            }
            ArgumentKind::Uints => {
                let bytes = bytes.unwrap_or_default();
                self.array(bytes, 4, count?, |out, b, at| {
                    put(out, format_args!("{}", b.u32(at)?));
                    Some(())
                })?;
            }
            ArgumentKind::Uids16 => {
                let bytes = bytes.unwrap_or_default();
                self.array(bytes, 2, count?, |out, b, at| {
                    put(out, format_args!("{}", b.u16(at)?));
                    Some(())
                })?;
            }
            ArgumentKind::FdPair => {
                let pair = Bytes(bytes?);
                let (first, second) = (pair.i32(0)?, pair.i32(4)?);
                self.out.push('[');
                self.descriptor(first);
                self.out.push_str(", ");
                self.descriptor(second);
                self.out.push(']');
            }
            ArgumentKind::FdSet => sets::descriptors(self, bytes?),
            ArgumentKind::LeftTimeval => {
                structure(&mut self.out, ArgumentKind::Timeval, bytes?, self.definition.layout)?
            }
            ArgumentKind::LeftTimespec => {
                structure(&mut self.out, ArgumentKind::Timespec, bytes?, self.definition.layout)?
            }
            ArgumentKind::MaskPointer => sets::mask_pointer(&mut self.out, Bytes(bytes?), self.definition.layout)?,
            ArgumentKind::SignalInfo => {
                let (_, text) = signal_text(i64::from(Bytes(bytes?).i32(0)?), bytes?);
                self.out.push_str(&text);
            }
            ArgumentKind::Entries => sets::entries(self, at)?,
            ArgumentKind::CpuSet => cpus(&mut self.out, bytes?),
            ArgumentKind::CloneArguments => {
                super::structs::clone_arguments(&mut self.out, Bytes(bytes?))?;
                if let Some(made @ 1..) = self.call.result {
                    super::structs::clone_results(&mut self.out, Bytes(bytes?), made)?;
                }
            }
            ArgumentKind::OpenHow => super::structs::open_how(&mut self.out, Bytes(bytes?))?,
            ArgumentKind::WaitStatus if self.call.result == Some(0) => return None,
            kind => {
                let layout = self.definition.layout;
                let bytes = bytes?;
                let whole = self.style.verbose && super::verbose::whole(&mut self.out, kind, bytes, layout).is_some();
                if !whole {
                    structure(&mut self.out, kind, bytes, layout)?;
                }
            }
        }
        Some(())
    }

    /// The length that belongs to an argument, where it is known without its memory.
    fn length(&self, argument: &CallArgument) -> Option<u64> {
        match argument.length {
            super::Length::Argument(at) => Some(value(self.call, usize::from(at))),
            super::Length::Result => self.call.result.and_then(|result| u64::try_from(result).ok()),
            super::Length::Fixed | super::Length::Behind(_) | super::Length::Bits(_) => None,
        }
    }

    /// Text of `whole` bytes of which only some are shown.
    pub(super) fn abbreviated(&mut self, bytes: &[u8], whole: u64, in_hex: bool) {
        let shown = usize::try_from(whole).unwrap_or(usize::MAX).min(self.style.strings).min(bytes.len());
        let text = bytes.get(..shown).unwrap_or(bytes);
        if in_hex {
            quoted_hex(&mut self.out, text);
        } else {
            self.style.hex.quoted(&mut self.out, text);
        }
        if (shown as u64) < whole {
            self.out.push_str("...");
        }
    }

    /// An array of `count` elements of `size` bytes, as far as they were copied.
    pub(super) fn array(
        &mut self,
        bytes: &[u8],
        size: usize,
        count: u64,
        mut one: impl FnMut(&mut String, Bytes<'_>, usize) -> Option<()>,
    ) -> Option<()> {
        self.out.push('[');
        let there = (bytes.len() / size).min(MAX_ELEMENTS).min(usize::try_from(count).unwrap_or(usize::MAX));
        for index in 0..there {
            if index > 0 {
                self.out.push_str(", ");
            }
            one(&mut self.out, Bytes(bytes), index * size)?;
        }
        if count > there as u64 {
            self.out.push_str(if there > 0 { ", ..." } else { "..." });
        }
        self.out.push(']');
        Some(())
    }

    /// The words of a program: each is a part of its own; the part before them tells how many there are.
    fn words(&mut self, at: usize) -> Option<()> {
        let count = |exit| self.piece(at, 0, exit).and_then(|bytes| Bytes(bytes).u32(0));
        // What could not be read before a program was executed was read where it runs.
        let (before, after) = (count(false)?, count(true));
        let all = if before == 0 { after.unwrap_or(0) } else { before };
        if self.style.strings == 0 && all > 0 {
            self.out.push_str("[...]");
            return Some(());
        }
        // Of a script, words of its interpreter stand before its own, and its path instead of its first one.
        let shift = after.map_or(0, |after| after.saturating_sub(all) as usize);
        let word = |index: usize| {
            let of = |exit: bool, part: usize| {
                let mut pieces = self.call.pieces.iter().filter(|piece| piece.exit == exit);
                pieces.find(|piece| (usize::from(piece.argument), usize::from(piece.part)) == (at, part))?.bytes
            };
            of(false, index + 1).or_else(|| of(true, index + 1 + shift).filter(|_| shift == 0 || index > 0))
        };
        self.out.push('[');
        for index in 0..all as usize {
            if index > 0 {
                self.out.push_str(", ");
            }
            match word(index) {
                Some(word) if index < usize::from(super::WORDS) => {
                    let word = before_nul(word);
                    self.abbreviated(word, word.len() as u64, false);
                }
                _ => {
                    self.out.push_str("...");
                    break;
                }
            }
        }
        self.out.push(']');
        Some(())
    }

    fn environment(&mut self, at: usize, bytes: &[u8]) {
        pointer(&mut self.out, value(self.call, at));
        let words = bytes.chunks_exact(self.definition.layout.word);
        let all = words.len();
        let count = words.into_iter().take_while(|word| word.iter().any(|byte| *byte != 0)).count();
        let more = if count == all { "+" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        put(&mut self.out, format_args!(" /* {count}{more} var{plural} */"));
    }

    fn address_length(&mut self, at: usize) -> Option<()> {
        let entry = self.call.pieces.iter().find(|piece| usize::from(piece.argument) == at && !piece.exit);
        let before = entry.and_then(|piece| Bytes(piece.bytes?).i32(0));
        let after = self.piece(at, 0, true).and_then(|bytes| Bytes(bytes).i32(0));
        match (before, after) {
            (Some(before), Some(after)) if before != after => put(&mut self.out, format_args!("[{before} => {after}]")),
            (before, after) => put(&mut self.out, format_args!("[{}]", after.or(before)?)),
        }
        Some(())
    }

    /// Vectors, whose array is part `first` of an argument and whose buffers are the parts after it.
    pub(super) fn vectors(&mut self, at: usize, first: usize, out: bool) -> Option<()> {
        let array = self.piece(at, first, out)?;
        let mut left = if out { self.call.result.and_then(|all| u64::try_from(all).ok())? } else { u64::MAX };
        self.out.push('[');
        let word = self.definition.layout.word;
        for index in 0..array.len() / (2 * word) {
            if index > 0 {
                self.out.push_str(", ");
            }
            let place = index * 2 * word;
            let (base, length) = (Bytes(array).word(place, word)?, Bytes(array).word(place + word, word)?);
            let held = length.min(left);
            left -= held;
            self.out.push_str("{iov_base=");
            match self.piece(at, first + 1 + index, out) {
                _ if held == 0 && base != 0 => self.out.push_str("\"\""),
                Some(bytes) => self.abbreviated(bytes, held, false),
                None => pointer(&mut self.out, base),
            }
            put(&mut self.out, format_args!(", iov_len={length}}}"));
        }
        self.out.push(']');
        Some(())
    }

    fn poll_note(&mut self) {
        match self.call.result {
            Some(0) => self.note.push_str("Timeout"),
            Some(1..) => {
                if let Some(bytes) = self.piece(0, 0, true) {
                    self.note = special::poll_results(bytes, value(self.call, 1));
                }
            }
            _ => {}
        }
    }
}

fn mode_bits(out: &mut String, bits: u64) {
    if bits < 0o1000 {
        put(out, format_args!("0{bits:02o}"));
        if bits == 0 {
            out.truncate(out.len() - 2);
        }
    } else {
        octal(out, bits);
    }
}

/// Text up to its NUL.
pub(super) fn before_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn cpus(out: &mut String, bytes: &[u8]) {
    let set = |cpu: &usize| bytes.get(cpu / 8).is_some_and(|byte| byte >> (cpu % 8) & 1 == 1);
    let names: Vec<String> = (0..bytes.len() * 8).filter(set).map(|cpu| cpu.to_string()).collect();
    put(out, format_args!("[{}]", names.join(" ")));
}
