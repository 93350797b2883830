//! System calls with their arguments, results and durations; signals and ends of threads among them.

mod calls;
mod facts;
mod files;
pub mod kinds;
mod owners;
mod rows;
mod shown;

use bathyscope_capture::{Column, ColumnType, Display, StreamKind, StreamSchema, SyscallSpec, Target};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{definition, select},
};
use bathyscope_formats::{CallFilter, SysdigError};
use bathyscope_protocol::{StreamLayout, WireMethod, WireSyscalls};
use futures_util::future::{BoxFuture, ready};

use super::{EngineSetup, MadeSource, Prepared, Request, Source};
use crate::{AgentLink, StartError};
use calls::CallEngine;
use rows::SyscallRows;
use shown::ShownCalls;

/// Calls that a spec asks for.
pub(super) struct SyscallSource<'a> {
    spec: &'a SyscallSpec,
    filter: Option<CallFilter>,
}

impl<'a> SyscallSource<'a> {
    /// # Errors
    /// If the filter of the spec cannot be read.
    pub(super) fn new(spec: &'a SyscallSpec) -> Result<Self, StartError> {
        Ok(Self { spec, filter: filter_of(spec).map_err(StartError::Filter)? })
    }
}

impl Source for SyscallSource<'_> {
    fn request(&self, _target: &Target, _ring_bytes: u32) -> Request {
        let filter = self.filter.as_ref();
        Request::Method(Box::new(WireMethod::Syscalls(WireSyscalls {
            // Conditions on files need what new descriptors are as well.
            calls: SyscallSpec { fd_paths: self.spec.fd_paths || filter.is_some(), ..self.spec.clone() },
            ancestors: filter.is_some_and(CallFilter::asks_for_family),
            opening: ShownCalls::of(self.spec, filter).is_some(),
        })))
    }

    fn prepare<'a>(&'a self, _link: &'a AgentLink, made: MadeSource<'a>) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(ready(self.prepared(made)))
    }
}

impl SyscallSource<'_> {
    fn prepared(&self, made: MadeSource<'_>) -> Result<Prepared, String> {
        let [StreamLayout::Syscalls { tells_abi }] = *made.started.streams.as_slice() else {
            return Err("the agent made no stream of system calls, or more".to_owned());
        };
        let (spec, filter, target) = (self.spec.clone(), self.filter.clone(), made.target.clone());
        let engine = move |setup: EngineSetup| {
            let rows = SyscallRows::new(&spec, filter, &target, tells_abi, setup.link);
            Box::new(CallEngine::new(rows, setup.rings)) as Box<dyn super::Engine>
        };
        let prepared = Prepared::of(vec![schema(self.spec)], Box::new(engine));
        Ok(Prepared { follows_maps: self.spec.stacks, ..prepared })
    }
}

/// The columns of a stream of system calls.
fn schema(spec: &SyscallSpec) -> StreamSchema {
    let column = |name: &str, ty, display| Column { name: name.to_owned(), ty, display };
    let mut own = vec![
        column("call", ColumnType::Text, Display::Text),
        column("args", ColumnType::Text, Display::Text),
        column("result", ColumnType::I64, Display::Decimal),
        column("error", ColumnType::Text, Display::Text),
        column("duration_ns", ColumnType::U64, Display::DurationNs),
        column("note", ColumnType::Text, Display::Text),
        // What the row is: see `kinds`.
        column("kind", ColumnType::Text, Display::Text),
        // Whose call it is: `64`, `32` of 32-bit programs, `x32`; nothing of what is no call, and where the kernel does not
        // tell.
        column("abi", ColumnType::Text, Display::Text),
    ];
    if spec.cpu_time {
        own.push(column(columns::CPU, ColumnType::U64, Display::DurationNs));
    }
    if spec.addresses {
        own.push(column(columns::ADDRESS, ColumnType::U64, Display::Hex));
    }
    if spec.numbers {
        own.push(column(columns::NUMBER, ColumnType::I64, Display::Decimal));
    }
    if spec.stacks {
        own.push(column(columns::STACK, ColumnType::Stack, Display::Text));
    }
    StreamSchema::new("syscalls", StreamKind::Events, own)
}

/// Names of columns that are only there where they were asked for.
pub mod columns {
    /// How long a call ran on a CPU.
    pub const CPU: &str = "cpu_ns";
    /// A call's number, as its interface has it; -1 where none is known.
    pub const NUMBER: &str = "number";
    /// Where a call was made.
    pub const ADDRESS: &str = "address";
    /// The functions that were called until the call was made, in user space.
    pub const STACK: &str = "stack";
}

/// The filter of a spec, with what sets of calls in it mean; none if there is none.
///
/// # Errors
/// If it cannot be read.
fn filter_of(spec: &SyscallSpec) -> Result<Option<CallFilter>, SysdigError> {
    let expand = |set: &str| {
        let numbers = select(Arch::HOST, set).unwrap_or_default();
        numbers.into_iter().filter_map(|number| Some(definition(Arch::HOST, number)?.name.to_owned())).collect()
    };
    spec.filter.as_deref().map_or(Ok(None), |line| CallFilter::new(line, &expand))
}
