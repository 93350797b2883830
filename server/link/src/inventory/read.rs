//! Reading what a kernel has, from files that the agent opens. These functions wait, and run on threads that may.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs::File,
    io::Read as _,
    sync::Arc,
};

use bathyscope_capture::visible;
use bathyscope_catalog::{
    KernelFunctionLists, Probing, bpf_link_kind, bpf_typed_attach,
    names::{NamesBuilder, NewName},
    parse_available_events, parse_dynamic_events, parse_modules, tracers,
    types::{Btf, BtfId, CType, TypeKind, Types},
};
use bathyscope_plan::Features;
use bathyscope_protocol::{AgentClient, AgentErrorKind, BpfLink, BpfPlace, BpfProgram, KernelFile, ProcessFile};
use bathyscope_symbols::ProcessMaps;

use super::{
    EntryKind, Hidden, InventoryError,
    part::{Facts, Kernel, MappedFile, Part, ProbeFacts, ProgramFacts, TracerFacts},
};
use crate::{
    AgentLink, LinkError,
    processes::{comm_of_stat, read_some},
};

/// The most that is read of one of the kernel's files.
const MAX_BYTES: u64 = 256 << 20;
/// The most that is read of a process's mappings.
const MAX_MAPS_BYTES: u64 = 8 << 20;
/// The most modules whose types are read.
const MAX_MODULES: usize = 1024;
/// The most processes that are looked at for what they have mapped.
const MAX_PROCESSES: usize = 8192;
/// The most files that are listed.
const MAX_FILES: usize = 16 << 10;
/// Processes that are named for each file.
const NAMED_PROCESSES: usize = 8;

/// What was read, and what could not be.
pub(super) struct Read {
    pub(super) parts: Vec<Part>,
    pub(super) hidden: Vec<Hidden>,
    /// What of the host it depends on: where this is another, it is read again.
    pub(super) signature: String,
}

fn bytes_of(link: &AgentLink, file: KernelFile) -> Result<Vec<u8>, InventoryError> {
    let what = format!("{file:?}");
    let file = link.call_blocking(move |client| client.open_kernel_file(file))?;
    let mut bytes = Vec::new();
    let read = File::from(file).take(MAX_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| InventoryError::Read { what, why: error.to_string() })?;
    Ok(bytes)
}

/// Why a file cannot be read, and what helps; that may be empty.
struct Refusal {
    why: String,
    remedy: String,
}

/// The same; what is refused is empty, and told by the second.
fn optional(link: &AgentLink, file: KernelFile) -> Result<(Vec<u8>, Option<Refusal>), InventoryError> {
    match bytes_of(link, file) {
        Ok(bytes) => Ok((bytes, None)),
        Err(InventoryError::Link(LinkError::Refused(error))) => {
            Ok((Vec::new(), Some(Refusal { why: error.why, remedy: error.remedy })))
        }
        Err(InventoryError::Read { why, .. }) => Ok((Vec::new(), Some(Refusal { why, remedy: String::new() }))),
        Err(error) => Err(error),
    }
}

/// The names of the loaded modules: what functions and types depend on.
pub(super) fn module_signature(link: &AgentLink) -> Result<String, InventoryError> {
    // A kernel without modules has no such file.
    let (text, _none) = optional(link, KernelFile::Modules)?;
    Ok(parse_modules(&text).into_iter().collect::<Vec<_>>().join(" "))
}

/// Functions and types.
pub(super) fn kernel(link: &AgentLink) -> Result<Read, InventoryError> {
    let signature = module_signature(link)?;
    let symbols = bytes_of(link, KernelFile::Kallsyms)?;
    let (traceable, not_traceable) = optional(link, KernelFile::FilterFunctions)?;
    let (blacklist, no_blacklist) = optional(link, KernelFile::ProbeBlacklist)?;
    let features = link.call_blocking(AgentClient::host_features)?;
    let mut hidden = Vec::new();
    let types = types(link, &signature, &mut hidden)?;
    let described: HashSet<(&str, &str)> =
        types.described(TypeKind::Function).map(|(name, module)| (module.unwrap_or(""), name)).collect();
    let typed = |module: &str, name: &str| described.contains(&(module, name));
    let functions =
        KernelFunctionLists { symbols: &symbols, traceable: &traceable, blacklist: &blacklist, typed: Some(&typed) };
    let names = Arc::new(functions.names());
    if functions.addresses_are_hidden() {
        let what = "The kernel hides the addresses of its symbols: functions are listed, stacks have no names.";
        let remedy =
            "Run the agent with CAP_SYSLOG, and set kernel.kptr_restrict to 0 or 1 (sysctl kernel.kptr_restrict=1).";
        hidden.push(Hidden::new(what, remedy).of(EntryKind::Function));
    }
    let (tracers, _none) = optional(link, KernelFile::AvailableTracers)?;
    let traces = tracers.split(u8::is_ascii_whitespace).any(|name| name == b"function");
    let before = hidden.len();
    let probing = probing(
        &features,
        traces,
        not_traceable.as_ref().map(|it| it.why.as_str()),
        no_blacklist.is_none(),
        &mut hidden,
    );
    let functions_only = hidden.drain(before..).map(|hidden| hidden.of(EntryKind::Function)).collect::<Vec<_>>();
    hidden.extend(functions_only);
    let type_names = Arc::new(type_names(&types));
    drop(described);
    let facts = Facts::Kernel(Arc::new(Kernel { types, probing }));
    let parts = vec![
        Part { kind: EntryKind::Function, names, facts: facts.clone() },
        Part { kind: EntryKind::Type, names: type_names, facts },
    ];
    Ok(Read { parts, hidden, signature })
}

fn types(link: &AgentLink, modules: &str, hidden: &mut Vec<Hidden>) -> Result<Types, InventoryError> {
    let (bytes, refused) = optional(link, KernelFile::Btf)?;
    let btf = match refused {
        None => Btf::parse(bytes).map_err(|error| error.to_string()),
        Some(refused) => Err(refused.why),
    };
    let base = match btf {
        Ok(btf) => Arc::new(btf),
        Err(why) => {
            let what = format!("The kernel's types cannot be read: {why}. Prototypes and types are not known.");
            hidden.push(Hidden::new(what, "Use a kernel that was built with CONFIG_DEBUG_INFO_BTF."));
            return Ok(Types::built_in());
        }
    };
    let mut all = Types::new(Arc::clone(&base));
    let mut missing = 0;
    for name in modules.split_ascii_whitespace().take(MAX_MODULES) {
        let Ok(module) = name.parse() else { continue };
        let (bytes, refused) = optional(link, KernelFile::ModuleBtf { module })?;
        // Modules that were built without types, and those of another kernel's.
        let parsed = refused.is_none().then(|| Btf::parse_module(name, bytes, &base).ok()).flatten();
        missing += usize::from(parsed.is_none_or(|btf| all.add_module(Arc::new(btf)).is_err()));
    }
    if missing > 0 {
        let what = format!("The types of {missing} modules cannot be read; their functions have no prototypes here.");
        hidden.push(Hidden::new(what, "Modules have types if they are built with CONFIG_DEBUG_INFO_BTF_MODULES."));
    }
    Ok(all)
}

/// The sorts of types that are listed, with the word that stands before their names in C.
const SORTS: [(TypeKind, &str); 4] =
    [(TypeKind::Struct, "struct "), (TypeKind::Union, "union "), (TypeKind::Enum, "enum "), (TypeKind::Typedef, "")];

fn type_names(types: &Types) -> bathyscope_catalog::names::Names {
    let mut builder = NamesBuilder::new();
    for (kind, word) in SORTS {
        // Each once: the kernel's own before those of modules.
        let mut seen = HashMap::new();
        for (name, module) in types.described(kind) {
            seen.entry(name).or_insert(module);
        }
        for (name, module) in seen {
            let (text, group) = (format!("{word}{name}"), module.unwrap_or(""));
            builder.add(NewName { text: &text, own_at: word.len(), group, ..NewName::default() });
        }
    }
    builder.finish()
}

/// By which means this kernel can probe functions, and what to do where it cannot.
fn probing(
    features: &Features,
    traces: bool,
    not_traceable: Option<&str>,
    blacklist_known: bool,
    hidden: &mut Vec<Hidden>,
) -> Probing {
    let locked = features.lockdown == "confidentiality";
    let lockdown = || "the kernel is locked down (confidentiality), which forbids reading its memory".to_owned();
    let unlock = "Boot with lockdown=integrity, or with secure boot off.";
    let kprobe = match (features.kprobe, locked) {
        (true, _) => None,
        (false, true) => Some(lockdown()),
        (false, false) => Some("this kernel has no kprobes: CONFIG_KPROBES and CONFIG_KPROBE_EVENTS".to_owned()),
    };
    let ftrace = match (not_traceable, traces) {
        (None, _) => None,
        // The file is there, so the kernel has been built with it.
        (Some(why), true) if !why.contains("no such file") => {
            Some(format!("which functions the kernel can trace cannot be read: {why}"))
        }
        (Some(_), true) => {
            Some("this kernel cannot choose which functions it traces: CONFIG_DYNAMIC_FTRACE".to_owned())
        }
        (Some(_), false) => Some("this kernel has no tracer of functions: CONFIG_FUNCTION_TRACER".to_owned()),
    };
    let fentry = match (features.fentry, locked) {
        (true, _) => None,
        (false, true) => Some(lockdown()),
        (false, false) if traces && features.lockdown == "integrity" => {
            Some("the kernel is locked down (integrity), which lets nobody attach to its functions".to_owned())
        }
        (false, false) => Some(
            "this kernel cannot attach to functions directly: CONFIG_FUNCTION_TRACER with CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS"
                .to_owned(),
        ),
    };
    let remedy = |locked: bool| if locked { unlock } else { "Use a kernel that was built with these options." };
    match (&kprobe, &fentry, &ftrace) {
        (Some(kprobe), Some(fentry), Some(ftrace)) if !locked => {
            let what =
                format!("Functions of the kernel are listed but cannot be probed: {kprobe}; {fentry}; {ftrace}.");
            hidden.push(Hidden::new(
                what,
                "Use a kernel that was built with these options. Tracepoints and user functions work without them.",
            ));
        }
        _ => {
            for why in [&kprobe, &fentry, &ftrace].into_iter().flatten().collect::<BTreeSet<_>>() {
                hidden.push(Hidden::new(format!("Some means to probe functions are missing: {why}."), remedy(locked)));
            }
        }
    }
    if kprobe.is_none() && !blacklist_known {
        let what = "The list of functions that a kprobe would break cannot be read; the kernel still refuses them.";
        hidden.push(Hidden::new(what, "Mount debugfs: mount -t debugfs nodev /sys/kernel/debug"));
    }
    Probing { fentry, kprobe, ftrace, blacklist_known }
}

/// Tracepoints, those of dynamic probes among them.
pub(super) fn tracepoints(link: &AgentLink) -> Result<Read, InventoryError> {
    let bytes = bytes_of(link, KernelFile::AvailableEvents)?;
    let mut builder = NamesBuilder::new();
    for name in parse_available_events(&bytes) {
        let (text, system) = (name.to_string(), name.system());
        builder.add(NewName { text: &text, own_at: system.len() + 1, group: system, ..NewName::default() });
    }
    let part = Part { kind: EntryKind::Tracepoint, names: Arc::new(builder.finish()), facts: Facts::None };
    Ok(Read { parts: vec![part], hidden: Vec::new(), signature: String::new() })
}

/// Tracers of ftrace.
pub(super) fn all_tracers(link: &AgentLink) -> Result<Read, InventoryError> {
    let (bytes, refused) = optional(link, KernelFile::AvailableTracers)?;
    let text = String::from_utf8_lossy(&bytes);
    let all = tracers(&text);
    let names = all.iter().map(|it| (visible(it.name.as_bytes()), 0));
    let facts = |it: &bathyscope_catalog::Tracer<'_>| TracerFacts {
        name: visible(it.name.as_bytes()),
        purpose: it.purpose,
        available: it.available,
        option: it.option,
    };
    let part = Part::numbered(EntryKind::Tracer, names, Facts::Tracers(all.iter().map(facts).collect()));
    let hidden =
        refused.map(|it| Hidden::new(format!("The kernel's tracers cannot be listed: {}.", it.why), it.remedy));
    Ok(Read { parts: vec![part], hidden: hidden.into_iter().collect(), signature: String::new() })
}

/// Events that are counted and sampled by name.
pub(super) fn perf(link: &AgentLink) -> Result<Read, InventoryError> {
    let all = link.call_blocking(AgentClient::perf_events)?;
    let missing = all.iter().filter(|event| !event.works && event.kind == "hardware").count();
    let hidden = (missing > 0).then(|| {
        let what = format!("{missing} hardware events cannot be counted here: there is no hardware counter, or it is not passed on to this machine.");
        Hidden::new(what, "On a virtual machine, have the host offer a virtual PMU.")
    });
    let names = all.iter().map(|it| (it.name.clone(), 0)).collect::<Vec<_>>();
    let part = Part::numbered(EntryKind::Perf, names.into_iter(), Facts::Perf(all));
    Ok(Read { parts: vec![part], hidden: hidden.into_iter().collect(), signature: String::new() })
}

/// Probes that anyone has made by a text.
pub(super) fn probes(link: &AgentLink) -> Result<Read, InventoryError> {
    let (bytes, refused) = optional(link, KernelFile::DynamicEvents)?;
    let all = parse_dynamic_events(&bytes);
    let names: Vec<_> = all.iter().map(|it| (format!("{}:{}", it.system, it.name), it.system.len() + 1)).collect();
    let facts = |it: &bathyscope_catalog::DynamicEvent<'_>| ProbeFacts {
        what: it.what(),
        place: it.place.to_owned(),
        arguments: it.arguments.to_owned(),
        maker: it.maker().map(|(pid, _namespace)| pid),
    };
    let part = Part::numbered(EntryKind::Probe, names.into_iter(), Facts::Probes(all.iter().map(facts).collect()));
    let hidden = refused.map(|it| {
        let needs = "They take a kernel with CONFIG_DYNAMIC_EVENTS.";
        let remedy = if it.remedy.is_empty() { needs.to_owned() } else { it.remedy };
        Hidden::new(format!("Dynamic probes cannot be listed: {}.", it.why), remedy)
    });
    Ok(Read { parts: vec![part], hidden: hidden.into_iter().collect(), signature: String::new() })
}

/// BPF programs, whoever loaded them, with where they are attached. `kernel` has the names of what typed ones are at.
pub(super) fn programs(link: &AgentLink, kernel: Option<&Kernel>) -> Result<Read, InventoryError> {
    let asked = link.call_blocking(|client| Ok((client.bpf_programs()?, client.bpf_links()?)));
    let (programs, links) = match asked {
        Ok(both) => both,
        Err(LinkError::Refused(error)) if error.kind == AgentErrorKind::Denied => {
            let hidden = Hidden::new(format!("BPF programs cannot be listed: {}.", error.why), error.remedy);
            let part = Part::numbered(EntryKind::Program, std::iter::empty(), Facts::Programs(Vec::new()));
            return Ok(Read { parts: vec![part], hidden: vec![hidden], signature: String::new() });
        }
        Err(error) => return Err(error.into()),
    };
    let mut of_program: BTreeMap<u32, Vec<BpfLink>> = BTreeMap::new();
    for link in links {
        of_program.entry(link.program).or_default().push(link);
    }
    let facts: Vec<ProgramFacts> = programs
        .into_iter()
        .map(|program| {
            let links = of_program.remove(&program.id).unwrap_or_default();
            let mut places: Vec<String> = links.iter().map(|link| place_words(link, &program, kernel)).collect();
            if places.is_empty() && program.target_type != 0 {
                places.extend(target(&program, kernel));
            }
            ProgramFacts { places, links, program }
        })
        .collect();
    let name = |it: &ProgramFacts| match it.program.name.as_str() {
        "" => format!("program {}", it.program.id),
        name => format!("{name} #{}", it.program.id),
    };
    let names: Vec<_> = facts.iter().map(|it| (name(it), 0)).collect();
    let part = Part::numbered(EntryKind::Program, names.into_iter(), Facts::Programs(facts));
    Ok(Read { parts: vec![part], hidden: Vec::new(), signature: String::new() })
}

/// What a typed program is for: a function or tracepoint of the kernel itself.
fn target(program: &BpfProgram, kernel: Option<&Kernel>) -> Option<String> {
    // The kernel's own types are always the first that it knows.
    let types = &kernel.filter(|_| program.target_object <= 1)?.types;
    let id = types.of_btf_id(BtfId { module: None, id: program.target_type })?;
    match types.get(id) {
        CType::Function { name, .. } | CType::Typedef { name, .. } => Some(name.to_owned()),
        _ => None,
    }
}

fn place_words(link: &BpfLink, program: &BpfProgram, kernel: Option<&Kernel>) -> String {
    let at = |name: &str, offset: u32| if offset == 0 { name.to_owned() } else { format!("{name}+{offset:#x}") };
    let ret = |at_return: bool| if at_return { "returns of " } else { "" };
    match &link.place {
        BpfPlace::RawTracepoint { name } => format!("raw tracepoint {name}"),
        BpfPlace::Tracepoint { name } => format!("tracepoint {name}"),
        BpfPlace::Typed { attach } => {
            let what = bpf_typed_attach(*attach).unwrap_or("typed");
            let name = target(program, kernel).unwrap_or_else(|| "a target that is not known here".to_owned());
            format!("{what} {}", name.strip_prefix("btf_trace_").unwrap_or(&name))
        }
        BpfPlace::Cgroup { id, .. } => format!("control group {id}"),
        BpfPlace::Iterator { name } => format!("iterator {name}"),
        BpfPlace::Interface { index } => format!("network interface {index}"),
        BpfPlace::Namespace { inode } => format!("network namespace {inode}"),
        BpfPlace::Kprobe { function, offset, at_return } if !function.is_empty() => {
            format!("{}kernel function {}", ret(*at_return), at(function, *offset))
        }
        BpfPlace::Kprobe { at_return, .. } => format!("{}a kernel function", ret(*at_return)),
        BpfPlace::Kprobes { count, at_return } => format!("{}{count} kernel functions", ret(*at_return)),
        BpfPlace::Uprobe { path, offset, at_return } => format!("{}{path}:{offset:#x}", ret(*at_return)),
        BpfPlace::Uprobes { path, count, at_return } => format!("{}{count} places of {path}", ret(*at_return)),
        BpfPlace::PerfEvent { kind, config } => format!("perf event {kind}:{config:#x}"),
        BpfPlace::Other { kind } => format!("a link of kind {}", bpf_link_kind(*kind)),
    }
}

/// Programs and libraries that processes have mapped.
pub(super) fn files(link: &AgentLink) -> Result<Read, InventoryError> {
    let pids = link.call_blocking(AgentClient::list_processes)?;
    let mut found: BTreeMap<(String, u64), MappedFile> = BTreeMap::new();
    let mut unread = 0;
    for pids in pids.iter().take(MAX_PROCESSES).copied().collect::<Vec<_>>().chunks(32) {
        let pids = pids.to_vec();
        // A few at a time, so that others are not kept waiting for the agent.
        let opened = link.call_blocking(move |client| {
            let mut opened = Vec::with_capacity(pids.len());
            for pid in pids {
                let maps = client.open_process_file(pid, ProcessFile::Maps);
                let stat = client.open_process_file(pid, ProcessFile::Stat);
                opened.push((pid, maps.ok(), stat.ok()));
            }
            Ok(opened)
        })?;
        for (pid, maps, stat) in opened {
            let Some(maps) = maps else { continue };
            let mut bytes = Vec::new();
            // A process that has ended meanwhile has none.
            if File::from(maps).take(MAX_MAPS_BYTES).read_to_end(&mut bytes).is_err() {
                unread += 1;
                continue;
            }
            add_files(&mut found, pid, &comm(stat), &bytes);
        }
    }
    let mut hidden = Vec::new();
    if unread > 0 {
        let what = format!("What {unread} processes have mapped cannot be read.");
        hidden.push(Hidden::new(what, "The agent needs CAP_SYS_PTRACE to look at processes of other users."));
    }
    let mut paths = HashSet::new();
    let (mut builder, mut facts) = (NamesBuilder::new(), Vec::new());
    for ((path, _inode), file) in found.into_iter().take(MAX_FILES) {
        // Another file of the same path is one of another root, such as a container's.
        let group = if paths.insert(path.clone()) { String::new() } else { format!("process {}", file.pid) };
        let own_at = path.rfind('/').map_or(0, |at| at + 1);
        let value = facts.len() as u64;
        builder.add(NewName { text: &path, own_at, group: &group, value, ..NewName::default() });
        facts.push(file);
    }
    let part = Part { kind: EntryKind::File, names: Arc::new(builder.finish()), facts: Facts::Files(facts) };
    Ok(Read { parts: vec![part], hidden, signature: String::new() })
}

fn comm(stat: Option<std::os::fd::OwnedFd>) -> String {
    // A process that has ended meanwhile has no name any more.
    let bytes = stat.map(|stat| read_some(stat, 256)).unwrap_or_default();
    comm_of_stat(&bytes).map(visible).unwrap_or_default()
}

fn add_files(found: &mut BTreeMap<(String, u64), MappedFile>, pid: u32, comm: &str, maps: &[u8]) {
    let maps = ProcessMaps::parse(maps).maps.into_iter();
    let files = maps.filter(|map| map.executable && map.inode != 0 && map.name.starts_with(b"/"));
    // What was deleted cannot be opened by its path any more; other paths than text cannot be asked for.
    let named = files.filter_map(|map| Some((String::from_utf8(map.name).ok()?, map.inode)));
    let own: BTreeSet<(String, u64)> = named.filter(|(path, _)| !path.ends_with(" (deleted)")).collect();
    for key in own {
        let file = found.entry(key).or_insert_with(|| MappedFile { pid, processes: Vec::new(), count: 0 });
        file.count += 1;
        if file.processes.len() < NAMED_PROCESSES {
            file.processes.push((pid, comm.to_owned()));
        }
    }
}
