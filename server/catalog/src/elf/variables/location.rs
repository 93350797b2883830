//! Where a variable is at an instruction: lists of locations and their expressions, as far as a probe can follow them.

use bathyscope_capture::{VariablePiece, VariablePlace};
use gimli::{AttributeValue, Expression, Operation, UnitOffset, constants as dw};

use super::{CodeFunction, CodePlace, frame::Based};
use crate::{
    constants::Arch,
    elf::parameters::{Bytes, FunctionParameter, ParameterKind, UnitReading},
};

const GONE: &str = "the compiler keeps it nowhere at this place; try a line before or after it";
const COMPLICATED: &str = "the compiler keeps it in a way that a probe cannot follow";
const NOT_YET: &str = "it has no value yet at this place; probe a source line further down in the function";
const GLOBAL: &str = "it is a global or static variable, whose address differs from process to process";
const KERNEL_GLOBAL: &str =
    "it is a global or static variable of the kernel: read it by its name, such as `*(uint64 *)kaddr(\"jiffies\")`";
/// From here on addresses are the kernel's.
const KERNEL: u64 = 1 << 63;

/// Reads where variables are at one instruction.
pub(super) struct PlaceReading<'r, 'u, 'b> {
    pub(super) unit: &'r UnitReading<'u, 'b>,
    pub(super) address: u64,
    pub(super) at_begin: bool,
    arch: Arch,
    /// The caller's stack pointer.
    canonical: Option<Based>,
    /// What offsets in the frame are counted from.
    frame: Option<Based>,
    /// Where what is in the frame has its place.
    is_framed: bool,
}

impl<'r, 'u, 'b> PlaceReading<'r, 'u, 'b> {
    pub(super) fn new(
        unit: &'r UnitReading<'u, 'b>,
        arch: Arch,
        canonical: Option<Based>,
        function: CodeFunction,
        CodePlace { address, at_begin }: CodePlace,
    ) -> Self {
        let mut reading = Self { unit, address, at_begin, arch, canonical, frame: None, is_framed: true };
        if let Some(AttributeValue::Exprloc(base)) = unit.attribute(function.at, dw::DW_AT_frame_base) {
            reading.frame = match reading.evaluated(base) {
                VariablePlace::Register(register) => Some(Based { register, offset: 0 }),
                VariablePlace::Memory { register, offset } => Some(Based { register, offset }),
                _ => None,
            };
        }
        reading.is_framed = reading.prologue_end(function.begin).is_none_or(|end| address >= end);
        reading
    }

    /// Where a variable is.
    pub(super) fn of(&self, at: UnitOffset) -> VariablePlace {
        if let Some(constant) = self.origin(at, dw::DW_AT_const_value).and_then(constant) {
            return VariablePlace::Constant(constant);
        }
        match self.origin(at, dw::DW_AT_location) {
            None => unreadable(GONE),
            Some(AttributeValue::Exprloc(expression)) => match self.evaluated(expression) {
                VariablePlace::Memory { .. } if !self.is_framed => unreadable(NOT_YET),
                place => place,
            },
            Some(list) => self.listed(list).unwrap_or_else(|| unreadable(GONE)),
        }
    }

    /// Where a parameter is at its function's first instruction. What is told of it as a whole holds only when the function
    /// has put it there.
    pub(super) fn parameter_at_begin(&self, at: UnitOffset, told: &FunctionParameter, arch: Arch) -> VariablePlace {
        let place = match self.origin(at, dw::DW_AT_location) {
            Some(AttributeValue::Exprloc(expression)) => match self.evaluated(expression) {
                // The caller has put it on its stack.
                place @ VariablePlace::Memory { register, offset }
                    if self.frame == self.canonical
                        && self.canonical.is_some_and(|it| it.register == register && offset >= it.offset) =>
                {
                    Some(place)
                }
                VariablePlace::Memory { .. } => None,
                place => Some(place),
            },
            Some(list) => self.listed(list),
            None => None,
        };
        match (place.filter(|place| !matches!(place, VariablePlace::Unreadable(_))), told.register) {
            (Some(place), _) => place,
            (None, Some(register)) => by_convention(told, register, arch),
            (None, None) if told.ty.kind == ParameterKind::Float => unreadable("it is a floating-point number"),
            (None, None) => unreadable("in which registers it is passed is not certain"),
        }
    }

    fn origin(&self, at: UnitOffset, name: gimli::DwAt) -> Option<AttributeValue<Bytes<'b>>> {
        self.unit.origins(at).into_iter().find_map(|at| self.unit.attribute(at, name))
    }

    /// The place in a list of locations that holds at the instruction.
    fn listed(&self, list: AttributeValue<Bytes<'b>>) -> Option<VariablePlace> {
        let mut entries = self.unit.unit.attr_locations(list).ok()??;
        while let Ok(Some(entry)) = entries.next() {
            if (entry.range.begin..entry.range.end).contains(&self.address) {
                return Some(self.evaluated(entry.data));
            }
        }
        None
    }

    /// What an expression computes.
    fn evaluated(&self, expression: Expression<Bytes<'b>>) -> VariablePlace {
        let mut operations = expression.operations(self.unit.unit.encoding());
        let (mut pieces, mut state) = (Vec::new(), Computed::Nothing);
        loop {
            let operation = match operations.next() {
                Ok(Some(operation)) => operation,
                Ok(None) => break,
                Err(_) => return unreadable(COMPLICATED),
            };
            if let Operation::Piece { size_in_bits, bit_offset: None } = operation {
                let place = self.placed(std::mem::replace(&mut state, Computed::Nothing));
                let Some(bytes) = u32::try_from(size_in_bits / 8).ok().filter(|_| size_in_bits.is_multiple_of(8))
                else {
                    return unreadable(COMPLICATED);
                };
                pieces.push(VariablePiece { place, bytes });
                continue;
            }
            state = match self.step(state, &operation) {
                Ok(state) => state,
                Err(why) => return unreadable(why),
            };
        }
        if pieces.is_empty() { self.placed(state) } else { VariablePlace::Pieces(pieces) }
    }

    fn step(&self, state: Computed, operation: &Operation<Bytes<'b>>) -> Result<Computed, &'static str> {
        let based = |base: Option<Based>, more: i64| {
            let Based { register, offset } = base.ok_or(COMPLICATED)?;
            Ok(Computed::Address { register: Some(register), offset: offset.wrapping_add(more) })
        };
        match (state, operation) {
            (state, Operation::Nop) => Ok(state),
            (Computed::Nothing, Operation::Register { register }) => Ok(Computed::Register(register.0)),
            (Computed::Nothing, Operation::RegisterOffset { register, offset, .. }) => {
                let register = u8::try_from(register.0).ok();
                based(register.map(|register| Based { register, offset: 0 }), *offset)
            }
            (Computed::Nothing, Operation::FrameOffset { offset }) => based(self.frame, *offset),
            (Computed::Nothing, Operation::CallFrameCFA) => based(self.canonical, 0),
            (Computed::Nothing, Operation::UnsignedConstant { value }) => {
                Ok(Computed::Address { register: None, offset: value.cast_signed() })
            }
            (Computed::Nothing, Operation::SignedConstant { value }) => {
                Ok(Computed::Address { register: None, offset: *value })
            }
            (Computed::Address { register, offset }, Operation::PlusConstant { value }) => {
                Ok(Computed::Address { register, offset: offset.wrapping_add(value.cast_signed()) })
            }
            (Computed::Address { register, offset }, Operation::StackValue) => Ok(Computed::Value { register, offset }),
            (Computed::Nothing, Operation::ImplicitValue { data }) => {
                number(data.slice()).map(|offset| Computed::Value { register: None, offset }).ok_or(COMPLICATED)
            }
            (_, Operation::EntryValue { .. } | Operation::ParameterRef { .. }) => {
                Err("only its value where the function begins is known: record it there")
            }
            (_, Operation::Address { .. } | Operation::AddressIndex { .. } | Operation::TLS) => Err(self.global()),
            _ => Err(COMPLICATED),
        }
    }

    fn placed(&self, state: Computed) -> VariablePlace {
        match state {
            Computed::Nothing => unreadable(GONE),
            Computed::Register(number) => match u8::try_from(number).ok().filter(|it| self.is_saved(*it)) {
                Some(register) => VariablePlace::Register(register),
                None => {
                    unreadable("it is in a register of floating-point numbers or vectors, which a probe cannot read")
                }
            },
            Computed::Address { register: Some(register), offset } if self.is_saved(register) => {
                VariablePlace::Memory { register, offset }
            }
            Computed::Value { register: Some(register), offset } if self.is_saved(register) => {
                VariablePlace::Sum { register, offset }
            }
            Computed::Value { register: None, offset } => VariablePlace::Constant(offset),
            Computed::Address { register: None, .. } => unreadable(self.global()),
            Computed::Address { .. } | Computed::Value { .. } => unreadable(COMPLICATED),
        }
    }

    fn global(&self) -> &'static str {
        if self.address >= KERNEL { KERNEL_GLOBAL } else { GLOBAL }
    }

    /// Whether a probe gets a register, by its number in DWARF.
    fn is_saved(&self, register: u8) -> bool {
        register <= if self.arch == Arch::Aarch64 { 31 } else { 16 }
    }

    /// Where the second line of the function begins: what is in the frame has been put there.
    fn prologue_end(&self, begin: u64) -> Option<u64> {
        let mut rows = self.unit.unit.line_program.clone()?.rows();
        let mut is_in_function = false;
        while let Ok(Some((_header, row))) = rows.next_row() {
            if row.end_sequence() {
                is_in_function = false;
            } else if row.address() == begin {
                is_in_function = true;
            } else if is_in_function && (row.is_stmt() || row.prologue_end()) {
                return Some(row.address());
            }
        }
        None
    }
}

/// What an expression has computed so far.
#[derive(Clone, Copy)]
enum Computed {
    Nothing,
    Register(u16),
    /// An address, or what is to become a value; of a constant without a register.
    Address {
        register: Option<u8>,
        offset: i64,
    },
    Value {
        register: Option<u8>,
        offset: i64,
    },
}

fn unreadable(why: &str) -> VariablePlace {
    VariablePlace::Unreadable(why.to_owned())
}

/// Where the calling convention passes a parameter.
fn by_convention(told: &FunctionParameter, first: u8, arch: Arch) -> VariablePlace {
    /// Numbers in DWARF of the registers that arguments are passed in, in order.
    const REGISTERS: [u8; 6] = [5, 4, 1, 2, 8, 9];
    let register = |index: u8| match arch {
        Arch::Aarch64 => Some(index).filter(|index| *index < 8),
        _ => REGISTERS.get(usize::from(index)).copied(),
    };
    let one = |index| register(index).map_or_else(|| unreadable(COMPLICATED), VariablePlace::Register);
    let half = |index| VariablePiece { place: one(index), bytes: 8 };
    match told.ty.kind {
        ParameterKind::Slice | ParameterKind::Object => VariablePlace::Pieces(vec![half(first), half(first + 1)]),
        // By its address.
        ParameterKind::Aggregate => match register(first) {
            Some(register) => VariablePlace::Memory { register, offset: 0 },
            None => unreadable(COMPLICATED),
        },
        _ => one(first),
    }
}

fn constant(value: AttributeValue<Bytes<'_>>) -> Option<i64> {
    match value {
        AttributeValue::Sdata(value) => Some(value),
        AttributeValue::Block(bytes) => number(bytes.slice()),
        other => other.udata_value().map(u64::cast_signed),
    }
}

/// A number of at most eight bytes.
fn number(bytes: &[u8]) -> Option<i64> {
    let mut all = [0; 8];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    (!bytes.is_empty()).then_some(i64::from_le_bytes(all))
}
