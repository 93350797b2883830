//! What the compiler is told about the simulated host. It has no type information of a kernel, so scripts there cannot use
//! its structures; tracepoints, user probes, timers and software events they can.

use std::{collections::HashMap, sync::Arc};

use bathyscope_bpf::lang::host::{Host, KernelFunction};
use bathyscope_catalog::{EventFormat, parse_event_format, types::Types};
use bathyscope_plan::{Architecture, Features, UserPlaces};
use bathyscope_protocol::WireScript;

use crate::{
    compile::{AgentChannel, Facts, Missing, Question, Told},
    simulated::{
        events::CPUS,
        world::{self, FUNCTION_BYTES, KERNEL_ADDRESS, KERNEL_FUNCTIONS, TRACEPOINTS},
    },
};

/// What scripts can use here.
pub(in crate::simulated) fn features() -> Features {
    Features {
        kernel: 6018,
        architecture: Architecture::X86_64,
        possible_cpus: CPUS,
        kprobe: false,
        kprobe_multi: false,
        fentry: false,
        uprobe: true,
        uprobe_multi: false,
        pmu: false,
        watchpoint: false,
        raw_tracepoint: false,
        iterator: false,
        typed_task: false,
        lockdown: "none".to_owned(),
        pid_namespace: None,
    }
}

/// What a child is told about the simulated host: it makes all of it itself.
#[derive(Debug)]
pub(crate) struct SimulatedFacts;

#[cfg(test)]
impl SimulatedFacts {
    /// The host itself, for compiling without a child.
    pub(crate) fn host<'a>(&self, script: &'a WireScript) -> impl Host + 'a {
        SimulatedHost::new(script)
    }
}

impl Facts for SimulatedFacts {
    fn inside<'a>(&'a self, script: &'a WireScript, _channel: &'a AgentChannel) -> Box<dyn Host + 'a> {
        Box::new(SimulatedHost::new(script))
    }

    fn tell(&self, _question: &Question) -> Told {
        Told::Unsound
    }

    fn read(&self, _missing: Missing) {}
}

/// The simulated host, and what a request says about user space.
struct SimulatedHost<'a> {
    features: Features,
    formats: HashMap<String, Arc<EventFormat>>,
    tracepoints: Vec<String>,
    functions: Vec<KernelFunction>,
    types: Types,
    places: HashMap<&'a str, &'a UserPlaces>,
}

impl<'a> SimulatedHost<'a> {
    fn new(script: &'a WireScript) -> Self {
        let format = |(index, made): (usize, &world::MadeTracepoint)| {
            let format = parse_event_format(made.format(index + 1).as_bytes()).ok()?;
            Some((format!("{}:{}", made.system, made.name), Arc::new(format)))
        };
        let formats: HashMap<_, _> = TRACEPOINTS.iter().enumerate().filter_map(format).collect();
        let mut tracepoints: Vec<String> = formats.keys().cloned().collect();
        tracepoints.sort_unstable();
        let function = |name: &str| KernelFunction { name: name.to_owned(), module: String::new() };
        let mut functions: Vec<KernelFunction> = KERNEL_FUNCTIONS.iter().copied().map(function).collect();
        functions.sort_unstable();
        let places = script.user_places.iter().map(|one| (one.point.as_str(), one)).collect();
        Self { features: features(), formats, tracepoints, functions, types: Types::built_in(), places }
    }
}

impl Host for SimulatedHost<'_> {
    fn features(&self) -> &Features {
        &self.features
    }

    fn tracepoint(&self, system: &str, name: &str) -> Result<Option<Arc<EventFormat>>, String> {
        Ok(self.formats.get(&format!("{system}:{name}")).cloned())
    }

    fn tracepoints(&self) -> &[String] {
        &self.tracepoints
    }

    fn raw_tracepoints(&self) -> &[String] {
        &[]
    }

    fn functions(&self) -> &[KernelFunction] {
        &self.functions
    }

    fn types(&self) -> &Types {
        &self.types
    }

    fn kernel_symbol(&self, name: &str) -> Option<u64> {
        let index = (0_u64..).zip(KERNEL_FUNCTIONS).find(|(_index, function)| *function == name)?.0;
        Some(KERNEL_ADDRESS + index * FUNCTION_BYTES)
    }

    fn user_places(&self, point: &str) -> Option<&UserPlaces> {
        self.places.get(point).copied()
    }
}
