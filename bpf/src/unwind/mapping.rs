//! What the current process has mapped at an address.
//!
//! The kernel keeps mappings in a maple tree. A pointer to a node carries its kind in the bits below the node's alignment.
//! A node of n slots has n − 1 pivots, the last address under each slot; a pivot of 0 after the first stands for the end.

use super::{MappingOffsets, Tables};
use crate::ir::{
    BlockId, Builder, FunctionId, Helper, IrBinaryOp, MapDefinition, MapId, Parameter, Program, ProgramKind, Reg, Size,
    Test,
};

/// Bytes of a node.
pub(super) const NODE_BYTES: u32 = 256;
/// Pivots of the two kinds of nodes that trees of mappings have.
pub(super) const RANGE_PIVOTS: u32 = 15;
const ARANGE_PIVOTS: u32 = 9;
/// Slots that an index of 4 bits reaches.
pub(super) const MAX_SLOTS: u32 = 16;
/// The most levels; five are enough for more mappings than a process may have.
const MAX_LEVELS: i64 = 8;
/// Kinds of nodes: leaf, inner node, inner node with the gaps below it.
const LEAF: i64 = 1;
const RANGE: i64 = 2;
const ARANGE: i64 = 3;
/// What marks the root as a node. The pointers inside have other marks there.
const ROOT_TAG: i64 = 2;
const ROOT_MASK: i64 = 3;
/// Entries up to this are no pointers.
const MAX_RESERVED: i64 = 4096;
const PAGE_SHIFT: i64 = 12;
/// `VM_EXEC`.
const EXECUTABLE: i64 = 4;

/// What is kept of the mapping that was found last, at these offsets of a map's value of at least [`Mapping::BYTES`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping;

impl Mapping {
    /// Its first address; it holds nothing if this is the end.
    pub(crate) const START: i16 = 0;
    /// The address after it.
    pub(crate) const END: i16 = 8;
    /// What to add to an address for the offset in the file.
    pub(crate) const SHIFT: i16 = 16;
    /// The first row of its file.
    pub(crate) const FIRST: i16 = 24;
    /// How many rows its file has.
    pub(crate) const COUNT: i16 = 32;
    /// The inode of its file, or 0.
    pub(crate) const INODE: i16 = 40;
    /// Room for a node, or for anything else of the kernel's between two searches.
    pub(crate) const ROOM: i16 = 48;
    /// Bytes of all.
    pub(crate) const BYTES: u32 = 48 + NODE_BYTES;
}

/// A word of the kernel's memory, 0 where there is none.
pub(crate) fn read_kernel(b: &mut Builder, address: Reg, offset: u32) -> Reg {
    read(b, Helper::ProbeReadKernel, address, offset)
}

/// A word of the process's memory, 0 where there is none.
pub(crate) fn read_user(b: &mut Builder, address: Reg, offset: u32) -> Reg {
    read(b, Helper::ProbeReadUser, address, offset)
}

fn read(b: &mut Builder, helper: Helper, address: Reg, offset: u32) -> Reg {
    let slot = b.slot(8);
    let place = b.binary(IrBinaryOp::Add, address, i64::from(offset));
    let room = b.slot_address(slot);
    // What cannot be read is filled with zeros.
    b.call_only(helper, &[room.into(), 8.into(), place.into()]);
    b.load_slot(slot, 0, Size::B8, false)
}

/// Writes the function that finds the mapping of an address: it takes a value of `state`, which begins with a [`Mapping`],
/// and the address. It gives 1 if the mapping is of a file.
/// With `executable` only code counts.
pub(crate) fn find_function(
    b: &mut Builder,
    offsets: MappingOffsets,
    [state, files]: [MapId; 2],
    executable: bool,
) -> FunctionId {
    let (function, registers) = b.begin_function("find_mapping", &[Parameter::Value(state), Parameter::Number]);
    if let [state, address] = registers[..] {
        write_find(b, offsets, (files, executable), state, address);
    }
    b.end_function();
    function
}

fn write_find(b: &mut Builder, offsets: MappingOffsets, (files, executable): (MapId, bool), state: Reg, address: Reg) {
    for word in [Mapping::START, Mapping::END, Mapping::COUNT, Mapping::INODE] {
        b.store(state, word, Size::B8, 0);
    }
    let (nothing, leaf) = (b.block(), b.block());
    let task = b.call(Helper::GetCurrentTask, &[]);
    let memory = read_kernel(b, task, offsets.task_mm);
    let entry = read_kernel(b, memory, offsets.mm_root);
    let root = b.block();
    let tag = b.binary(IrBinaryOp::And, entry, ROOT_MASK);
    b.branch(Test::Eq, tag, ROOT_TAG, root, nothing);
    b.switch_to(root);
    b.repeat(MAX_LEVELS, |b, _round| {
        let kind = descend(b, offsets, state, address, entry, nothing);
        let deeper = b.block();
        b.branch(Test::Eq, kind, LEAF, leaf, deeper);
        b.switch_to(deeper);
    });
    b.jump(nothing);
    b.switch_to(nothing);
    b.ret(0);
    b.switch_to(leaf);
    at_mapping(b, offsets, executable, (state, address, entry), nothing);
    file_of(b, offsets, files, state, entry, nothing);
    b.ret(1);
}

/// Replaces a node by what is under it at the address; gives the node's kind.
fn descend(b: &mut Builder, offsets: MappingOffsets, state: Reg, address: Reg, entry: Reg, nothing: BlockId) -> Reg {
    let (read_there, range, arange, other) = (b.block(), b.block(), b.block(), b.block());
    let kind = b.binary(IrBinaryOp::Shr, entry, 3);
    let kind = b.binary(IrBinaryOp::And, kind, 15);
    let node = b.binary(IrBinaryOp::And, entry, !255);
    let room = b.binary(IrBinaryOp::Add, state, i64::from(Mapping::ROOM));
    let failed = b.call(Helper::ProbeReadKernel, &[room.into(), i64::from(NODE_BYTES).into(), node.into()]);
    b.branch(Test::Eq, failed, 0, read_there, nothing);
    b.switch_to(read_there);
    let (slots, pivots) = (b.reg(), b.reg());
    b.branch(Test::Eq, kind, ARANGE, arange, other);
    b.switch_to(other);
    let inner = b.block();
    b.branch(Test::Eq, kind, LEAF, range, inner);
    b.switch_to(inner);
    b.branch(Test::Eq, kind, RANGE, range, nothing);
    let search = b.block();
    for (block, first, count) in
        [(range, offsets.range_slot, RANGE_PIVOTS), (arange, offsets.arange_slot, ARANGE_PIVOTS)]
    {
        b.switch_to(block);
        b.assign(slots, i64::from(first));
        b.assign(pivots, i64::from(count));
        b.jump(search);
    }
    b.switch_to(search);
    let index = slot_of(b, offsets, state, address, pivots);
    let offset = b.binary(IrBinaryOp::Shl, index, 3);
    let offset = b.binary(IrBinaryOp::Add, offset, slots);
    let place = b.binary(IrBinaryOp::Add, state, offset);
    let under = b.load(place, Mapping::ROOM, Size::B8, false);
    b.assign(entry, under);
    kind
}

/// The index of the slot that holds the address, in the node that was read.
fn slot_of(b: &mut Builder, offsets: MappingOffsets, state: Reg, address: Reg, pivots: Reg) -> Reg {
    let found = b.set(0);
    let first_pivot = Mapping::ROOM.saturating_add(i16::try_from(offsets.node_pivot).unwrap_or(0));
    b.repeat(i64::from(RANGE_PIVOTS), |b, round| {
        b.assign(found, round.index);
        let (look, beyond, zero) = (b.block(), b.block(), b.block());
        b.branch(Test::Ge, round.index, pivots, round.after, look);
        b.switch_to(look);
        let offset = b.binary(IrBinaryOp::Shl, round.index, 3);
        let place = b.binary(IrBinaryOp::Add, state, offset);
        let pivot = b.load(place, first_pivot, Size::B8, false);
        b.branch(Test::Ge, pivot, address, round.after, beyond);
        b.switch_to(beyond);
        b.assign(found, i64::from(RANGE_PIVOTS));
        b.branch(Test::Ne, pivot, 0, round.next, zero);
        b.switch_to(zero);
        b.assign(found, round.index);
        b.branch(Test::Ne, round.index, 0, round.after, round.next);
    });
    b.binary(IrBinaryOp::And, found, i64::from(MAX_SLOTS - 1))
}

/// Keeps where a mapping is, if it holds the address.
fn at_mapping(
    b: &mut Builder,
    offsets: MappingOffsets,
    executable: bool,
    (state, address, vma): (Reg, Reg, Reg),
    nothing: BlockId,
) {
    let (pointer, begun, holds) = (b.block(), b.block(), b.block());
    b.branch(Test::Le, vma, MAX_RESERVED, nothing, pointer);
    b.switch_to(pointer);
    let start = read_kernel(b, vma, offsets.vma_start);
    b.branch(Test::Lt, address, start, nothing, begun);
    b.switch_to(begun);
    let end = read_kernel(b, vma, offsets.vma_end);
    b.branch(Test::Ge, address, end, nothing, holds);
    b.switch_to(holds);
    if executable {
        let runs = b.block();
        let flags = read_kernel(b, vma, offsets.vma_flags);
        b.branch(Test::Bits, flags, EXECUTABLE, runs, nothing);
        b.switch_to(runs);
    }
    b.store(state, Mapping::START, Size::B8, start);
    b.store(state, Mapping::END, Size::B8, end);
    let pages = read_kernel(b, vma, offsets.vma_pgoff);
    let offset = b.binary(IrBinaryOp::Shl, pages, PAGE_SHIFT);
    let shift = b.binary(IrBinaryOp::Sub, offset, start);
    b.store(state, Mapping::SHIFT, Size::B8, shift);
}

/// Keeps which rows are those of the mapping's file.
fn file_of(b: &mut Builder, offsets: MappingOffsets, files: MapId, state: Reg, vma: Reg, nothing: BlockId) {
    let (mapped, known) = (b.block(), b.block());
    let file = read_kernel(b, vma, offsets.vma_file);
    b.branch(Test::Eq, file, 0, nothing, mapped);
    b.switch_to(mapped);
    let inode = read_kernel(b, file, offsets.file_inode);
    b.store(state, Mapping::INODE, Size::B8, inode);
    let key = b.slot(8);
    b.store_slot(key, 0, Size::B8, inode);
    let (files, key) = (b.map_address(files), b.slot_address(key));
    let rows = b.call(Helper::MapLookup, &[files.into(), key.into()]);
    let unknown = b.block();
    b.branch(Test::Eq, rows, 0, unknown, known);
    b.switch_to(unknown);
    b.ret(1);
    b.switch_to(known);
    let first = b.load(rows, 0, Size::B4, false);
    let count = b.load(rows, 4, Size::B4, false);
    b.store(state, Mapping::FIRST, Size::B8, first);
    b.store(state, Mapping::COUNT, Size::B8, count);
}

/// The name of the value in which [`register_program`] tells which inode it found, or 0.
pub const REGISTERED_MAP: &str = "unwind_inode";

/// A program that is run by hand with an address at which the caller has mapped a file, the file's first row and their
/// number, each in 8 bytes. It makes the file known, and leaves the address of its inode in the first 8 bytes of
/// [`REGISTERED_MAP`], or 0 if it was not found.
pub fn register_program(tables: &Tables) -> Program {
    let mut b = Builder::new("unwind_register", ProgramKind::RawTracepoint);
    let state = b.map(MapDefinition::new(REGISTERED_MAP, crate::ir::MapKind::Array, 4, Mapping::BYTES, 1));
    let files = b.map(tables.files_map());
    let find = find_function(&mut b, tables.offsets, [state, files], false);
    let address = b.load_context(0, Size::B8, false);
    let value = b.array_value(state, 0);
    b.store(value, Mapping::START, Size::B8, 0);
    let file = b.call_function(find, &[value.into(), address.into()]);
    let (found, nothing) = (b.block(), b.block());
    b.branch(Test::Ne, file, 0, found, nothing);
    b.switch_to(nothing);
    b.ret(0);
    b.switch_to(found);
    let inode = b.load(value, Mapping::INODE, Size::B8, false);
    let (key, rows) = (b.slot(8), b.slot(8));
    b.store_slot(key, 0, Size::B8, inode);
    for (context, at) in [(8, 0), (16, 4)] {
        let number = b.load_context(context, Size::B8, false);
        b.store_slot(rows, at, Size::B4, number);
    }
    let (files, key, rows) = (b.map_address(files), b.slot_address(key), b.slot_address(rows));
    let failed = b.call(Helper::MapUpdate, &[files.into(), key.into(), rows.into(), 0.into()]);
    let (kept, lost) = (b.block(), b.block());
    b.branch(Test::Eq, failed, 0, kept, lost);
    b.switch_to(lost);
    b.store(value, Mapping::INODE, Size::B8, 0);
    b.ret(0);
    b.switch_to(kept);
    b.ret(1);
    b.finish()
}
