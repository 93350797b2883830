//! Facts about the host for the compiler, when it runs in this process: to list probes, and to show the passes. They are
//! read from files that the agent opens; what it cannot open is as if it were not there.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeSet, HashMap},
    fs::File,
    io::Read as _,
    sync::Arc,
};

use bathyscope_bpf::lang::host::{Host, KernelFunction};
use bathyscope_capture::{Target, TracepointName};
use bathyscope_catalog::{
    EventFormat, parse_available_events, parse_event_format,
    types::{Btf, TypeKind, Types},
};
use bathyscope_link::{
    AgentLink, LinkError,
    script::{ScriptFailure, ScriptOptions, ScriptRequest, USUAL_RING_BYTES},
    words,
};
use bathyscope_plan::{Features, UserPlaces};
use bathyscope_protocol::{AgentErrorKind, ClientError, KernelFile};

use crate::Failure;

/// The most that is read of a file of the kernel.
const MAX_BYTES: u64 = 256 << 20;
/// How names of raw tracepoints begin among the kernel's types.
const RAW_TRACEPOINT: &str = "btf_trace_";
/// The most modules whose types are read.
const MAX_MODULES: usize = 1024;
/// The most raw tracepoints.
const MAX_RAW_TRACEPOINTS: usize = 100_000;

/// What is known about the host, read when it is asked for.
pub(super) struct HostFacts {
    link: AgentLink,
    features: Features,
    formats: RefCell<HashMap<String, Option<Arc<EventFormat>>>>,
    tracepoints: OnceCell<Vec<String>>,
    raw_tracepoints: OnceCell<Vec<String>>,
    functions: OnceCell<Vec<KernelFunction>>,
    symbols: OnceCell<HashMap<String, u64>>,
    btf: OnceCell<Option<Arc<Btf>>>,
    types: OnceCell<Types>,
    with_modules: OnceCell<Types>,
    places: Vec<UserPlaces>,
}

impl HostFacts {
    /// With the places in user space that a script names.
    ///
    /// # Errors
    /// If the agent does not answer.
    pub(super) fn new(link: AgentLink, places: Vec<UserPlaces>) -> Result<Self, Failure> {
        let features = link.call_blocking(bathyscope_protocol::AgentClient::host_features);
        let features = features.map_err(|error| Failure::because("asking what this kernel can do", error))?;
        Ok(Self {
            link,
            features,
            formats: RefCell::default(),
            tracepoints: OnceCell::new(),
            raw_tracepoints: OnceCell::new(),
            functions: OnceCell::new(),
            symbols: OnceCell::new(),
            btf: OnceCell::new(),
            types: OnceCell::new(),
            with_modules: OnceCell::new(),
            places,
        })
    }

    fn read(&self, file: KernelFile) -> Result<Vec<u8>, LinkError> {
        let file = self.link.call_blocking(move |client| client.open_kernel_file(file))?;
        let mut bytes = Vec::new();
        let read = File::from(file).take(MAX_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| LinkError::Absent { message: error.to_string() })?;
        Ok(bytes)
    }

    /// What a file of the kernel holds; nothing, with a word to the log, if it cannot be read.
    fn read_or_nothing(&self, file: KernelFile, what: &str) -> Vec<u8> {
        self.read(file).unwrap_or_else(|error| {
            tracing::warn!(why = words(&error), "{what} cannot be read");
            Vec::new()
        })
    }

    fn btf(&self) -> Option<Arc<Btf>> {
        let read = || {
            let bytes = self.read_or_nothing(KernelFile::Btf, "the kernel's types");
            Btf::parse(bytes).ok().map(Arc::new)
        };
        self.btf.get_or_init(read).clone()
    }

    /// The types of the kernel and of the modules that have functions.
    pub(super) fn types_with_modules(&self) -> &Types {
        self.with_modules.get_or_init(|| {
            let Some(base) = self.btf() else { return Types::built_in() };
            let mut all = Types::new(Arc::clone(&base));
            let names: BTreeSet<&str> = self.functions().iter().map(|function| function.module.as_str()).collect();
            for name in names.into_iter().filter(|name| !name.is_empty()).take(MAX_MODULES) {
                if let Err(why) = self.add_module(name, &base, &mut all) {
                    tracing::debug!(module = name, why, "the types of a module cannot be read");
                }
            }
            all
        })
    }

    fn add_module(&self, name: &str, base: &Arc<Btf>, all: &mut Types) -> Result<(), String> {
        let module = name.parse().map_err(|_odd| "this is no name of a module".to_owned())?;
        let bytes = self.read(KernelFile::ModuleBtf { module }).map_err(|error| words(&error))?;
        let btf = Btf::parse_module(name, bytes, base).map_err(|error| error.to_string())?;
        all.add_module(Arc::new(btf)).map_err(|error| error.to_string())
    }

    /// Every symbol of the kernel's text, with its module: where there is no list of what can be traced.
    fn text_symbols(&self) -> Vec<KernelFunction> {
        let text = self.read_or_nothing(KernelFile::Kallsyms, "the kernel's symbols");
        let function = |line: &[u8]| {
            let line = std::str::from_utf8(line).ok()?;
            let mut words = line.split_ascii_whitespace();
            let (_address, kind, name) = (words.next()?, words.next()?, words.next()?);
            let module = words.next().unwrap_or("").trim_matches(['[', ']']);
            matches!(kind, "t" | "T" | "w" | "W")
                .then(|| KernelFunction { name: name.to_owned(), module: module.to_owned() })
        };
        let found: BTreeSet<KernelFunction> = text.split(|byte| *byte == b'\n').filter_map(function).collect();
        found.into_iter().collect()
    }
}

impl Host for HostFacts {
    fn features(&self) -> &Features {
        &self.features
    }

    fn tracepoint(&self, system: &str, name: &str) -> Result<Option<Arc<EventFormat>>, String> {
        let full = format!("{system}:{name}");
        let Ok(tracepoint) = full.parse::<TracepointName>() else { return Ok(None) };
        if let Some(known) = self.formats.borrow().get(&full) {
            return Ok(known.clone());
        }
        let format = match self.read(KernelFile::EventFormat { tracepoint }) {
            Ok(bytes) => Some(Arc::new(parse_event_format(&bytes).map_err(|error| error.to_string())?)),
            Err(LinkError::Refused(error)) if error.kind == AgentErrorKind::NotFound => None,
            Err(error) => return Err(words(&error)),
        };
        self.formats.borrow_mut().insert(full, format.clone());
        Ok(format)
    }

    fn tracepoints(&self) -> &[String] {
        self.tracepoints.get_or_init(|| {
            let text = self.read_or_nothing(KernelFile::AvailableEvents, "the list of tracepoints");
            let mut names: Vec<String> = parse_available_events(&text).iter().map(ToString::to_string).collect();
            names.sort_unstable();
            names
        })
    }

    fn raw_tracepoints(&self) -> &[String] {
        self.raw_tracepoints.get_or_init(|| {
            let found = self.types_with_modules().complete(TypeKind::Typedef, RAW_TRACEPOINT, MAX_RAW_TRACEPOINTS);
            let name = |name: &str| name.strip_prefix(RAW_TRACEPOINT).map(str::to_owned);
            let names: BTreeSet<String> = found.names.into_iter().filter_map(name).collect();
            names.into_iter().collect()
        })
    }

    fn functions(&self) -> &[KernelFunction] {
        self.functions.get_or_init(|| {
            let Ok(text) = self.read(KernelFile::FilterFunctions) else { return self.text_symbols() };
            let function = |line: &[u8]| {
                let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
                let name = words.next()?.to_owned();
                Some(KernelFunction { name, module: words.next().unwrap_or("").trim_matches(['[', ']']).to_owned() })
            };
            let found: BTreeSet<KernelFunction> = text.split(|byte| *byte == b'\n').filter_map(function).collect();
            found.into_iter().collect()
        })
    }

    fn types(&self) -> &Types {
        self.types.get_or_init(|| self.btf().map_or_else(Types::built_in, Types::new))
    }

    fn kernel_symbol(&self, name: &str) -> Option<u64> {
        let symbols = self.symbols.get_or_init(|| {
            let text = self.read_or_nothing(KernelFile::Kallsyms, "the kernel's symbols");
            let symbol = |line: &[u8]| {
                let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
                let address = u64::from_str_radix(words.next()?, 16).ok()?;
                Some((words.nth(1)?.to_owned(), address))
            };
            text.split(|byte| *byte == b'\n').filter_map(symbol).collect()
        });
        symbols.get(name).copied().filter(|address| *address != 0)
    }

    fn user_places(&self, point: &str) -> Option<&UserPlaces> {
        self.places.iter().find(|places| places.point == point)
    }

    fn cgroup_id(&self, path: &str) -> Option<u64> {
        bathyscope_agent::cgroup_id(path)
    }
}

/// An agent's connection as a link that ends with it.
pub(super) fn link(client: bathyscope_protocol::AgentClient) -> Result<AgentLink, Failure> {
    let mut client = Some(client);
    // There is only this one agent: once it is gone, it stays away.
    AgentLink::new(move || client.take().ok_or(ClientError::Broken(bathyscope_protocol::ProtocolError::Closed)))
        .map_err(|error| Failure::because("starting a thread", error))
}

/// A request for a script that is only looked at, not run.
pub(super) fn request(text: &str, params: &[String], pid: Option<u32>) -> ScriptRequest {
    ScriptRequest {
        text: text.to_owned(),
        name: "script".to_owned(),
        params: params.to_vec(),
        options: ScriptOptions::default(),
        settings: Vec::new(),
        target: pid.map_or(Target::System, |pid| Target::Process { pid, children: true }),
        folder: std::env::current_dir().ok(),
        ring_bytes: USUAL_RING_BYTES,
    }
}

/// What is wrong with a script, as a failure of a verb that has nowhere else to say it.
pub(super) fn script_failure(doing: &str, error: ScriptFailure) -> Failure {
    match error {
        ScriptFailure::Refused(error) => Failure::new(format!("{}: {}", error.doing, error.why)).remedy(error.remedy),
        error => Failure::because(doing, error),
    }
}
