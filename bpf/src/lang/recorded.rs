//! A host that is a recording of a real kernel, for tests: its types and tracepoints are those of the kernel, what it can do
//! is what the test says, and addresses are made up.

use std::{collections::BTreeMap, sync::Arc};

use bathyscope_catalog::{
    EventFormat, parse_event_format,
    recorded::{RecordedError, kernel},
    types::{TypeKind, Types},
};
use bathyscope_plan::{Architecture, Features, ProgramType, UserPlaces};

use super::host::{Host, KernelFunction};

/// Where made-up addresses begin.
const TEXT: u64 = 0xffff_ffff_8100_0000;

/// See the module.
#[derive(Clone, Debug)]
pub struct RecordedHost {
    /// What the kernel can do; a test may change it.
    pub features: Features,
    /// Places in user space, by the attach point's text; a test may add some.
    pub places: BTreeMap<String, UserPlaces>,
    /// Addresses of more symbols than the functions; a test may add some.
    pub symbols: BTreeMap<String, u64>,
    /// Functions of the kernel that programs may call, with the type of program; a test may add some.
    pub callable: Vec<(String, ProgramType)>,
    /// Ids of control groups, by their paths; a test may add some.
    pub cgroups: BTreeMap<String, u64>,
    types: Types,
    formats: BTreeMap<String, Arc<EventFormat>>,
    tracepoints: Vec<String>,
    raw_tracepoints: Vec<String>,
    functions: Vec<KernelFunction>,
}

impl RecordedHost {
    /// The kernel of that series, `6.12`, on which everything works.
    ///
    /// # Errors
    /// If there is no such recording.
    pub fn new(series: &str) -> Result<Self, RecordedError> {
        let kernel = kernel(series)?;
        let types = kernel.types();
        let formats: BTreeMap<String, Arc<EventFormat>> = kernel
            .formats
            .iter()
            .filter_map(|(name, text)| Some((name.clone(), Arc::new(parse_event_format(text.as_bytes()).ok()?))))
            .collect();
        let tracepoints = formats.keys().cloned().collect();
        let raw_tracepoints =
            types.complete_raw_tracepoints("", usize::MAX).names.into_iter().map(str::to_owned).collect();
        let names = types.complete(TypeKind::Function, "", usize::MAX).names;
        let functions = names.into_iter().flat_map(|name| {
            let in_module = |module: Option<&str>| KernelFunction {
                name: name.to_owned(),
                module: module.unwrap_or_default().to_owned(),
            };
            types.functions(name).into_iter().map(|it| in_module(it.module)).collect::<Vec<_>>()
        });
        let functions = functions.collect();
        let mut numbers = series.split('.').filter_map(|part| part.parse::<u32>().ok());
        let version = numbers.next().unwrap_or(0) * 1000 + numbers.next().unwrap_or(0);
        let features = Features {
            kernel: version,
            architecture: Architecture::X86_64,
            possible_cpus: 2,
            kprobe: true,
            kprobe_multi: true,
            fentry: true,
            uprobe: true,
            uprobe_multi: version >= 6006,
            pmu: true,
            watchpoint: true,
            raw_tracepoint: true,
            iterator: true,
            // The machine that programs of tests run in answers helpers.
            typed_task: false,
            lockdown: "none".to_owned(),
            pid_namespace: None,
        };
        Ok(Self {
            features,
            places: BTreeMap::new(),
            // What Debian's kernels leave out.
            symbols: BTreeMap::from([("bpf_override_return".to_owned(), TEXT)]),
            cgroups: BTreeMap::new(),
            callable: Vec::new(),
            types,
            formats,
            tracepoints,
            raw_tracepoints,
            functions,
        })
    }

    /// The same as an agent sees it that tells programs where tasks have their name and numbers.
    #[must_use]
    pub fn with_typed_task(mut self) -> Self {
        self.features.typed_task = true;
        self
    }

    /// The same without kernel probes and performance counters, as in a virtual machine with lockdown.
    #[must_use]
    pub fn restricted(mut self) -> Self {
        self.features.kprobe = false;
        self.features.kprobe_multi = false;
        self.features.fentry = false;
        self.features.pmu = false;
        "integrity".clone_into(&mut self.features.lockdown);
        self
    }
}

impl Host for RecordedHost {
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
        &self.raw_tracepoints
    }

    fn functions(&self) -> &[KernelFunction] {
        &self.functions
    }

    fn types(&self) -> &Types {
        &self.types
    }

    fn kernel_symbol(&self, name: &str) -> Option<u64> {
        let made_up = || {
            let at = self.functions.iter().position(|it| it.name == name)?;
            Some(TEXT + u64::try_from(at).ok()? * 64)
        };
        self.symbols.get(name).copied().or_else(made_up)
    }

    fn user_places(&self, point: &str) -> Option<&UserPlaces> {
        self.places.get(point)
    }

    fn kfunc_allowed(&self, name: &str, program: ProgramType) -> Option<bool> {
        Some(self.callable.iter().any(|(known, of)| known == name && *of == program))
    }

    fn cgroup_id(&self, path: &str) -> Option<u64> {
        self.cgroups.get(path).copied()
    }
}
