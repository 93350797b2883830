//! Thread states: switches of CPUs between threads, and who wakes whom. A stream of each, in order of time.

mod names;
mod rows;
mod stacks;

use bathyscope_capture::{Column, ColumnType, Display, StatesSpec, StreamKind, StreamSchema, Target};
use bathyscope_protocol::{StreamLayout, WireMethod};
use futures_util::future::{BoxFuture, ready};

use super::{EngineSetup, MadeSource, Prepared, Request, Source};
use crate::AgentLink;
use rows::StateEngine;

/// The streams, in this order.
const SWITCHES: u16 = 0;
const WAKEUPS: u16 = 1;

/// What a spec asks of switches and wake-ups.
pub(super) struct StatesSource<'a> {
    pub(super) spec: &'a StatesSpec,
}

impl Source for StatesSource<'_> {
    fn request(&self, _target: &Target, _ring_bytes: u32) -> Request {
        Request::Method(Box::new(WireMethod::States(*self.spec)))
    }

    fn prepare<'a>(&'a self, _link: &'a AgentLink, made: MadeSource<'a>) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(ready(self.prepared(made)))
    }
}

impl StatesSource<'_> {
    fn prepared(&self, made: MadeSource<'_>) -> Result<Prepared, String> {
        let [StreamLayout::Switches, StreamLayout::Wakeups] = made.started.streams.as_slice() else {
            return Err("the agent made other streams than those of switches and of wake-ups".to_owned());
        };
        let (spec, of_target) = (*self.spec, *made.target.watched() != Target::System);
        let engine =
            move |setup: EngineSetup| Box::new(StateEngine::new(spec, of_target, setup)) as Box<dyn super::Engine>;
        let prepared = Prepared::of(vec![switches(spec, of_target), wakeups(spec)], Box::new(engine));
        Ok(Prepared { names_kernel_addresses: true, follows_maps: spec.has_stacks(), ..prepared })
    }
}

/// The columns of switches; the common ones are of the thread that leaves the CPU.
fn switches(spec: StatesSpec, of_target: bool) -> StreamSchema {
    const OWN: [(&str, ColumnType); 6] = [
        // The state that it is left in, as ftrace writes it.
        ("state", ColumnType::Text),
        ("next_pid", ColumnType::U64),
        ("next_tid", ColumnType::U64),
        ("next_comm", ColumnType::Text),
        // The function of the kernel in which an uninterruptible thread blocks.
        ("blocked_function", ColumnType::Text),
        // Of a target: whether the switch is from one of its threads, to one, or both.
        ("of_target", ColumnType::Text),
    ];
    let own = if of_target { &OWN[..] } else { OWN.split_last().map_or(&[][..], |(_, all)| all) };
    schema("switches", own, spec.sleep_stacks)
}

/// The columns of wake-ups; the common ones are of the waker.
fn wakeups(spec: StatesSpec) -> StreamSchema {
    const OWN: [(&str, ColumnType); 5] = [
        ("wakee_pid", ColumnType::U64),
        ("wakee_tid", ColumnType::U64),
        ("wakee_comm", ColumnType::Text),
        // The CPU whose queue the thread belonged to when it was woken.
        ("target_cpu", ColumnType::U64),
        // 1 where it has never run before.
        ("new", ColumnType::U64),
    ];
    schema("wakeups", &OWN, spec.wake_stacks)
}

fn schema(name: &str, own: &[(&str, ColumnType)], has_stack: bool) -> StreamSchema {
    let stack = has_stack.then_some(("stack", ColumnType::Stack));
    let column = |(name, ty): (&str, ColumnType)| {
        let display = if matches!(ty, ColumnType::U64) { Display::Decimal } else { Display::Text };
        Column { name: name.to_owned(), ty, display }
    };
    StreamSchema::new(name, StreamKind::Events, own.iter().copied().chain(stack).map(column))
}
