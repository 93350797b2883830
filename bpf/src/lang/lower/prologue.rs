//! What every program begins with: it asks for the target, makes room for its variables, asks for the predicate, and counts
//! which way the hit went. Each hit is counted once; all of them are those that ran and those that were filtered.

use super::{
    Result,
    analysis::{FRAME_CONTEXT, LocalLocation},
    program::{Home, Lower, ScriptCounter, Where},
};
use crate::ir::{BlockId, MapDefinition, Memory, Op, ProgramKind, Reg, Size, Test};

/// What is not 0 once the script has ended itself.
const ENDED: &str = "script_ended";
/// Where the task is in the context of every iterator that there is: behind `meta`.
const ITERATED_TASK: u32 = 8;

impl Lower<'_> {
    /// Asks for the target, makes the frame, asks for the predicate, and counts.
    pub(super) fn prologue(&mut self) -> Result<()> {
        self.at(self.probe.span);
        let filtered = self.b.block();
        self.require_element();
        self.require_call();
        self.require_target(filtered);
        self.require_no_end(filtered);
        self.make_frame();
        if self.guarded {
            self.claim();
        }
        self.make_homes()?;
        if let Some(predicate) = &self.probe.predicate {
            self.at(predicate.span);
            self.statement = predicate.span;
            let (holds, rejected) = (self.b.block(), if self.guarded { self.b.block() } else { filtered });
            self.branch_on(predicate, holds, rejected)?;
            if self.guarded {
                self.b.switch_to(rejected);
                self.release();
                self.b.jump(filtered);
            }
            self.b.switch_to(holds);
        }
        let body = self.b.here();
        self.b.switch_to(filtered);
        if !self.shared.options.bare {
            self.count_hit(ScriptCounter::Filtered);
        }
        self.b.ret(0);
        self.b.switch_to(body);
        if !self.shared.options.bare {
            self.count_hit(ScriptCounter::Ran);
        }
        Ok(())
    }

    /// The kernel runs an iterator's program once more at the end, when there is nothing left: that is no hit.
    fn require_element(&mut self) {
        if self.id.kind != ProgramKind::Iterator {
            return;
        }
        let (end, there) = (self.b.block(), self.b.block());
        let task = self.b.load_context(ITERATED_TASK, Size::B8, false);
        self.b.branch(Test::Eq, task, 0, end, there);
        self.b.switch_to(end);
        self.b.ret(0);
        self.b.switch_to(there);
    }

    fn require_target(&mut self, filtered: BlockId) {
        if !self.id.is_filtered {
            return;
        }
        self.shared.options.target.require(&mut self.b, None, filtered);
    }

    /// Between `exit()` and the time when probes are detached nothing changes any more: what a map counts is what it was then.
    fn require_no_end(&mut self, filtered: BlockId) {
        if !self.id.ends || !self.shared.exits {
            return;
        }
        let ended = self.ended();
        let ended = self.b.load(ended, 0, Size::B8, false);
        let go_on = self.b.block();
        self.b.branch(Test::Ne, ended, 0, filtered, go_on);
        self.b.switch_to(go_on);
    }

    /// Where it is kept that the script has ended itself.
    pub(super) fn ended(&mut self) -> Reg {
        let map = self.map(MapDefinition::global(ENDED, 8));
        self.b.global_address(map, 0)
    }

    fn make_frame(&mut self) {
        let bytes = self.analysis.frame_bytes;
        if bytes == 0 {
            return;
        }
        let slot = self.b.slot(bytes + self.claim_room());
        self.b.zero(Memory::Slot(slot, 8), bytes - 8);
        self.b.push(Op::StoreContext { slot, offset: FRAME_CONTEXT });
        self.frame = Some(Memory::Slot(slot, 0));
    }

    /// Gives the variables of the function that begins here their places.
    pub(super) fn make_homes(&mut self) -> Result<()> {
        for (index, (known, local)) in self.analysis.locals.iter().zip(&self.probe.locals).enumerate() {
            let bytes = local.ty.bytes();
            let home = match known.place {
                LocalLocation::Nowhere => continue,
                LocalLocation::Function(function) if function != self.function => continue,
                LocalLocation::Function(_) if local.ty.is_scalar() => {
                    let reg = self.b.reg();
                    if known.zeroed {
                        self.b.assign(reg, 0);
                    }
                    Home::Register(reg)
                }
                LocalLocation::Function(_) if bytes <= self.shared.on_stack_limit => {
                    Home::Memory(Where::Slot(self.b.slot(bytes.next_multiple_of(8).max(8))))
                }
                // All others are made once, with the program.
                _ if self.function != 0 && !matches!(known.place, LocalLocation::Function(_)) => continue,
                LocalLocation::Frame(offset) => Home::Memory(Where::Frame(offset)),
                LocalLocation::Function(_) | LocalLocation::Scratch => Home::Memory(Where::Scratch(self.piece(bytes)?)),
            };
            if let Home::Memory(place) = home
                && known.zeroed
                && !matches!(place, Where::Frame(_))
            {
                let memory = self.reach(place);
                self.b.zero(memory, bytes.next_multiple_of(8));
            }
            if let Some(entry) = self.homes.get_mut(index) {
                *entry = home;
            }
        }
        Ok(())
    }
}
