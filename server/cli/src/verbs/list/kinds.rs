//! The kinds of `list` that are not tracepoints: functions, tracers, types, programs and files.

use bathyscope_capture::visible;
use bathyscope_catalog::{
    kernel_names,
    names::{Query, Searched, search},
};
use bathyscope_link::inventory::{
    EntryKind, FileSymbols, FoundProbes, Hidden, Inventory, InventoryError, Item, ProbeSearch, read_symbols,
};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use serde_json::json;

use crate::{
    Failure, Outcome,
    launch::OwnAgent,
    verbs::{facts::link, print_all, runtime},
};

/// Words for kinds, with what they list.
const WORDS: [(&str, EntryKind, &str); 6] = [
    ("functions", EntryKind::Function, "functions of the kernel, and how each can be probed"),
    ("types", EntryKind::Type, "structs, unions, enums and typedefs of the kernel"),
    ("tracers", EntryKind::Tracer, "tracers of ftrace, and what they need"),
    ("probes", EntryKind::Probe, "dynamic probes that anyone has made"),
    ("programs", EntryKind::Program, "BPF programs that anyone has loaded, and where they are attached"),
    ("files", EntryKind::File, "programs and libraries that processes run"),
];

/// The kind that a word of the command line names.
pub(super) fn kind_of(word: &str) -> Option<EntryKind> {
    WORDS.iter().find(|(known, ..)| *known == word).map(|(_, kind, _)| *kind)
}

/// Takes any text as the first word of `list`, and tells shells which words are kinds.
#[derive(Clone, Debug)]
pub(super) struct FirstWord;

impl TypedValueParser for FirstWord {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let kinds = WORDS.iter().map(|(word, _, help)| PossibleValue::new(*word).help(*help));
        let others = [
            ("user", "functions and USDT probes of a program or library"),
            ("perf", "events that are counted"),
            ("options", "options of ftrace, and whether each is on"),
            ("clocks", "clocks of ftrace, and which captures can have"),
        ];
        Some(Box::new(kinds.chain(others.map(|(word, help)| PossibleValue::new(word).help(help)))))
    }
}

fn failure(error: &InventoryError) -> Failure {
    let remedy = match error {
        InventoryError::Link(bathyscope_link::LinkError::Refused(error)) => error.remedy.clone(),
        _ => String::new(),
    };
    Failure::new(bathyscope_link::words(error)).remedy(remedy)
}

/// What may be meant by a name that nothing has.
fn remedy(kind: EntryKind, pattern: &str) -> String {
    let usual = "Write a part of a name, or wildcards such as `vfs_*`.".to_owned();
    if kind != EntryKind::Function {
        return usual;
    }
    if let Some(words) = kernel_names::elsewhere(pattern) {
        return format!("{words}.");
    }
    match kernel_names::other_names(pattern).as_slice() {
        [] => usual,
        others => format!("Other kernels call it {}.", others.join(", ")),
    }
}

/// Lists what there is of a kind.
///
/// # Errors
/// If it cannot be read, or nothing matches.
pub(super) fn run(agent: &mut OwnAgent, kind: EntryKind, pattern: Option<&str>, as_json: bool) -> Outcome {
    let inventory = Inventory::new(link(agent.client()?)?);
    let query = pattern.unwrap_or_default().to_owned();
    let wanted = ProbeSearch { query, kinds: vec![kind], limit: usize::MAX, ..ProbeSearch::default() };
    let answer = runtime()?.block_on(inventory.search(wanted)).map_err(|error| failure(&error))?;
    let standing = inventory.standing().into_iter().find(|standing| standing.kind == kind);
    let (hidden, all) = standing.map_or_else(Default::default, |it| (it.hidden, it.count.unwrap_or(0)));
    if let (Some(pattern), true) = (pattern, answer.items.is_empty()) {
        let what = kind.title().to_lowercase();
        return Err(Failure::new(format!("none of {all} {what} matches `{}`", visible(pattern.as_bytes())))
            .remedy(remedy(kind, pattern)));
    }
    if as_json {
        return print_all(&json_of(&answer, &hidden)?);
    }
    tell(&hidden);
    print_all(&answer.items.iter().map(line_of).collect::<String>())
}

fn line_of(item: &Item) -> String {
    let within = item.within.as_ref().filter(|_| item.kind == EntryKind::Function);
    let module = within.map_or_else(String::new, |module| format!(" [{}]", visible(module.as_bytes())));
    let name = format!("{}{module}", visible(item.name.as_bytes()));
    format!("{name:<48} {}", visible(item.note.as_bytes())).trim_end().to_owned() + "\n"
}

#[expect(clippy::print_stderr, reason = "standard output is the list, for other programs too")]
fn tell(hidden: &[Hidden]) {
    for Hidden { what, remedy, .. } in hidden {
        eprintln!("note: {what} {remedy}");
    }
}

fn json_of(answer: &FoundProbes, hidden: &[Hidden]) -> Result<String, Failure> {
    let item = |item: &Item| json!({"kind": item.kind.word(), "name": item.name, "in": item.within, "note": item.note, "works": item.works});
    let items: Vec<_> = answer.items.iter().map(item).collect();
    let text = serde_json::to_string_pretty(&json!({"total": answer.total, "items": items, "hidden": hidden}));
    Ok(text.map_err(|error| Failure::because("writing JSON", error))? + "\n")
}

/// Lists functions and markers of a program or library.
///
/// # Errors
/// If it is none, or nothing in it matches.
pub(super) fn user(agent: &mut OwnAgent, file: &str, pattern: Option<&str>, as_json: bool) -> Outcome {
    let mut client = agent.client()?;
    let symbols = read_symbols(&mut client, file, None).map_err(|error| failure(&error))?;
    let query = Query::new(pattern.unwrap_or_default());
    let lists = [&symbols.functions, &symbols.markers].map(|names| Searched { names, group: None });
    let found = search(&lists, &query, 0, usize::MAX);
    if found.hits.is_empty() {
        return Err(nothing_in(&symbols, pattern));
    }
    let names = found.hits.iter().filter_map(|hit| {
        let list = if hit.list == 0 { &symbols.functions } else { &symbols.markers };
        Some((hit.list == 1, list.get(hit.index)?))
    });
    if as_json {
        let item = |(is_marker, name): (bool, bathyscope_catalog::names::Name<'_>)| {
            let kind = if is_marker { EntryKind::Marker } else { EntryKind::User };
            let offset = (!is_marker).then_some(name.value);
            json!({"kind": kind.word(), "name": name.text, "symbol": name.raw, "offset": offset})
        };
        let items: Vec<_> = names.map(item).collect();
        let about = json!({
            "path": symbols.path, "build_id": symbols.build_id, "go": symbols.go, "stripped": symbols.stripped,
            "debug_file": symbols.debug_file, "items": items,
        });
        let text = serde_json::to_string_pretty(&about).map_err(|error| Failure::because("writing JSON", error))?;
        return print_all(&(text + "\n"));
    }
    let line = |(is_marker, name): (bool, bathyscope_catalog::names::Name<'_>)| {
        let prefix = if is_marker { "usdt:" } else { "" };
        format!("{prefix}{}\n", visible(name.text.as_bytes()))
    };
    print_all(&names.map(line).collect::<String>())
}

fn nothing_in(symbols: &FileSymbols, pattern: Option<&str>) -> Failure {
    let path = visible(symbols.path.as_bytes());
    if symbols.functions.is_empty() && symbols.markers.is_empty() {
        let why = format!("{path} has no table of functions: it was stripped, and there is no debug file for it");
        return Failure::new(why).remedy("Install its debug symbols.");
    }
    let count = symbols.functions.len() + symbols.markers.len();
    let pattern = visible(pattern.unwrap_or("*").as_bytes());
    Failure::new(format!("none of {count} functions and USDT probes of {path} matches `{pattern}`"))
        .remedy("Write a part of a name, or wildcards such as `read*`.")
}
