//! From a copy of a thread's registers and of the top of its stack to the addresses that its functions return to.
//!
//! What is walked was written by a program that may be anything: every address is checked against the copy, each step
//! has to come nearer to the stack's base, and there is a limit for the number of steps.

use super::Rule;

/// The most frames of one stack.
pub const MAX_WALKED_FRAMES: usize = 512;
/// Where the kernel keeps `rbp`, `rsp` and `rip` in the frame that it makes for a signal, from its stack pointer on when
/// the handler has returned: after flags, link and stack of a `ucontext_t` come r8 to r15, rdi, rsi, rbp, rbx, rdx, rax,
/// rcx, rsp, rip.
const SIGNAL_RBP: u64 = 120;
const SIGNAL_RSP: u64 = 160;
const SIGNAL_RIP: u64 = 168;
/// How far a frame can be above the one before by frame pointers.
const MAX_FRAME_BYTES: u64 = 1 << 20;

/// Registers of a thread in user space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The next instruction.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// `rbp`, which many functions keep the frame's place in.
    pub bp: u64,
}

/// A copy of the top of a stack.
#[derive(Clone, Copy, Debug)]
pub struct StackCopy<'a> {
    /// Where its first byte is.
    pub base: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl StackCopy<'_> {
    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// At the outermost frame.
    Outermost,
    /// The stack goes on below what was copied.
    Copied,
    /// There was no way to go on: no rule and no frame pointer, or one that is not followed.
    Lost,
    /// There are more frames than are walked.
    Many,
}

/// Finds the frames, innermost first, the interrupted instruction as the first. `rule_at` gives the rule that holds at an
/// address.
///
/// # Errors
/// What `rule_at` gives when something has to be found out first.
pub fn walk_stack<E>(
    registers: Registers,
    stack: StackCopy<'_>,
    rule_at: &mut dyn FnMut(u64) -> Result<Rule, E>,
) -> Result<(Vec<u64>, WalkEnd), E> {
    let (mut now, mut frames, mut interrupted) = (registers, Vec::new(), true);
    loop {
        if frames.len() >= MAX_WALKED_FRAMES {
            return Ok((frames, WalkEnd::Many));
        }
        frames.push(now.ip);
        // What a call returns to may be behind the end of its function.
        let rule = rule_at(if interrupted { now.ip } else { now.ip.wrapping_sub(1) })?;
        let (next, by_signal) = match step(now, stack, rule) {
            Step::To(next) => (next, false),
            Step::Interrupted(next) => (next, true),
            Step::End(end) => return Ok((frames, end)),
        };
        if next.ip == 0 {
            return Ok((frames, WalkEnd::Outermost));
        }
        // A handler may run on a stack of its own; otherwise every caller's frame is farther up.
        if next.sp <= now.sp && !by_signal {
            return Ok((frames, WalkEnd::Lost));
        }
        (now, interrupted) = (next, by_signal);
    }
}

enum Step {
    To(Registers),
    Interrupted(Registers),
    End(WalkEnd),
}

fn step(now: Registers, stack: StackCopy<'_>, rule: Rule) -> Step {
    let copied = |next: Option<Registers>| next.map_or(Step::End(WalkEnd::Copied), Step::To);
    match rule {
        Rule::End => Step::End(WalkEnd::Outermost),
        Rule::Unsupported => Step::End(WalkEnd::Lost),
        Rule::Stack { offset, rbp } => copied(caller(now, stack, now.sp.wrapping_add(offset.into()), rbp)),
        Rule::Frame { offset, rbp } => copied(caller(now, stack, now.bp.wrapping_add(offset.into()), rbp)),
        Rule::Aligned { offset } => copied(aligned(now, stack, offset)),
        Rule::Signal => {
            let word = |offset: u64| stack.word(now.sp.wrapping_add(offset));
            match (word(SIGNAL_RIP), word(SIGNAL_RSP), word(SIGNAL_RBP)) {
                (Some(ip), Some(sp), Some(bp)) => Step::Interrupted(Registers { ip, sp, bp }),
                _ => Step::End(WalkEnd::Copied),
            }
        }
        Rule::Unknown => by_frame_pointer(now, stack).map_or(Step::End(WalkEnd::Lost), Step::To),
    }
}

/// The caller's registers, if its stack pointer was `cfa` before the call.
fn caller(now: Registers, stack: StackCopy<'_>, cfa: u64, rbp: u32) -> Option<Registers> {
    let bp = if rbp == 0 { now.bp } else { stack.word(cfa.wrapping_sub(rbp.into()))? };
    Some(Registers { ip: stack.word(cfa.wrapping_sub(8))?, sp: cfa, bp })
}

fn aligned(now: Registers, stack: StackCopy<'_>, offset: u32) -> Option<Registers> {
    let cfa = stack.word(now.bp.wrapping_sub(offset.into()))?;
    Some(Registers { ip: stack.word(cfa.wrapping_sub(8))?, sp: cfa, bp: stack.word(now.bp)? })
}

/// Code without a table, such as a run-time compiler's: where `rbp` points the caller's is kept, and above it where to
/// return to.
fn by_frame_pointer(now: Registers, stack: StackCopy<'_>) -> Option<Registers> {
    let near = now.bp >= now.sp && now.bp - now.sp <= MAX_FRAME_BYTES && now.bp.is_multiple_of(8);
    let (bp, ip) = (stack.word(now.bp)?, stack.word(now.bp.wrapping_add(8))?);
    (near && bp > now.bp || bp == 0).then(|| Registers { ip, sp: now.bp.wrapping_add(16), bp })
}

/// The rule of the row that holds at an offset in the file, among rows as
/// [`ElfFile::unwind_rows`](super::ElfFile::unwind_rows) gives them.
pub fn rule_of(rows: &[u64], offset: u64) -> Rule {
    let after = rows.partition_point(|row| row >> 32 <= offset);
    let row = after.checked_sub(1).and_then(|before| rows.get(before));
    let code = row.map_or(Rule::UNKNOWN, |row| (row & u64::from(u32::MAX)) as u32);
    Rule::of_code(code).unwrap_or(Rule::Unsupported)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const BASE: u64 = 0x7000;

    fn stack(words: &[(u64, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; 0x200];
        for (address, word) in words {
            let at = usize::try_from(address - BASE).unwrap();
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn walk(registers: Registers, bytes: &[u8], rules: &[(u64, Rule)]) -> (Vec<u64>, WalkEnd) {
        let mut rule_at = |address: u64| {
            let rule = rules.iter().find(|(function, _)| address & !0xff == *function);
            Ok::<_, Infallible>(rule.map_or(Rule::Unknown, |(_, rule)| *rule))
        };
        walk_stack(registers, StackCopy { base: BASE, bytes }, &mut rule_at).unwrap()
    }

    #[test]
    fn each_rule_finds_the_caller() {
        // leaf (stack) ← middle (frame) ← aligned ← outermost.
        let bytes = stack(&[
            (0x7010, 0x2000), // leaf returns to the first byte behind a call at the end of middle: 0x2000 - 1 is 0x1fff
            (0x7040, 0x70a0),
            (0x7048, 0x3010),
            (0x7098, 0x7100), // where the aligned function kept its CFA
            (0x70a0, 0x70f0),
            (0x70f8, 0x4010),
        ]);
        let rules = [
            (0x1000, Rule::Stack { offset: 24, rbp: 0 }),
            (0x1f00, Rule::Frame { offset: 16, rbp: 16 }),
            (0x3000, Rule::Aligned { offset: 8 }),
            (0x4000, Rule::End),
        ];
        let registers = Registers { ip: 0x1000, sp: 0x7000, bp: 0x7040 };
        assert_eq!(walk(registers, &bytes, &rules), (vec![0x1000, 0x2000, 0x3010, 0x4010], WalkEnd::Outermost));
    }

    #[test]
    fn a_signal_goes_on_where_it_interrupted() {
        let at = |offset: u64, word| (0x7010 + offset, word);
        let bytes = stack(&[
            (0x7008, 0x5000),
            at(SIGNAL_RBP, 0),
            at(SIGNAL_RSP, 0x7180),
            // The very first instruction of a function: the rule is that of this address.
            at(SIGNAL_RIP, 0x6000),
            (0x7180, 0x4010),
        ]);
        let rules = [
            (0x1000, Rule::Stack { offset: 16, rbp: 0 }),
            (0x4f00, Rule::Signal),
            (0x6000, Rule::Stack { offset: 8, rbp: 0 }),
            (0x4000, Rule::End),
        ];
        let registers = Registers { ip: 0x1000, sp: 0x7000, bp: 0 };
        assert_eq!(walk(registers, &bytes, &rules), (vec![0x1000, 0x5000, 0x6000, 0x4010], WalkEnd::Outermost));
    }

    #[test]
    fn code_without_a_table_goes_by_frame_pointers() {
        let bytes = stack(&[(0x7020, 0x7050), (0x7028, 0x9990), (0x7050, 0), (0x7058, 0x4010)]);
        let registers = Registers { ip: 0x9900, sp: 0x7000, bp: 0x7020 };
        let rules = [(0x4000, Rule::End)];
        assert_eq!(walk(registers, &bytes, &rules), (vec![0x9900, 0x9990, 0x4010], WalkEnd::Outermost));
        let lost = Registers { bp: 0x6000, ..registers };
        assert_eq!(walk(lost, &bytes, &rules), (vec![0x9900], WalkEnd::Lost));
    }

    #[test]
    fn hostile_stacks_end() {
        // It returns to itself for ever.
        let bytes: Vec<u8> = std::iter::repeat_n(0x1000_u64.to_le_bytes(), 8192).flatten().collect();
        let registers = Registers { ip: 0x1000, sp: 0x7000, bp: 0x7000 };
        let (frames, end) = walk(
            registers,
            &bytes,
            &[(0x1000, Rule::Stack { offset: 8, rbp: 0 }), (0xf00, Rule::Stack { offset: 8, rbp: 0 })],
        );
        assert_eq!((frames.len(), end), (MAX_WALKED_FRAMES, WalkEnd::Many));
        let at_once = [(0x1000, Rule::Stack { offset: 0, rbp: 0 })];
        assert_eq!(walk(Registers { sp: 0x7008, ..registers }, &bytes, &at_once).1, WalkEnd::Lost);
        let signals = [(0x1000, Rule::Signal), (0xf00, Rule::Signal)];
        assert!(walk(registers, &bytes, &signals).0.len() <= MAX_WALKED_FRAMES);
        for (sp, bp) in [(u64::MAX, u64::MAX), (0, 0), (u64::MAX - 4, 3)] {
            let registers = Registers { ip: 0x1000, sp, bp };
            for rule in [
                Rule::Unknown,
                Rule::Stack { offset: 8, rbp: 16 },
                Rule::Frame { offset: 16, rbp: 16 },
                Rule::Aligned { offset: 16 },
                Rule::Signal,
                Rule::Unsupported,
            ] {
                assert_eq!(walk(registers, &bytes[..64], &[(0x1000, rule)]).0, [0x1000], "{rule:?}");
            }
        }
        assert_eq!(walk(registers, &[], &[(0x1000, Rule::Stack { offset: 8, rbp: 0 })]).1, WalkEnd::Copied);
    }

    #[test]
    fn rows_are_searched() {
        use super::super::unwind_row;
        let rows = [unwind_row(0x10, Rule::End), unwind_row(0x20, Rule::Unknown), unwind_row(0x30, Rule::Signal)];
        let cases =
            [(0, Rule::Unknown), (0x10, Rule::End), (0x1f, Rule::End), (0x20, Rule::Unknown), (0x99, Rule::Signal)];
        for (offset, expected) in cases {
            assert_eq!(rule_of(&rows, offset), expected, "{offset:x}");
        }
        assert_eq!(rule_of(&[], 5), Rule::Unknown);
        assert_eq!(rule_of(&rows, u64::MAX), Rule::Signal);
    }
}
