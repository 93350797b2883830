//! How the modules of a crate know each other. Modules in a cycle can only be read, tested and moved together.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_tests::workspace::Source;

use super::{before_tests, is_comment, none, rust};

/// Which top modules of a crate know which others of it.
#[derive(Debug, Default)]
struct ModuleGraph(BTreeMap<String, BTreeSet<String>>);

impl ModuleGraph {
    /// Of the sources below `src`, which ends in a slash.
    fn read(src: &str, all: &[Source]) -> Self {
        let sources: Vec<(Vec<&str>, String)> = all
            .iter()
            .filter_map(|source| {
                let path = source.path.strip_prefix(src)?.strip_suffix(".rs")?;
                let path = path.strip_suffix("/mod").unwrap_or(path).split('/').collect::<Vec<_>>();
                (!path.contains(&"tests")).then(|| (path, code(source)))
            })
            .collect();
        let is_root = |path: &[&str]| path == ["lib"] || path == ["main"];
        let tops = sources.iter().filter(|(path, _)| !is_root(path)).map(|(path, _)| path[0].to_owned());
        let mut graph = Self(tops.map(|top| (top, BTreeSet::new())).collect());
        let mut exported = BTreeMap::new();
        for (_, text) in sources.iter().filter(|(path, _)| is_root(path)) {
            exported.extend(re_exports(text));
        }
        for (path, text) in sources.iter().filter(|(path, _)| !is_root(path)) {
            let found = names_of_root(text, path.len());
            let known = found.into_iter().filter_map(|name| {
                let module = if graph.0.contains_key(name) { name } else { exported.get(name)?.as_str() };
                (module != path[0]).then(|| module.to_owned())
            });
            let known: Vec<String> = known.filter(|module| graph.0.contains_key(module)).collect();
            graph.0.entry(path[0].to_owned()).or_default().extend(known);
        }
        graph
    }

    /// Every module with all that it reaches.
    fn reached(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        self.0.keys().map(|module| (module.as_str(), self.reached_from(module))).collect()
    }

    fn reached_from(&self, module: &str) -> BTreeSet<&str> {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![module]);
        while let Some(next) = waiting.pop() {
            let known = self.0.get(next).into_iter().flatten().map(String::as_str);
            for module in known {
                if seen.insert(module) {
                    waiting.push(module);
                }
            }
        }
        seen
    }

    /// The modules of the largest cycle; none where there is no cycle.
    fn largest_cycle(&self) -> Vec<&str> {
        let reached = self.reached();
        let cycles = reached.iter().map(|(module, others)| {
            let back = others.iter().copied().filter(|other| reached[*other].contains(module));
            back.collect::<Vec<_>>()
        });
        cycles.max_by_key(Vec::len).unwrap_or_default()
    }
}

/// What is compiled into the crate of a source: no comments, no tests.
fn code(source: &Source) -> String {
    let lines = before_tests(source).map(|(_, line)| line).filter(|line| !is_comment(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// What the root of a crate names again, and the module that it is of.
fn re_exports(root: &str) -> BTreeMap<String, String> {
    let uses = root.split(';').filter_map(|statement| statement.rsplit_once("use ")?.1.split_once("::"));
    uses.flat_map(|(module, names)| words(names).map(|name| (name.to_owned(), module.to_owned())).collect::<Vec<_>>())
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The first names behind `crate::`, and behind as many `super::` as lead from a file of that depth to the root.
fn names_of_root(text: &str, depth: usize) -> Vec<&str> {
    let supers = "super::".repeat(depth);
    let mut found = Vec::new();
    for start in ["crate::", supers.as_str()] {
        for (at, _) in text.match_indices(start) {
            let is_longer = text[..at].ends_with("super::") || text[..at].ends_with(|c: char| c.is_alphanumeric());
            let rest = &text[at + start.len()..];
            if !is_longer && !rest.starts_with("super::") {
                found.extend(first_names(rest));
            }
        }
    }
    found
}

/// The first name of a path, or of each path in braces.
fn first_names(rest: &str) -> Vec<&str> {
    let first = |path| words(path).next();
    let Some(group) = rest.strip_prefix('{') else { return first(rest).into_iter().collect() };
    let (mut depth, mut begin, mut found) = (1, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => {
                found.extend(first(&group[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            found.extend(first(&group[begin..at]));
            break;
        }
    }
    found
}

#[test]
fn the_top_modules_of_a_crate_form_no_cycle() {
    let all = rust();
    let heads = all.iter().filter_map(|source| source.path.strip_suffix("lib.rs")).filter(|src| src.ends_with("/src/"));
    let found: Vec<(&str, Vec<String>)> = heads
        .map(|src| {
            let graph = ModuleGraph::read(src, &all);
            let cycle = graph.largest_cycle().into_iter().map(str::to_owned).collect();
            (src.trim_end_matches("/src/"), cycle)
        })
        .collect();
    assert!(found.len() > 12, "the crates are found: {found:?}");
    let wrong = found.iter().filter(|(_, cycle)| !cycle.is_empty());
    none("top modules in a cycle", wrong.map(|(room, cycle)| format!("{room}: {}", cycle.join(", "))));
}

#[test]
fn modules_are_found_by_what_they_name() {
    let source = |path: &str, text: &str| Source { path: format!("x/src/{path}"), text: text.to_owned() };
    let all = [
        source("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::{One, Two};\n"),
        source("a.rs", "use crate::{\n    b::{x, y},\n    d::Z,\n};\n// crate::c::no\n"),
        source("b/mod.rs", "use super::c::One;\n#[cfg(test)]\nmod tests { use crate::a; }\n"),
        source("b/inner.rs", "use super::super::c;\nuse super::a;\n"),
        source("c.rs", "pub(in crate::c) fn f() { crate::Two::new() }"),
    ];
    let graph = ModuleGraph::read("x/src/", &all);
    let known = |module: &str| graph.0[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((known("a"), known("b"), known("c")), (vec!["b"], vec!["c"], vec!["a"]));
    assert_eq!(graph.largest_cycle(), ["a", "b", "c"]);
    let none = ModuleGraph::read("x/src/", &all[..4]);
    assert!(none.largest_cycle().is_empty(), "{none:?}");
}
