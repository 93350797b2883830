//! Rules about the sources themselves that no compiler knows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

#[path = "tidy/features.rs"]
mod features;
#[path = "tidy/modules.rs"]
mod modules;

use std::{collections::BTreeSet, fs};

use bathyscope_tests::workspace::{Source, root, sources};

const ROOMS: [&str; 3] = ["server", "bpf", "web"];
/// From top to bottom: a room may only know rooms that come later.
const ORDER: [&str; 23] = [
    "tests",
    "cli",
    "console",
    "agent",
    "web",
    "recorder",
    "reader",
    "link",
    "protocol",
    "commands",
    "formats",
    "query",
    "views",
    "store",
    "symbols",
    "decode",
    "builder",
    "bpf",
    "translate",
    "plan",
    "catalog",
    "derive",
    "capture",
];
/// Rooms of which it is promised what they know at most, which is less than their place in [`ORDER`] allows.
const KNOWN: [(&str, &[&str]); 10] = [
    (
        "recorder",
        &["link", "protocol", "formats", "views", "store", "symbols", "decode", "derive", "plan", "catalog", "capture"],
    ),
    ("reader", &["link", "formats", "query", "views", "store", "decode", "plan", "capture"]),
    ("link", &["protocol", "symbols", "decode", "bpf", "plan", "catalog", "capture"]),
    ("protocol", &["capture", "plan"]),
    ("commands", &["formats", "bpf", "translate", "catalog", "capture"]),
    ("derive", &["capture"]),
    ("builder", &["bpf", "plan", "catalog", "capture"]),
    ("translate", &["plan"]),
    ("plan", &["capture"]),
    ("decode", &["agent", "capture", "catalog", "plan"]),
];
const MAX_LINES: usize = 800;

fn rust() -> Vec<Source> {
    ROOMS.into_iter().flat_map(|room| sources(room, &[".rs"])).collect()
}

/// Fails with the places that break a rule, if there are any.
#[track_caller]
fn none(rule: &str, places: impl IntoIterator<Item = String>) {
    let places: Vec<_> = places.into_iter().collect();
    assert!(places.is_empty(), "{rule}:\n  {}", places.join("\n  "));
}

/// The lines of `sources` for which `bad` holds, as `path:line: text`.
fn places(sources: &[Source], bad: impl Fn(&Source, &str) -> bool) -> Vec<String> {
    let of_source = |source: &Source| {
        let lines = source.lines().filter(|(_, line)| bad(source, line));
        lines.map(|(number, line)| format!("{}:{number}: {}", source.path, line.trim())).collect::<Vec<_>>()
    };
    sources.iter().flat_map(of_source).collect()
}

/// Whether it becomes part of the binary.
fn shipped(source: &Source) -> bool {
    !source.path.contains("/tests/") && !source.path.ends_with("/tests.rs")
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn in_any(source: &Source, folders: &[&str]) -> bool {
    folders.iter().any(|folder| source.path.starts_with(folder))
}

#[test]
fn p10_no_html_is_made_from_text_and_no_handler_is_inline() {
    let front = sources("web", &[".js", ".mjs", ".html", ".svg"]);
    assert!(!front.is_empty());
    let makes_html =
        ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"];
    none("text becomes HTML", places(&front, |_, line| makes_html.iter().any(|call| line.contains(call))));
    let pages: Vec<_> = front.into_iter().filter(|source| source.path.ends_with(".html")).collect();
    let inline = |line: &str| {
        let line = line.to_ascii_lowercase();
        let attribute = |(at, _): (usize, &str)| line[at + 3..].split_once('=').is_some_and(|(name, _)| is_word(name));
        line.match_indices(" on").any(attribute) || line.contains("javascript:") || line.contains(" style=")
    };
    none(
        "an inline handler or style, which the content security policy blocks",
        places(&pages, |_, line| inline(line)),
    );
    none(
        "`|safe` lets text through as HTML",
        places(&pages, |_, line| line.contains("|safe") || line.contains("| safe")),
    );
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase())
}

#[test]
fn p47_unsafe_only_in_agent_bpf_protocol_and_one_file_of_query() {
    let allowed = ["server/agent/", "server/protocol/", "bpf/", "server/query/src/vtab.rs"];
    let sources = rust();
    // Not the end of a longer name, such as `allow_unsafe {`.
    let whole = |line: &str, word| line.match_indices(word).any(|(at, _)| !line[..at].ends_with('_'));
    let uses = |line: &str| ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|u| whole(line, u));
    none(
        "unsafe outside its rooms",
        places(&sources, |source, line| {
            shipped(source) && !in_any(source, &allowed) && !is_comment(line) && uses(line)
        }),
    );
    let heads = sources.iter().filter(|source| source.path.ends_with("/src/lib.rs") && !in_any(source, &allowed));
    // What is forbidden cannot be allowed for one file.
    let says = |source: &Source| {
        let word = if source.path == "server/query/src/lib.rs" { "deny" } else { "forbid" };
        source.text.contains(&format!("#![{word}(unsafe_code)]"))
    };
    none("a crate that does not forbid unsafe code", heads.filter(|s| !says(s)).map(|s| s.path.clone()));
}

fn is_crate_head(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")
}

#[test]
fn every_crate_begins_with_what_it_is_for() {
    let sources = rust();
    let heads = sources.iter().filter(|source| is_crate_head(&source.path));
    none("a crate without a `//!` head", heads.filter(|s| !s.text.starts_with("//! ")).map(|s| s.path.clone()));
}

#[test]
fn sql_only_in_the_store_and_in_query() {
    let statements =
        ["SELECT ", "INSERT INTO", "INSERT OR", "DELETE FROM", "CREATE TABLE", "PRAGMA ", "BEGIN IMMEDIATE"];
    let found = places(&rust(), |source, line| {
        !in_any(source, &["server/store/", "server/query/"])
            && !is_comment(line)
            && statements.iter().any(|word| line.contains(word))
    });
    none("SQL outside the store", found);
    none("sqlx outside the store", dependants("sqlx").into_iter().filter(|path| path != "server/store/Cargo.toml"));
    none(
        "rusqlite outside of query",
        dependants("rusqlite").into_iter().filter(|path| path != "server/query/Cargo.toml"),
    );
}

#[test]
fn kernel_interfaces_only_in_the_agent_and_http_only_in_the_console() {
    for (library, rooms) in [
        ("aya", &["server/agent/Cargo.toml"][..]),
        ("perf-event-open-sys", &["server/agent/Cargo.toml"]),
        ("axum", &["server/console/Cargo.toml"]),
        ("clap", &["server/cli/Cargo.toml", "server/reader/Cargo.toml"]),
        ("hyper", &["server/console/Cargo.toml"]),
    ] {
        none(
            &format!("{library} outside its room"),
            dependants(library).into_iter().filter(|path| !rooms.contains(&path.as_str())),
        );
    }
}

/// The manifests that list `library` among what the crate itself uses.
fn dependants(library: &str) -> Vec<String> {
    let manifests: Vec<_> = ROOMS.into_iter().flat_map(|room| sources(room, &["Cargo.toml"])).collect();
    let lists = |manifest: &Source| dependencies(manifest).contains(library);
    manifests.iter().filter(|manifest| lists(manifest)).map(|manifest| manifest.path.clone()).collect()
}

fn dependencies(manifest: &Source) -> BTreeSet<String> {
    let section = manifest.text.split("\n[").find_map(|section| section.strip_prefix("dependencies]\n"));
    let lines = section.unwrap_or_default().lines();
    lines
        .filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect()
}

/// Dependencies that are declared for what they leave out of the build, not to be called.
const NOT_CALLED: [&str; 1] = ["idna_adapter"];

/// The names in every section of a manifest whose heading ends in `dependencies]`.
fn declared(manifest: &Source, section: &str) -> BTreeSet<String> {
    let sections = manifest.text.split("\n[").filter_map(|part| part.split_once("]\n"));
    let lines = sections.filter(|(heading, _)| *heading == section).flat_map(|(_, lines)| lines.lines());
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect()
}

/// Whether Rust text calls the crate: by its path, in a macro, or by a derive of serde or thiserror.
fn calls(text: &str, library: &str) -> bool {
    let name = library.replace('-', "_");
    let derives: &[&str] = match library {
        "serde" => &["Serialize", "Deserialize"],
        "thiserror" => &["thiserror::Error"],
        _ => &[],
    };
    let is_path = |(at, _): (usize, &str)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + name.len()..];
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
            && ["::", "!", " as ", ";"].iter().any(|next| after.starts_with(next))
    };
    text.match_indices(&name).any(is_path) || derives.iter().any(|derive| text.contains(derive))
}

#[test]
fn every_declared_dependency_is_used() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    let workspace = Source { path: "Cargo.toml".to_owned(), text: workspace };
    let mut unused = Vec::new();
    let mut somewhere = BTreeSet::new();
    let folders = ROOMS.into_iter().chain(["tests"]);
    for manifest in folders.flat_map(|folder| sources(folder, &["Cargo.toml"])) {
        let crate_folder = manifest.path.trim_end_matches("/Cargo.toml");
        let all = sources(crate_folder, &[".rs"]);
        let src = format!("{crate_folder}/src/");
        let has_src = all.iter().any(|source| source.path.starts_with(&src));
        let is_shipped = |source: &&Source| !has_src || source.path.starts_with(&src);
        for (section, in_tests) in [("dependencies", false), ("dev-dependencies", true)] {
            let names = declared(&manifest, section);
            somewhere.extend(names.iter().cloned());
            for name in names.into_iter().filter(|name| !NOT_CALLED.contains(&name.as_str())) {
                let used = all.iter().filter(|s| in_tests || is_shipped(s)).any(|s| calls(&s.text, &name));
                if !used {
                    unused.push(format!("{}: {name} in [{section}]", manifest.path));
                }
            }
        }
    }
    let listed = declared(&workspace, "workspace.dependencies");
    assert!(listed.len() > 40, "the manifest of the workspace can be read: {listed:?}");
    unused.extend(listed.difference(&somewhere).map(|name| format!("Cargo.toml: {name} in [workspace.dependencies]")));
    none("a dependency that nothing calls", unused);
}

#[test]
fn rooms_know_only_the_rooms_below_them() {
    let place =
        |room: &str| ORDER.iter().position(|other| *other == room).unwrap_or_else(|| panic!("{room} is not in ORDER"));
    for manifest in ROOMS.into_iter().flat_map(|room| sources(room, &["Cargo.toml"])) {
        let room = manifest.path.rsplit('/').nth(1).unwrap();
        for other in dependencies(&manifest).iter().filter_map(|name| name.strip_prefix("bathyscope-")) {
            assert!(place(room) < place(other), "{room} must not know {other}");
            let known = KNOWN.iter().find(|(known_room, _)| *known_room == room);
            assert!(known.is_none_or(|(_, all)| all.contains(&other)), "{room} must not know {other}");
        }
    }
}

/// The name of the type that a line defines, if it does.
fn defined_type(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.trim_start().split([' ', '<', '(', ';', ':', '=']).collect();
    let at = words.iter().position(|word| ["struct", "enum", "trait"].contains(word))?;
    let is_visibility = |word: &&str| word.starts_with("pub") || ["crate)", "super)", "in"].contains(word);
    words[..at].iter().all(is_visibility).then(|| words.get(at + 1).copied()).flatten()
}

#[test]
fn what_views_answer_becomes_json_in_one_place() {
    let views = sources("server/views/src", &[".rs"]);
    let (answers, others): (Vec<Source>, Vec<Source>) =
        views.into_iter().partition(|source| source.path.starts_with("server/views/src/answers/"));
    assert!(!places(&answers, |_, line| line.contains("Serialize")).is_empty(), "the answers are found");
    none("JSON of a view outside of `answers`", places(&others, |_, line| line.contains("Serialize")));
}

#[test]
fn a_name_is_one_type_in_a_room() {
    let of_room = |source: &Source| source.path.split_once("/src/").map(|(room, _)| format!("{room}/src/"));
    let rooms: BTreeSet<String> = rust().iter().filter(|source| shipped(source)).filter_map(of_room).collect();
    assert!(rooms.len() > 15, "the rooms are found");
    for room in rooms.iter().filter(|room| *room != "web/src/").map(String::as_str) {
        let mut known = BTreeSet::new();
        let all: Vec<Source> = rust().into_iter().filter(|source| source.path.starts_with(room)).collect();
        let types = all.iter().filter(|source| !source.path.contains("/tests")).flat_map(|source| {
            before_tests(source).filter_map(|(_, line)| defined_type(line)).map(|name| (name, &source.path))
        });
        none("a second type of a name", types.filter(|(name, _)| !known.insert(*name)).map(|it| format!("{it:?}")));
        assert!(known.len() > 10, "the types of {room} are found");
    }
}

/// Whether a line of code tells kinds of what is recorded apart, rather than making one.
fn tells_kinds_apart(line: &str) -> bool {
    let kinds = ["Events", "Profile", "Count", "Script", "Trace", "Syscalls", "States"];
    let Some(at) = kinds.iter().filter_map(|kind| line.find(&format!("Method::{kind}"))).min() else {
        return line.contains("MethodKind::");
    };
    let (before, after) = line.split_at(at);
    let before = before.trim_end().trim_end_matches("Wire").trim_end_matches('(').trim_end();
    let is_pattern = ["let", "|", "&"].iter().any(|word| before.ends_with(word));
    is_pattern || before.contains("matches!") || after.contains("=>")
}

#[test]
fn kinds_of_what_is_recorded_are_told_apart_in_tables_only() {
    let tables = [
        "server/capture/src/spec/method.rs",
        "server/capture/src/spec.rs",
        "server/recorder/src/engine/mod.rs",
        "server/agent/src/source/mod.rs",
        // A test that has a spec of each kind, and does not compile without.
        "server/console/src/wire/every_spec.rs",
    ];
    let all: Vec<Source> = rust().into_iter().filter(|it| it.path.starts_with("server/") && shipped(it)).collect();
    let apart = all.iter().filter(|source| !in_any(source, &tables)).flat_map(|source| {
        let lines = before_tests(source).filter(|(_, line)| !is_comment(line) && tells_kinds_apart(line));
        lines.map(|(number, line)| format!("{}:{number}: {}", source.path, line.trim())).collect::<Vec<_>>()
    });
    none("a kind told apart outside of the tables: ask it (capture::Method) or put it into its engine", apart);
    let cases = [
        ("Method::Trace(trace) => Some(trace),", true),
        ("if let Method::Trace(trace) = &spec.method", true),
        ("matches!(spec.method, Method::Count(_))", true),
        ("let spec = CaptureSpec { name, method: Method::Count(count), target, limits };", false),
        ("Ok(Method::Trace(TraceSpec { events, ..TraceSpec::default() }))", false),
    ];
    for (line, told) in cases {
        assert_eq!(tells_kinds_apart(line), told, "{line}");
    }
}

#[test]
fn what_reads_bytes_from_outside_has_no_way_to_the_outside() {
    let parsers = [
        "server/commands/src/",
        "server/decode/src/",
        "server/capture/src/",
        "server/plan/src/",
        "server/derive/src/",
        "server/translate/src/",
        "server/builder/src/",
    ];
    let ways = [
        "std::fs",
        "std::net::Tcp",
        "std::net::Udp",
        "std::env",
        "std::process",
        "Instant::now",
        "SystemTime",
        "std::thread",
    ];
    let is_test = |source: &Source| source.path.contains("/tests") || source.path.ends_with("tests.rs");
    let all: Vec<Source> = rust().into_iter().filter(|it| in_any(it, &parsers) && !is_test(it)).collect();
    assert!(all.len() > 40, "the parsers are found");
    let uses = all.iter().flat_map(|source| {
        let lines =
            before_tests(source).filter(|(_, line)| !is_comment(line) && ways.iter().any(|way| line.contains(way)));
        lines.map(|(number, line)| format!("{}:{number}: {}", source.path, line.trim())).collect::<Vec<_>>()
    });
    none("a parser that reaches outside", uses);
}

#[test]
fn p21_programs_are_started_in_three_places_and_never_a_shell() {
    // The third is what a script of the terminal asks for with `system()`, in the process that has no rights.
    let starters = ["server/agent/", "server/cli/src/launch", "server/cli/src/verbs/script/outside.rs"];
    let sources = rust();
    none(
        "a program is started outside of its places",
        places(&sources, |source, line| {
            !in_any(source, &starters)
                && shipped(source)
                && !is_comment(line)
                && line.contains("Command::new(")
                && !line.contains("clap::")
        }),
    );
    let shells =
        ["Command::new(\"sh\")", "Command::new(\"/bin/sh\")", "Command::new(\"bash\")", "Command::new(\"/bin/bash\")"];
    none(
        "a shell",
        places(&sources, |source, line| shipped(source) && shells.iter().any(|shell| line.contains(shell))),
    );
}

#[test]
fn files_are_short() {
    let mut all = rust();
    all.extend(sources("web", &[".js", ".mjs", ".css", ".html"]));
    all.extend(sources("tests", &[".rs", ".mjs"]));
    let long = all.iter().map(|source| (source, source.text.lines().count())).filter(|(_, lines)| *lines > MAX_LINES);
    none("a file that should be two", long.map(|(source, lines)| format!("{}: {lines} lines", source.path)));
}

#[test]
fn nothing_is_left_to_do_in_the_sources() {
    let mut all = rust();
    all.extend(sources("web", &[".js", ".mjs", ".css", ".html"]));
    // Written apart, so that this file does not find itself.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("todo", "!("),
        concat!("unimpl", "emented!("),
    ];
    none("unfinished", places(&all, |_, line| words.iter().any(|word| line.contains(word))));
}

#[test]
fn the_architecture_fits_on_a_few_screens() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md exists");
    assert!(text.lines().count() <= 150, "ARCHITECTURE.md has {} lines", text.lines().count());
}

#[test]
fn documents_name_only_files_that_exist() {
    let root = root();
    let mut missing = Vec::new();
    for document in ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(root.join(document)).unwrap_or_else(|e| panic!("{document}: {e}"));
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let local = targets.filter(|target| !target.is_empty() && !target.contains("://"));
        missing.extend(local.filter(|t| !root.join(t).exists()).map(|target| format!("{document}: {target}")));
    }
    none("a link that leads nowhere", missing);
}

#[test]
fn migrations_are_numbered_without_gaps() {
    let mut names: Vec<_> = sources("migrations", &[".sql"]).into_iter().map(|source| source.path).collect();
    names.sort();
    for (index, path) in names.iter().enumerate() {
        assert!(path.starts_with(&format!("migrations/{:04}_", index + 1)), "{path} is number {}", index + 1);
    }
    assert!(!names.is_empty());
}

#[test]
fn promises_that_are_kept_have_a_test_that_is_named_after_them() {
    let text = fs::read_to_string(root().join("SECURITY.md")).expect("SECURITY.md exists");
    let mut all: Vec<_> = ROOMS.into_iter().flat_map(|room| sources(room, &[".rs"])).collect();
    all.extend(sources("tests", &[".rs", ".mjs"]));
    let kept: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("| P") && line.contains("| kept") && !line.contains("by design"))
        .filter_map(|line| line.get(2..5).map(str::to_lowercase))
        .collect();
    assert!(kept.len() > 5, "the table of promises can be read: {kept:?}");
    let untested = kept.into_iter().filter(|id| {
        let names = [format!("fn {id}_"), format!("'{id} "), format!("_{id}_")];
        !all.iter().any(|source| names.iter().any(|name| source.text.contains(name)))
    });
    none("a promise without a test", untested);
}

/// What stands in backticks.
fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The names of the requests of the protocol.
fn requests() -> Vec<String> {
    let text = fs::read_to_string(root().join("server/protocol/src/message.rs")).expect("the protocol");
    let all = text.split_once("pub enum Request {").and_then(|(_, rest)| rest.split_once("\n}\n")).expect("requests").0;
    let begins =
        all.lines().filter_map(|line| line.strip_prefix("    ").filter(|line| line.starts_with(char::is_alphabetic)));
    begins.map(|line| line.split([' ', ',', '(']).next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_a_taken_over_console_can_do_is_told_of_each_request_and_each_row_has_a_test() {
    let text = fs::read_to_string(root().join("SECURITY.md")).expect("SECURITY.md exists");
    let table = text.split_once("| it asks for | by | it gets | tests |").expect("the table").1;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 15 && rows.iter().all(|row| row.len() == 4), "the table can be read: {rows:?}");
    let told: Vec<&str> = rows.iter().flat_map(|row| in_backticks(row[1])).collect();
    let requests = requests();
    assert!(requests.len() > 30, "the protocol can be read: {requests:?}");
    none("a request that has no row", requests.iter().filter(|name| !told.contains(&name.as_str())).cloned());
    none(
        "a row of no request",
        told.iter().filter(|name| !requests.iter().any(|request| request == *name)).map(|name| (*name).to_owned()),
    );
    let mut all: Vec<_> = ROOMS.into_iter().flat_map(|room| sources(room, &[".rs"])).collect();
    all.extend(sources("tests", &[".rs"]));
    let is_there = |name: &str| {
        let begin = format!("fn {}", name.trim_end_matches('…'));
        all.iter().any(|source| source.text.contains(&begin))
    };
    let untested = rows.iter().filter(|row| row[3] != "not promised" && in_backticks(row[3]).next().is_none());
    none("a row without tests", untested.map(|row| row[0].to_owned()));
    let missing = rows.iter().flat_map(|row| in_backticks(row[3])).filter(|name| !is_there(name));
    none("a test that is not there", missing.map(str::to_owned));
}

/// The words that docs/terms.md rules out: what stands in backticks in the last column of its table.
fn ruled_out(terms: &str) -> Vec<String> {
    let rows = terms.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    let last = rows.filter_map(|row| row.split(" | ").nth(2));
    last.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_lowercase).collect()
}

/// What a person may get to read of a line of code: the texts in quotes, without names such as `"user_id"`.
fn texts(line: &str) -> Vec<&str> {
    if line.trim_start().starts_with(['*', '/']) {
        return Vec::new();
    }
    // A `://` is part of a text; any other `//` begins a comment.
    let comment = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':')).map_or(line.len(), |(at, _)| at);
    let line = &line[..comment];
    let mut found = Vec::new();
    for quote in ['"', '`', '\''] {
        found.extend(line.split(quote).skip(1).step_by(2));
    }
    found
}

/// The lines of what is shipped up to its tests, each with its number; none of a file that has nothing else.
fn before_tests(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let has_only_tests = source.path.ends_with("/tests.rs");
    source.lines().take_while(move |(_, line)| !has_only_tests && !line.starts_with("#[cfg(test)]"))
}

/// Whether `text` has `words` as whole words.
fn has_words(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    let is_part = |found: Option<char>| found.is_some_and(char::is_alphanumeric);
    text.match_indices(words)
        .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + words.len()..].chars().next()))
}

#[test]
fn terms_are_used() {
    let words = ruled_out(&fs::read_to_string(root().join("docs/terms.md")).expect("docs/terms.md exists"));
    assert!(words.len() > 20, "the table can be read: {words:?}");
    let mut found = Vec::new();
    let mut look = |path: &str, number: usize, text: &str| {
        let bad = words.iter().filter(|words| has_words(text, words));
        found.extend(bad.map(|words| format!("{path}:{number}: `{words}` in {}", text.trim())));
    };
    // Help of the command line is in comments of documentation, at verbs and options.
    let help = |source: &Source, line: &str| source.path.starts_with("server/cli/src/") && line.starts_with("    ///");
    let code = rust().into_iter().chain(sources("web/static/js", &[".js"]));
    let is_code =
        |source: &Source| shipped(source) && !source.path.contains("/vendor/") && !source.path.ends_with("tests.rs");
    for source in code.filter(is_code) {
        for (number, line) in before_tests(&source) {
            let texts = if help(&source, line) { vec![line] } else { texts(line) };
            texts.into_iter().for_each(|text| look(&source.path, number, text));
        }
    }
    let pages = sources("web/templates", &[".html"]);
    let documents = sources("docs", &[".md"]).into_iter().filter(|source| source.path != "docs/terms.md");
    let root_documents = ["README.md", "SECURITY.md"].map(|path| Source {
        text: fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}")),
        path: path.to_owned(),
    });
    for source in pages.into_iter().chain(documents).chain(root_documents) {
        source.lines().for_each(|(number, line)| look(&source.path, number, line));
    }
    none("words that docs/terms.md rules out", found);
}

#[test]
fn words_that_are_ruled_out_are_found() {
    let terms = "| Term | Meaning | Not called |\n| --- | --- | --- |\n| size | bytes | `room`, `Most room` |\n| read | one | |\n";
    assert_eq!(ruled_out(terms), ["room", "most room"]);
    assert!(has_words("Or room.", "room") && !has_words("a mushroom", "room") && !has_words("rooms", "room"));
    assert_eq!(texts("let a = \"is room\"; // `no room`"), ["is room"]);
    assert_eq!(texts("text: `a ${b}`, \"http://x\""), ["http://x", "a ${b}"]);
    assert!(texts("/// no \"room\"").is_empty());
}
