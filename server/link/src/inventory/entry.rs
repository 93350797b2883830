//! One entry in full: what it takes, how it can be traced and why not, and what to begin with.

use bathyscope_catalog::{
    KernelFunction, bpf_program_kind,
    names::Name,
    perf_events::parse_event,
    types::{CType, Integer, TypeId, Types},
};

use super::{
    EntryKind, Inventory, InventoryError,
    part::{Facts, Kernel, MappedFile, Part, ProbeFacts, ProgramFacts, processes},
};

/// Something that can be done with an entry: a page of the console with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What it does.
    pub label: &'static str,
    /// The page.
    pub path: &'static str,
    /// Its parameters.
    pub params: Vec<(&'static str, String)>,
}

/// A text in a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// What it is.
    pub title: &'static str,
    /// `c`, or `script` for the probe language.
    pub language: &'static str,
    /// The text.
    pub text: String,
}

/// A means of tracing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    /// As it is called.
    pub id: &'static str,
    /// What it is good for.
    pub purpose: &'static str,
    /// Why it does not serve here; none if it does.
    pub why_not: Option<String>,
}

/// One entry in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub kind: EntryKind,
    /// Its name as people read it.
    pub name: String,
    /// Its name as the linker knows it.
    pub raw: String,
    /// What it belongs to.
    pub within: Option<String>,
    /// What is known, each with a label.
    pub facts: Vec<(&'static str, String)>,
    /// Means of tracing it, for functions.
    pub means: Vec<Means>,
    /// Its prototype, its definition, a script to begin with.
    pub code: Vec<Code>,
    /// What can be done with it.
    pub actions: Vec<Action>,
}

impl Entry {
    fn of(kind: EntryKind, name: &Name<'_>) -> Self {
        Self {
            kind,
            name: name.text.to_owned(),
            raw: name.raw.to_owned(),
            within: name.group.map(str::to_owned),
            facts: Vec::new(),
            means: Vec::new(),
            code: Vec::new(),
            actions: Vec::new(),
        }
    }

    fn fact(&mut self, label: &'static str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.facts.push((label, value));
        }
    }

    fn action(&mut self, label: &'static str, path: &'static str, params: &[(&'static str, &str)]) {
        let params = params.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.actions.push(Action { label, path, params });
    }

    /// The probe builder with this place.
    fn build(&mut self, site: &str) {
        self.action("Build a probe", "/new", &[("method", "build"), ("site", site)]);
    }

    fn script(&mut self, text: String) {
        self.action("Write a script with it", "/new", &[("method", "script"), ("script", &text)]);
        self.code.push(Code { title: "A script to begin with", language: "script", text });
    }
}

/// Whether a name can stand in a script as it is.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$@".contains(&byte))
}

/// Whether a path can.
fn is_plain_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.+-/@".contains(&byte))
}

impl Inventory {
    /// One entry in full. `within` tells which of several of a name is meant: a module, or a file.
    ///
    /// # Errors
    /// If there is none, or what it is in cannot be read.
    pub async fn entry(&self, kind: EntryKind, name: &str, within: Option<&str>) -> Result<Entry, InventoryError> {
        let missing = || InventoryError::Missing { kind: kind.word() };
        if matches!(kind, EntryKind::User | EntryKind::Marker) {
            let path = within.ok_or_else(missing)?;
            let symbols = self.symbols_of(path).await?;
            let names = if kind == EntryKind::User { &symbols.functions } else { &symbols.markers };
            let index = names.exactly(name).next().ok_or_else(missing)?;
            return Ok(user_entry(kind, &names.get(index).ok_or_else(missing)?, &symbols));
        }
        let read = self.read(kind.source()).await?;
        let part = read.parts.iter().find(|part| part.kind == kind).ok_or_else(missing)?;
        let found: Vec<Name<'_>> = part.names.exactly(name).filter_map(|index| part.names.get(index)).collect();
        let same = found.iter().find(|found| within.is_none() || found.group == within);
        let mut entry = describe(part, same.or(found.first()).ok_or_else(missing)?);
        if kind == EntryKind::File {
            match self.symbols_of(name).await {
                Ok(symbols) => file_facts(&mut entry, &symbols),
                Err(error) => entry.fact("names", error.to_string()),
            }
        }
        Ok(entry)
    }
}

fn describe(part: &Part, name: &Name<'_>) -> Entry {
    let mut entry = Entry::of(part.kind, name);
    let index = usize::try_from(name.value).unwrap_or(usize::MAX);
    match (&part.facts, part.kind) {
        (Facts::Kernel(kernel), EntryKind::Function) => function(&mut entry, kernel, name),
        (Facts::Kernel(kernel), _) => type_entry(&mut entry, &kernel.types, name),
        (Facts::None, _) => tracepoint(&mut entry),
        (Facts::Tracers(all), _) => {
            if let Some(facts) = all.get(index) {
                entry.fact("shows", facts.purpose);
                if facts.available {
                    entry.action("Trace with it", "/new", &[("method", "trace"), ("tracer", name.text)]);
                } else {
                    entry.fact("not here", format!("it needs a kernel that was built with {}", facts.option));
                }
            }
        }
        (Facts::Perf(all), _) => {
            if let Some(event) = all.get(index) {
                entry.fact("kind", event.kind.clone());
                entry.fact("also called", event.alias.clone().unwrap_or_default());
                entry.fact("counts", event.meaning.clone());
                if event.works {
                    entry.action("Count it", "/new", &[("method", "count"), ("events", name.text)]);
                    if parse_event(name.text).is_ok_and(|event| event.can_be_sampled()) {
                        entry.action("Sample stacks by it", "/new", &[("method", "profile"), ("event", name.text)]);
                    }
                } else {
                    entry.fact("not here", event.why.clone());
                }
            }
        }
        (Facts::Probes(all), _) => all.get(index).into_iter().for_each(|facts| probe(&mut entry, facts)),
        (Facts::Programs(all), _) => all.get(index).into_iter().for_each(|facts| program(&mut entry, facts)),
        (Facts::Files(all), _) => all.get(index).into_iter().for_each(|file| mapped(&mut entry, file)),
    }
    entry
}

fn function(entry: &mut Entry, kernel: &Kernel, name: &Name<'_>) {
    let facts = KernelFunction::of_flags(name.flags);
    let ways = kernel.probing.ways(facts, bathyscope_bpf::lang::denied_function(name.text));
    let works = |id: &str| ways.iter().any(|way| way.id == id && way.why_not.is_none());
    let (fentry, kprobe, ftrace) = (works("fentry"), works("kprobe"), works("ftrace"));
    entry.fact("module", name.group.unwrap_or("the kernel itself"));
    if facts.repeated {
        entry.fact("note", "several functions have this name; a probe by name is at the first, or at all of them");
    }
    let mut arguments = Vec::new();
    if let Some(found) = kernel.types.function(name.group, name.text) {
        entry.code.push(Code {
            title: "Prototype",
            language: "c",
            text: prototype(&kernel.types, found.id, name.text),
        });
        arguments = integers(&kernel.types, found.id);
    }
    entry.means =
        ways.into_iter().map(|way| Means { id: way.id, purpose: way.purpose, why_not: way.why_not }).collect();
    if is_plain(name.text) {
        let module = name.group.unwrap_or("vmlinux");
        if fentry || kprobe {
            let of_module = name.group.map_or(String::new(), |module| format!("{module}:"));
            entry.build(&format!("{}:{of_module}{}", if fentry { "fentry" } else { "kprobe" }, name.text));
        }
        if fentry {
            let shown: String = arguments.iter().map(|argument| format!(" {argument}=%d")).collect();
            let values: String = arguments.iter().map(|argument| format!(", args.{argument}")).collect();
            let print = if shown.is_empty() {
                String::new()
            } else {
                format!("  printf(\"%-6d %-16s{shown}\\n\", pid, comm{values});\n")
            };
            let head = format!("// Who calls {}, how often, and how long each call takes.", name.text);
            entry.script(format!(
                "{head}\nfentry:{module}:{0} {{\n{print}  @calls[comm] = count();\n  @start[tid] = nsecs;\n}}\n\
                 fexit:{module}:{0} /@start[tid]/ {{\n  @ns = hist(nsecs - @start[tid]);\n  delete(@start[tid]);\n}}\n",
                name.text
            ));
        } else if kprobe {
            let full = name.group.map_or(name.text.to_owned(), |module| format!("{module}:{}", name.text));
            let head = format!("// Who calls {}, and how often.", name.text);
            entry.script(format!("{head}\nkprobe:{full} {{\n  @[comm] = count();\n}}\n"));
        }
    }
    if ftrace {
        let params = |tracer| [("method", "trace"), ("tracer", tracer), ("functions", name.text)];
        entry.action("Trace its calls", "/new", &params("function"));
        entry.action(
            "Trace what it calls",
            "/new",
            &[("method", "trace"), ("tracer", "function_graph"), ("roots", name.text)],
        );
    }
}

/// A function as C declares it.
pub(super) fn prototype(types: &Types, function: TypeId, name: &str) -> String {
    match types.get(function) {
        CType::Function { prototype, .. } => types.render_declaration(prototype, name) + ";",
        _ => types.render_declaration(function, name) + ";",
    }
}

/// The first parameters that are numbers.
fn integers(types: &Types, function: TypeId) -> Vec<String> {
    let Some(signature) = types.signature(function) else { return Vec::new() };
    let number = |ty: TypeId| types.integer(ty).filter(|it: &Integer| it.bytes <= 8).is_some();
    let all = signature.parameters.iter().filter(|it| is_plain(it.name) && number(it.ty));
    all.take(3).map(|it| it.name.to_owned()).collect()
}

fn type_entry(entry: &mut Entry, types: &Types, name: &Name<'_>) {
    entry.fact(
        "described by",
        name.group.map_or("the kernel itself".to_owned(), |module| format!("the module {module}")),
    );
    let Some(id) = types.spelled(name.text) else { return };
    if let Some(bytes) = types.size(id) {
        entry.fact("size", format!("{bytes} bytes"));
    }
    entry.code.push(Code { title: "Definition", language: "c", text: types.render_definition(id) });
}

fn tracepoint(entry: &mut Entry) {
    let name = entry.name.clone();
    entry.action("Trace it", "/new", &[("method", "events"), ("tracepoint", &name)]);
    entry.action("Count it", "/new", &[("method", "count"), ("events", &name)]);
    entry.action("Sample stacks by it", "/new", &[("method", "profile"), ("event", &name)]);
    if name.split(':').all(is_plain) {
        entry.build(&format!("tracepoint:{name}"));
        entry.script(format!(
            "// Which processes pass {name}, and how often.\ntracepoint:{name} {{\n  @[comm] = count();\n}}\n"
        ));
    }
}

fn probe(entry: &mut Entry, facts: &ProbeFacts) {
    entry.fact("kind", facts.what);
    entry.fact("place", facts.place.clone());
    entry.fact("takes along", facts.arguments.clone());
    let whose = |pid: u32| format!("the Bathyscope agent with process id {pid}");
    entry.fact("made by", facts.maker.map_or("another program; Bathyscope only shows it".to_owned(), whose));
    let name = entry.name.clone();
    entry.action("Trace it", "/new", &[("method", "events"), ("tracepoint", &name)]);
}

fn program(entry: &mut Entry, facts: &ProgramFacts) {
    let program = &facts.program;
    entry.fact("kind", bpf_program_kind(program.kind));
    entry.fact("number", program.id.to_string());
    entry.fact("tag", format!("{:016x}", program.tag));
    for place in &facts.places {
        entry.fact("attached to", place.clone());
    }
    if facts.links.is_empty() {
        entry.fact("links", "none: it is attached in an older way, or not at all");
    }
    entry.fact("loaded by", format!("user {}{}", program.uid, if program.ours { ", this Bathyscope" } else { "" }));
    entry.fact("loaded", format!("{:.1} s after the host started", program.loaded_ns as f64 / 1e9));
    entry.fact("size", format!("{} bytes of instructions, {} maps", program.bytes, program.maps));
    match program.run_count {
        0 => entry.fact("runs", "not counted: the kernel's statistics were off (sysctl kernel.bpf_stats_enabled)"),
        count => {
            let each = program.run_time_ns / count;
            entry.fact("runs", format!("{count} while statistics were on, {each} ns each"));
        }
    }
}

fn mapped(entry: &mut Entry, file: &MappedFile) {
    entry.fact("mapped by", processes(file));
}

fn file_facts(entry: &mut Entry, symbols: &super::FileSymbols) {
    entry.fact("build id", symbols.build_id.clone());
    entry.fact("functions", symbols.functions.len().to_string());
    entry.fact("USDT probes", symbols.markers.len().to_string());
    match (&symbols.debug_file, symbols.stripped) {
        (Some(path), _) => entry.fact("debug file", path.clone()),
        (None, true) => {
            entry.fact("note", "it was stripped of its symbols; install its debug symbols to see all functions")
        }
        (None, false) => {}
    }
    if symbols.go {
        entry.fact("made by", "the Go compiler: functions can be probed, their returns cannot");
    }
    let path = symbols.path.clone();
    entry.action("List its functions", "/catalog", &[("kind", "user"), ("in", &path)]);
    if !symbols.markers.is_empty() {
        entry.action("List its USDT probes", "/catalog", &[("kind", "marker"), ("in", &path)]);
    }
}

fn user_entry(kind: EntryKind, name: &Name<'_>, symbols: &super::FileSymbols) -> Entry {
    let mut entry = Entry::of(kind, name);
    let path = &symbols.path;
    entry.fact("file", path.clone());
    let scriptable = is_plain_path(path);
    if kind == EntryKind::Marker {
        entry.fact("places", name.value.to_string());
        if scriptable && name.text.split(':').all(is_plain) {
            entry.build(&format!("usdt:{path}:{}", name.text));
            entry.script(format!(
                "// Who passes the USDT probe {0}, and how often.\nusdt:{path}:{0} {{\n  @[comm] = count();\n}}\n",
                name.text
            ));
        }
        return entry;
    }
    entry.fact("symbol", if name.raw == name.text { String::new() } else { name.raw.to_owned() });
    entry.fact("offset", format!("{:#x} in the file", name.value));
    let go = "the Go compiler made it: its stacks move, and a return probe would crash the program";
    entry.means = vec![
        Means { id: "uprobe", purpose: "where the function begins", why_not: None },
        Means {
            id: "uretprobe",
            purpose: "where it returns, with its result",
            why_not: symbols.go.then(|| go.to_owned()),
        },
    ];
    if scriptable && is_plain(name.raw) {
        let (head, raw) = (format!("// Who calls {}, and how often.", name.text.replace('\n', " ")), name.raw);
        entry.build(&format!("uprobe:{path}:{raw}"));
        entry.script(format!("{head}\nuprobe:{path}:{raw} {{\n  @[comm, ustack(4)] = count();\n}}\n"));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_get_into_scripts() {
        let cases =
            [("vfs_read", true), ("foo.part.0", true), ("a b", false), ("x} { system(\"\")", false), ("", false)];
        for (name, expected) in cases {
            assert_eq!(is_plain(name), expected, "{name}");
        }
        let paths = [("/usr/lib/libc.so.6", true), ("/tmp/a b", false), ("relative", false), ("/x\"", false)];
        for (path, expected) in paths {
            assert_eq!(is_plain_path(path), expected, "{path}");
        }
    }
}
