//! Facts about the running kernel for the compiler of scripts.
//!
//! Everything is looked up when it is first asked for and kept for as long as the agent runs, so that a script that asks
//! little starts quickly, and one that asks the same again at once. What can change while the agent runs (modules come
//! and go) is looked up again when it is not found.

mod callable;
mod features;
mod inside;
mod lists;
mod mapped;

use std::{
    collections::HashMap,
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use bathyscope_bpf::lang::host::KernelFunction;
use bathyscope_capture::TracepointName;
use bathyscope_catalog::{
    EventFormat, parse_event_format,
    types::{Btf, BtfBytes, MAX_BTF_BYTES, TypeKind, Types},
};
use bathyscope_plan::{AttachPoint, Features, ProgramType};

pub(crate) use features::perf_kind;
pub(crate) use inside::KernelFacts;
pub(crate) use lists::function_bytes;

use crate::os::{bpf, tracefs::Tracefs};

/// Where the kernel tells its types.
const BTF_FOLDER: &str = "/sys/kernel/btf";
/// The most modules whose types are read.
const MAX_MODULES: usize = 1024;
/// The symbol of the table that variables of CPUs are found with.
const PER_CPU_OFFSET: &str = "__per_cpu_offset";
/// The most symbols and functions that are remembered; names come from scripts.
const MAX_REMEMBERED: usize = 20_000;

/// A tracepoint's format.
#[derive(Debug)]
struct ReadFormat {
    text: String,
    parsed: Arc<EventFormat>,
}

/// What is known about the running kernel. Sources that are made side by side ask it at the same time. A child that compiles a
/// script has a copy, in which a lock that another thread held would be held for ever: no source is made beside a script.
#[derive(Default)]
pub(crate) struct KernelHost {
    features: OnceLock<Features>,
    formats: Mutex<HashMap<String, Arc<ReadFormat>>>,
    tracepoints: OnceLock<Vec<String>>,
    raw_tracepoints: OnceLock<Vec<String>>,
    functions: OnceLock<Vec<KernelFunction>>,
    symbols: Mutex<HashMap<String, Option<u64>>>,
    callable: Mutex<HashMap<(String, ProgramType), Option<bool>>>,
    btf: OnceLock<Option<Arc<Btf>>>,
    types: OnceLock<Types>,
    with_modules: OnceLock<Types>,
}

impl KernelHost {
    /// What the kernel can do.
    pub(crate) fn features(&self) -> &Features {
        self.features.get_or_init(|| features::find(self.types()))
    }

    /// The kernel's own types; none but those that C has if it tells none.
    pub(crate) fn types(&self) -> &Types {
        self.types.get_or_init(|| self.btf().map_or_else(Types::built_in, Types::new))
    }

    fn btf(&self) -> Option<Arc<Btf>> {
        let read = || {
            let read = kernel_types().inspect_err(|why| tracing::warn!(why, "the kernel's types cannot be read"));
            read.ok().map(Arc::new)
        };
        self.btf.get_or_init(read).clone()
    }

    /// The types of the kernel and of its modules.
    pub(crate) fn types_with_modules(&self) -> &Types {
        self.with_modules.get_or_init(|| self.btf().map_or_else(Types::built_in, with_modules))
    }

    /// The types that an attach point is looked up in.
    pub(crate) fn types_for(&self, point: &AttachPoint) -> &Types {
        match point {
            AttachPoint::Fentry { module, .. } if module.is_empty() => self.types(),
            AttachPoint::Fentry { .. } => self.types_with_modules(),
            AttachPoint::RawTracepoint { name, .. } => {
                let here = self.types().find(TypeKind::Typedef, &format!("btf_trace_{name}")).is_some();
                if here { self.types() } else { self.types_with_modules() }
            }
            _ => self.types(),
        }
    }

    /// Whether there are types that [`Self::types`] has not.
    pub(crate) fn has_module_types(&self) -> bool {
        self.types_with_modules().modules().next().is_some()
    }

    /// A tracepoint's format.
    pub(crate) fn format(&self, system: &str, name: &str) -> Result<Option<Arc<EventFormat>>, String> {
        Ok(self.read_format(system, name)?.map(|format| Arc::clone(&format.parsed)))
    }

    fn read_format(&self, system: &str, name: &str) -> Result<Option<Arc<ReadFormat>>, String> {
        let Ok(tracepoint) = format!("{system}:{name}").parse::<TracepointName>() else { return Ok(None) };
        let full = tracepoint.to_string();
        if let Some(known) = lock(&self.formats).get(&full) {
            return Ok(Some(Arc::clone(known)));
        }
        let bytes = match Tracefs::find().and_then(|tracefs| tracefs.read_format(&tracepoint)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind == bathyscope_protocol::AgentErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {}", error.doing, error.why)),
        };
        let parsed = Arc::new(parse_event_format(&bytes).map_err(|error| error.to_string())?);
        let format = Arc::new(ReadFormat { text: String::from_utf8_lossy(&bytes).into_owned(), parsed });
        lock(&self.formats).insert(full, Arc::clone(&format));
        Ok(Some(format))
    }

    /// All tracepoints, as `system:name`, sorted.
    pub(crate) fn tracepoints(&self) -> &[String] {
        self.tracepoints.get_or_init(lists::tracepoints)
    }

    fn raw_tracepoints(&self) -> &[String] {
        self.raw_tracepoints.get_or_init(|| {
            let found = self.types_with_modules().complete_raw_tracepoints("", usize::MAX);
            found.names.into_iter().map(str::to_owned).collect()
        })
    }

    fn functions(&self) -> &[KernelFunction] {
        self.functions.get_or_init(lists::functions)
    }

    fn symbol(&self, name: &str) -> Option<u64> {
        if let Some(known) = lock(&self.symbols).get(name) {
            return *known;
        }
        let found = lists::symbol(name);
        remember(&self.symbols, name.to_owned(), found);
        found
    }

    fn callable(&self, name: &str, program: ProgramType) -> Option<bool> {
        let key = (name.to_owned(), program);
        if let Some(known) = lock(&self.callable).get(&key) {
            return *known;
        }
        let allowed = callable::may_call(self.types(), name, program);
        remember(&self.callable, key, allowed);
        allowed
    }

    /// Forgets numbers of tracepoints: a module that comes back has others.
    pub(crate) fn forget_formats(&self) {
        lock(&self.formats).clear();
    }
}

fn read_btf(name: &str) -> Result<Vec<u8>, String> {
    let path = format!("{BTF_FOLDER}/{name}");
    let doing = |error: std::io::Error| format!("reading {path}: {error}");
    let file = File::open(&path).map_err(doing)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(MAX_BTF_BYTES) + 1);
    file.take(MAX_BTF_BYTES as u64).read_to_end(&mut bytes).map_err(doing)?;
    bytes.shrink_to_fit();
    Ok(bytes)
}

fn kernel_types() -> Result<Btf, String> {
    let bytes = match mapped::kernel_btf() {
        Some(mapped) => BtfBytes::held(mapped),
        None => read_btf("vmlinux")?.into(),
    };
    Btf::parse(bytes).map_err(|error| error.to_string())
}

fn with_modules(base: Arc<Btf>) -> Types {
    let mut all = Types::new(Arc::clone(&base));
    let entries = std::fs::read_dir(BTF_FOLDER).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name != "vmlinux").take(MAX_MODULES).collect();
    names.sort_unstable();
    for name in names {
        let parsed =
            read_btf(&name).and_then(|bytes| Btf::parse_module(&name, bytes, &base).map_err(|error| error.to_string()));
        let added = parsed.and_then(|btf| all.add_module(Arc::new(btf)).map_err(|error| error.to_string()));
        if let Err(why) = added {
            tracing::debug!(module = name, why, "the types of a module cannot be read");
        }
    }
    all
}

/// The type information of a module, as the kernel has it loaded.
pub(crate) fn module_types(module: &str) -> std::io::Result<OwnedFd> {
    bpf::programs::find_types(module)
}

/// Nothing that is done under these locks can fail halfway.
fn lock<T>(known: &Mutex<T>) -> MutexGuard<'_, T> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remember<K: Eq + std::hash::Hash, V>(known: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut known = lock(known);
    if known.len() < MAX_REMEMBERED {
        known.insert(key, value);
    }
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what was measured or skipped is told")]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn facts_are_found_and_kept() {
        let kernel = KernelHost::default();
        let host = &kernel;
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            status
                .lines()
                .filter(|line| line.starts_with("Rss") || line.starts_with("VmRSS"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        println!("before: {}", resident());
        let clock = Instant::now();
        let types = host.types_with_modules();
        println!("types after {:?}", clock.elapsed());
        let has_types = types.spelled("struct task_struct").is_some();
        println!("struct task_struct after {:?}: {has_types}", clock.elapsed());
        println!("with types: {}", resident());
        let clock = Instant::now();
        println!("{:?} after {:?}", host.features(), clock.elapsed());
        assert!(host.features().possible_cpus > 0 && host.features().kernel >= 5008);
        let clock = Instant::now();
        let functions = host.functions();
        println!("with functions: {}", resident());
        println!("{} functions after {:?}", functions.len(), clock.elapsed());
        assert!(functions.is_sorted());
        println!("{} raw tracepoints", host.raw_tracepoints().len());
        assert!(host.raw_tracepoints().is_sorted());
        assert_eq!(host.symbol("no such symbol"), None);
        assert_eq!(crate::os::cgroups::cgroup_id("/proc"), None);
        assert_eq!(host.callable("no_such_function", ProgramType::Kprobe), None);
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: facts of tracefs — root");
            return;
        }
        let clock = Instant::now();
        let tracepoints = host.tracepoints();
        println!("{} tracepoints after {:?}", tracepoints.len(), clock.elapsed());
        assert!(tracepoints.is_sorted() && tracepoints.binary_search(&"sched:sched_switch".to_owned()).is_ok());
        let format = host.format("sched", "sched_switch").unwrap().unwrap();
        assert!(Arc::ptr_eq(&format, &host.format("sched", "sched_switch").unwrap().unwrap()));
        assert_eq!(host.format("sched", "no_such_event").unwrap(), None);
        assert_eq!(host.format("..", "../x").unwrap(), None);
        // Which functions may be called differs by kernel; that an ordinary one may not, does not.
        assert_eq!(host.callable("vfs_read", ProgramType::RawTracepoint), Some(false));
        for name in ["bpf_task_from_pid", "bpf_rcu_read_lock", "bpf_copy_from_user_str"] {
            let of = [ProgramType::Kprobe, ProgramType::Tracepoint, ProgramType::PerfEvent, ProgramType::Run];
            let told: Vec<_> = of.iter().chain([&ProgramType::Fentry]).map(|it| host.callable(name, *it)).collect();
            println!("{name} may be called by kprobe, tracepoint, perf_event, raw_tracepoint, tracing: {told:?}");
        }
        let clock = Instant::now();
        println!("a symbol at {:x?} after {:?}", host.symbol("schedule"), clock.elapsed());
    }
}
