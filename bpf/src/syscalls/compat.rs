//! Which call it is: whose number, at which place of the table, and where its arguments are.

use bathyscope_capture::{CallFlags, CallPlace};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{Abi, MAX_CALLS},
};

use super::{CompatPlace, plan, programs::ProgramWriter};
use crate::ir::{BlockId, Helper, IrBinaryOp, Memory, Reg, Size, SlotId, Test};

/// Numbers of i386 that are one call for many, or have their arguments in memory.
const SOCKETCALL: i64 = 102;
const IPC: i64 = 117;
const OLD_SELECT: i64 = 82;
const OLD_MMAP: i64 = 90;
/// `execve` of i386 and of x32.
const I386_EXECUTE: i64 = 11;
const X32_EXECUTE: i64 = Abi::X32_BIT | 520;
/// `msgrcv` of `ipc`, of which there are two versions: the second is in the high half.
const RECEIVE: i64 = 12;
/// Bytes of arguments in memory.
const BLOCK_BYTES: u32 = 24;

/// The arguments of a call that a 32-bit program has made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    /// Whether it is such a call: 1, else 0.
    is: Reg,
    /// Its arguments, each of 8 bytes.
    arguments: SlotId,
}

impl ProgramWriter<'_> {
    /// Goes to `yes` in a call of a 32-bit program, else to `no`.
    fn branch_compat(&mut self, place: CompatPlace, yes: BlockId, no: BlockId) {
        let task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
        let status = self.load(task, place.status, Size::B4);
        self.b.branch(Test::Bits, status, CompatPlace::BIT, yes, no);
    }

    /// Says which call has a number of 64-bit programs or x32; goes to `known`, or to `no` if there is none.
    fn identify_native(&mut self, raw: Reg, [number, place]: [Reg; 2], known: BlockId, no: BlockId) {
        let (plain, other) = (self.b.block(), self.b.block());
        self.b.assign(number, raw);
        self.b.assign(place, raw);
        self.b.branch(Test::Ge, raw, MAX_CALLS as i64, other, plain);
        self.b.switch_to(plain);
        self.b.jump(known);
        self.b.switch_to(other);
        if self.probe.arch == Arch::Aarch64 {
            return self.b.jump(no);
        }
        let (x32, own) = (self.b.block(), self.b.block());
        let bare = self.b.binary(IrBinaryOp::Sub, raw, Abi::X32_BIT);
        self.b.assign(place, bare);
        self.b.branch(Test::Ge, bare, plan::X32_FIRST + plan::X32_CALLS, no, x32);
        self.b.switch_to(x32);
        self.b.branch(Test::Ge, bare, plan::X32_FIRST, own, known);
        self.b.switch_to(own);
        let own_place = self.b.binary(IrBinaryOp::Add, bare, plan::X32_PLACES - plan::X32_FIRST);
        self.b.assign(place, own_place);
        self.b.jump(known);
    }

    /// Says which call of a 32-bit program has a number; goes to `no` if there is none.
    fn identify_compat(&mut self, raw: Reg, [number, place]: [Reg; 2], no: BlockId) {
        let inside = self.b.block();
        self.b.branch(Test::Ge, raw, MAX_CALLS as i64, no, inside);
        self.b.switch_to(inside);
        let own = self.b.binary(IrBinaryOp::Add, raw, Abi::I386_BIT);
        self.b.assign(number, own);
        let own = self.b.binary(IrBinaryOp::Add, raw, plan::I386_PLACES);
        self.b.assign(place, own);
    }

    /// Says which call begins; goes to `no` if there is none of its number. A call whose arguments could not be read is
    /// left to its end, as if it had begun before.
    pub(super) fn identify_entry(&mut self, no: BlockId) -> Option<Narrow> {
        let raw = self.number;
        let (number, place) = (self.b.reg(), self.b.reg());
        let (own, known) = (self.b.block(), self.b.block());
        let narrow = self.probe.compat.map(|compat| {
            let narrow = Narrow { is: self.b.reg(), arguments: self.b.slot(48) };
            self.b.assign(narrow.is, 0);
            let i386 = self.b.block();
            self.branch_compat(compat, i386, own);
            self.b.switch_to(i386);
            self.b.assign(narrow.is, 1);
            self.identify_compat(raw, [number, place], no);
            self.narrow_arguments(raw, [number, place], narrow.arguments, known);
            narrow
        });
        if narrow.is_none() {
            self.b.jump(own);
        }
        self.b.switch_to(own);
        self.identify_native(raw, [number, place], known, no);
        self.b.switch_to(known);
        (self.number, self.place) = (number, place);
        narrow
    }

    /// Finds the arguments of a call of a 32-bit program, and the call that is meant; goes to `known`.
    fn narrow_arguments(&mut self, raw: Reg, call: [Reg; 2], arguments: SlotId, known: BlockId) {
        for (index, argument) in (0_u32..).zip(self.arguments(true)) {
            self.b.store_slot(arguments, 8 * index, Size::B8, argument);
        }
        let (socket, ipc, block) = (self.b.block(), self.b.block(), self.b.block());
        for (special, to) in [(SOCKETCALL, socket), (IPC, ipc), (OLD_MMAP, block), (OLD_SELECT, block)] {
            let next = self.b.block();
            self.b.branch(Test::Eq, raw, special, to, next);
            self.b.switch_to(next);
        }
        self.b.jump(known);

        self.b.switch_to(block);
        let address = self.b.load_slot(arguments, 0, Size::B8, false);
        self.read_block(address, arguments);
        self.b.jump(known);

        self.b.switch_to(socket);
        let (meant, in_range, read) = (self.b.load_slot(arguments, 0, Size::B8, false), self.b.block(), self.b.block());
        self.b.branch(Test::Ge, meant, Abi::SOCKETCALLS, known, in_range);
        self.b.switch_to(in_range);
        self.b.branch(Test::Eq, meant, 0, known, read);
        self.b.switch_to(read);
        let address = self.b.load_slot(arguments, 8, Size::B8, false);
        self.through(call, meant, Abi::THROUGH_SOCKETCALL);
        self.read_block(address, arguments);
        self.b.jump(known);

        self.b.switch_to(ipc);
        self.interprocess(call, arguments, known);
    }

    /// The call that is meant by one that stands for many.
    fn through(&mut self, [number, place]: [Reg; 2], meant: Reg, base: i64) {
        let own = self.b.binary(IrBinaryOp::Add, meant, Abi::I386_BIT + base);
        self.b.assign(number, own);
        let own = self.b.binary(IrBinaryOp::Add, meant, plan::THROUGH_PLACES + base - Abi::THROUGH_SOCKETCALL);
        self.b.assign(place, own);
    }

    /// The arguments of `ipc` follow the number of the call that is meant. In the first version of `msgrcv` one is in
    /// memory; that is left as it is.
    fn interprocess(&mut self, call: [Reg; 2], arguments: SlotId, known: BlockId) {
        let (meant, other) = (self.b.block(), self.b.block());
        let given = self.b.load_slot(arguments, 0, Size::B8, false);
        self.b.branch(Test::Eq, given, RECEIVE, known, other);
        self.b.switch_to(other);
        let low = self.b.binary(IrBinaryOp::And, given, 0xffff);
        self.b.branch(Test::Ge, low, Abi::IPC_CALLS, known, meant);
        self.b.switch_to(meant);
        self.through(call, low, Abi::THROUGH_IPC);
        for index in 0..5_u32 {
            let next = self.b.load_slot(arguments, 8 * index + 8, Size::B8, false);
            self.b.store_slot(arguments, 8 * index, Size::B8, next);
        }
        self.b.store_slot(arguments, 40, Size::B8, 0);
        self.b.jump(known);
    }

    /// Takes arguments that lie in memory, each of 4 bytes; ends the program if they cannot be read.
    fn read_block(&mut self, address: Reg, arguments: SlotId) {
        let (slot, there, nothing) = (self.b.slot(BLOCK_BYTES), self.b.block(), self.nothing);
        self.b.zero(Memory::Slot(slot, 0), BLOCK_BYTES);
        let room = self.b.slot_address(slot);
        let read = self.b.call(Helper::ProbeReadUser, &[room.into(), i64::from(BLOCK_BYTES).into(), address.into()]);
        self.b.branch(Test::Eq, read, 0, there, nothing);
        self.b.switch_to(there);
        for index in 0..6_u32 {
            let argument = self.b.load_slot(slot, 4 * index, Size::B4, false);
            self.b.store_slot(arguments, 8 * index, Size::B8, argument);
        }
    }

    /// Keeps the arguments of a call that begins.
    pub(super) fn keep_arguments(&mut self, state: Reg, narrow: Option<Narrow>) {
        let (wide, done) = (self.b.block(), self.b.block());
        if let Some(narrow) = narrow {
            let short = self.b.block();
            self.b.branch(Test::Eq, narrow.is, 0, wide, short);
            self.b.switch_to(short);
            for index in 0..6_u32 {
                let argument = self.b.load_slot(narrow.arguments, 8 * index, Size::B8, false);
                self.store(state, CallPlace::ARGUMENTS + 8 * index, Size::B8, argument);
            }
            self.b.jump(done);
        } else {
            self.b.jump(wide);
        }
        self.b.switch_to(wide);
        for (index, argument) in (0_u32..).zip(self.arguments(false)) {
            self.store(state, CallPlace::ARGUMENTS + 8 * index, Size::B8, argument);
        }
        self.b.jump(done);
        self.b.switch_to(done);
    }

    /// Says which call ends; goes to `no` if there is none of its number. Where the number is not that of the entry, it is
    /// the kept one.
    pub(super) fn identify_exit(&mut self, no: BlockId) {
        let raw = self.number;
        let (number, place, family) = (self.b.reg(), self.b.reg(), self.b.reg());
        let (numbered, own, known, ask, decided) =
            (self.b.block(), self.b.block(), self.b.block(), self.b.block(), self.b.block());
        self.b.assign(number, raw);
        self.b.assign(place, raw);
        self.b.assign(family, plan::RESTORES);
        let restored = if plan::restoring(self.probe) { ask } else { no };
        self.b.branch(Test::Eq, raw, -1, restored, numbered);
        self.b.switch_to(numbered);
        if let Some(compat) = self.probe.compat {
            let i386 = self.b.block();
            self.branch_compat(compat, i386, own);
            self.b.switch_to(i386);
            self.identify_compat(raw, [number, place], no);
            self.b.jump(known);
        } else {
            self.b.jump(own);
        }
        self.b.switch_to(own);
        self.identify_native(raw, [number, place], known, no);
        self.b.switch_to(known);
        let flags = self.flags_at(place);
        let renamed = self.b.binary(IrBinaryOp::And, flags, plan::EXECUTES | plan::THROUGH);
        self.b.assign(family, renamed);
        self.b.branch(Test::Eq, renamed, 0, decided, ask);
        self.b.switch_to(ask);
        self.ask_kept([number, place, family], decided, no);
        self.b.switch_to(decided);
        (self.number, self.place) = (number, place);
    }

    /// Takes the number of the call that the thread is in, if it ends in the same way; goes to `decided`, or to `no` where
    /// there is no other number.
    fn ask_kept(&mut self, [number, place, family]: [Reg; 3], decided: BlockId, no: BlockId) {
        let (there, active, same, other) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        let key = self.key_of(self.pid_tgid);
        let map = self.b.map_address(self.threads);
        let state = self.b.call(Helper::MapLookup, &[map.into(), key.into()]);
        self.b.branch(Test::Ne, state, 0, there, other);
        self.b.switch_to(there);
        let flags = self.load(state, CallPlace::FLAGS, Size::B4);
        self.b.branch(Test::Bits, flags, CallFlags::ACTIVE, active, other);
        self.b.switch_to(active);
        let kept = self.load(state, CallPlace::PLACE, Size::B2);
        let flags = self.flags_at(kept);
        let common = self.b.binary(IrBinaryOp::And, flags, family);
        self.b.branch(Test::Ne, common, 0, same, other);
        self.b.switch_to(same);
        let kept_number = self.load(state, CallPlace::NUMBER, Size::B4);
        self.b.assign(number, kept_number);
        self.b.assign(place, kept);
        self.b.jump(decided);
        self.b.switch_to(other);
        self.b.branch(Test::Eq, family, plan::RESTORES, no, decided);
    }

    /// Goes to `yes` where a call that executes a program ends, whoever's number that has then.
    pub(super) fn require_executed(&mut self, yes: BlockId, no: BlockId) {
        let (other, x32) = (self.b.block(), self.b.block());
        let own = self.number_of("execve");
        self.b.branch(Test::Eq, self.number, own, yes, other);
        self.b.switch_to(other);
        if self.probe.arch == Arch::Aarch64 {
            return self.b.jump(no);
        }
        match self.probe.compat {
            Some(compat) => {
                let i386 = self.b.block();
                self.b.branch(Test::Eq, self.number, I386_EXECUTE, i386, x32);
                self.b.switch_to(i386);
                self.branch_compat(compat, yes, no);
            }
            None => self.b.jump(x32),
        }
        self.b.switch_to(x32);
        self.b.branch(Test::Eq, self.number, X32_EXECUTE, yes, no);
    }
}
