//! The programs that keep the map of target processes true while processes come and go.
//!
//! The kernel's fork event does not tell a new thread from a new process, so the ids of threads get into the map as
//! well. That is harmless, because programs ask for a tgid and no process has a living thread's id; and each id leaves
//! the map when the kernel frees the task, which for a process is after its last thread has ended.

use bathyscope_catalog::{ColumnSource, EventFormat, Operand as Named};

use super::{
    ProbeError,
    frame::{check_name, load_number},
    target::{look_up, targets_map, tgid_of},
};
use crate::ir::{Builder, End, Helper, Op, Operand, Program, ProgramKind, Reg, Size, SlotId, Test};

/// The most processes and threads that are followed at a time.
pub const TARGETS_MAX: u32 = 1 << 15;

/// Whose children become targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parents {
    /// Those of any thread of a process that is a target.
    Processes,
    /// Those of a thread that is a target.
    Threads,
}

/// A program for `sched:sched_process_fork` that adds the child to the targets where the parent is one. Attach it
/// before the programs that record, and put the first target into the map before the first fork.
///
/// # Errors
/// If the name or the format does not fit.
pub fn fork_program(name: &str, format: &EventFormat, parents: Parents) -> Result<Program, ProbeError> {
    check_name(name)?;
    let mut builder = Builder::new(name, ProgramKind::Tracepoint);
    let (key, value) = (builder.slot(8), builder.slot(8));
    let map = builder.map(targets_map());
    let pid_tgid = builder.call(Helper::GetCurrentPidTgid, &[]);
    // The low half is the thread.
    let parent = if parents == Parents::Processes { tgid_of(&mut builder, pid_tgid) } else { pid_tgid };
    let found = look_up(&mut builder, map, key, parent);
    let (follow, leave) = (builder.block(), builder.block());
    builder.branch(Test::Eq, found, 0, leave, follow);
    builder.switch_to(follow);
    let child = number_of(&mut builder, format, "child_pid")?;
    store(&mut builder, key, child.into());
    store(&mut builder, value, Operand::Constant(1));
    let map = builder.map_address(map);
    let (key, value) = (builder.slot_address(key), builder.slot_address(value));
    builder.call_only(Helper::MapUpdate, &[map.into(), key.into(), value.into(), Operand::Constant(0)]);
    builder.end(End::Return(Operand::Constant(0)));
    Ok(builder.finish())
}

/// A program for `sched:sched_process_free` that removes a task that is gone.
///
/// # Errors
/// If the name or the format does not fit.
pub fn free_program(name: &str, format: &EventFormat) -> Result<Program, ProbeError> {
    check_name(name)?;
    let mut builder = Builder::new(name, ProgramKind::Tracepoint);
    let key = builder.slot(8);
    let map = builder.map(targets_map());
    let gone = number_of(&mut builder, format, "args.pid")?;
    store(&mut builder, key, gone.into());
    let map = builder.map_address(map);
    let key = builder.slot_address(key);
    builder.call_only(Helper::MapDelete, &[map.into(), key.into()]);
    builder.end(End::Return(Operand::Constant(0)));
    Ok(builder.finish())
}

fn store(builder: &mut Builder, slot: SlotId, value: Operand) {
    builder.push(Op::StoreSlot { slot, offset: 0, size: Size::B4, value });
}

fn number_of(builder: &mut Builder, format: &EventFormat, field: &'static str) -> Result<Reg, ProbeError> {
    match Named::resolve(format, field) {
        Ok(Named::Field(ColumnSource::Number { offset, bytes, .. })) => Ok(load_number(builder, offset, bytes, false)),
        _ => Err(ProbeError::Lacking { tracepoint: format.name.clone(), field }),
    }
}
