//! Aggregations: the element is looked up and changed in place; where there is none, one is made, and if another CPU was
//! faster its element is taken.

use bathyscope_plan::{Aggregation, MapPlan, SeriesOf, Type};

use super::{
    Result,
    maps::{ONLY_NEW, is_sparse},
    program::{Lower, ScriptCounter, is_signed},
};
use crate::{
    ir::{Helper, IrBinaryOp, MapId, Memory, Op, Operand, Reg, Size, Test, Width, moved},
    lang::hir::{self, TypedExpr},
};

/// Values up to this are made with their first content, others of zeros.
const MAX_FIRST_VALUE: u32 = 16;

/// What is to be added.
#[derive(Clone, Copy, Debug)]
enum Input {
    /// A number.
    Number(Operand),
    /// One to a bucket of many: its number, in bounds that the verifier sees.
    Bucket(Operand),
    /// One to the only bucket of the element.
    Single,
    /// A value to an interval.
    Interval { value: Operand, now: Reg, interval: Reg, slot: Reg },
}

impl Lower<'_> {
    pub(super) fn aggregate(
        &mut self,
        id: hir::ScriptMapId,
        key: Option<&TypedExpr>,
        value: Option<&TypedExpr>,
    ) -> Result<()> {
        let (map, plan) = self.script_map(id)?;
        let Some(aggregation) = plan.aggregation() else {
            return self.error("the checked script aggregates into a map that does not");
        };
        let unsigned = value.is_some_and(|value| !is_signed(&value.ty) && value.ty.bytes() == 8);
        let number = match value {
            Some(value) => self.scalar(value)?,
            None => Operand::Constant(1),
        };
        let (input, bucket) = self.input(aggregation, number, unsigned);
        if plan.key.is_empty() && !is_sparse(plan) {
            let element = self.b.array_value(map, 0);
            self.add(plan, aggregation, element, input);
            // A sum may be 0; everything else that was aggregated is not.
            if matches!(aggregation, Aggregation::Sum { .. }) {
                self.mark_set(map, plan);
            }
            return Ok(());
        }
        let key = match bucket {
            Some(bucket) => self.key_with_bucket((map, id), plan, key, bucket)?,
            None => self.key(plan, key)?,
        };
        self.change(map, plan, key, aggregation, input)
    }

    /// The key of a bucket; the element that it belongs to gets its mark if the script asks for elements.
    fn key_with_bucket(
        &mut self,
        (map, id): (MapId, hir::ScriptMapId),
        plan: &MapPlan,
        key: Option<&TypedExpr>,
        bucket: Operand,
    ) -> Result<Memory> {
        let to = self.mark_key(plan, key)?;
        if self.shared.marked.get(id.0 as usize).copied().unwrap_or(false) {
            self.put_mark(map, to)?;
        }
        self.store(Self::bucket_place(plan, to), Size::B8, bucket);
        Ok(to)
    }

    /// What to add, and the bucket that is part of the key.
    fn input(&mut self, aggregation: &Aggregation, number: Operand, unsigned: bool) -> (Input, Option<Operand>) {
        let bucket = match aggregation {
            Aggregation::Hist { bits } => self.hist_bucket(number, *bits, unsigned),
            Aggregation::LinearHist { min, max, step } => self.linear_bucket(number, *min, *max, *step, unsigned),
            Aggregation::TimeSeries { interval_ns, phase_ns, slots, .. } => {
                let now = self.b.call(Helper::KtimeGetNs, &[]);
                let wall = self.b.binary(IrBinaryOp::Add, now, phase_ns.cast_signed());
                let interval = self.b.binary(IrBinaryOp::Div, wall, (*interval_ns).max(1).cast_signed());
                let slot = self.b.binary(IrBinaryOp::Mod, interval, i64::from((*slots).max(1)));
                // The verifier does not follow a remainder.
                let slot = self.unless_greater(slot.into(), i64::from(*slots) - 1);
                let slot = self.in_register(slot);
                return (Input::Interval { value: number, now, interval, slot }, None);
            }
            _ => return (Input::Number(number), None),
        };
        if aggregation.is_sparse() {
            return (Input::Single, Some(bucket));
        }
        let most = i64::from(aggregation.buckets().unwrap_or(1)) - 1;
        let bounded = match bucket {
            constant @ Operand::Constant(_) => constant,
            bucket @ Operand::Reg(_) => self.unless_greater(bucket, most),
        };
        (Input::Bucket(bounded), None)
    }

    /// Changes the element at a key, making it if needed.
    fn change(
        &mut self,
        map: MapId,
        plan: &MapPlan,
        key: Memory,
        aggregation: &Aggregation,
        input: Input,
    ) -> Result<()> {
        let element = self.b.reg();
        let [insert, race, failed, update, done] = [(); 5].map(|()| self.b.block());
        let found = self.look_up(map, key);
        self.b.assign(element, found);
        self.b.branch(Test::Eq, element, 0, insert, update);
        self.b.switch_to(insert);
        if plan.value_bytes <= MAX_FIRST_VALUE && matches!(input, Input::Number(_) | Input::Single) {
            let first = self.temporary(plan.value_bytes)?;
            self.write_first(aggregation, first, input);
            let refused = self.update_quietly(map, key, first, ONLY_NEW);
            self.b.branch(Test::Eq, refused, 0, done, race);
        } else {
            let zeros = self.zeros(plan.value_bytes);
            self.update_quietly(map, key, Memory::Pointer(zeros, 0), ONLY_NEW);
            self.b.jump(race);
        }
        self.b.switch_to(race);
        let found = self.look_up(map, key);
        self.b.assign(element, found);
        self.b.branch(Test::Eq, element, 0, failed, update);
        self.b.switch_to(failed);
        self.count(ScriptCounter::MapFull);
        self.b.jump(done);
        self.b.switch_to(update);
        self.add(plan, aggregation, element, input);
        self.b.jump(done);
        self.b.switch_to(done);
        Ok(())
    }

    /// The content of a new element.
    fn write_first(&mut self, aggregation: &Aggregation, to: Memory, input: Input) {
        let first = match input {
            Input::Number(number) => number,
            _ => Operand::Constant(1),
        };
        self.store(to, Size::B8, first);
        if aggregation.bytes() > 8 {
            self.store(moved(to, 8), Size::B8, Operand::Constant(1));
        }
    }

    /// Adds to an element that is there. No other CPU changes it, unless the map was declared to be shared, and nothing on
    /// this CPU, unless another run can come in between.
    fn add(&mut self, plan: &MapPlan, aggregation: &Aggregation, element: Reg, input: Input) {
        match (aggregation, input) {
            (Aggregation::Min { signed }, Input::Number(number)) => {
                let test = if *signed { Test::SignedLt } else { Test::Lt };
                self.keep_extreme(plan, element, number, test);
            }
            (Aggregation::Max { signed }, Input::Number(number)) => {
                let test = if *signed { Test::SignedGt } else { Test::Gt };
                self.keep_extreme(plan, element, number, test);
            }
            (Aggregation::Average { .. } | Aggregation::Stats { .. }, Input::Number(number)) => {
                self.add_word(plan, element, 0, number);
                self.add_word(plan, element, 8, Operand::Constant(1));
            }
            (Aggregation::TimeSeries { of, signed, .. }, Input::Interval { value, now, interval, slot }) => {
                let offset = self.b.binary(IrBinaryOp::Mul, slot, 24);
                let place = self.b.binary(IrBinaryOp::Add, element, offset);
                let value = self.in_register(value);
                self.begin_interval(place, interval);
                self.add_to_interval(plan, place, (*of, *signed), value, now);
            }
            (_, Input::Bucket(Operand::Constant(bucket))) => {
                let offset = i16::try_from(bucket * 8).unwrap_or(0);
                self.add_word(plan, element, offset, Operand::Constant(1));
            }
            (_, Input::Bucket(Operand::Reg(bucket))) => {
                let offset = self.b.binary(IrBinaryOp::Shl, bucket, 3);
                let place = self.b.binary(IrBinaryOp::Add, element, offset);
                self.add_word(plan, place, 0, Operand::Constant(1));
            }
            (_, Input::Number(number)) => self.add_word(plan, element, 0, number),
            (_, Input::Single | Input::Interval { .. }) => self.add_word(plan, element, 0, Operand::Constant(1)),
        }
    }

    fn add_word(&mut self, plan: &MapPlan, place: Reg, offset: i16, number: Operand) {
        if !plan.is_per_cpu() || self.shares_cpu() {
            let number = self.in_register(number);
            return self.b.atomic(crate::ir::AtomicOp::Add, Width::W64, place, offset, number);
        }
        let before = self.b.load(place, offset, Size::B8, false);
        let after = self.b.binary(IrBinaryOp::Add, before, number);
        self.b.store(place, offset, Size::B8, after);
    }

    /// Keeps the number if it is the first one or the test holds for it and what is there.
    fn keep_extreme(&mut self, plan: &MapPlan, place: Reg, number: Operand, test: Test) {
        let number = self.in_register(number);
        if !plan.is_per_cpu() || self.shares_cpu() {
            return self.keep_extreme_among_others(place, number, test);
        }
        let set = self.b.load(place, 8, Size::B8, false);
        let [compare, keep, done] = [(); 3].map(|()| self.b.block());
        self.b.branch(Test::Eq, set, 0, keep, compare);
        self.b.switch_to(compare);
        let there = self.b.load(place, 0, Size::B8, false);
        self.b.branch(test, number, there, keep, done);
        self.b.switch_to(keep);
        self.b.store(place, 0, Size::B8, number);
        self.b.store(place, 8, Size::B8, 1);
        self.b.jump(done);
        self.b.switch_to(done);
    }

    /// The same where others may change the element between two instructions: the number is exchanged for the one that it
    /// was compared with, or else compared again. An element of zeros is new, so an exact zero can be overlooked if it
    /// comes in between while the very first number is kept.
    fn keep_extreme_among_others(&mut self, place: Reg, number: Reg, test: Test) {
        /// So many others would have to come in between one after the other.
        const ROUNDS: i64 = 8;
        let [exchanged, done] = [(); 2].map(|()| self.b.block());
        self.b.repeat(ROUNDS, |builder, round| {
            let there = builder.load(place, 0, Size::B8, false);
            let set = builder.load(place, 8, Size::B8, false);
            let known = builder.binary(IrBinaryOp::Or, set, there);
            let [compare, keep] = [(); 2].map(|()| builder.block());
            builder.branch(Test::Eq, known, 0, keep, compare);
            builder.switch_to(compare);
            builder.branch(test, number, there, keep, done);
            builder.switch_to(keep);
            let to = builder.reg();
            let (width, expected) = (Width::W64, there.into());
            builder.push(Op::CompareExchange { to, width, base: place, offset: 0, expected, value: number });
            builder.branch(Test::Eq, to, there, exchanged, round.next);
        });
        self.count(ScriptCounter::Nested);
        self.b.jump(done);
        self.b.switch_to(exchanged);
        self.b.store(place, 8, Size::B8, 1);
        self.b.jump(done);
        self.b.switch_to(done);
    }

    /// Empties the slot at `place` if it is of an earlier round. A run that comes in between just when an interval begins
    /// may be left out.
    fn begin_interval(&mut self, place: Reg, interval: Reg) {
        let there = self.b.load(place, 16, Size::B8, false);
        let [new, old] = [(); 2].map(|()| self.b.block());
        self.b.branch(Test::Ne, there, interval, new, old);
        self.b.switch_to(new);
        self.b.store(place, 0, Size::B8, 0);
        self.b.store(place, 8, Size::B8, 0);
        self.b.store(place, 16, Size::B8, interval);
        self.b.jump(old);
        self.b.switch_to(old);
    }

    fn add_to_interval(&mut self, plan: &MapPlan, place: Reg, (of, signed): (SeriesOf, bool), value: Reg, now: Reg) {
        match of {
            SeriesOf::Last => {
                self.b.store(place, 0, Size::B8, value);
                // Each CPU has a last value; the moment tells which of them is the last of all.
                self.b.store(place, 8, Size::B8, now);
            }
            SeriesOf::Min | SeriesOf::Max => {
                let test = match (of, signed) {
                    (SeriesOf::Min, true) => Test::SignedLt,
                    (SeriesOf::Min, false) => Test::Lt,
                    (_, true) => Test::SignedGt,
                    (_, false) => Test::Gt,
                };
                self.keep_extreme(plan, place, value.into(), test);
            }
            SeriesOf::Sum | SeriesOf::Average => {
                self.add_word(plan, place, 0, value.into());
                if of == SeriesOf::Average {
                    self.add_word(plan, place, 8, Operand::Constant(1));
                } else {
                    self.b.store(place, 8, Size::B8, 1);
                }
            }
        }
    }

    /// What an aggregation has over all CPUs.
    pub(super) fn read_aggregation(
        &mut self,
        id: hir::ScriptMapId,
        key: Option<&TypedExpr>,
        ty: &Type,
    ) -> Result<Operand> {
        let (map, plan) = self.script_map(id)?;
        let key = self.key(plan, key)?;
        self.aggregation_at(map, plan, key, ty)
    }

    /// The same for a key that is there.
    pub(super) fn aggregation_at(&mut self, map: MapId, plan: &MapPlan, key: Memory, ty: &Type) -> Result<Operand> {
        let Some(aggregation) = plan.aggregation() else {
            return self.error("the checked script reads an aggregation of a map that has none");
        };
        let (value, count) = (self.b.set(0), self.b.set(0));
        let each = |it: &mut Self, element: Reg| it.join_cpu(aggregation, element, value, count);
        if plan.is_per_cpu() {
            self.each_cpu(map, key, each)?;
        } else {
            let element = self.look_up(map, key);
            let (there, join) = (self.b.block(), self.b.block());
            self.b.branch(Test::Eq, element, 0, join, there);
            self.b.switch_to(there);
            each(self, element);
            self.b.jump(join);
            self.b.switch_to(join);
        }
        let result = match aggregation {
            Aggregation::Average { signed } | Aggregation::Stats { signed } => {
                let op = if *signed { IrBinaryOp::SignedDiv } else { IrBinaryOp::Div };
                self.b.binary(op, value, count)
            }
            _ => value,
        };
        Ok(self.narrowed(result.into(), ty))
    }

    /// Joins one CPU's part.
    fn join_cpu(&mut self, aggregation: &Aggregation, element: Reg, value: Reg, count: Reg) {
        let own = self.b.load(element, 0, Size::B8, false);
        let test = match aggregation {
            Aggregation::Min { signed: true } => Test::SignedLt,
            Aggregation::Min { signed: false } => Test::Lt,
            Aggregation::Max { signed: true } => Test::SignedGt,
            Aggregation::Max { signed: false } => Test::Gt,
            other => {
                self.change_register(value, IrBinaryOp::Add, own);
                if other.bytes() == 16 {
                    let own = self.b.load(element, 8, Size::B8, false);
                    self.change_register(count, IrBinaryOp::Add, own);
                }
                return;
            }
        };
        let set = self.b.load(element, 8, Size::B8, false);
        let [asked, compare, keep, done] = [(); 4].map(|()| self.b.block());
        self.b.branch(Test::Eq, set, 0, done, asked);
        self.b.switch_to(asked);
        self.b.branch(Test::Eq, count, 0, keep, compare);
        self.b.switch_to(compare);
        self.b.branch(test, own, value, keep, done);
        self.b.switch_to(keep);
        self.b.assign(value, own);
        self.b.assign(count, 1);
        self.b.jump(done);
        self.b.switch_to(done);
    }
}
