//! What the rows of a file say at a place.

use super::{CHUNK_ROWS, MAX_ROWS, Mapping};
use crate::ir::{Builder, Helper, IrBinaryOp, MapId, Op, Reg, Size, Test, Width};

/// Steps after which a search among all rows is at its end.
const STEPS: i64 = MAX_ROWS.ilog2() as i64 + 1;
/// An offset behind which rows say nothing.
const MAX_OFFSET: i64 = u32::MAX as i64;

/// The code of the rule at an address in the mapping that `state` is about, 0 if there is none.
pub(crate) fn rule_at(b: &mut Builder, rows: MapId, state: Reg, address: Reg) -> Reg {
    let code = b.set(0);
    let (search, done) = (b.block(), b.block());
    let shift = b.load(state, Mapping::SHIFT, Size::B8, false);
    let wanted = b.binary(IrBinaryOp::Add, address, shift);
    let limit = b.set(MAX_OFFSET);
    b.branch(Test::Gt, wanted, limit, done, search);
    b.switch_to(search);
    let low = b.load(state, Mapping::FIRST, Size::B8, false);
    let high = b.load(state, Mapping::COUNT, Size::B8, false);
    let change = |b: &mut Builder, to, op, left, right: crate::ir::Operand| {
        b.push(Op::Binary { to, op, width: Width::W64, left, right });
    };
    change(b, high, IrBinaryOp::Add, high, low.into());
    b.repeat(STEPS, |b, round| {
        let (look, there, after, before) = (b.block(), b.block(), b.block(), b.block());
        b.branch(Test::Ge, low, high, round.after, look);
        b.switch_to(look);
        let middle = b.binary(IrBinaryOp::Add, low, high);
        change(b, middle, IrBinaryOp::Shr, middle, 1.into());
        let key = b.slot(8);
        let chunk = b.binary(IrBinaryOp::Shr, middle, i64::from(CHUNK_ROWS.ilog2()));
        b.store_slot(key, 0, Size::B4, chunk);
        let (map, key) = (b.map_address(rows), b.slot_address(key));
        let chunk = b.call(Helper::MapLookup, &[map.into(), key.into()]);
        b.branch(Test::Eq, chunk, 0, round.after, there);
        b.switch_to(there);
        let inside = b.binary(IrBinaryOp::And, middle, i64::from(CHUNK_ROWS - 1));
        let inside = b.binary(IrBinaryOp::Shl, inside, 3);
        let place = b.binary(IrBinaryOp::Add, chunk, inside);
        let row = b.load(place, 0, Size::B8, false);
        let from = b.binary(IrBinaryOp::Shr, row, 32);
        b.branch(Test::Gt, from, wanted, before, after);
        b.switch_to(before);
        b.assign(high, middle);
        b.jump(round.next);
        b.switch_to(after);
        b.push(Op::Extend { to: code, from: row, size: Size::B4, signed: false });
        change(b, low, IrBinaryOp::Add, middle, 1.into());
        b.jump(round.next);
    });
    b.jump(done);
    b.switch_to(done);
    code
}
