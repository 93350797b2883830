//! How to get from a frame to its caller, at every instruction of a program: rows made of `.eh_frame`.
//!
//! A row is one number, so that a program in the kernel can search among them: the upper half is the offset in the file
//! from which on it holds, the lower half a [`Rule`]. Only what compilers make for x86_64 is understood; for other
//! places the row says so. Each size and count is limited, and so is the work, since entries may share long headers.

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, Expression, FrameDescriptionEntry, LittleEndian, Operation,
    Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection as _, UnwindTableRow, X86_64,
};

use super::{ElfError, ElfFile};
use crate::constants::Arch;

/// The most rows of one file.
pub const MAX_UNWIND_ROWS: usize = 1 << 20;
/// The largest table that is read.
const MAX_FRAME_BYTES: u64 = 64 << 20;
/// The most bytes that are walked through, a shared header each time it is used.
const MAX_WORK_BYTES: u64 = 256 << 20;
/// Bytes of an entry of the table of jumps to other files.
const JUMP_BYTES: u64 = 16;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// How the registers of the caller are found. `CFA` is the caller's stack pointer; its address of return is always in
/// the 8 bytes below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing is known: there is no entry.
    Unknown,
    /// CFA is the stack pointer plus `offset`; `rbp` was kept `rbp` bytes below it, or not changed if that is 0.
    Stack {
        /// A multiple of 8, below 512 KiB.
        offset: u32,
        /// A multiple of 8, at most 2040.
        rbp: u32,
    },
    /// As [`Self::Stack`], from `rbp`.
    Frame {
        /// As in [`Self::Stack`].
        offset: u32,
        /// As in [`Self::Stack`].
        rbp: u32,
    },
    /// The outermost frame.
    End,
    /// The frame that the kernel makes for a signal: what was interrupted is in it.
    Signal,
    /// It is found in a way that is not followed.
    Unsupported,
    /// The stack was aligned anew: CFA is kept `offset` bytes below `rbp`, and the caller's `rbp` is where `rbp` points.
    Aligned {
        /// A multiple of 8, below 512 KiB.
        offset: u32,
    },
}

impl Rule {
    /// [`Self::code`] of [`Self::Unknown`], which ends an entry.
    pub const UNKNOWN: u32 = 0;
    /// The kind of [`Self::Stack`], in the low byte of the code.
    pub const STACK: u32 = 1;
    /// The kind of [`Self::Frame`].
    pub const FRAME: u32 = 2;
    /// The kind of [`Self::End`].
    pub const END: u32 = 3;
    /// The kind of [`Self::Signal`].
    pub const SIGNAL: u32 = 4;
    /// The kind of [`Self::Unsupported`].
    pub const UNSUPPORTED: u32 = 5;
    /// The kind of [`Self::Aligned`].
    pub const ALIGNED: u32 = 6;

    /// As a number: the kind in the lowest byte, the offset in eights in the next two, that of `rbp` in the highest.
    pub fn code(self) -> u32 {
        let parts = |kind: u32, offset: u32, rbp: u32| kind | ((offset / 8) & 0xffff) << 8 | ((rbp / 8) & 0xff) << 24;
        match self {
            Self::Unknown => Self::UNKNOWN,
            Self::Stack { offset, rbp } => parts(Self::STACK, offset, rbp),
            Self::Frame { offset, rbp } => parts(Self::FRAME, offset, rbp),
            Self::End => Self::END,
            Self::Signal => Self::SIGNAL,
            Self::Unsupported => Self::UNSUPPORTED,
            Self::Aligned { offset } => parts(Self::ALIGNED, offset, 0),
        }
    }

    /// What [`Self::code`] gave.
    pub fn of_code(code: u32) -> Option<Self> {
        let (offset, rbp) = ((code >> 8 & 0xffff) * 8, (code >> 24) * 8);
        match code & 0xff {
            Self::UNKNOWN => Some(Self::Unknown),
            Self::STACK => Some(Self::Stack { offset, rbp }),
            Self::FRAME => Some(Self::Frame { offset, rbp }),
            Self::END => Some(Self::End),
            Self::SIGNAL => Some(Self::Signal),
            Self::UNSUPPORTED => Some(Self::Unsupported),
            Self::ALIGNED => Some(Self::Aligned { offset }),
            _ => None,
        }
    }
}

/// A row: from which offset in the file on it holds, and the rule.
pub fn unwind_row(offset: u32, rule: Rule) -> u64 {
    u64::from(offset) << 32 | u64::from(rule.code())
}

impl ElfFile<'_> {
    /// The rows of the file, sorted, each holding up to the next one. Empty if it has no `.eh_frame`.
    ///
    /// # Errors
    /// If it is for another processor than x86_64, the table is damaged, or there are more than [`MAX_UNWIND_ROWS`].
    pub fn unwind_rows(&self) -> Result<Vec<u64>, ElfError> {
        if self.arch() != Arch::X86_64 {
            return Err(ElfError::Machine { machine: 183 });
        }
        let Some(section) = self.section(b".eh_frame") else { return Ok(Vec::new()) };
        let what = "its table of frames";
        if section.bytes > MAX_FRAME_BYTES {
            return Err(ElfError::TooLarge { what, bytes: section.bytes, limit: MAX_FRAME_BYTES });
        }
        let content = self.content(section, what)?;
        let mut frames = EhFrame::new(&content, LittleEndian);
        frames.set_address_size(8);
        let text = self.section(b".text").map_or(0, |text| text.address);
        let bases = BaseAddresses::default().set_eh_frame(section.address).set_text(text);
        let mut table = Table { file: self, frames, bases, rows: Vec::new(), work: 0 };
        table.read()?;
        Ok(sorted(table.rows))
    }
}

/// Sorts rows and leaves out those that say what the one before says.
fn sorted(mut rows: Vec<u64>) -> Vec<u64> {
    rows.sort_unstable();
    // Where one entry ends another may begin: its rule is the greater number and comes last.
    rows.dedup_by(|next, kept| {
        let same = *next >> 32 == *kept >> 32;
        if same {
            *kept = *next;
        }
        same
    });
    rows.dedup_by(|next, kept| code(*next) == code(*kept));
    rows
}

/// The rule's code in a row.
fn code(row: u64) -> u32 {
    (row & u64::from(u32::MAX)) as u32
}

/// The table while it is read.
struct Table<'a> {
    file: &'a ElfFile<'a>,
    frames: EhFrame<Slice<'a>>,
    bases: BaseAddresses,
    rows: Vec<u64>,
    work: u64,
}

impl<'a> Table<'a> {
    fn read(&mut self) -> Result<(), ElfError> {
        let damaged = |_error: gimli::Error| ElfError::Damaged { what: "its table of frames" };
        let frames = self.frames;
        let bases = self.bases.clone();
        let mut entries = frames.entries(&bases);
        let mut context = UnwindContext::new();
        while let Some(entry) = entries.next().map_err(damaged)? {
            let CieOrFde::Fde(entry) = entry else { continue };
            let entry = entry.parse(|frames, bases, offset| frames.cie_from_offset(bases, offset)).map_err(damaged)?;
            self.work = self.work.saturating_add((entry.cie().entry_len() + entry.entry_len()) as u64);
            if self.work > MAX_WORK_BYTES {
                return Err(too_large(self.work, MAX_WORK_BYTES));
            }
            self.entry(&entry, &mut context)?;
        }
        Ok(())
    }

    /// The rows of one entry. One that cannot be read is as if it were not there.
    fn entry(
        &mut self,
        entry: &FrameDescriptionEntry<Slice<'a>>,
        context: &mut UnwindContext<usize>,
    ) -> Result<(), ElfError> {
        let (begin, bytes) = (entry.initial_address(), entry.len());
        let Some(offset) = self.file.offset_of(begin).filter(|_| bytes > 0) else { return Ok(()) };
        let end = offset.checked_add(bytes).and_then(|end| u32::try_from(end).ok());
        let Some(end) = end else { return Ok(()) };
        let frames = self.frames;
        let bases = self.bases.clone();
        let Ok(mut rows) = entry.rows(&frames, &bases, context) else { return Ok(()) };
        while let Ok(Some(row)) = rows.next_row() {
            let inside = |address: u64| address.clamp(begin, begin + bytes) - begin + offset;
            let (from, to) = (inside(row.start_address()), inside(row.end_address()));
            if let Some(least) = jump_table(row, &frames) {
                self.jumps(from, to, begin.wrapping_sub(offset), least)?;
            } else {
                self.push(from, rule(row, entry, &frames))?;
            }
        }
        self.push(end.into(), Rule::Unknown)
    }

    /// In the table of jumps to other files an entry first pushes its number, at the same place in each.
    fn jumps(&mut self, from: u64, to: u64, distance: u64, least: u64) -> Result<(), ElfError> {
        let mut at = from;
        while at < to {
            let inside = at.wrapping_add(distance) % JUMP_BYTES;
            let (offset, next) = if inside < least { (8, at - inside + least) } else { (16, at - inside + JUMP_BYTES) };
            self.push(at, Rule::Stack { offset, rbp: 0 })?;
            at = next;
        }
        Ok(())
    }

    fn push(&mut self, offset: u64, rule: Rule) -> Result<(), ElfError> {
        if self.rows.len() >= 2 * MAX_UNWIND_ROWS {
            return Err(too_large(self.rows.len() as u64 * 8, MAX_UNWIND_ROWS as u64 * 8));
        }
        // What is farther than 4 GiB into a file is not found.
        if let Ok(offset) = u32::try_from(offset) {
            self.rows.push(unwind_row(offset, rule));
        }
        Ok(())
    }
}

fn too_large(bytes: u64, limit: u64) -> ElfError {
    ElfError::TooLarge { what: "its table of frames", bytes, limit }
}

/// The rule of a row.
fn rule(row: &UnwindTableRow<usize>, entry: &FrameDescriptionEntry<Slice<'_>>, frames: &EhFrame<Slice<'_>>) -> Rule {
    if entry.is_signal_trampoline() {
        return Rule::Signal;
    }
    match row.register(X86_64::RA) {
        Some(RegisterRule::Undefined) => return Rule::End,
        Some(RegisterRule::Offset(-8)) => {}
        _ => return Rule::Unsupported,
    }
    let saved = row.register(X86_64::RBP);
    let (register, offset) = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => (*register, *offset),
        CfaRule::Expression(expression) => return aligned(*expression, saved, frames).unwrap_or(Rule::Unsupported),
    };
    let rbp = match saved {
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => Some(0),
        Some(RegisterRule::Offset(offset)) => eights(offset.checked_neg().unwrap_or(-1), 0xff),
        _ => None,
    };
    match (register, eights(offset, 0xffff), rbp) {
        (X86_64::RSP, Some(offset), Some(rbp)) => Rule::Stack { offset, rbp },
        (X86_64::RBP, Some(offset), Some(rbp)) => Rule::Frame { offset, rbp },
        _ => Rule::Unsupported,
    }
}

/// A distance that is a number of eights within a limit.
fn eights(distance: i64, most: u32) -> Option<u32> {
    let distance = u32::try_from(distance).ok()?;
    (distance.is_multiple_of(8) && distance / 8 <= most).then_some(distance)
}

fn operations<'a>(expression: UnwindExpression<usize>, frames: &EhFrame<Slice<'a>>) -> Option<Expression<Slice<'a>>> {
    expression.get(frames).ok()
}

/// What compilers write where a function aligned its stack anew.
fn aligned(
    cfa: UnwindExpression<usize>,
    saved: Option<RegisterRule<usize>>,
    frames: &EhFrame<Slice<'_>>,
) -> Option<Rule> {
    let Some(RegisterRule::Expression(saved)) = saved else { return None };
    let encoding = encoding();
    let mut inside = operations(saved, frames)?.operations(encoding);
    if frame_offset(inside.next().ok()??)? != 0 || inside.next().ok()?.is_some() {
        return None;
    }
    let mut inside = operations(cfa, frames)?.operations(encoding);
    let offset = frame_offset(inside.next().ok()??)?;
    let Operation::Deref { size: 8, space: false, .. } = inside.next().ok()?? else { return None };
    let alone = inside.next().ok()?.is_none();
    eights(offset.checked_neg()?, 0xffff).filter(|_| alone).map(|offset| Rule::Aligned { offset })
}

fn frame_offset(operation: Operation<Slice<'_>>) -> Option<i64> {
    match operation {
        Operation::RegisterOffset { register: X86_64::RBP, offset, .. } => Some(offset),
        _ => None,
    }
}

const fn encoding() -> gimli::Encoding {
    gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 }
}

/// From which of the 16 bytes of an entry on its number is pushed, if the row is that of a table of jumps: its CFA is
/// `rsp + 8 + ((rip & 15) >= N) * 8`.
fn jump_table(row: &UnwindTableRow<usize>, frames: &EhFrame<Slice<'_>>) -> Option<u64> {
    let CfaRule::Expression(expression) = row.cfa() else { return None };
    let mut all = operations(*expression, frames)?.operations(encoding());
    let mut next = || all.next().ok().flatten();
    let based = |operation, register: Register, wanted: i64| matches!(operation, Some(Operation::RegisterOffset { register: it, offset, .. }) if it == register && offset == wanted);
    let constant = |operation| match operation {
        Some(Operation::UnsignedConstant { value }) => Some(value),
        Some(Operation::SignedConstant { value }) => u64::try_from(value).ok(),
        _ => None,
    };
    if !based(next(), X86_64::RSP, 8) || !based(next(), X86_64::RA, 0) || constant(next())? != 15 {
        return None;
    }
    let masked = matches!(next(), Some(Operation::And));
    let least = constant(next())?;
    let compared = matches!(next(), Some(Operation::Ge));
    let shifted = constant(next())? == 3 && matches!(next(), Some(Operation::Shl));
    let added = matches!(next(), Some(Operation::Plus));
    (masked && compared && shifted && added && next().is_none() && (1..JUMP_BYTES).contains(&least)).then_some(least)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn at(rows: &[u64], offset: u64) -> Rule {
        let before = rows.partition_point(|row| row >> 32 <= offset);
        rows.get(before.wrapping_sub(1)).and_then(|row| Rule::of_code(code(*row))).unwrap_or(Rule::Unknown)
    }

    /// The library whose path a process maps.
    fn libc() -> Vec<u8> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let path = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("/libc"));
        std::fs::read(path.unwrap()).unwrap()
    }

    #[test]
    fn rows_of_the_library_cover_its_functions() {
        let bytes = libc();
        let file = ElfFile::parse(&bytes).unwrap();
        let rows = file.unwind_rows().unwrap();
        let functions = file.functions().unwrap();
        let known = functions.iter().filter(|symbol| at(&rows, symbol.offset) != Rule::Unknown).count();
        assert!(known * 100 > functions.len() * 95, "{known} of {}", functions.len());
        let unsupported = rows.iter().filter(|row| code(**row) == Rule::UNSUPPORTED).count();
        assert!(unsupported * 100 < rows.len(), "{unsupported} of {}", rows.len());
        assert!(rows.iter().any(|row| code(*row) == Rule::SIGNAL));
    }

    #[test]
    fn codes_are_rules_again() {
        let all = [
            Rule::Unknown,
            Rule::Stack { offset: 0xffff * 8, rbp: 2040 },
            Rule::Frame { offset: 16, rbp: 16 },
            Rule::End,
            Rule::Signal,
            Rule::Unsupported,
            Rule::Aligned { offset: 16 },
        ];
        for rule in all {
            assert_eq!(Rule::of_code(rule.code()), Some(rule));
        }
        assert_eq!(Rule::of_code(7), None);
        let end = unwind_row(16, Rule::Unknown);
        let (one, other) = (unwind_row(0, Rule::End), unwind_row(16, Rule::Signal));
        assert_eq!(sorted(vec![end, other, one, unwind_row(8, Rule::End)]), [one, other]);
    }
}
