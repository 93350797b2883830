//! Joins the modules of pages, so that a page asks for two files instead of seventy.
//!
//! Modules are written and tested one by one; this joins them as they are. A module becomes a function that is called once,
//! in the order in which modules are evaluated, and gives what it exports:
//!
//! ```text
//! const $format = (() => { const { h } = $dom; …; return { duration, exact }; })();
//! ```
//!
//! What many pages need, and what a module that is loaded later (`await import("./x.js")`) has in common with a page that can load it, or
//! with another that the same page can load, is in `core.js`; so nothing is evaluated twice on a page. Everything else is in the file of its page. Forms of import and export
//! that are not known here fail the build.

use std::collections::{BTreeMap, BTreeSet};

/// In so many pages a module has to be to be in `core.js`.
const MANY: usize = 5;
/// The file of what pages have in common.
pub(crate) const CORE: &str = "core.js";

/// Modules by name instead of by the path below `static/js`, as the browser gets them: all in one folder. What they import
/// by relative path becomes `./NAME`, and `./vendor/NAME` for files that are not ours.
///
/// # Errors
/// In words, if two modules have one name, or one imports what is not there.
pub(crate) fn flatten(sources: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    let mut flat = BTreeMap::new();
    for (path, text) in sources {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let text = imports_on_one_line(text);
        let text = text.split_inclusive('\n').map(|line| flat_line(line, folder, sources)).collect::<Result<_, _>>();
        let text: String = text.map_err(|why| format!("{path}: {why}"))?;
        if flat.insert(name.to_owned(), text).is_some() {
            return Err(format!("{path}: there is another module with this name"));
        }
    }
    Ok(flat)
}

/// An import of many names, which the formatter writes one a line, as one line.
fn imports_on_one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open = false;
    for line in text.split_inclusive('\n') {
        if line == "import {\n" {
            open = true;
            out.push_str("import { ");
        } else if open && line.starts_with('}') {
            open = false;
            // The comma after the last name.
            out.truncate(out.trim_end_matches([',', ' ']).len());
            out.push(' ');
            out.push_str(line);
        } else if open {
            out.push_str(line.trim());
            out.push(' ');
        } else {
            out.push_str(line);
        }
    }
    out
}

/// A line of a module in `folder`, with what it imports by name.
fn flat_line(line: &str, folder: &str, sources: &BTreeMap<String, String>) -> Result<String, String> {
    let mark = if line.starts_with("import ") { " from \"" } else { "await import(\"" };
    let Some((before, rest)) = line.split_once(mark) else { return Ok(line.to_owned()) };
    let Some((target, after)) = rest.split_once('"') else { return Ok(line.to_owned()) };
    let mut at: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(at.pop()),
            part => at.push(part),
        }
    }
    let path = at.join("/");
    if path.starts_with("vendor/") {
        return Ok(format!("{before}{mark}./{path}\"{after}"));
    }
    if !target.starts_with('.') || !sources.contains_key(&path) {
        return Err(format!("it imports {target}, and there is no {path}"));
    }
    Ok(format!("{before}{mark}./{}\"{after}", at.last().copied().unwrap_or_default()))
}

/// A module as it was read.
struct Module<'a> {
    imports: Vec<Import<'a>>,
    exports: Vec<&'a str>,
    /// Modules that it loads later.
    later: Vec<&'a str>,
    /// What is left of it: neither imports nor the word `export`.
    body: String,
}

/// `import WHAT from "./NAME";`
struct Import<'a> {
    what: What<'a>,
    from: &'a str,
}

enum What<'a> {
    /// `{ a, b as c }`: pairs of names there and here.
    Names(Vec<(&'a str, &'a str)>),
    /// `* as name`, of a file that is not ours.
    All(&'a str),
}

/// The files for the browser, by name: one for each page, `core.js`, and one for each module that is loaded later. `sources`
/// has the modules by name; pages are those that begin with `page_`.
///
/// # Errors
/// In words, if a module has a form that cannot be joined, imports what does not exist, or imports itself in a circle.
pub(crate) fn bundle(sources: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    let mut modules = BTreeMap::new();
    for (name, text) in sources {
        let module = read(text).map_err(|why| format!("{name}: {why}"))?;
        modules.insert(name.as_str(), module);
    }
    let pages: Vec<&str> = modules.keys().copied().filter(|name| name.starts_with("page_")).collect();
    let later: BTreeSet<&str> = modules.values().flat_map(|module| module.later.iter().copied()).collect();
    let of_pages = orders(&modules, pages)?;
    let of_later = orders(&modules, later.iter().copied())?;
    let uses = |name: &str| of_pages.values().filter(|order| order.contains(&name)).count();
    let reach: Vec<Vec<&[&str]>> = of_pages.values().map(|order| reachable(&modules, order, &of_later)).collect();
    let in_core = |name: &str| {
        let is_twice = |files: &Vec<&[&str]>| files.iter().filter(|order| order.contains(&name)).count() > 1;
        uses(name) >= MANY || reach.iter().any(is_twice)
    };
    let mut core: Vec<&str> = Vec::new();
    for name in of_pages.values().chain(of_later.values()).flatten() {
        if in_core(name) && !core.contains(name) {
            core.push(name);
        }
    }
    let mut files = BTreeMap::new();
    files.insert(CORE.to_owned(), file(&modules, &core, &[], Exports::Modules));
    for (entry, order) in of_pages.iter().chain(&of_later) {
        let own: Vec<&str> = order.iter().copied().filter(|name| !in_core(name)).collect();
        let shared: Vec<&str> = order.iter().copied().filter(|name| in_core(name)).collect();
        let exports = if later.contains(entry) { Exports::Of(entry) } else { Exports::Nothing };
        files.insert((*entry).to_owned(), file(&modules, &own, &shared, exports));
    }
    Ok(files)
}

/// All that `entry` needs and can load later, as one classic script for a page that no server stands behind. It is without the modules
/// in `without`, and without those that need files that are not ours: where they are loaded later, they are not there.
///
/// # Errors
/// As [`bundle`].
pub(crate) fn whole(sources: &BTreeMap<String, String>, entry: &str, without: &[&str]) -> Result<String, String> {
    let mut modules = BTreeMap::new();
    for (name, text) in sources {
        let module = read(text).map_err(|why| format!("{name}: {why}"))?;
        modules.insert(name.as_str(), module);
    }
    let of_entry = order(&modules, entry)?;
    let later: BTreeSet<&str> = modules.values().flat_map(|module| module.later.iter().copied()).collect();
    let needs_others = |name: &&str| {
        let all = |import: &Import<'_>| matches!(import.what, What::All(_));
        modules.get(name).is_some_and(|module| module.imports.iter().any(all))
    };
    let mut of_later = orders(&modules, later)?;
    of_later.retain(|name, order| !without.contains(name) && !order.iter().any(&needs_others));
    let mut own: Vec<&str> = Vec::new();
    // What is loaded later is there before the entry, which is last.
    let files = reachable(&modules, &of_entry, &of_later);
    for name in files.iter().skip(1).chain(files.first()).copied().flatten() {
        if !own.contains(name) {
            own.push(name);
        }
    }
    let mut out = "\"use strict\";\n(() => {\n".to_owned();
    for (name, module) in own.iter().filter_map(|name| Some((*name, modules.get(name)?))) {
        let mut text = String::new();
        scope(&mut text, name, module);
        for later in &module.later {
            let there = if own.contains(later) { variable(later) } else { NOT_THERE.to_owned() };
            text = text.replace(&format!("import(\"./{later}\")"), &there);
        }
        out.push_str(&text);
    }
    Ok(out + "})();\n")
}

/// In the place of a module that a classic script does not have.
const NOT_THERE: &str = "Promise.reject(new Error(\"A file does not have this part\"))";

/// What a page can have: its own modules, and those of each entry that it, or what it loads, can load later.
fn reachable<'a>(
    modules: &BTreeMap<&'a str, Module<'a>>,
    page: &'a [&'a str],
    of_later: &'a BTreeMap<&'a str, Vec<&'a str>>,
) -> Vec<&'a [&'a str]> {
    let (mut files, mut found, mut next) = (vec![page], BTreeSet::new(), 0);
    while let Some(order) = files.get(next).copied() {
        next += 1;
        let later = order.iter().filter_map(|name| modules.get(name)).flat_map(|module| &module.later);
        for entry in later {
            if let Some(order) = of_later.get(entry).filter(|_| found.insert(*entry)) {
                files.push(order);
            }
        }
    }
    files
}

/// [`order`] of each entry.
fn orders<'a>(
    modules: &BTreeMap<&'a str, Module<'a>>,
    entries: impl IntoIterator<Item = &'a str>,
) -> Result<BTreeMap<&'a str, Vec<&'a str>>, String> {
    entries.into_iter().map(|entry| order(modules, entry).map(|order| (entry, order))).collect()
}

/// The modules that `entry` needs, itself last: in the order in which they are evaluated.
fn order<'a>(modules: &BTreeMap<&'a str, Module<'a>>, entry: &'a str) -> Result<Vec<&'a str>, String> {
    let (mut done, mut open) = (Vec::new(), Vec::new());
    visit(modules, entry, &mut done, &mut open)?;
    Ok(done)
}

fn visit<'a>(
    modules: &BTreeMap<&'a str, Module<'a>>,
    name: &'a str,
    done: &mut Vec<&'a str>,
    open: &mut Vec<&'a str>,
) -> Result<(), String> {
    if done.contains(&name) {
        return Ok(());
    }
    if open.contains(&name) {
        return Err(format!("modules import each other in a circle: {} {name}", open.join(" ")));
    }
    let module = modules.get(name).ok_or_else(|| format!("{} imports {name}, which does not exist", open.join(" ")))?;
    open.push(name);
    for import in &module.imports {
        match &import.what {
            What::Names(names) => {
                visit(modules, import.from, done, open)?;
                let known = modules.get(import.from).map(|from| from.exports.as_slice()).unwrap_or_default();
                if let Some((missing, _here)) = names.iter().find(|(there, _here)| !known.contains(there)) {
                    return Err(format!("{name} imports {missing} of {}, which does not export it", import.from));
                }
            }
            What::All(_) if modules.contains_key(import.from) => {
                return Err(format!("{name} imports all of {}: name what it needs", import.from));
            }
            What::All(_) => {}
        }
    }
    open.pop();
    done.push(name);
    Ok(())
}

/// One file: `own` modules, with what they need of those in `core.js`.
fn file(modules: &BTreeMap<&str, Module<'_>>, own: &[&str], core: &[&str], exports: Exports<'_>) -> String {
    let mut out = String::new();
    let own: Vec<(&str, &Module<'_>)> = own.iter().filter_map(|name| Some((*name, modules.get(name)?))).collect();
    for (_name, module) in &own {
        for import in &module.imports {
            if let What::All(here) = import.what {
                out.push_str(&format!("import * as {here} from \"./{}\";\n", import.from));
            }
        }
    }
    let entry = if let Exports::Of(entry) = exports { Some(entry) } else { None };
    let needed: BTreeSet<&str> = own
        .iter()
        .flat_map(|(_name, module)| module.imports.iter().map(|import| import.from))
        .chain(entry)
        .filter(|from| core.contains(from))
        .collect();
    if !needed.is_empty() {
        let names: Vec<String> = needed.into_iter().map(variable).collect();
        out.push_str(&format!("import {{ {} }} from \"./{CORE}\";\n", names.join(", ")));
    }
    for (name, module) in &own {
        scope(&mut out, name, module);
    }
    match exports {
        Exports::Of(entry) => {
            let names = modules.get(entry).map_or_else(String::new, |module| module.exports.join(", "));
            out.push_str(&format!("export const {{ {names} }} = {};\n", variable(entry)));
        }
        Exports::Modules if !own.is_empty() => {
            let names: Vec<String> = own.iter().map(|(name, _module)| variable(name)).collect();
            out.push_str(&format!("export {{ {} }};\n", names.join(", ")));
        }
        Exports::Modules | Exports::Nothing => {}
    }
    out
}

/// What a file exports.
#[derive(Clone, Copy)]
enum Exports<'a> {
    /// Nothing: a page.
    Nothing,
    /// What this module exports, which is loaded later: the last one of the file, or one that a page has too and so is in `core.js`.
    Of(&'a str),
    /// All its modules.
    Modules,
}

/// A module as a function that is called once.
fn scope(out: &mut String, name: &str, module: &Module<'_>) {
    out.push_str(&format!("// {name}\nconst {} = (() => {{\n", variable(name)));
    for Import { what, from } in &module.imports {
        if let What::Names(names) = what {
            let pair = |(there, here): &(&str, &str)| {
                if there == here { (*there).to_owned() } else { format!("{there}: {here}") }
            };
            let names: Vec<String> = names.iter().map(pair).collect();
            out.push_str(&format!("const {{ {} }} = {};\n", names.join(", "), variable(from)));
        }
    }
    out.push_str(&module.body);
    out.push_str(&format!("return {{ {} }};\n}})();\n", module.exports.join(", ")));
}

/// What holds the exports of a module: no module has a name with `$`.
fn variable(name: &str) -> String {
    format!("${}", name.trim_end_matches(".js"))
}

/// A module without comments, taken apart.
fn read(text: &str) -> Result<Module<'_>, String> {
    let mut module = Module { imports: Vec::new(), exports: Vec::new(), later: Vec::new(), body: String::new() };
    let mut body = String::with_capacity(text.len());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("import ") {
            module.imports.push(import(rest).ok_or_else(|| format!("this import is not known: {line}"))?);
            continue;
        }
        let plain = match line.strip_prefix("export ") {
            Some(rest) => {
                module.exports.push(exported(rest).ok_or_else(|| format!("this export is not known: {line}"))?);
                rest
            }
            None => line,
        };
        // Bodies of functions are indented: this one would make the others wait.
        let waits =
            plain.starts_with(|c: char| c.is_alphabetic()) && plain.contains("await ") && !plain.contains("async ");
        if waits {
            return Err(format!("a module that waits cannot be joined with others: {line}"));
        }
        body.push_str(plain);
        body.push('\n');
    }
    module.later =
        text.split("await import(\"./").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()).collect();
    module.body = super::shrink::shrink(&body)?;
    if module.body.matches("import(").count() != module.later.len() {
        return Err("it loads a module in another way than `await import(\"./NAME\")`".to_owned());
    }
    Ok(module)
}

/// `{ a, b as c } from "./NAME";` or `* as a from "./NAME";`
fn import(rest: &str) -> Option<Import<'_>> {
    let (what, from) = rest.strip_suffix("\";")?.split_once(" from \"./")?;
    if let Some(name) = what.strip_prefix("* as ") {
        return Some(Import { what: What::All(name), from });
    }
    let names = what.strip_prefix("{ ")?.strip_suffix(" }")?.split(", ");
    let names = names.map(|name| name.split_once(" as ").unwrap_or((name, name))).collect();
    Some(Import { what: What::Names(names), from })
}

/// The name in what follows `export`: of a function, class or constant.
fn exported(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    let name = ["function ", "class ", "const "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')?;
    Some(&name[..end]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn sources(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_page_has_its_modules_in_the_order_of_evaluation() {
        let files = bundle(&sources(&[
            ("a.js", "// A.\nexport const a = 1;\n"),
            ("b.js", "import { a as one } from \"./a.js\";\nexport function b() { return one; }\n"),
            ("page_x.js", "import { a } from \"./a.js\";\nimport { b } from \"./b.js\";\n\nb(a);\n"),
        ]))
        .unwrap();
        assert_eq!(
            files["page_x.js"],
            "// a.js\nconst $a = (() => {\nconst a = 1;\nreturn { a };\n})();\n\
             // b.js\nconst $b = (() => {\nconst { a: one } = $a;\nfunction b() { return one; }\nreturn { b };\n})();\n\
             // page_x.js\nconst $page_x = (() => {\nconst { a } = $a;\nconst { b } = $b;\nb(a);\nreturn {  };\n})();\n"
        );
    }

    #[test]
    fn modules_in_folders_are_known_by_their_names() {
        let rooms = [
            ("lib/a.js", "export const a = 1;\n"),
            (
                "view/one/b.js",
                "import { a } from \"../../lib/a.js\";\nimport * as lib from \"../../vendor/lib.js\";\nconst x = \"../lib/a.js\";\n",
            ),
            ("new/c.js", "async function f() {\n  const { b } = await import(\"../view/one/b.js\");\n}\n"),
        ];
        let flat = flatten(&sources(&rooms)).unwrap();
        assert_eq!(
            flat["b.js"],
            "import { a } from \"./a.js\";\nimport * as lib from \"./vendor/lib.js\";\nconst x = \"../lib/a.js\";\n"
        );
        assert!(flat["c.js"].contains("await import(\"./b.js\")"));
        assert_eq!(
            imports_on_one_line("import {\n  a,\n  b as c,\n} from \"./a.js\";\nf({\n});\n"),
            "import { a, b as c } from \"./a.js\";\nf({\n});\n"
        );
        for (path, text, why) in [
            ("view/a.js", "", "another module with this name"),
            ("page/d.js", "import { a } from \"./a.js\";\n", "there is no page/a.js"),
            ("page/d.js", "import { a } from \"lib/a.js\";\n", "it imports lib/a.js"),
        ] {
            let all: Vec<_> = rooms.into_iter().chain([(path, text)]).collect();
            let refused = flatten(&sources(&all)).unwrap_err();
            assert!(refused.contains(why), "{path}: {refused}");
        }
    }

    #[test]
    fn what_is_loaded_later_shares_what_a_page_has_already() {
        let files = bundle(&sources(&[
            ("state.js", "export const state = new Map();\n"),
            (
                "late.js",
                "import * as lib from \"./vendor/lib.js\";\nimport { state } from \"./state.js\";\nexport class Late {}\n",
            ),
            ("page_x.js", "import { state } from \"./state.js\";\nconst { Late } = await import(\"./late.js\");\n"),
        ]));
        assert!(files.unwrap_err().contains("page_x.js"), "await at the top would make the others wait");
        let files = bundle(&sources(&[
            ("state.js", "export const state = new Map();\n"),
            ("late.js", "import * as lib from \"./vendor/lib.js\";\nimport { state } from \"./state.js\";\nexport class Late {}\n"),
            ("page_x.js", "import { state } from \"./state.js\";\nasync function f() {\n  const { Late } = await import(\"./late.js\");\n}\n"),
        ]))
        .unwrap();
        assert!(files[CORE].contains("const $state") && files[CORE].ends_with("export { $state };\n"));
        assert!(files["page_x.js"].starts_with("import { $state } from \"./core.js\";\n"));
        let late = &files["late.js"];
        assert!(late.starts_with("import * as lib from \"./vendor/lib.js\";\nimport { $state } from \"./core.js\";\n"));
        assert!(late.ends_with("export const { Late } = $late;\n") && !late.contains("new Map"), "{late}");
        // What one page loads later and another one at once is of both: no page has both.
        let page_x = "async function f() {\n  const { line } = await import(\"./line.js\");\n}\n";
        let page_y = "import { line } from \"./line.js\";\nline.clear();\n";
        let line = ("line.js", "export const line = new Map();\n");
        let files = bundle(&sources(&[line, ("page_x.js", page_x), ("page_y.js", page_y)])).unwrap();
        assert!(files["line.js"].ends_with("export const { line } = $line;\n") && files["line.js"].contains("new Map"));
        assert!(files["page_y.js"].contains("new Map") && !files[CORE].contains("new Map"), "{}", files[CORE]);
        // What a page has at once and can load later is evaluated in one place, also where another module loads it.
        let both = format!("{page_y}async function g() {{\n  const {{ more }} = await import(\"./more.js\");\n}}\n");
        let more = (
            "more.js",
            "export const more = 1;\nasync function f() {\n  const { line } = await import(\"./line.js\");\n}\n",
        );
        let files = bundle(&sources(&[line, more, ("page_y.js", &both)])).unwrap();
        assert_eq!(files["line.js"], "import { $line } from \"./core.js\";\nexport const { line } = $line;\n");
        assert!(files["page_y.js"].starts_with("import { $line } from \"./core.js\";\n"), "{}", files["page_y.js"]);
    }

    #[test]
    fn a_classic_script_has_all_modules_but_some() {
        let all = sources(&[
            ("a.js", "export const a = 1;\n"),
            ("late.js", "import { a } from \"./a.js\";\nexport const b = a;\n"),
            ("editor.js", "import * as lib from \"./vendor/lib.js\";\nexport const c = lib;\n"),
            ("share.js", "export const d = 1;\n"),
            (
                "entry.js",
                "import { a } from \"./a.js\";\nasync function f() {\n  await import(\"./late.js\");\n  await import(\"./editor.js\");\n  await import(\"./share.js\");\n}\nf(a);\n",
            ),
        ]);
        let script = whole(&all, "entry.js", &["share.js"]).unwrap();
        assert_eq!(
            script,
            format!(
                "\"use strict\";\n(() => {{\n// a.js\nconst $a = (() => {{\nconst a = 1;\nreturn {{ a }};\n}})();\n\
                 // late.js\nconst $late = (() => {{\nconst {{ a }} = $a;\nconst b = a;\nreturn {{ b }};\n}})();\n\
                 // entry.js\nconst $entry = (() => {{\nconst {{ a }} = $a;\nasync function f() {{\nawait $late;\nawait {NOT_THERE};\nawait {NOT_THERE};\n}}\nf(a);\nreturn {{  }};\n}})();\n}})();\n"
            )
        );
    }

    #[test]
    fn what_cannot_be_joined_is_refused() {
        for (text, why) in [
            ("import x from \"./a.js\";\n", "import is not known"),
            ("import { x } from './a.js';\n", "import is not known"),
            ("export let x = 1;\n", "export is not known"),
            ("export default 1;\n", "export is not known"),
            ("export { x };\n", "export is not known"),
            ("import { y } from \"./a.js\";\n", "does not export it"),
            ("import { y } from \"./b.js\";\n", "does not exist"),
            ("import { y } from \"./page_x.js\";\n", "in a circle"),
            ("import * as a from \"./a.js\";\n", "name what it needs"),
            ("f(import(`./${x}`));\n", "another way"),
        ] {
            let all = sources(&[("a.js", "export const x = 1;\n"), ("page_x.js", text)]);
            let refused = bundle(&all).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
