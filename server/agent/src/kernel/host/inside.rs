//! The running kernel as the compiler sees it, in a child without rights.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use bathyscope_bpf::lang::host::{Host, KernelFunction};
use bathyscope_catalog::{
    EventFormat, parse_event_format,
    types::{TypeKind, Types},
};
use bathyscope_plan::{Features, ProgramType, UserPlaces};
use bathyscope_protocol::WireScript;

use super::{KernelHost, PER_CPU_OFFSET, lock};
use crate::{
    compile::{AgentChannel, Facts, Missing, Question, Told},
    os::cgroups::cgroup_id,
};

/// What the agent knows about the kernel, with the types of modules or without.
pub(crate) struct KernelFacts<'a> {
    kernel: &'a KernelHost,
    modules: bool,
}

impl<'a> KernelFacts<'a> {
    /// Reads at once what every script needs: a child cannot.
    pub(crate) fn new(kernel: &'a KernelHost, modules: bool) -> Self {
        kernel.features();
        let types = if modules { kernel.types_with_modules() } else { kernel.types() };
        // Types make an index of their names when they are first asked for one; each child would make it again.
        let _indexed = types.find(TypeKind::Struct, "task_struct");
        Self { kernel, modules }
    }
}

impl Facts for KernelFacts<'_> {
    fn inside<'a>(&'a self, script: &'a WireScript, channel: &'a AgentChannel) -> Box<dyn Host + 'a> {
        Box::new(InsideHost {
            kernel: self.kernel,
            modules: self.modules,
            channel,
            places: script.user_places.iter().map(|one| (one.point.as_str(), one)).collect(),
            per_cpu: script.text.contains("percpu"),
            formats: RefCell::default(),
        })
    }

    fn tell(&self, question: &Question) -> Told {
        match question {
            Question::Tracepoint { system, name } => {
                let read = self.kernel.read_format(system, name);
                Told::Tracepoint(read.map(|format| format.map(|format| format.text.clone())))
            }
            Question::Symbol { name } => Told::Symbol(self.kernel.symbol(name)),
            Question::Callable { name, program } => Told::Callable(self.kernel.callable(name, *program)),
            Question::Group { path } => Told::Group(cgroup_id(path)),
        }
    }

    fn read(&self, missing: Missing) {
        let _read = match missing {
            Missing::Tracepoints => self.kernel.tracepoints().len(),
            Missing::RawTracepoints => self.kernel.raw_tracepoints().len(),
            Missing::Functions => self.kernel.functions().len(),
        };
    }
}

/// Formats by subsystem and name.
type EventFormats = HashMap<(String, String), Option<Arc<EventFormat>>>;

/// See the module.
struct InsideHost<'a> {
    kernel: &'a KernelHost,
    modules: bool,
    channel: &'a AgentChannel,
    places: HashMap<&'a str, &'a UserPlaces>,
    /// Whether the script may ask for variables of CPUs.
    per_cpu: bool,
    /// Formats that were asked for.
    formats: RefCell<EventFormats>,
}

impl Host for InsideHost<'_> {
    fn wall_offset_ns(&self) -> u64 {
        let now_ns = |clock| {
            let now = rustix::time::clock_gettime(clock);
            now.tv_sec.unsigned_abs().saturating_mul(1_000_000_000).saturating_add(now.tv_nsec.unsigned_abs())
        };
        now_ns(rustix::time::ClockId::Realtime).saturating_sub(now_ns(rustix::time::ClockId::Monotonic))
    }

    fn features(&self) -> &Features {
        self.kernel.features()
    }

    fn tracepoint(&self, system: &str, name: &str) -> Result<Option<Arc<EventFormat>>, String> {
        if let Some(known) = lock(&self.kernel.formats).get(&format!("{system}:{name}")) {
            return Ok(Some(Arc::clone(&known.parsed)));
        }
        let key = (system.to_owned(), name.to_owned());
        if let Some(known) = self.formats.borrow().get(&key) {
            return Ok(known.clone());
        }
        let question = Question::Tracepoint { system: key.0.clone(), name: key.1.clone() };
        let text = match self.channel.ask(question) {
            Some(Told::Tracepoint(told)) => told?,
            _none => None,
        };
        let parse = |text: String| parse_event_format(text.as_bytes()).map(Arc::new).map_err(|error| error.to_string());
        let format = text.map(parse).transpose()?;
        self.formats.borrow_mut().insert(key, format.clone());
        Ok(format)
    }

    fn tracepoints(&self) -> &[String] {
        self.kernel.tracepoints.get().map_or_else(|| self.channel.lack(Missing::Tracepoints), Vec::as_slice)
    }

    fn raw_tracepoints(&self) -> &[String] {
        self.kernel.raw_tracepoints.get().map_or_else(|| self.channel.lack(Missing::RawTracepoints), Vec::as_slice)
    }

    fn functions(&self) -> &[KernelFunction] {
        self.kernel.functions.get().map_or_else(|| self.channel.lack(Missing::Functions), Vec::as_slice)
    }

    fn types(&self) -> &Types {
        // Both were read before the child was forked.
        if self.modules { self.kernel.types_with_modules() } else { self.kernel.types() }
    }

    fn kernel_symbol(&self, name: &str) -> Option<u64> {
        // The compiler always asks, and finding a symbol takes longer than everything else that it does.
        if name == PER_CPU_OFFSET && !self.per_cpu {
            return None;
        }
        if let Some(known) = lock(&self.kernel.symbols).get(name) {
            return *known;
        }
        match self.channel.ask(Question::Symbol { name: name.to_owned() }) {
            Some(Told::Symbol(address)) => address,
            _none => None,
        }
    }

    fn user_places(&self, point: &str) -> Option<&UserPlaces> {
        self.places.get(point).copied()
    }

    fn kfunc_allowed(&self, name: &str, program: ProgramType) -> Option<bool> {
        let key = (name.to_owned(), program);
        if let Some(known) = lock(&self.kernel.callable).get(&key) {
            return *known;
        }
        match self.channel.ask(Question::Callable { name: key.0, program }) {
            Some(Told::Callable(allowed)) => allowed,
            _none => None,
        }
    }

    fn cgroup_id(&self, path: &str) -> Option<u64> {
        match self.channel.ask(Question::Group { path: path.to_owned() }) {
            Some(Told::Group(id)) => id,
            _none => None,
        }
    }
}
