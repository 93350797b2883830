//! Calls of helpers and functions.

use super::{
    BodyValidator, State,
    held::{Held, assigned, number},
    op::Access,
};
use crate::ir::{ArgumentKind, Function, FunctionId, Helper, MapId, MapKind, Operand, Parameter, Reg};

/// The largest number of bytes that a helper is given at a time.
const MAX_HELPER_BYTES: i64 = 1 << 20;

/// What was found among the arguments before.
#[derive(Clone, Copy, Default)]
struct EarlierArguments<'a> {
    map: Option<MapId>,
    callback: Option<&'a Function>,
}

impl BodyValidator<'_> {
    pub(super) fn call(
        &self,
        to: Option<Reg>,
        helper: Helper,
        arguments: &[Operand],
        state: &mut State,
    ) -> Result<(), String> {
        let kinds = helper.arguments();
        let name = helper.name();
        if kinds.len() != arguments.len() {
            return Err(format!("{name} takes {} arguments", kinds.len()));
        }
        let mut found = EarlierArguments::default();
        for (index, (kind, argument)) in kinds.iter().zip(arguments).enumerate() {
            let next = arguments.get(index + 1).copied();
            self.argument(*kind, *argument, next, state, &mut found)
                .map_err(|what| format!("argument {} of {name}: {what}", index + 1))?;
        }
        match helper {
            Helper::RingbufReserve if state.reserved => return Err("a second record is reserved".to_owned()),
            Helper::RingbufReserve => state.reserved = true,
            Helper::RingbufSubmit | Helper::RingbufDiscard => {
                state.reserved = false;
                let gone = |held: &&mut Held| matches!(held, Held::Record(..) | Held::MaybeRecord(_));
                state.held.iter_mut().filter(gone).for_each(|held| *held = Held::Nothing);
            }
            _ => {}
        }
        let result = match (helper, found.map, arguments.get(1)) {
            (Helper::MapLookup | Helper::MapLookupPercpu, Some(map), _) => Held::MaybeValue(map),
            (Helper::RingbufReserve, _, Some(Operand::Constant(bytes))) => {
                Held::MaybeRecord(u32::try_from(*bytes).unwrap_or(0))
            }
            (Helper::GetCurrentTaskBtf | Helper::TaskPtRegs | Helper::PerCpuPtr | Helper::ThisCpuPtr, ..) => {
                Held::Typed
            }
            _ => Held::Number,
        };
        match to {
            Some(to) => state.set(to, result),
            None if helper == Helper::RingbufReserve => return Err("a reserved record is ignored".to_owned()),
            None => {}
        }
        Ok(())
    }

    fn argument<'a>(
        &'a self,
        kind: ArgumentKind,
        argument: Operand,
        next: Option<Operand>,
        state: &State,
        found: &mut EarlierArguments<'a>,
    ) -> Result<(), String> {
        let held = match argument {
            Operand::Reg(reg) => Some(assigned(state, reg)?),
            Operand::Constant(_) => None,
        };
        let fits = match (kind, held, argument) {
            (ArgumentKind::Any, Some(_), _) | (ArgumentKind::Any | ArgumentKind::Constant, _, Operand::Constant(_)) => {
                true
            }
            (ArgumentKind::Bytes, _, Operand::Constant(bytes)) => bytes > 0 && bytes <= MAX_HELPER_BYTES,
            (ArgumentKind::Bytes, Some(Held::Number), _) => true,
            (
                ArgumentKind::Map | ArgumentKind::PerCpuMap | ArgumentKind::Ring | ArgumentKind::Stacks,
                Some(Held::Map(id)),
                _,
            ) => {
                found.map = Some(id);
                self.map_fits(kind, id)?
            }
            (ArgumentKind::Record, Some(Held::Record(_, Some(0))), _) => true,
            (ArgumentKind::Context, Some(Held::Context(Some(0))), _) => true,
            (ArgumentKind::Typed, Some(Held::Typed), _) => true,
            (ArgumentKind::Room, Some(held), _) => return self.room(held, next, Access::Write),
            (ArgumentKind::Memory, Some(held), _) => return self.room(held, next, Access::Read),
            (ArgumentKind::Long, Some(held), _) => return self.pointer(held, 0, 8, Access::Write),
            (ArgumentKind::Key | ArgumentKind::Value, Some(held), _) => {
                let definition = found.map.map(|map| self.map(map)).transpose()?;
                let bytes =
                    definition.map_or(1, |map| if kind == ArgumentKind::Key { map.key_bytes } else { map.value_bytes });
                return self.pointer(held, 0, bytes, Access::Read);
            }
            (ArgumentKind::Text, Some(Held::Value(map, Some(_))), _) => self.map(map)?.kind == MapKind::Constant,
            (ArgumentKind::LoopCallback | ArgumentKind::EntryCallback, Some(Held::Function(function)), _) => {
                let callback = self.callee(function)?;
                found.callback = Some(callback);
                let before: &[Parameter] = match (kind, found.map) {
                    (ArgumentKind::EntryCallback, Some(map)) => {
                        &[Parameter::Map(map), Parameter::Key(map), Parameter::Value(map)]
                    }
                    _ => &[Parameter::Number],
                };
                callback.parameters.len() == before.len() + 1 && callback.parameters.starts_with(before)
            }
            (ArgumentKind::Frame, held, _) => match found.callback.and_then(|callback| callback.parameters.last()) {
                Some(Parameter::Frame { bytes, .. }) => {
                    return self.pointer(held.unwrap_or(Held::Number), 0, *bytes, Access::Write);
                }
                Some(Parameter::Number) => argument == Operand::Constant(0),
                _ => false,
            },
            _ => false,
        };
        if fits { Ok(()) } else { Err("it is not of the kind that the helper takes".to_owned()) }
    }

    fn map_fits(&self, wanted: ArgumentKind, map: MapId) -> Result<bool, String> {
        let kind = self.map(map)?.kind;
        Ok(match wanted {
            ArgumentKind::Ring => kind == MapKind::RingBuffer,
            ArgumentKind::Stacks => kind == MapKind::StackTrace,
            ArgumentKind::PerCpuMap => kind.is_per_cpu(),
            _ => !matches!(kind, MapKind::RingBuffer | MapKind::StackTrace),
        })
    }

    /// Memory with its number of bytes after it; where that is no constant, the verifier finds the bounds.
    fn room(&self, held: Held, bytes: Option<Operand>, access: Access) -> Result<(), String> {
        let bytes = match bytes {
            Some(Operand::Constant(bytes)) => u32::try_from(bytes).ok().filter(|bytes| *bytes > 0),
            _ => Some(1),
        };
        let Some(bytes) = bytes else { return Err("the number of bytes is not from 1 on".to_owned()) };
        self.pointer(held, 0, bytes, access)
    }

    /// A call of a function of the program.
    pub(super) fn call_function(&self, id: FunctionId, arguments: &[Operand], state: &State) -> Result<(), String> {
        let function = self.callee(id)?;
        if function.parameters.len() != arguments.len() {
            return Err(format!("function {} takes {} arguments", id.0, function.parameters.len()));
        }
        for (index, (parameter, argument)) in function.parameters.iter().zip(arguments).enumerate() {
            let held = match argument {
                Operand::Reg(reg) => assigned(state, *reg)?,
                Operand::Constant(_) => Held::Number,
            };
            let fits = match (parameter, held) {
                (Parameter::Number, _) => number(state, *argument).is_ok(),
                (Parameter::Context, Held::Context(Some(0))) => true,
                (Parameter::Map(map), Held::Map(other)) => *map == other,
                (Parameter::Key(map), Held::Key(other, Some(0))) => *map == other,
                (Parameter::Value(map) | Parameter::MaybeValue(map), Held::Value(other, Some(0))) => *map == other,
                (Parameter::Frame { bytes, .. }, Held::Slot(..) | Held::Frame(..)) => {
                    self.pointer(held, 0, *bytes, Access::Write).is_ok()
                }
                _ => false,
            };
            if !fits {
                return Err(format!("argument {} of function {} is not of its kind", index + 1, id.0));
            }
        }
        Ok(())
    }
}
