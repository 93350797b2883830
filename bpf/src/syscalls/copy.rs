//! Copying memory of the process behind a call's header: the functions that the entry and the exit program share.
//!
//! The verifier must see that what is written stays inside the value. So the length so far is read anew from the value
//! and compared each time; that also lets paths through the program meet again as soon as a piece is done. The functions
//! are verified by themselves, once each, for which loading takes a fifth of the time: they are called from many places,
//! in loops.

use bathyscope_capture::{CALL_HEADER_BYTES, CallPlace};
use bathyscope_catalog::syscalls::{CONTROL_PART, MAX_GRABS, PATH_ROOM, VECTORS as MAX_VECTORS, WORDS as MAX_WORDS};

use super::{ProgramPlaces, beside::KEPT_BYTES, ends::kernel_number, entries, plan};
use crate::ir::{
    BlockId, Builder, FunctionId, Helper, IrBinaryOp, MapId, Memory, Parameter, Reg, Round, Size, SlotId, Test,
};

/// Bytes of a piece before its content.
pub(super) const PIECE_BYTES: u32 = 8;
/// The part number of a vector's array in a message.
const MESSAGE_VECTORS_PART: i64 = 2;
/// The most bytes of what comes beside a message that are looked at.
const CONTROL_BYTES: u32 = 128;
/// Bytes of a `struct msghdr` that are looked at, and of one of 32-bit programs.
const MESSAGE_BYTES: u32 = 56;
const NARROW_MESSAGE_BYTES: i64 = 28;
/// Bytes of a program's environment that are looked at: its addresses.
const ENVIRONMENT_BYTES: i64 = 512;
/// The bit of [`CallPlace::FAILED`] that says that a program's word could not be read.
const UNREAD_WORD: i64 = 1 << 30;
/// The bit of a piece's word that says that pointers have 32 bits.
const NARROW_SHIFT: i64 = 24;

/// Sizes that follow from how long texts may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The most bytes of one piece.
    pub(super) room: u32,
    /// A piece may begin up to here.
    pub(super) limit: u32,
    /// The most bytes of a text that is no path.
    pub(super) strings: u32,
}

impl Sizes {
    pub(super) fn of(strings: u16) -> Self {
        let strings = u32::from(strings);
        let room = (strings + 2).max(u32::from(PATH_ROOM)).next_multiple_of(8);
        // Of long texts there is room for two of full length, and for several short ones.
        let several = 4 * strings.min(1024) + strings.saturating_sub(1024);
        Self { room, limit: (1536 + several).next_multiple_of(8), strings }
    }

    /// The most bytes of pieces.
    pub(super) fn pieces_bytes(self) -> u32 {
        self.limit + PIECE_BYTES + self.room
    }

    /// Where a thread's value has what is kept for the call's end and is not recorded.
    pub(super) fn kept_at(self) -> u32 {
        CALL_HEADER_BYTES + self.pieces_bytes()
    }

    /// Bytes of a thread's value.
    pub(super) fn value_bytes(self) -> u32 {
        self.kept_at() + KEPT_BYTES
    }
}

/// Writes the functions of one program.
pub(super) struct Copier<'a> {
    pub(super) threads: MapId,
    pub(super) table: MapId,
    pub(super) sizes: Sizes,
    /// Entries of the table, a power of two.
    pub(super) places: i64,
    /// Whether it is the exit program.
    pub(super) exit: bool,
    pub(super) path: Option<&'a [u8]>,
    /// Where the kernel keeps what a new program was given.
    pub(super) program: Option<ProgramPlaces>,
}

/// The functions that append one piece: of text and of memory. Both take the value, the address, the most bytes, and
/// the piece's first word; they give what was read, or a negative error.
#[derive(Clone, Copy)]
struct Appenders {
    text: FunctionId,
    memory: FunctionId,
}

fn at(offset: u32) -> i16 {
    i16::try_from(offset).unwrap_or(i16::MAX)
}

fn load(b: &mut Builder, state: Reg, offset: u32, size: Size) -> Reg {
    b.load(state, at(offset), size, false)
}

impl Copier<'_> {
    /// Writes the function that copies everything that the table wants of a call: it takes the value and the number,
    /// which must be one of the table's.
    pub(super) fn write(&self, b: &mut Builder) -> FunctionId {
        let appenders =
            Appenders { text: self.appender(b, "append_text", true), memory: self.appender(b, "append", false) };
        let vectors = self.vectors(b, appenders);
        let counter = self.exit.then(|| entries::counter(b));
        let (function, registers) =
            b.begin_function("copy_all", &[Parameter::MaybeValue(self.threads), Parameter::Number]);
        if let [state, place] = registers[..] {
            Self::require_value(b, state);
            let entry = self.entry(b, place);
            self.given(b, appenders, state, entry);
            self.specials(b, appenders, (vectors, counter), state, entry);
            b.repeat(MAX_GRABS as i64, |b, round| self.grab(b, appenders, state, entry, round));
            b.ret(0);
        }
        b.end_function();
        function
    }

    /// Goes on where a function's value is one, which it always is; the verifier, which looks at the function by itself, does
    /// not know that.
    fn require_value(b: &mut Builder, state: Reg) {
        let (absent, there) = (b.block(), b.block());
        b.branch(Test::Eq, state, 0, absent, there);
        b.switch_to(absent);
        b.ret(-1);
        b.switch_to(there);
    }

    /// The address of the table's entry at a place. A mask keeps it inside, which the verifier sees wherever the place was
    /// kept before; the table is filled up for it.
    pub(super) fn entry(&self, b: &mut Builder, place: Reg) -> Reg {
        let place = b.binary(IrBinaryOp::And, place, self.places - 1);
        let offset = b.binary(IrBinaryOp::Mul, place, i64::from(plan::ENTRY_BYTES));
        let table = b.global_address(self.table, 0);
        b.binary(IrBinaryOp::Add, table, offset)
    }

    fn appender(&self, b: &mut Builder, name: &str, text: bool) -> FunctionId {
        let numbers = [Parameter::Number; 3];
        let parameters = [&[Parameter::MaybeValue(self.threads)][..], &numbers].concat();
        let (function, registers) = b.begin_function(name, &parameters);
        if let [state, address, most, word] = registers[..] {
            Self::require_value(b, state);
            self.append(b, state, [address, most, word], text);
        }
        b.end_function();
        function
    }

    fn append(&self, b: &mut Builder, state: Reg, [address, most, word]: [Reg; 3], text: bool) {
        let (full, fits, sized, failed, read) = (b.block(), b.block(), b.block(), b.block(), b.block());
        let used = load(b, state, CallPlace::USED, Size::B4);
        b.branch(Test::Gt, used, i64::from(self.sizes.limit), full, fits);
        b.switch_to(full);
        b.ret(-1);
        b.switch_to(fits);
        b.branch(Test::Gt, most, i64::from(self.sizes.room), full, sized);
        b.switch_to(sized);
        let piece = b.binary(IrBinaryOp::Add, state, used);
        b.store(piece, at(CALL_HEADER_BYTES), Size::B4, word);
        let room = b.binary(IrBinaryOp::Add, piece, i64::from(CALL_HEADER_BYTES + PIECE_BYTES));
        let helper = if text { Helper::ProbeReadUserStr } else { Helper::ProbeReadUser };
        let result = b.call(helper, &[room.into(), most.into(), address.into()]);
        let length = if text { result } else { b.select(Test::Eq, crate::ir::Width::W64, result, 0, most, result) };
        b.store(piece, at(CALL_HEADER_BYTES + 4), Size::B4, length);
        b.branch(Test::SignedLt, length, 0, failed, read);
        b.switch_to(failed);
        let after = b.binary(IrBinaryOp::Add, used, i64::from(PIECE_BYTES));
        b.store(state, at(CallPlace::USED), Size::B4, after);
        b.ret(-1);
        b.switch_to(read);
        let bytes = b.binary(IrBinaryOp::Add, length, 7 + i64::from(PIECE_BYTES));
        let bytes = b.binary(IrBinaryOp::And, bytes, !7);
        let after = b.binary(IrBinaryOp::Add, used, bytes);
        b.store(state, at(CallPlace::USED), Size::B4, after);
        b.ret(length);
    }

    /// The value of an argument whose index the table has.
    fn argument(b: &mut Builder, state: Reg, entry: Reg, offset: u32) -> Reg {
        let index = load(b, entry, offset, Size::B1);
        Self::argument_of(b, state, index)
    }

    fn argument_of(b: &mut Builder, state: Reg, index: Reg) -> Reg {
        let index = b.binary(IrBinaryOp::And, index, 7);
        let offset = b.binary(IrBinaryOp::Shl, index, 3);
        let place = b.binary(IrBinaryOp::Add, state, offset);
        load(b, place, CallPlace::ARGUMENTS, Size::B8)
    }

    /// A piece's first word: argument, part, whether it is of the exit.
    pub(super) fn word(b: &mut Builder, argument: Reg, part: i64, exit: bool) -> Reg {
        b.binary(IrBinaryOp::Or, argument, part << 8 | if exit { 1 << 16 } else { 0 })
    }

    /// A word that says to the function of vectors whether pointers have 32 bits; readers of records do not look at it.
    fn narrow_word(b: &mut Builder, word: Reg, narrow: Reg) -> Reg {
        let bit = b.binary(IrBinaryOp::Shl, narrow, NARROW_SHIFT);
        b.binary(IrBinaryOp::Or, word, bit)
    }

    /// What a program was given, read where it runs now: what executed it had pages that were not in memory, as a child that
    /// was just forked has, and they are gone. Its words and its environment are its own, which of a script are those of its
    /// interpreter.
    fn given(&self, b: &mut Builder, appenders: Appenders, state: Reg, entry: Reg) {
        let Some(places) = self.program.filter(|_| self.exit) else { return };
        let (executes, runs, unread, done) = (b.block(), b.block(), b.block(), b.block());
        let flags = load(b, entry, 0, Size::B1);
        b.branch(Test::Bits, flags, plan::EXECUTES, executes, done);
        b.switch_to(executes);
        let result = load(b, state, CallPlace::RESULT, Size::B8);
        b.branch(Test::Eq, result, 0, runs, done);
        b.switch_to(runs);
        let failed = load(b, state, CallPlace::FAILED, Size::B4);
        // Nothing of the addresses holds any more.
        b.store(state, at(CallPlace::FAILED), Size::B4, 0);
        let narrow = load(b, entry, plan::NARROW_AT, Size::B1);
        let wide = b.block();
        b.branch(Test::Eq, narrow, 0, wide, done);
        b.switch_to(wide);
        b.branch(Test::Eq, failed, 0, done, unread);
        b.switch_to(unread);
        let task = b.call(Helper::GetCurrentTask, &[]);
        let memory = kernel_number(b, task, places.memory, Size::B8);
        let stack = kernel_number(b, memory, places.stack, Size::B8);
        let name = kernel_number(b, memory, places.name, Size::B8);
        let argument = load(b, entry, 5, Size::B1);
        // The name is one argument before the words, the environment one behind them.
        let before = b.binary(IrBinaryOp::Sub, argument, 1);
        let word = Self::word(b, before, 0, true);
        b.call_function(appenders.text, &[state.into(), name.into(), i64::from(PATH_ROOM).into(), word.into()]);
        let behind = b.binary(IrBinaryOp::Add, argument, 1);
        let word = Self::word(b, behind, 0, true);
        let slot = b.slot(8);
        b.store_slot(slot, 0, Size::B8, 0);
        let room = b.slot_address(slot);
        b.call_only(Helper::ProbeReadUser, &[room.into(), 8.into(), stack.into()]);
        let words = b.load_slot(slot, 0, Size::B8, false);
        let bytes = b.binary(IrBinaryOp::Shl, words, 3);
        let environment = b.binary(IrBinaryOp::Add, stack, bytes);
        let environment = b.binary(IrBinaryOp::Add, environment, 16);
        b.call_function(appenders.memory, &[state.into(), environment.into(), ENVIRONMENT_BYTES.into(), word.into()]);
        let first = b.binary(IrBinaryOp::Add, stack, 8);
        let word = Self::word(b, argument, 0, true);
        let wide = b.set(0);
        self.words(b, appenders, state, [first, word, wide], done);
        b.switch_to(done);
    }

    /// One piece of the table.
    fn grab(&self, b: &mut Builder, appenders: Appenders, state: Reg, entry: Reg, round: Round) {
        let offset = b.binary(IrBinaryOp::Shl, round.index, 3);
        let grab = b.binary(IrBinaryOp::Add, entry, offset);
        let part = |offset: u32| plan::GRABS_AT + offset;
        let kind = load(b, grab, part(0), Size::B1);
        let some = b.block();
        b.branch(Test::Eq, kind, 0, round.after, some);
        b.switch_to(some);
        let of_exit = load(b, grab, part(2), Size::B1);
        self.require_moment(b, state, of_exit, round);
        let address = Self::argument(b, state, grab, part(1));
        let given = b.block();
        b.branch(Test::Eq, address, 0, round.next, given);
        b.switch_to(given);
        let argument = load(b, grab, part(1), Size::B1);
        let shifted = b.binary(IrBinaryOp::Shl, of_exit, 16);
        let word = b.binary(IrBinaryOp::Or, argument, shifted);
        let most = load(b, grab, part(6), Size::B2);
        let (memory, text) = (b.block(), b.block());
        let before = load(b, state, CallPlace::USED, Size::B4);
        b.branch(Test::Eq, kind, plan::MEMORY, memory, text);
        b.switch_to(memory);
        let length = Self::length(b, state, grab, most, round.next);
        let read = b.call_function(appenders.memory, &[state.into(), address.into(), length.into(), word.into()]);
        self.note_failure(b, state, read, round);
        b.switch_to(text);
        let read = b.call_function(appenders.text, &[state.into(), address.into(), most.into(), word.into()]);
        if self.path.is_some() {
            let (is_path, go_on) = (b.block(), b.block());
            b.branch(Test::Eq, kind, plan::PATH, is_path, go_on);
            b.switch_to(is_path);
            self.match_path(b, state, before, go_on);
            b.switch_to(go_on);
        }
        self.note_failure(b, state, read, round);
    }

    /// Goes on only where the piece belongs to this program: at the exit those of the exit if the call has not failed,
    /// and those of the entry that could not be read then, because their page was not in memory.
    fn require_moment(&self, b: &mut Builder, state: Reg, of_exit: Reg, round: Round) {
        let go_on = b.block();
        if !self.exit {
            b.branch(Test::Eq, of_exit, 0, go_on, round.next);
            b.switch_to(go_on);
            return;
        }
        let (again, now) = (b.block(), b.block());
        b.branch(Test::Eq, of_exit, 0, again, now);
        b.switch_to(again);
        let failed = load(b, state, CallPlace::FAILED, Size::B4);
        let bit = b.binary(IrBinaryOp::Shr, failed, round.index);
        b.branch(Test::Bits, bit, 1, go_on, round.next);
        b.switch_to(now);
        let result = load(b, state, CallPlace::RESULT, Size::B8);
        b.branch(Test::SignedGe, result, 0, go_on, round.next);
        b.switch_to(go_on);
    }

    /// How many bytes there are, at most `most`; goes to `none` if there are none.
    fn length(b: &mut Builder, state: Reg, grab: Reg, most: Reg, none: BlockId) -> Reg {
        let part = |offset: u32| plan::GRABS_AT + offset;
        let length = b.reg();
        let (fixed, other, scaled, done) = (b.block(), b.block(), b.block(), b.block());
        let source = load(b, grab, part(3), Size::B1);
        b.branch(Test::Eq, source, plan::FIXED, fixed, other);
        b.switch_to(fixed);
        b.assign(length, most);
        b.jump(done);
        b.switch_to(other);
        let (result, not_result) = (b.block(), b.block());
        b.branch(Test::Eq, source, plan::RESULT, result, not_result);
        b.switch_to(result);
        let value = load(b, state, CallPlace::RESULT, Size::B8);
        b.assign(length, value);
        b.jump(scaled);
        b.switch_to(not_result);
        let value = Self::argument(b, state, grab, part(4));
        let (bits, no_bits, given, behind) = (b.block(), b.block(), b.block(), b.block());
        b.branch(Test::Eq, source, plan::BITS, bits, no_bits);
        b.switch_to(bits);
        let words = b.binary(IrBinaryOp::And, value, 0xffff);
        let words = b.binary(IrBinaryOp::Add, words, 63);
        let words = b.binary(IrBinaryOp::Shr, words, 6);
        let bytes = b.binary(IrBinaryOp::Shl, words, 3);
        b.assign(length, bytes);
        b.jump(scaled);
        b.switch_to(no_bits);
        b.branch(Test::Eq, source, plan::ARGUMENT, given, behind);
        b.switch_to(given);
        b.assign(length, value);
        b.jump(scaled);
        b.switch_to(behind);
        let slot = b.slot(8);
        b.store_slot(slot, 0, Size::B8, 0);
        let room = b.slot_address(slot);
        b.call_only(Helper::ProbeReadUser, &[room.into(), 4.into(), value.into()]);
        let value = b.load_slot(slot, 0, Size::B4, false);
        b.assign(length, value);
        b.jump(scaled);
        b.switch_to(scaled);
        // First cut, so that the product cannot overflow.
        let cut = b.select(Test::Gt, crate::ir::Width::W64, length, 0xffff, 0xffff, length);
        let unit = load(b, grab, part(5), Size::B1);
        let bytes = b.binary(IrBinaryOp::Mul, cut, unit);
        let bytes = b.select(Test::Gt, crate::ir::Width::W64, bytes, most, most, bytes);
        b.assign(length, bytes);
        b.jump(done);
        b.switch_to(done);
        let some = b.block();
        b.branch(Test::Eq, length, 0, none, some);
        b.switch_to(some);
        length
    }

    /// Notes that an entry piece is to be tried again, and goes on with the next.
    fn note_failure(&self, b: &mut Builder, state: Reg, read: Reg, round: Round) {
        if self.exit {
            b.jump(round.next);
            return;
        }
        let failed = b.block();
        b.branch(Test::SignedLt, read, 0, failed, round.next);
        b.switch_to(failed);
        let one = b.set(1);
        let bit = b.binary(IrBinaryOp::Shl, one, round.index);
        let before = load(b, state, CallPlace::FAILED, Size::B4);
        let after = b.binary(IrBinaryOp::Or, before, bit);
        b.store(state, at(CallPlace::FAILED), Size::B4, after);
        b.jump(round.next);
    }

    /// Notes whether the path that was just copied begins as wanted.
    fn match_path(&self, b: &mut Builder, state: Reg, before: Reg, go_on: BlockId) {
        let (inside, equal) = (b.block(), b.block());
        b.branch(Test::Gt, before, i64::from(self.sizes.limit), go_on, inside);
        b.switch_to(inside);
        let piece = b.binary(IrBinaryOp::Add, state, before);
        let text = Memory::Pointer(piece, at(CALL_HEADER_BYTES + PIECE_BYTES));
        b.compare_constant(text, self.path.unwrap_or_default(), equal, go_on);
        b.switch_to(equal);
        b.store(state, at(CallPlace::MATCHED), Size::B2, 1);
        b.jump(go_on);
    }

    /// What does not lie in one piece. It comes first: a program's words are worth more than its environment.
    fn specials(
        &self,
        b: &mut Builder,
        appenders: Appenders,
        (vectors, counter): (FunctionId, Option<FunctionId>),
        state: Reg,
        entry: Reg,
    ) {
        let (some, done) = (b.block(), b.block());
        let kind = load(b, entry, 4, Size::B1);
        b.branch(Test::Eq, kind, 0, done, some);
        b.switch_to(some);
        let argument = load(b, entry, 5, Size::B1);
        let of_exit = load(b, entry, 7, Size::B1);
        let now = b.block();
        b.branch(Test::Eq, of_exit, i64::from(self.exit), now, done);
        b.switch_to(now);
        if self.exit {
            let fine = b.block();
            let result = load(b, state, CallPlace::RESULT, Size::B8);
            b.branch(Test::SignedGe, result, 0, fine, done);
            b.switch_to(fine);
        }
        let address = Self::argument_of(b, state, argument);
        let narrow = load(b, entry, plan::NARROW_AT, Size::B1);
        let narrow = b.binary(IrBinaryOp::And, narrow, 1);
        let (words, other, is_vectors, message) = (b.block(), b.block(), b.block(), b.block());
        b.branch(Test::Eq, kind, plan::WORDS, words, other);
        b.switch_to(words);
        if self.exit {
            b.jump(done);
        } else {
            self.words(b, appenders, state, [address, argument, narrow], done);
        }
        b.switch_to(other);
        let rest = b.block();
        b.branch(Test::Eq, kind, plan::VECTORS, is_vectors, rest);
        b.switch_to(is_vectors);
        let count = Self::argument(b, state, entry, 6);
        let word = Self::word(b, argument, 0, self.exit);
        let word = Self::narrow_word(b, word, narrow);
        b.call_function(vectors, &[state.into(), address.into(), count.into(), word.into()]);
        b.jump(done);
        b.switch_to(rest);
        let is_entries = b.block();
        b.branch(Test::Eq, kind, plan::ENTRIES, is_entries, message);
        b.switch_to(is_entries);
        match counter {
            Some(counter) => self.entries(b, counter, state, [address, argument], done),
            None => b.jump(done),
        }
        b.switch_to(message);
        self.message(b, appenders, vectors, state, [address, argument, narrow]);
        b.jump(done);
        b.switch_to(done);
    }

    fn words(
        &self,
        b: &mut Builder,
        appenders: Appenders,
        state: Reg,
        [address, argument, narrow]: [Reg; 3],
        done: BlockId,
    ) {
        let slot = b.slot(8);
        let bytes = Self::pointer_bytes(b, narrow);
        let count = b.set(0);
        let counted = b.block();
        b.repeat(i64::from(MAX_WORDS) + 1, |b, round| {
            let offset = b.binary(IrBinaryOp::Mul, round.index, bytes);
            let place = b.binary(IrBinaryOp::Add, address, offset);
            let room = b.slot_address(slot);
            b.store_slot(slot, 0, Size::B8, 0);
            b.call_only(Helper::ProbeReadUser, &[room.into(), bytes.into(), place.into()]);
            let word = b.load_slot(slot, 0, Size::B8, false);
            let some = b.block();
            b.branch(Test::Eq, word, 0, counted, some);
            b.switch_to(some);
            b.assign(count, round.index);
            let next = b.binary(IrBinaryOp::Add, count, 1);
            b.assign(count, next);
            let part = b.binary(IrBinaryOp::Shl, next, 8);
            let header = b.binary(IrBinaryOp::Or, argument, part);
            let most = i64::from(self.sizes.strings + 2);
            let read = b.call_function(appenders.text, &[state.into(), word.into(), most.into(), header.into()]);
            if !self.exit {
                let unread = b.block();
                b.branch(Test::SignedLt, read, 0, unread, round.next);
                b.switch_to(unread);
                b.store(state, at(CallPlace::FAILED), Size::B4, UNREAD_WORD);
            }
        });
        b.jump(counted);
        b.switch_to(counted);
        self.number(b, state, [argument, count], done);
    }

    /// Bytes of a pointer, where `narrow` is 1 for 32 bits and else 0.
    fn pointer_bytes(b: &mut Builder, narrow: Reg) -> Reg {
        let less = b.binary(IrBinaryOp::Shl, narrow, 2);
        let eight = b.set(8);
        b.binary(IrBinaryOp::Sub, eight, less)
    }

    /// A number as a piece of 4 bytes; goes to `done`.
    pub(super) fn number(&self, b: &mut Builder, state: Reg, [word, number]: [Reg; 2], done: BlockId) {
        let used = load(b, state, CallPlace::USED, Size::B4);
        let fits = b.block();
        b.branch(Test::Gt, used, i64::from(self.sizes.limit), done, fits);
        b.switch_to(fits);
        let piece = b.binary(IrBinaryOp::Add, state, used);
        b.store(piece, at(CALL_HEADER_BYTES), Size::B4, word);
        b.store(piece, at(CALL_HEADER_BYTES + 4), Size::B4, 4);
        b.store(piece, at(CALL_HEADER_BYTES + 8), Size::B8, number);
        let after = b.binary(IrBinaryOp::Add, used, 16);
        b.store(state, at(CallPlace::USED), Size::B4, after);
        b.jump(done);
    }

    /// The function that appends an array of vectors and the first bytes of each: it takes the value, the address, how
    /// many there are, and the array's word, in whose part the array's number is; see [`Self::narrow_word`].
    fn vectors(&self, b: &mut Builder, appenders: Appenders) -> FunctionId {
        let numbers = [Parameter::Number; 3];
        let parameters = [&[Parameter::MaybeValue(self.threads)][..], &numbers].concat();
        let (function, registers) = b.begin_function("append_vectors", &parameters);
        if let [state, address, count, word] = registers[..] {
            Self::require_value(b, state);
            let most = i64::from(MAX_VECTORS);
            let width = crate::ir::Width::W64;
            let count = b.select(Test::Gt, width, count, most, most, count);
            let (none, some) = (b.block(), b.block());
            b.branch(Test::Eq, count, 0, none, some);
            b.switch_to(none);
            b.ret(0);
            b.switch_to(some);
            let narrow = b.binary(IrBinaryOp::Shr, word, NARROW_SHIFT);
            let narrow = b.binary(IrBinaryOp::And, narrow, 1);
            let pointer = Self::pointer_bytes(b, narrow);
            let vector = b.binary(IrBinaryOp::Shl, pointer, 1);
            let bytes = b.binary(IrBinaryOp::Mul, count, vector);
            b.call_function(appenders.memory, &[state.into(), address.into(), bytes.into(), word.into()]);
            let slot = b.slot(16);
            b.repeat(most, |b, round| {
                let inside = b.block();
                b.branch(Test::Ge, round.index, count, round.after, inside);
                b.switch_to(inside);
                let offset = b.binary(IrBinaryOp::Mul, round.index, vector);
                let place = b.binary(IrBinaryOp::Add, address, offset);
                b.zero(Memory::Slot(slot, 0), 16);
                let room = b.slot_address(slot);
                b.call_only(Helper::ProbeReadUser, &[room.into(), vector.into(), place.into()]);
                let base = Self::either(b, narrow, slot, [(0, Size::B4), (0, Size::B8)]);
                let length = Self::either(b, narrow, slot, [(4, Size::B4), (8, Size::B8)]);
                let strings = i64::from(self.sizes.strings);
                let length = b.select(Test::Gt, width, length, strings, strings, length);
                let filled = b.block();
                b.branch(Test::Eq, length, 0, round.next, filled);
                b.switch_to(filled);
                let part = b.binary(IrBinaryOp::Add, round.index, 1);
                let part = b.binary(IrBinaryOp::Shl, part, 8);
                let word = b.binary(IrBinaryOp::Add, word, part);
                b.call_function(appenders.memory, &[state.into(), base.into(), length.into(), word.into()]);
            });
            b.ret(0);
        }
        b.end_function();
        function
    }

    /// What lies at one of two places: at the first if pointers have 32 bits.
    fn either(b: &mut Builder, narrow: Reg, slot: SlotId, [short, long]: [(u32, Size); 2]) -> Reg {
        let short = b.load_slot(slot, short.0, short.1, false);
        let long = b.load_slot(slot, long.0, long.1, false);
        b.select(Test::Eq, crate::ir::Width::W64, narrow, 1, short, long)
    }

    fn message(
        &self,
        b: &mut Builder,
        appenders: Appenders,
        vectors: FunctionId,
        state: Reg,
        [address, argument, narrow]: [Reg; 3],
    ) {
        let slot = b.slot(MESSAGE_BYTES);
        let word = Self::word(b, argument, 0, self.exit);
        let less = b.binary(IrBinaryOp::Mul, narrow, NARROW_MESSAGE_BYTES);
        let whole = b.set(i64::from(MESSAGE_BYTES));
        let bytes = b.binary(IrBinaryOp::Sub, whole, less);
        b.call_function(appenders.memory, &[state.into(), address.into(), bytes.into(), word.into()]);
        b.zero(Memory::Slot(slot, 0), MESSAGE_BYTES);
        let room = b.slot_address(slot);
        b.call_only(Helper::ProbeReadUser, &[room.into(), bytes.into(), address.into()]);
        let (named, after) = (b.block(), b.block());
        let name = Self::either(b, narrow, slot, [(0, Size::B4), (0, Size::B8)]);
        let length = Self::either(b, narrow, slot, [(4, Size::B4), (8, Size::B4)]);
        let length = b.select(Test::Gt, crate::ir::Width::W64, length, 128, 128, length);
        let (given, word) = (b.block(), Self::word(b, argument, 1, self.exit));
        b.branch(Test::Eq, name, 0, after, given);
        b.switch_to(given);
        b.branch(Test::Eq, length, 0, after, named);
        b.switch_to(named);
        b.call_function(appenders.memory, &[state.into(), name.into(), length.into(), word.into()]);
        b.jump(after);
        b.switch_to(after);
        let array = Self::either(b, narrow, slot, [(8, Size::B4), (16, Size::B8)]);
        let count = Self::either(b, narrow, slot, [(12, Size::B4), (24, Size::B8)]);
        let word = Self::word(b, argument, MESSAGE_VECTORS_PART, self.exit);
        let word = Self::narrow_word(b, word, narrow);
        b.call_function(vectors, &[state.into(), array.into(), count.into(), word.into()]);
        let (beside, known, end) = (b.block(), b.block(), b.block());
        let control = Self::either(b, narrow, slot, [(16, Size::B4), (32, Size::B8)]);
        let length = Self::either(b, narrow, slot, [(20, Size::B4), (40, Size::B8)]);
        b.branch(Test::Eq, control, 0, end, beside);
        b.switch_to(beside);
        let most = i64::from(CONTROL_BYTES);
        let length = b.select(Test::Gt, crate::ir::Width::W64, length, most, most, length);
        b.branch(Test::Eq, length, 0, end, known);
        b.switch_to(known);
        let word = Self::word(b, argument, i64::from(CONTROL_PART), self.exit);
        b.call_function(appenders.memory, &[state.into(), control.into(), length.into(), word.into()]);
        b.jump(end);
        b.switch_to(end);
    }
}
