//! `args.NAME` at places in programs and in the kernel: variables and parameters by their debug information, which the console has read.

use std::fmt::Write as _;

use bathyscope_capture::{ProgramVariable, VariablePiece, VariablePlace};
use bathyscope_catalog::types::TypeId;
use bathyscope_plan::{Span, Type};

use super::{
    Checked,
    body::BodyChecker,
    checker::ScriptChecker,
    context::{Args, Shape, debug_register},
    describe::describe,
    values::{CheckedOperand, MemoryPlace},
    visit::Uses,
};
use crate::lang::hir::{TypedExpr, TypedExprKind};

/// The variables at a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProgramVariables {
    pub(super) variables: Vec<(ProgramVariable, TypeId)>,
    /// Why there are none, or fewer than expected; may be empty.
    pub(super) missing: String,
}

impl ProgramVariables {
    /// Variables with their types, which have the ids `ids`.
    pub(super) fn new(variables: &[ProgramVariable], ids: &[TypeId], missing: &str) -> Self {
        let id = |variable: &ProgramVariable| ids.get(variable.ty as usize).copied().unwrap_or(TypeId::VOID);
        let variables = variables.iter().map(|variable| (variable.clone(), id(variable))).collect();
        Self { variables, missing: missing.to_owned() }
    }

    /// Makes them the arguments of a place. Where those are that are used is part of the program.
    pub(super) fn add_to(self, shape: &mut Shape, layout: &mut String, uses: &Uses) {
        let used = self.variables.iter().filter(|(it, _)| uses.whole || uses.fields.contains(&it.name));
        used.for_each(|(it, id)| _ = write!(layout, "{} {:?} {id:?} ", it.name, it.place));
        shape.args = Args::Program(self);
    }

    pub(super) fn find(&self, name: &str) -> Option<&(ProgramVariable, TypeId)> {
        self.variables.iter().find(|(variable, _)| variable.name == name)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.variables.iter().map(|(variable, _)| variable.name.as_str()).collect()
    }
}

impl BodyChecker<'_, '_> {
    /// A variable, read where it is at the place.
    pub(super) fn program_variable(&mut self, of: &(ProgramVariable, TypeId), span: Span) -> Checked<CheckedOperand> {
        let (variable, id) = of;
        let ty = self.cx.c_type(*id, self.shape.space);
        if ty == Type::None {
            let message = format!("what `{}` is cannot be told from debug information", variable.name);
            return self.fail(span, message, "read the register or the memory that it is in: `reg(\"ax\")`");
        }
        self.variable_at(&variable.name, &variable.place, *id, &ty, span)
    }

    fn variable_at(
        &mut self,
        name: &str,
        place: &VariablePlace,
        id: TypeId,
        ty: &Type,
        span: Span,
    ) -> Checked<CheckedOperand> {
        match place {
            VariablePlace::Constant(value) if ty.is_scalar() => {
                Ok(CheckedOperand::Value(TypedExpr::integer(*value, Type::I64, span).convert(ty.clone())))
            }
            VariablePlace::Register(register) => self.in_register(name, (*register, 0), ty, span),
            VariablePlace::Sum { register, offset } => self.in_register(name, (*register, *offset), ty, span),
            VariablePlace::Memory { register, offset } => {
                let to = Box::new(ScriptChecker::pointee(ty.clone()));
                let address = self.saved(*register, Type::Pointer { to, space: self.shape.space }, span)?;
                let (ty, space) = (ty.clone(), self.shape.space);
                Ok(CheckedOperand::Place(MemoryPlace { address, offset: *offset, space, bits: None, ty, span }))
            }
            VariablePlace::Pieces(pieces) => self.in_pieces(name, pieces, id, ty, span),
            VariablePlace::Unreadable(why) => {
                let message = format!("`{name}` cannot be read at {}: {why}", self.shape.point.clone());
                self.fail(span, message, "")
            }
            VariablePlace::Constant(_) => self.not_in_registers(name, ty, span),
        }
    }

    fn not_in_registers<T>(&mut self, name: &str, ty: &Type, span: Span) -> Checked<T> {
        let message = format!("`{name}` is {}, which the compiler keeps in registers at this place", describe(ty));
        self.fail(span, message, "read the registers: `reg(\"ax\")`, or probe a line at which it is in memory")
    }

    fn saved(&mut self, register: u8, ty: Type, span: Span) -> Checked<TypedExpr> {
        match debug_register(self.cx.host.features().architecture, register) {
            Some(offset) => Ok(TypedExpr::new(TypedExprKind::Register { offset }, ty, span)),
            None => self.fail(span, "it is in a register that a probe cannot read", ""),
        }
    }

    fn in_register(
        &mut self,
        name: &str,
        (register, offset): (u8, i64),
        ty: &Type,
        span: Span,
    ) -> Checked<CheckedOperand> {
        if !ty.is_scalar() {
            return self.not_in_registers(name, ty, span);
        }
        let value = self.saved(register, Type::U64, span)?.plus(offset);
        Ok(CheckedOperand::Value(value.convert(ty.clone())))
    }

    /// A struct whose members are at several places, such as the address and the length of a text of Rust or Go.
    fn in_pieces(
        &mut self,
        name: &str,
        pieces: &[VariablePiece],
        id: TypeId,
        ty: &Type,
        span: Span,
    ) -> Checked<CheckedOperand> {
        let members: Vec<(String, TypeId, u64)> =
            self.cx.types.members(id).map(|it| (it.name.to_owned(), it.ty, it.bit_offset)).collect();
        let (mut types, mut parts, mut at) = (Vec::new(), Vec::new(), 0_u64);
        for piece in pieces {
            let member = members.iter().find(|(_, _, offset)| *offset == at * 8);
            let Some((member, of, _)) = member.filter(|(_, of, _)| self.cx.types.size(*of) == Some(piece.bytes.into()))
            else {
                return self.not_in_registers(name, ty, span);
            };
            at += u64::from(piece.bytes);
            // What is gone is missing in the record, and named when it is asked for.
            if matches!(piece.place, VariablePlace::Unreadable(_)) {
                continue;
            }
            let member_type = self.cx.c_type(*of, self.shape.space);
            let operand = self.variable_at(member, &piece.place, *of, &member_type, span)?;
            parts.push(self.load(operand)?);
            types.push((member.clone(), member_type));
        }
        if parts.is_empty() {
            return self.fail(span, format!("the compiler keeps `{name}` nowhere at this place"), "try another line");
        }
        Ok(CheckedOperand::Value(TypedExpr::new(TypedExprKind::Tuple(parts), Type::Record(types), span)))
    }

    /// All variables that can be read, as one record.
    pub(super) fn all_variables(&mut self, all: &ProgramVariables, span: Span) -> Vec<(String, TypedExpr)> {
        let mut read = Vec::new();
        for (variable, id) in &all.variables {
            let ty = self.cx.c_type(*id, self.shape.space);
            let is_readable = ty.is_scalar()
                && matches!(
                    variable.place,
                    VariablePlace::Register(_)
                        | VariablePlace::Memory { .. }
                        | VariablePlace::Sum { .. }
                        | VariablePlace::Constant(_)
                );
            if !is_readable {
                continue;
            }
            let value = self.variable_at(&variable.name, &variable.place, *id, &ty, span);
            if let Ok(value) = value.and_then(|operand| self.load(operand)) {
                read.push((variable.name.clone(), value));
            }
        }
        read
    }

    /// The types of the variables, for the editor.
    pub(super) fn variable_types(&mut self, all: &ProgramVariables) -> Vec<(String, Type)> {
        let named = |(variable, id): &(ProgramVariable, TypeId)| (variable.name.clone(), *id);
        let named: Vec<(String, TypeId)> = all.variables.iter().map(named).collect();
        named.into_iter().map(|(name, id)| (name, self.cx.c_type(id, self.shape.space))).collect()
    }
}
