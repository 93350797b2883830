//! Maps of the script that hold plain values.

use bathyscope_plan::{MARK_BUCKET, MapPlan, Type, layout};

use super::{
    Result,
    program::{Lower, ScriptCounter, Where, is_signed, size_of},
};
use crate::{
    ir::{AtomicOp, Helper, IrBinaryOp, MapId, Memory, Operand, Parameter, Reg, Size, Test, Width, moved},
    lang::hir::{self, MapRead, TypedExpr, TypedExprKind},
};

/// Update only what is not there.
pub(super) const ONLY_NEW: i64 = 1;

impl Lower<'_> {
    /// Builds a key: all of its bytes are written.
    pub(super) fn key(&mut self, plan: &MapPlan, key: Option<&TypedExpr>) -> Result<Memory> {
        let bytes = plan.key_bytes;
        if let Some(place) = key.and_then(|key| self.ready_key(key, bytes)) {
            return Ok(place);
        }
        let to = self.temporary(bytes)?;
        match key {
            Some(key) => self.write(key, to, bytes, true)?,
            None => self.b.zero(to, bytes),
        }
        Ok(to)
    }

    /// A variable that has all bytes of a key already.
    fn ready_key(&mut self, key: &TypedExpr, bytes: u32) -> Option<Memory> {
        let is_whole = match &key.ty {
            Type::Tuple(parts) => layout(parts.iter()).1 == bytes,
            Type::Record(parts) => layout(parts.iter().map(|(_, ty)| ty)).1 == bytes,
            Type::Text { bytes: room } => *room == bytes && self.is_padded(key),
            _ => false,
        };
        if !is_whole || !matches!(key.kind, TypedExprKind::Local(_)) {
            return None;
        }
        self.place(key).ok()
    }

    /// Looks a key up; the address of the value or null.
    pub(super) fn look_up(&mut self, map: MapId, key: Memory) -> Reg {
        let (map, key) = (self.b.map_address(map), self.b.address_of(key));
        self.b.call(Helper::MapLookup, &[map.into(), key.into()])
    }

    /// The element's address or null; an address that is not null if there is one element.
    pub(super) fn find_element(&mut self, id: hir::ScriptMapId, key: Option<&TypedExpr>) -> Result<Reg> {
        let (map, plan) = self.script_map(id)?;
        if plan.key.is_empty() {
            return Ok(self.b.set(1));
        }
        let key = if is_sparse(plan) { self.mark_key(plan, key)? } else { self.key(plan, key)? };
        Ok(self.look_up(map, key))
    }

    /// The value of a scalar element; 0 if it is not there.
    pub(super) fn read_map(
        &mut self,
        id: hir::ScriptMapId,
        key: Option<&TypedExpr>,
        read: MapRead,
        ty: &Type,
    ) -> Result<Operand> {
        let (map, plan) = self.script_map(id)?;
        if read == MapRead::Aggregated || plan.aggregation().is_some() {
            return self.read_aggregation(id, key, ty);
        }
        if plan.key.is_empty() {
            let value = self.b.array_value(map, 0);
            return Ok(self.load(Memory::Pointer(value, 0), ty));
        }
        let key = self.key(plan, key)?;
        let value = self.look_up(map, key);
        let result = self.b.set(0);
        let (there, join) = (self.b.block(), self.b.block());
        self.b.branch(Test::Eq, value, 0, join, there);
        self.b.switch_to(there);
        let loaded = self.load(Memory::Pointer(value, 0), ty);
        self.b.assign(result, loaded);
        self.b.jump(join);
        self.b.switch_to(join);
        Ok(result.into())
    }

    /// Copies an element to memory; zeros if it is not there.
    pub(super) fn copy_element(
        &mut self,
        id: hir::ScriptMapId,
        key: Option<&TypedExpr>,
        to: Memory,
        bytes: u32,
    ) -> Result<()> {
        let (map, plan) = self.script_map(id)?;
        let bytes = bytes.min(plan.content_bytes());
        if plan.key.is_empty() {
            let value = self.b.array_value(map, 0);
            self.copy(to, Memory::Pointer(value, 0), bytes);
            return Ok(());
        }
        let key = self.key(plan, key)?;
        let value = self.look_up(map, key);
        let (there, missing, join) = (self.b.block(), self.b.block(), self.b.block());
        self.b.branch(Test::Eq, value, 0, missing, there);
        self.b.switch_to(there);
        self.copy(to, Memory::Pointer(value, 0), bytes);
        self.b.jump(join);
        self.b.switch_to(missing);
        self.b.zero(to, bytes);
        self.b.jump(join);
        self.b.switch_to(join);
        Ok(())
    }

    /// Sets an element.
    pub(super) fn set_map(&mut self, id: hir::ScriptMapId, key: Option<&TypedExpr>, value: &TypedExpr) -> Result<()> {
        let (map, plan) = self.script_map(id)?;
        let room = plan.content_bytes();
        if plan.key.is_empty() {
            let scalar = value.ty.is_scalar();
            let itself = |expr: &TypedExpr| matches!(expr.kind, TypedExprKind::Map { map, .. } if map == id);
            if scalar {
                let value_now = self.scalar(value)?;
                let to = self.b.array_value(map, 0);
                self.store_scalar(Memory::Pointer(to, 0), value.ty.bytes(), value_now, &value.ty, false);
            } else if super::walk::any_expression(value, &mut |expr| itself(expr)) {
                let whole = self.temporary(room)?;
                self.write(value, whole, room, true)?;
                let to = self.b.array_value(map, 0);
                self.copy(Memory::Pointer(to, 0), whole, room);
            } else {
                let to = self.b.array_value(map, 0);
                self.write(value, Memory::Pointer(to, 0), room, true)?;
            }
            self.mark_set(map, plan);
            return Ok(());
        }
        let whole = self.temporary(room)?;
        self.write(value, whole, room, true)?;
        let key = self.key(plan, key)?;
        self.update(map, key, whole, 0);
        Ok(())
    }

    /// Notes that the element of a map without keys was set, be it to zeros.
    pub(super) fn mark_set(&mut self, map: MapId, plan: &MapPlan) {
        if plan.is_single() {
            let value = self.b.array_value(map, 0);
            let place = moved(Memory::Pointer(value, 0), plan.content_bytes());
            self.store(place, Size::B8, Operand::Constant(1));
        }
    }

    /// Updates an element; counts if there is no room.
    fn update(&mut self, map: MapId, key: Memory, value: Memory, flags: i64) {
        let failed = self.update_quietly(map, key, value, flags);
        self.count_unless_zero(failed, ScriptCounter::MapFull);
    }

    pub(super) fn update_quietly(&mut self, map: MapId, key: Memory, value: Memory, flags: i64) -> Reg {
        let (map, key, value) = (self.b.map_address(map), self.b.address_of(key), self.b.address_of(value));
        self.b.call(Helper::MapUpdate, &[map.into(), key.into(), value.into(), flags.into()])
    }

    /// Removes an element.
    pub(super) fn delete(&mut self, id: hir::ScriptMapId, key: Option<&TypedExpr>) -> Result<()> {
        let (map, plan) = self.script_map(id)?;
        if is_sparse(plan) {
            return self.delete_buckets(map, plan, key);
        }
        if !plan.key.is_empty() {
            let key = self.key(plan, key)?;
            let (map, key) = (self.b.map_address(map), self.b.address_of(key));
            // What is not there is removed already.
            self.b.call_only(Helper::MapDelete, &[map.into(), key.into()]);
            return Ok(());
        }
        let bytes = plan.value_bytes;
        if plan.is_per_cpu() {
            let key = self.temporary(plan.key_bytes)?;
            self.b.zero(key, plan.key_bytes);
            return self.each_cpu(map, key, |it, value| it.b.zero(Memory::Pointer(value, 0), bytes));
        }
        let value = self.b.array_value(map, 0);
        self.b.zero(Memory::Pointer(value, 0), bytes);
        Ok(())
    }

    /// Removes all buckets of a sparse histogram's element, each of which is an element of the kernel's map.
    fn delete_buckets(&mut self, map: MapId, plan: &MapPlan, key: Option<&TypedExpr>) -> Result<()> {
        let buckets = plan.aggregation().and_then(bathyscope_plan::Aggregation::buckets).unwrap_or(0);
        let piece = self.piece(plan.key_bytes)?;
        let to = self.reach(Where::Scratch(piece));
        if let Some(key) = key {
            self.write(key, to, plan.key_bytes - 8, true)?;
        }
        let bytes = 8 + self.claim_room();
        let parameters = [Parameter::Number, Parameter::Frame { bytes, context: None }];
        self.functions += 1;
        let name = format!("delete_{}", self.functions);
        let (callback, registers) = self.b.begin_function(name, &parameters);
        let outer_claim = self.take_claim(registers.last().copied(), 8);
        if let Some(bucket) = registers.first().copied() {
            let key = self.reach(Where::Scratch(piece));
            let bucket = self.b.extend(bucket, Size::B4, false);
            self.store(Self::bucket_place(plan, key), Size::B8, bucket);
            let (map, key) = (self.b.map_address(map), self.b.address_of(key));
            self.b.call_only(Helper::MapDelete, &[map.into(), key.into()]);
        }
        self.b.ret(0);
        self.b.end_function();
        self.claimed = outer_claim;
        let frame = self.b.slot(bytes);
        self.b.store_slot(frame, 0, Size::B8, 0);
        self.hand_over_claim(frame, 8);
        let (callback, frame) = (self.b.function_address(callback), self.b.slot_address(frame));
        self.b.call_only(Helper::Loop, &[i64::from(buckets).into(), callback.into(), frame.into(), 0.into()]);
        let key = self.reach(Where::Scratch(piece));
        self.store(Self::bucket_place(plan, key), Size::B8, Operand::Constant(MARK_BUCKET.cast_signed()));
        let (map, key) = (self.b.map_address(map), self.b.address_of(key));
        self.b.call_only(Helper::MapDelete, &[map.into(), key.into()]);
        Ok(())
    }

    /// The key of the mark that a sparse histogram has an element. Each of its buckets is an element of the kernel's map, so
    /// where a script asks for elements as such, each has one more that is no bucket.
    pub(super) fn mark_key(&mut self, plan: &MapPlan, key: Option<&TypedExpr>) -> Result<Memory> {
        let to = self.temporary(plan.key_bytes)?;
        if let Some(key) = key {
            self.write(key, to, plan.key_bytes.saturating_sub(8), true)?;
        }
        self.store(Self::bucket_place(plan, to), Size::B8, Operand::Constant(MARK_BUCKET.cast_signed()));
        Ok(to)
    }

    /// Makes the mark at its key unless it is there.
    pub(super) fn put_mark(&mut self, map: MapId, key: Memory) -> Result<()> {
        let [new, refused, done] = [(); 3].map(|()| self.b.block());
        let found = self.look_up(map, key);
        self.b.branch(Test::Eq, found, 0, new, done);
        self.b.switch_to(new);
        let value = self.temporary(8)?;
        self.store(value, Size::B8, Operand::Constant(1));
        self.update_quietly(map, key, value, ONLY_NEW);
        let found = self.look_up(map, key);
        self.b.branch(Test::Eq, found, 0, refused, done);
        self.b.switch_to(refused);
        self.count(ScriptCounter::MapFull);
        self.b.jump(done);
        self.b.switch_to(done);
        Ok(())
    }

    /// The bucket's number in a key that a callback got.
    pub(super) fn bucket_at(&mut self, plan: &MapPlan, key: Reg) -> Reg {
        self.b.load_memory(Self::bucket_place(plan, Memory::Pointer(key, 0)), Size::B8, false)
    }

    /// Does something with the value of each CPU that has one.
    pub(super) fn each_cpu(&mut self, map: MapId, key: Memory, mut each: impl FnMut(&mut Self, Reg)) -> Result<()> {
        let cpus = i64::from(self.shared.options.possible_cpus.max(1));
        let cpu = self.b.set(0);
        let [head, inside, there, next, after] = [(); 5].map(|()| self.b.block());
        self.b.jump(head);
        self.b.switch_to(head);
        self.b.branch(Test::Ge, cpu, cpus, after, inside);
        self.b.switch_to(inside);
        let (address, key) = (self.b.map_address(map), self.b.address_of(key));
        let value = self.b.call(Helper::MapLookupPercpu, &[address.into(), key.into(), cpu.into()]);
        self.b.branch(Test::Eq, value, 0, next, there);
        self.b.switch_to(there);
        each(self, value);
        self.b.jump(next);
        self.b.switch_to(next);
        self.change_register(cpu, IrBinaryOp::Add, 1);
        self.b.jump(head);
        self.b.switch_to(after);
        Ok(())
    }

    /// Adds to an element at once, whatever other CPUs do. `gives_old` says whether the value before or after is asked for.
    pub(super) fn step_map(
        &mut self,
        id: hir::ScriptMapId,
        key: Option<&TypedExpr>,
        by: i64,
        gives_old: Option<bool>,
    ) -> Result<Option<Operand>> {
        let (map, plan) = self.script_map(id)?;
        let ty = &plan.value;
        if plan.key.is_empty() {
            self.mark_set(map, plan);
            let value = self.b.array_value(map, 0);
            return Ok(self.step_at(value, ty, by, gives_old));
        }
        let key = self.key(plan, key)?;
        let value = self.b.reg();
        let [insert, race, failed, update, done] = [(); 5].map(|()| self.b.block());
        let result = self.b.set(0);
        let found = self.look_up(map, key);
        self.b.assign(value, found);
        self.b.branch(Test::Eq, value, 0, insert, update);
        self.b.switch_to(insert);
        let first = self.temporary(plan.value_bytes)?;
        let start = super::scalar::normal(by, ty);
        self.store_scalar(first, plan.value_bytes, Operand::Constant(start), ty, true);
        if gives_old == Some(false) {
            self.b.assign(result, start);
        }
        let refused = self.update_quietly(map, key, first, ONLY_NEW);
        self.b.branch(Test::Eq, refused, 0, done, race);
        self.b.switch_to(race);
        let found = self.look_up(map, key);
        self.b.assign(value, found);
        self.b.branch(Test::Eq, value, 0, failed, update);
        self.b.switch_to(failed);
        self.count(ScriptCounter::MapFull);
        self.b.assign(result, 0);
        self.b.jump(done);
        self.b.switch_to(update);
        if let Some(value) = self.step_at(value, ty, by, gives_old) {
            self.b.assign(result, value);
        }
        self.b.jump(done);
        self.b.switch_to(done);
        Ok(gives_old.map(|_| result.into()))
    }

    fn step_at(&mut self, value: Reg, ty: &Type, by: i64, gives_old: Option<bool>) -> Option<Operand> {
        let width = match ty.bytes() {
            8 => Width::W64,
            4 => Width::W32,
            // The kernel has no atomics of less.
            _ => return self.step_plainly(value, ty, by, gives_old),
        };
        let step = self.b.set(by);
        let Some(gives_old) = gives_old else {
            self.b.atomic(AtomicOp::Add, width, value, 0, step);
            return None;
        };
        let old = self.b.atomic_fetch(AtomicOp::Add, width, value, 0, step);
        if gives_old {
            return Some(self.narrowed(old.into(), ty));
        }
        let new = self.b.binary(IrBinaryOp::Add, old, by);
        Some(self.narrowed(new.into(), ty))
    }

    fn step_plainly(&mut self, value: Reg, ty: &Type, by: i64, gives_old: Option<bool>) -> Option<Operand> {
        let size = size_of(ty.bytes());
        let old = self.b.load(value, 0, size, is_signed(ty));
        let sum = self.b.binary(IrBinaryOp::Add, old, by);
        self.b.store(value, 0, size, sum);
        let new = self.narrowed(sum.into(), ty);
        gives_old.map(|gives_old| if gives_old { old.into() } else { new })
    }

    /// How many elements there are.
    pub(super) fn map_length(&mut self, id: hir::ScriptMapId) -> Result<Operand> {
        let (map, plan) = self.script_map(id)?;
        if plan.key.is_empty() {
            return Ok(Operand::Constant(1));
        }
        let sparse = is_sparse(plan);
        let parameters = [
            Parameter::Map(map),
            Parameter::Key(map),
            Parameter::Value(map),
            Parameter::Frame { bytes: 8, context: None },
        ];
        self.functions += 1;
        let (callback, registers) = self.b.begin_function(format!("count_{}", self.functions), &parameters);
        if let ([_, key, _, frame], true) = (registers.as_slice(), sparse) {
            let bucket = self.bucket_at(plan, *key);
            let is_mark = self.b.select(Test::Eq, Width::W64, bucket, MARK_BUCKET.cast_signed(), 1, 0);
            let count = self.b.load(*frame, 0, Size::B8, false);
            let count = self.b.binary(IrBinaryOp::Add, count, is_mark);
            self.b.store(*frame, 0, Size::B8, count);
        }
        self.b.ret(0);
        self.b.end_function();
        let frame = self.b.slot(8);
        self.b.store_slot(frame, 0, Size::B8, 0);
        let (map, callback, address) =
            (self.b.map_address(map), self.b.function_address(callback), self.b.slot_address(frame));
        let calls = self.b.call(Helper::ForEachMapElem, &[map.into(), callback.into(), address.into(), 0.into()]);
        // The kernel gives the number of calls, which is that of the elements unless these are buckets.
        Ok(if sparse { self.b.load_slot(frame, 0, Size::B8, false).into() } else { calls.into() })
    }

    /// Where the bucket's number is in the key of a sparse histogram.
    pub(super) fn bucket_place(plan: &MapPlan, key: Memory) -> Memory {
        moved(key, plan.key_bytes.saturating_sub(8))
    }
}

/// Whether the last 8 bytes of its keys are a bucket's number.
pub(super) fn is_sparse(plan: &MapPlan) -> bool {
    plan.aggregation().is_some_and(bathyscope_plan::Aggregation::is_sparse)
}
