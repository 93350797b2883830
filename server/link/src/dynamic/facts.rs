//! What is known about the kernel's functions: their names, and the types of their parameters. Read when it is asked for.

use std::{collections::HashMap, fs::File, io::Read as _, sync::Arc};

use bathyscope_catalog::{
    dynamic::KernelFunctions,
    parse_available_events,
    types::{Btf, TypeId, Types},
};
use bathyscope_protocol::KernelFile;

use crate::{ScriptAgent, words};

/// The most that is read of a file of the kernel.
const MAX_BYTES: u64 = 256 << 20;

/// The kernel's functions and types. What cannot be read is as if it were not there.
#[derive(Debug, Default)]
pub struct KernelFacts {
    functions: Option<KernelFunctions>,
    /// Names of events, by the alphabet.
    events: Option<Arc<[String]>>,
    /// Names of functions that can be traced, by the alphabet.
    traceable: Option<Arc<[String]>>,
    kprobes: Option<bool>,
    kernel: Option<Option<Arc<Btf>>>,
    types: Option<Types>,
    /// By module.
    modules: HashMap<String, Option<Types>>,
}

fn read(agent: &mut impl ScriptAgent, file: KernelFile) -> Option<Vec<u8>> {
    let named = format!("{file:?}");
    let read =
        agent.call(move |client| client.open_kernel_file(file)).map_err(|error| words(&error)).and_then(|file| {
            let mut bytes = Vec::new();
            let read = File::from(file).take(MAX_BYTES).read_to_end(&mut bytes);
            read.map(|_count| bytes).map_err(|error| error.to_string())
        });
    read.inspect_err(|why| tracing::debug!(file = named, why, "a file of the kernel cannot be read")).ok()
}

impl KernelFacts {
    /// The names of the kernel's functions; none if they cannot be read.
    pub fn functions(&mut self, agent: &mut impl ScriptAgent) -> &KernelFunctions {
        self.functions.get_or_insert_with(|| {
            KernelFunctions::parse_kallsyms(&read(agent, KernelFile::Kallsyms).unwrap_or_default())
        })
    }

    /// The names of the kernel's events, by the alphabet; none if they cannot be read.
    pub fn events(&mut self, agent: &mut impl ScriptAgent) -> Arc<[String]> {
        let events = self.events.get_or_insert_with(|| {
            let text = read(agent, KernelFile::AvailableEvents).unwrap_or_default();
            let mut names: Vec<String> = parse_available_events(&text).iter().map(ToString::to_string).collect();
            names.sort();
            names.into()
        });
        Arc::clone(events)
    }

    /// The names of the functions that ftrace can trace, by the alphabet; none if the list cannot be read.
    pub fn traceable(&mut self, agent: &mut impl ScriptAgent) -> Arc<[String]> {
        let names = self.traceable.get_or_insert_with(|| {
            let text = read(agent, KernelFile::FilterFunctions).unwrap_or_default();
            let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
            let mut names: Vec<String> =
                lines.filter_map(|line| line.split_ascii_whitespace().next()).map(str::to_owned).collect();
            names.sort_unstable();
            names.into()
        });
        Arc::clone(names)
    }

    /// Whether the kernel lets its functions be probed, as far as it can be asked.
    pub fn has_kprobes(&mut self, agent: &mut impl ScriptAgent) -> bool {
        if let Some(known) = self.kprobes {
            return known;
        }
        // What the agent cannot say now it may say later.
        let Ok(listed) = agent.call(bathyscope_protocol::AgentClient::dynamic_events) else { return true };
        let has = !listed.limits.iter().any(|limit| limit.name == "CONFIG_KPROBE_EVENTS");
        self.kprobes = Some(has);
        has
    }

    fn btf(&mut self, agent: &mut impl ScriptAgent) -> Option<Arc<Btf>> {
        let parse = || Some(Arc::new(Btf::parse(read(agent, KernelFile::Btf)?).ok()?));
        self.kernel.get_or_insert_with(parse).clone()
    }

    /// The kernel's types; those of the language alone if they cannot be read.
    pub fn types(&mut self, agent: &mut impl ScriptAgent) -> &Types {
        let btf = self.btf(agent);
        self.types.get_or_insert_with(|| btf.map_or_else(Types::built_in, Types::new))
    }

    /// A function as the types of the kernel, or of the module that has it, describe it.
    pub fn function(
        &mut self,
        agent: &mut impl ScriptAgent,
        module: Option<&str>,
        name: &str,
    ) -> Option<(&Types, TypeId)> {
        let of = match module.filter(|module| *module != "vmlinux") {
            Some(module) => Some(module.to_owned()),
            None => {
                let mut modules = self.functions(agent).modules_of(name);
                let first = modules.next().filter(|first| !first.is_empty()).map(str::to_owned);
                // One in the kernel itself goes before those of modules.
                if modules.any(str::is_empty) { None } else { first }
            }
        };
        match of {
            None => {
                let types = self.types(agent);
                types.function(None, name).map(|found| found.id).map(|id| (types, id))
            }
            Some(module) => {
                let types = self.module(agent, &module)?;
                types.function(Some(&module), name).map(|found| found.id).map(|id| (types, id))
            }
        }
    }

    fn module(&mut self, agent: &mut impl ScriptAgent, name: &str) -> Option<&Types> {
        if !self.modules.contains_key(name) {
            let types = self.read_module(agent, name);
            self.modules.insert(name.to_owned(), types);
        }
        self.modules.get(name)?.as_ref()
    }

    fn read_module(&mut self, agent: &mut impl ScriptAgent, name: &str) -> Option<Types> {
        let base = self.btf(agent)?;
        let bytes = read(agent, KernelFile::ModuleBtf { module: name.parse().ok()? })?;
        let module = Btf::parse_module(name, bytes, &base).ok()?;
        let mut types = Types::new(base);
        types.add_module(Arc::new(module)).ok()?;
        Some(types)
    }
}
