//! Loops. Small ones are loops of the program; all others are callbacks that the kernel calls in turn, because the
//! verifier walks through every round of an ordinary loop, and once through a callback.

use bathyscope_plan::{MARK_BUCKET, Type};

use super::{
    Result,
    analysis::{Callback, FRAME_CONTEXT, FRAME_RESULT, FRAME_RETURNED},
    program::{Around, Home, Lower},
    walk,
};
use crate::{
    ir::{Helper, IrBinaryOp, MapDefinition, MapId, Memory, Operand, Parameter, Reg, Size, Test, Width, moved},
    lang::hir::{self, LocalId, TypedExpr, TypedExprKind, TypedStatement, TypedStatementKind},
};

/// The most rounds that the kernel does of a callback.
const MAX_ROUNDS: i64 = 1 << 23;

impl Lower<'_> {
    pub(super) fn repeat(&mut self, statement: &TypedStatement) -> Result<()> {
        let callback = self.analysis.callback(statement);
        match (&statement.kind, callback) {
            (TypedStatementKind::ForRange { variable, first, end, body }, Some(callback)) => {
                self.range_callback(callback, *variable, [first, end], body)
            }
            (TypedStatementKind::ForRange { variable, first, end, body }, None) => {
                self.range_loop(*variable, first, end, body)
            }
            (TypedStatementKind::While { condition, body, limit }, Some(callback)) => {
                self.while_callback(callback, condition, body, *limit)
            }
            (TypedStatementKind::While { condition, body, limit }, None) => self.while_loop(condition, body, *limit),
            (TypedStatementKind::ForMap { map, key, value, body }, Some(callback)) => {
                self.map_callback(callback, *map, *key, *value, body)
            }
            _ => self.error("the checked script repeats something that is no loop"),
        }
    }

    /// Writes a body between `next` (with the next round) and `after`.
    fn round(&mut self, next: crate::ir::BlockId, after: crate::ir::BlockId, body: &[TypedStatement]) -> Result<()> {
        self.around.push(Around::Loop { next, after });
        self.statements(body)?;
        self.around.pop();
        self.b.jump(next);
        Ok(())
    }

    fn range_loop(
        &mut self,
        variable: Option<LocalId>,
        first: &TypedExpr,
        end: &TypedExpr,
        body: &[TypedStatement],
    ) -> Result<()> {
        let (TypedExprKind::Integer(first), TypedExprKind::Integer(end)) = (&first.kind, &end.kind) else {
            return self.error("the bounds of this loop are not known");
        };
        let rounds = end.saturating_sub(*first).max(0);
        let index = self.b.set(0);
        let [head, inside, next, after] = [(); 4].map(|()| self.b.block());
        self.b.jump(head);
        self.b.switch_to(head);
        self.b.branch(Test::Ge, index, rounds, after, inside);
        self.b.switch_to(inside);
        if let Some(variable) = variable {
            let value = self.b.binary(IrBinaryOp::Add, index, *first);
            self.set_local(variable, value.into());
        }
        self.round(next, after, body)?;
        self.b.switch_to(next);
        self.change_register(index, IrBinaryOp::Add, 1);
        self.b.jump(head);
        self.b.switch_to(after);
        Ok(())
    }

    fn while_loop(&mut self, condition: &TypedExpr, body: &[TypedStatement], limit: u32) -> Result<()> {
        let index = self.b.set(0);
        let [head, ask, inside, next, after] = [(); 5].map(|()| self.b.block());
        self.b.jump(head);
        self.b.switch_to(head);
        self.b.branch(Test::Ge, index, i64::from(limit), after, ask);
        self.b.switch_to(ask);
        self.branch_on(condition, inside, after)?;
        self.b.switch_to(inside);
        self.round(next, after, body)?;
        self.b.switch_to(next);
        self.change_register(index, IrBinaryOp::Add, 1);
        self.b.jump(head);
        self.b.switch_to(after);
        Ok(())
    }

    fn frame_parameter(&self) -> Parameter {
        let bytes = self.analysis.frame_bytes + self.claim_room();
        Parameter::Frame { bytes, context: Some(FRAME_CONTEXT) }
    }

    /// Writes a callback: `prologue` gets its parameters.
    fn callback(
        &mut self,
        callback: Callback,
        parameters: &[Parameter],
        body: &[TypedStatement],
        prologue: impl FnOnce(&mut Self, &[Reg]) -> Result<()>,
    ) -> Result<crate::ir::FunctionId> {
        let name = format!("loop_{}", callback.number);
        let (function, registers) = self.b.begin_function(name, parameters);
        let outer_function = std::mem::replace(&mut self.function, callback.number);
        let outer_frame = std::mem::replace(&mut self.frame, registers.last().map(|frame| Memory::Pointer(*frame, 0)));
        let outer_claim = self.take_claim(registers.last().copied(), self.analysis.frame_bytes);
        let outer_around = std::mem::replace(&mut self.around, vec![Around::Callback]);
        let outer_homes = self.homes.clone();
        self.at(self.statement);
        self.make_homes()?;
        prologue(self, &registers)?;
        self.statements(body)?;
        self.b.ret(0);
        self.homes = outer_homes;
        self.around = outer_around;
        self.frame = outer_frame;
        self.claimed = outer_claim;
        self.function = outer_function;
        self.b.end_function();
        Ok(function)
    }

    /// A zero of which the verifier does not know that it is one.
    pub(super) fn opaque_zero(&mut self) -> Reg {
        let map = self.map(MapDefinition::global("zero", 8));
        let place = self.b.global_address(map, 0);
        self.b.load(place, 0, Size::B8, false)
    }

    /// The value, of which the verifier knows nothing any more. It would walk through all rounds of a callback for as long
    /// as each begins with other constants.
    pub(super) fn forgotten(&mut self, value: Operand) -> Operand {
        let zero = self.opaque_zero();
        self.b.binary(IrBinaryOp::Add, zero, value).into()
    }

    /// Calls a callback's loop and goes on, unless a `return` within it ended the program.
    fn run(&mut self, helper: Helper, what: Operand, function: crate::ir::FunctionId, body: &[TypedStatement]) {
        let function = self.b.function_address(function);
        let Some(frame) = self.frame else { return };
        let address = self.address(frame);
        self.b.call_only(helper, &[what, function.into(), address.into(), 0.into()]);
        if !walk::any_statement(body, &mut |inner| matches!(inner.kind, TypedStatementKind::Return(_))) {
            return;
        }
        let returned = self.b.load_memory(moved(frame, FRAME_RETURNED), Size::B8, false);
        let (end, go_on) = (self.b.block(), self.b.block());
        self.b.branch(Test::Ne, returned, 0, end, go_on);
        self.b.switch_to(end);
        if self.function == 0 {
            let result = self.b.load_memory(moved(frame, FRAME_RESULT), Size::B8, false);
            // The verifier must see that it is 0 or 1.
            let result = self.b.boolean(Test::Ne, Width::W64, result, 0);
            self.leave(result);
        } else {
            self.b.ret(1);
        }
        self.b.switch_to(go_on);
    }

    fn range_callback(
        &mut self,
        callback: Callback,
        variable: Option<LocalId>,
        [first, end]: [&TypedExpr; 2],
        body: &[TypedStatement],
    ) -> Result<()> {
        let first = self.scalar(first)?;
        let end = self.scalar(end)?;
        let Some(frame) = self.frame else { return self.error("a loop has no frame") };
        self.store(moved(frame, callback.first), Size::B8, first);
        let distance = self.binary(IrBinaryOp::Sub, end, first);
        let rounds = self.b.select(Test::SignedLt, Width::W64, distance, 0, 0, distance);
        let rounds = self.at_most(rounds.into(), MAX_ROUNDS);
        let parameters = [Parameter::Number, self.frame_parameter()];
        let function = self.callback(callback, &parameters, body, |it, registers| {
            if let (Some(variable), [index, frame]) = (variable, registers) {
                let first = it.b.load_memory(moved(Memory::Pointer(*frame, 0), callback.first), Size::B8, false);
                let index = it.b.extend(*index, Size::B4, false);
                let value = it.b.binary(IrBinaryOp::Add, first, index);
                it.set_local(variable, value.into());
            }
            Ok(())
        })?;
        self.run(Helper::Loop, rounds, function, body);
        Ok(())
    }

    fn while_callback(
        &mut self,
        callback: Callback,
        condition: &TypedExpr,
        body: &[TypedStatement],
        limit: u32,
    ) -> Result<()> {
        let parameters = [Parameter::Number, self.frame_parameter()];
        let function = self.callback(callback, &parameters, body, |it, _registers| {
            let (inside, after) = (it.b.block(), it.b.block());
            it.branch_on(condition, inside, after)?;
            it.b.switch_to(after);
            it.b.ret(1);
            it.b.switch_to(inside);
            Ok(())
        })?;
        self.run(Helper::Loop, Operand::Constant(i64::from(limit).min(MAX_ROUNDS)), function, body);
        Ok(())
    }

    fn map_callback(
        &mut self,
        callback: Callback,
        id: hir::ScriptMapId,
        key: LocalId,
        value: Option<LocalId>,
        body: &[TypedStatement],
    ) -> Result<()> {
        let (map, plan) = self.script_map(id)?;
        let sparse = super::maps::is_sparse(plan);
        let parameters = [Parameter::Map(map), Parameter::Key(map), Parameter::Value(map), self.frame_parameter()];
        let function = self.callback(callback, &parameters, body, |it, registers| {
            let [_, key_at, value_at, _] = registers else { return it.error("a callback lacks parameters") };
            if sparse {
                let bucket = it.bucket_at(plan, *key_at);
                let (inside, after) = (it.b.block(), it.b.block());
                it.b.branch(Test::Eq, bucket, MARK_BUCKET.cast_signed(), inside, after);
                it.b.switch_to(after);
                it.b.ret(0);
                it.b.switch_to(inside);
            }
            it.load_element(id, (map, *key_at, *value_at), key, value)
        })?;
        let address = self.b.map_address(map);
        self.run(Helper::ForEachMapElem, address.into(), function, body);
        Ok(())
    }

    /// Sets the variables of a round over a map.
    fn load_element(
        &mut self,
        id: hir::ScriptMapId,
        (map, key_at, value_at): (MapId, Reg, Reg),
        key: LocalId,
        value: Option<LocalId>,
    ) -> Result<()> {
        self.set_from(key, Memory::Pointer(key_at, 0));
        let Some(value) = value else { return Ok(()) };
        let (_, plan) = self.script_map(id)?;
        let ty = self.probe.locals.get(value.0 as usize).map_or(Type::None, |local| local.ty.clone());
        if plan.is_per_cpu() && plan.aggregation().is_some() {
            // The callback only gets this CPU's part.
            let copy = self.temporary(plan.key_bytes)?;
            self.copy(copy, Memory::Pointer(key_at, 0), plan.key_bytes);
            let all = self.aggregation_at(map, plan, copy, &ty)?;
            self.set_local(value, all);
        } else {
            self.set_from(value, Memory::Pointer(value_at, 0));
        }
        Ok(())
    }

    /// Sets a variable to what is in memory.
    fn set_from(&mut self, local: LocalId, from: Memory) {
        let Some(ty) = self.probe.locals.get(local.0 as usize).map(|local| local.ty.clone()) else { return };
        if ty.is_scalar() {
            let value = self.load(from, &ty);
            self.set_local(local, value);
        } else if let Some(Home::Memory(place)) = self.homes.get(local.0 as usize).copied() {
            let to = self.reach(place);
            self.copy(to, from, ty.bytes());
        }
    }
}
