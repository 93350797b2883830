//! What all programs of a capture share: counting, the target filter, names.

use super::{ALLOWANCE_MAP, ALLOWANCE_WORDS, COUNTERS_BYTES, ProbeError, TargetFilter, target::tgid_of};
use crate::ir::{
    AtomicOp, BlockId, Builder, End, Helper, IrBinaryOp, MapDefinition, MapKind, Op, Operand, ProgramKind, Reg, Size,
    Test, Width,
};

/// The most characters of a program's name, so that its maps' names fit into the kernel's 15.
const MAX_NAME_CHARS: usize = 8;

/// Offsets in the value of a counters map.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProbeCounter {
    Hits = 0,
    Filtered = 8,
    RingFull = 16,
    Limited = 24,
}

/// Where the count of the current window is in a counters map.
const WINDOW: i16 = 32;
const USED: i16 = 40;
/// Offsets in the value of the map of the guard's limits.
struct Allowance;

impl Allowance {
    const EACH: i16 = 0;
    const ROWS: i16 = 8;
    const BYTES_IN_ALL: i16 = 16;
    const WINDOW: i16 = 24;
    const USED_ROWS: i16 = 32;
    const USED_BYTES: i16 = 40;
    /// All of it.
    const BYTES: i16 = 8 * ALLOWANCE_WORDS as i16;
}

/// A window of the guard's limit is 2 to the power of so many nanoseconds long: 134 ms.
const WINDOW_BITS: i64 = 27;

/// A program that has counted its hit and knows who it was.
pub(crate) struct Frame {
    pub builder: Builder,
    pub counters_name: String,
    /// Address of the counters.
    counters: Reg,
    /// tgid and thread, as the kernel gives them.
    pub pid_tgid: Reg,
    pub tgid: Reg,
    /// Counts the hit as filtered and returns 0.
    pub filtered: BlockId,
}

pub(super) fn check_name(name: &str) -> Result<(), ProbeError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(ProbeError::Name { name: name.chars().take(32).collect(), most: MAX_NAME_CHARS })
}

impl Frame {
    /// Begins a program: counts the hit and asks who it was.
    pub(super) fn new(name: &str, kind: ProgramKind) -> Result<Self, ProbeError> {
        check_name(name)?;
        Ok(Self::counting(name, format!("{name}_count"), kind))
    }

    /// The same with counters of this name, which several programs may share.
    pub(crate) fn counting(name: &str, counters_name: String, kind: ProgramKind) -> Self {
        let mut builder = Builder::new(name, kind);
        let map = builder.map(MapDefinition::new(counters_name.clone(), MapKind::PerCpuArray, 4, COUNTERS_BYTES, 1));
        let key = builder.slot(8);
        builder.push(Op::StoreSlot { slot: key, offset: 0, size: Size::B4, value: Operand::Constant(0) });
        let map = builder.map_address(map);
        let address = builder.slot_address(key);
        let counters = builder.call(Helper::MapLookup, &[map.into(), address.into()]);
        let (there, missing) = (builder.block(), builder.block());
        // Key 0 of an array of one exists; the verifier wants to see the question asked.
        builder.branch(Test::Eq, counters, 0, missing, there);
        builder.switch_to(there);
        let filtered = builder.block();
        let mut frame = Self { builder, counters_name, counters, pid_tgid: counters, tgid: counters, filtered };
        frame.count(ProbeCounter::Hits);
        frame.pid_tgid = frame.builder.call(Helper::GetCurrentPidTgid, &[]);
        frame.tgid = tgid_of(&mut frame.builder, frame.pid_tgid);
        frame
    }

    /// Adds one. No atomics: the counters are this CPU's, and the kernel does not run a program inside another.
    pub(crate) fn count(&mut self, counter: ProbeCounter) {
        let (base, offset) = (self.counters, counter as i16);
        let before = self.load(base, offset);
        let after = self.builder.binary(IrBinaryOp::Add, before, 1);
        self.store(offset, after.into());
    }

    /// The current thread.
    pub(super) fn tid(&mut self) -> Reg {
        let to = self.builder.reg();
        self.builder.push(Op::Extend { to, from: self.pid_tgid, size: Size::B4, signed: false });
        to
    }

    /// Goes on only where the current task is a target.
    pub(super) fn require_target(&mut self, target: TargetFilter) {
        target.require(&mut self.builder, Some(self.pid_tgid), self.filtered);
    }

    /// Goes on only if the guard still lets a row of so many bytes be written in the current window of time; elsewhere
    /// counts the hit as limited and returns 0. Where nobody has set a limit, that costs one lookup in an array.
    ///
    /// There are two limits: one of rows for each program and CPU, which no CPU needs another for, and one of rows and
    /// bytes for the whole capture. The latter is written by all CPUs, but never more often than it lets rows through.
    /// `now` is the moment, for a program that has asked already.
    pub(crate) fn require_allowance(&mut self, record_bytes: u32, now: Option<Reg>) {
        let (read, given, limited) = (self.builder.block(), self.builder.block(), self.builder.block());
        let go_on = self.builder.block();
        let found = self.allowance();
        self.builder.branch(Test::Eq, found, 0, go_on, read);
        self.builder.switch_to(read);
        let each = self.load(found, Allowance::EACH);
        let (rows, bytes) = (self.load(found, Allowance::ROWS), self.load(found, Allowance::BYTES_IN_ALL));
        let in_all = self.builder.binary(IrBinaryOp::Or, rows, bytes);
        let any = self.builder.binary(IrBinaryOp::Or, in_all, each);
        self.builder.branch(Test::Eq, any, 0, go_on, given);
        self.builder.switch_to(given);
        let now = now.unwrap_or_else(|| self.builder.call(Helper::KtimeGetNs, &[]));
        let window = self.builder.binary(IrBinaryOp::Shr, now, WINDOW_BITS);
        let (own, shared, ask) = (self.builder.block(), self.builder.block(), self.builder.block());
        self.builder.branch(Test::Eq, each, 0, shared, own);
        self.builder.switch_to(own);
        self.require_own(each, window, shared, limited);
        self.builder.switch_to(shared);
        self.builder.branch(Test::Eq, in_all, 0, go_on, ask);
        self.builder.switch_to(ask);
        self.require_shared([found, rows, bytes, window], record_bytes, go_on, limited);
        self.builder.switch_to(limited);
        self.count(ProbeCounter::Limited);
        self.builder.end(End::Return(Operand::Constant(0)));
        self.builder.switch_to(go_on);
    }

    /// Where the guard's limits are, or null.
    fn allowance(&mut self) -> Reg {
        let bytes = Allowance::BYTES as u32;
        let map = self.builder.map(MapDefinition::new(ALLOWANCE_MAP.to_owned(), MapKind::Array, 4, bytes, 1));
        let key = self.builder.slot(8);
        self.builder.push(Op::StoreSlot { slot: key, offset: 0, size: Size::B4, value: Operand::Constant(0) });
        let (map, address) = (self.builder.map_address(map), self.builder.slot_address(key));
        self.builder.call(Helper::MapLookup, &[map.into(), address.into()])
    }

    /// Counts bytes that a record has beside those for which it was allowed, where the bytes of the capture have a limit.
    pub(crate) fn charge(&mut self, bytes: Reg) {
        let (there, limited, go_on) = (self.builder.block(), self.builder.block(), self.builder.block());
        let found = self.allowance();
        self.builder.branch(Test::Eq, found, 0, go_on, there);
        self.builder.switch_to(there);
        let limit = self.load(found, Allowance::BYTES_IN_ALL);
        self.builder.branch(Test::Eq, limit, 0, go_on, limited);
        self.builder.switch_to(limited);
        self.builder.atomic(AtomicOp::Add, Width::W64, found, Allowance::USED_BYTES, bytes);
        self.builder.jump(go_on);
        self.builder.switch_to(go_on);
    }

    /// Counts a row of this program on this CPU, up to `each` in a window.
    fn require_own(&mut self, each: Reg, window: Reg, go_on: BlockId, limited: BlockId) {
        let (another, same, used) = (self.builder.block(), self.builder.block(), self.builder.block());
        let last = self.load(self.counters, WINDOW);
        self.builder.branch(Test::Eq, last, window, same, another);
        self.builder.switch_to(another);
        self.store(WINDOW, window.into());
        self.store(USED, Operand::Constant(1));
        self.builder.jump(go_on);
        self.builder.switch_to(same);
        let before = self.load(self.counters, USED);
        self.builder.branch(Test::Lt, before, each, used, limited);
        self.builder.switch_to(used);
        let after = self.builder.binary(IrBinaryOp::Add, before, 1);
        self.store(USED, after.into());
        self.builder.jump(go_on);
    }

    /// Counts a row of the capture, as long as both limits have room for some of it. CPUs that ask in the same moment may
    /// each write one more, and those that begin a window together may count as one.
    fn require_shared(
        &mut self,
        [found, rows, bytes, window]: [Reg; 4],
        record_bytes: u32,
        go_on: BlockId,
        limited: BlockId,
    ) {
        let [another, same, ask_rows, then, ask_bytes, used] = std::array::from_fn(|_| self.builder.block());
        let record_bytes = i64::from(record_bytes);
        let last = self.load(found, Allowance::WINDOW);
        self.builder.branch(Test::Eq, last, window, same, another);
        self.builder.switch_to(another);
        for (offset, value) in [
            (Allowance::WINDOW, window.into()),
            (Allowance::USED_ROWS, Operand::Constant(1)),
            (Allowance::USED_BYTES, Operand::Constant(record_bytes)),
        ] {
            self.builder.push(Op::Store { base: found, offset, size: Size::B8, value });
        }
        self.builder.jump(go_on);
        self.builder.switch_to(same);
        self.builder.branch(Test::Eq, rows, 0, then, ask_rows);
        self.builder.switch_to(ask_rows);
        let before = self.load(found, Allowance::USED_ROWS);
        self.builder.branch(Test::Lt, before, rows, then, limited);
        self.builder.switch_to(then);
        self.builder.branch(Test::Eq, bytes, 0, used, ask_bytes);
        self.builder.switch_to(ask_bytes);
        let before = self.load(found, Allowance::USED_BYTES);
        self.builder.branch(Test::Lt, before, bytes, used, limited);
        self.builder.switch_to(used);
        for (offset, amount) in [(Allowance::USED_ROWS, 1), (Allowance::USED_BYTES, record_bytes)] {
            let amount = self.builder.set(amount);
            self.builder.atomic(AtomicOp::Add, Width::W64, found, offset, amount);
        }
        self.builder.jump(go_on);
    }

    fn load(&mut self, base: Reg, offset: i16) -> Reg {
        let to = self.builder.reg();
        self.builder.push(Op::Load { to, base, offset, size: Size::B8, signed: false });
        to
    }

    fn store(&mut self, offset: i16, value: Operand) {
        self.builder.push(Op::Store { base: self.counters, offset, size: Size::B8, value });
    }

    /// Writes the block that counts and returns 0, and gives the program.
    pub(crate) fn finish(mut self) -> crate::ir::Program {
        self.builder.switch_to(self.filtered);
        self.count(ProbeCounter::Filtered);
        self.builder.end(End::Return(Operand::Constant(0)));
        self.builder.finish()
    }
}

/// A number from the context, extended to 64 bits. The kernel reads a context at aligned places only, and packed
/// records have others, so such a number is put together of smaller ones.
pub(super) fn load_number(builder: &mut Builder, offset: u32, bytes: u32, signed: bool) -> Reg {
    let aligned = 1 << offset.trailing_zeros().min(3);
    match Size::of(bytes) {
        Some(size) if bytes <= aligned => builder.load_context(offset, size, signed),
        size => {
            let piece = Size::of(aligned).unwrap_or(Size::B1);
            let mut number = builder.load_context(offset, piece, false);
            for at in (aligned..bytes).step_by(aligned as usize) {
                let next = builder.load_context(offset + at, piece, false);
                let shifted = builder.binary(IrBinaryOp::Shl, next, i64::from(at * 8));
                number = builder.binary(IrBinaryOp::Or, number, shifted);
            }
            match size {
                Some(size) if signed && size != Size::B8 => {
                    let to = builder.reg();
                    builder.push(Op::Extend { to, from: number, size, signed });
                    to
                }
                _ => number,
            }
        }
    }
}

/// The largest access of at most `left` bytes that is aligned at all of `places`.
pub(super) fn largest_access(places: &[u32], left: u32) -> Size {
    let fits = |size: &Size| size.bytes() <= left && places.iter().all(|place| place.is_multiple_of(size.bytes()));
    [Size::B8, Size::B4, Size::B2].into_iter().find(fits).unwrap_or(Size::B1)
}

/// Where the text of an event begins: `loc` is the `u32` that tells it.
pub(super) fn dynamic_text_address(builder: &mut Builder, offset: u32, relative: bool) -> Reg {
    let loc = load_number(builder, offset, 4, false);
    let distance = builder.binary(IrBinaryOp::And, loc, 0xffff);
    let base = builder.reg();
    builder.push(Op::ContextAddress { to: base, offset: if relative { offset + 4 } else { 0 } });
    let to = builder.reg();
    builder.push(Op::Binary { to, op: IrBinaryOp::Add, width: Width::W64, left: base, right: distance.into() });
    to
}
