//! Functions: by name, pattern, offset, address, or demangled name.

use bathyscope_catalog::elf::{ElfFile, Functions, ReadAt as _, Symbol, demangle, demangle_without_parameters};
use bathyscope_plan::{UserPlace, UserPlaces};

use super::{
    file::{Files, OpenFile, Suggestions},
    is_pattern, pattern,
    program::{ProgramFile, ReadProgram},
};
use crate::ScriptAgent;

/// How a function is named.
enum FunctionName<'a> {
    /// `name`, with bytes after its begin.
    Name { name: &'a str, offset: u64 },
    /// `cpp:name`: as it is written in C++ or Rust.
    Demangled(&'a str),
    /// An address in the file's own numbering.
    Address(u64),
}

/// Finds the functions of a file.
pub(super) fn search<A: ScriptAgent>(
    files: &mut Files<'_, A>,
    file: &str,
    rest: &[&str],
    at_return: bool,
    found: &mut UserPlaces,
) -> Result<(), String> {
    let joined = rest.join(":");
    let wanted = wanted(rest, &joined)?;
    // Of many files not every one needs to have it.
    let (is_one_of_many, mut missing) = (is_pattern(file), None);
    let named = match (files.named(file), &wanted) {
        (Err(trouble), FunctionName::Address(address)) if !is_one_of_many => {
            found.places.push(flat(files, file, *address).map_err(|other| other.unwrap_or(trouble))?);
            return Ok(());
        }
        (named, _) => named?,
    };
    for file in named {
        let program = ProgramFile::of(files, file)?;
        let ReadProgram { elf, debug, functions } = program.read()?;
        if at_return && elf.is_go() {
            return Err(format!(
                "{} was made by the Go compiler: a return probe would break it, because its stacks move; use uprobe",
                program.path
            ));
        }
        let stripped = debug.is_none() && elf.is_stripped();
        let (suggestions, unsafe_allowed) = (&files.suggestions, files.unsafe_allowed);
        let before = found.places.len();
        let search =
            Searched { elf: &elf, file: &program.file, functions: &functions, stripped, unsafe_allowed, suggestions };
        match search.add(&wanted, found) {
            Ok(()) => {
                if let Some(asked) = files.asked.as_ref().filter(|_| !at_return) {
                    super::variables::add(asked, &elf, debug.as_ref(), before, found);
                }
                files.add_symbols(&elf, &program.file, found)?;
            }
            Err(trouble) if is_one_of_many => missing = Some(trouble),
            Err(trouble) => return Err(trouble),
        }
    }
    match missing {
        Some(trouble) if found.places.is_empty() => Err(trouble),
        _ => Ok(()),
    }
}

/// A place in a file that has code and no head which tells where: its address is the place in the file. If it is no such file,
/// there is nothing to be said about it.
fn flat<A: ScriptAgent>(files: &Files<'_, A>, name: &str, address: u64) -> Result<UserPlace, Option<String>> {
    let file = files.other(name).map_err(|_none| None)?;
    let path = &file.about.path;
    if address >= file.length() {
        return Err(Some(format!("{path} has {} bytes; {address:#x} is behind its end", file.length())));
    }
    if !files.unsafe_allowed {
        return Err(Some(format!(
            "{path} is no program of which is known where instructions begin, and a probe within one breaks whatever runs \
             it; --unsafe probes it all the same"
        )));
    }
    let (symbol, provider, arguments) = (format!("{address:#x}"), String::new(), Vec::new());
    Ok(UserPlace { file: file.about, offset: address, address, symbol, provider, semaphore: 0, arguments })
}

fn wanted<'a>(rest: &[&'a str], joined: &'a str) -> Result<FunctionName<'a>, String> {
    if let ["cpp", _, ..] = rest {
        return Ok(FunctionName::Demangled(joined.strip_prefix("cpp:").unwrap_or(joined)));
    }
    if let Some(address) = number(joined) {
        return Ok(FunctionName::Address(address));
    }
    match joined.rsplit_once('+') {
        // `operator+` ends in it.
        Some((name, offset)) if !name.is_empty() && offset.starts_with(|c: char| c.is_ascii_digit()) => {
            let offset = number(offset).ok_or_else(|| format!("`{offset}` is no number of bytes"))?;
            Ok(FunctionName::Name { name, offset })
        }
        _ => Ok(FunctionName::Name { name: joined, offset: 0 }),
    }
}

/// A number of bytes or an address, in decimal or hexadecimal digits.
pub(super) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A file that is searched.
struct Searched<'a> {
    elf: &'a ElfFile<'a>,
    file: &'a OpenFile,
    functions: &'a Functions,
    /// Whether its symbols are nowhere.
    stripped: bool,
    /// Whether functions may be probed of which nobody knows where they end.
    unsafe_allowed: bool,
    suggestions: &'a Suggestions,
}

impl Searched<'_> {
    fn add(&self, wanted: &FunctionName<'_>, found: &mut UserPlaces) -> Result<(), String> {
        let (elf, file, functions, path) = (self.elf, self.file, self.functions, &self.file.about.path);
        match wanted {
            FunctionName::Address(address) => {
                let offset = elf.offset_of(*address).filter(|offset| elf.is_code(*offset));
                let offset = offset.ok_or_else(|| format!("the address {address:#x} is in no code of {path}"))?;
                let symbol = functions.at(offset).map_or_else(
                    || format!("{address:#x}"),
                    |symbol| format!("{}+{}", symbol.name, offset.saturating_sub(symbol.offset)),
                );
                found.places.push(place(elf, file, offset, symbol));
            }
            FunctionName::Name { name, offset } if *offset > 0 => {
                let symbol = functions.named(name).into_iter().next();
                let symbol = symbol.ok_or_else(|| self.no_function(name))?;
                if symbol.bytes == 0 && !self.unsafe_allowed {
                    return Err(self.without_size(name));
                }
                if symbol.bytes > 0 && *offset >= symbol.bytes {
                    return Err(format!("`{name}` in {path} has {} bytes; {offset} is behind its end", symbol.bytes));
                }
                found.places.push(place(elf, file, symbol.offset.saturating_add(*offset), format!("{name}+{offset}")));
            }
            FunctionName::Name { name, .. } => {
                let chosen = by_name(functions, name);
                if chosen.is_empty() {
                    return Err(self.no_function(name));
                }
                entries(elf, file, &self.with_size(chosen, found)?, found);
            }
            FunctionName::Demangled(name) => {
                let chosen = demangled(functions, name);
                if chosen.is_empty() {
                    return Err(format!("there is no function `{name}` in the source of {path}"));
                }
                entries(elf, file, &self.with_size(chosen, found)?, found);
            }
        }
        Ok(())
    }

    /// Those functions of which is known where they end. That some are left out is told.
    fn with_size<'s>(&self, mut chosen: Vec<Symbol<'s>>, found: &mut UserPlaces) -> Result<Vec<Symbol<'s>>, String> {
        let Some(without) = chosen.iter().find(|symbol| symbol.bytes == 0).map(|symbol| symbol.name) else {
            return Ok(chosen);
        };
        if self.unsafe_allowed {
            return Ok(chosen);
        }
        let all = chosen.len();
        chosen.retain(|symbol| symbol.bytes > 0);
        if chosen.is_empty() {
            return Err(self.without_size(without));
        }
        found.warnings.push(format!(
            "{} of {all} functions of {}, such as `{without}`, have no size in its symbol table and are left out; --unsafe \
             probes them",
            all - chosen.len(),
            self.file.about.path
        ));
        Ok(chosen)
    }

    fn without_size(&self, name: &str) -> String {
        format!(
            "`{name}` in {} has no size in its symbol table, so nobody knows whether it is code to its end; --unsafe probes \
             it all the same",
            self.file.about.path
        )
    }

    fn no_function(&self, name: &str) -> String {
        let path = &self.file.about.path;
        if self.functions.is_empty() {
            return format!(
                "{path} has no table of functions (it was stripped), and there is no debug file for it; install its \
                 debug symbols, or name an address"
            );
        }
        let is = if is_pattern(name) { "no function matches" } else { "no function" };
        match self.suggestions.near(name, || self.functions.iter().map(|symbol| symbol.name)) {
            Some(near) => format!("{is} `{name}` in {path}; did you mean `{near}`?"),
            None if self.stripped => {
                format!("{is} `{name}` in {path}, which was stripped and has no debug file; install its debug symbols")
            }
            None => format!("{is} `{name}` in {path}"),
        }
    }
}

/// Functions by the name that linkers know, else by the one in the source.
fn by_name<'a>(functions: &'a Functions, name: &str) -> Vec<Symbol<'a>> {
    if is_pattern(name) {
        let wanted = pattern(name);
        return functions.iter().filter(|symbol| wanted.matches(symbol.name)).collect();
    }
    let exact = functions.named(name);
    if exact.is_empty() && name.contains("::") { demangled(functions, name) } else { exact }
}

fn demangled<'a>(functions: &'a Functions, name: &str) -> Vec<Symbol<'a>> {
    let text = |symbol: &Symbol<'_>| match name.contains('(') {
        true => demangle(symbol.name),
        false => demangle_without_parameters(symbol.name),
    };
    let mangled = functions.iter().filter(|symbol| symbol.name.starts_with('_'));
    let wanted = pattern(name);
    mangled.filter(|symbol| wanted.matches(&text(symbol))).collect()
}

/// Places at the begin of functions, behind a mark for jumps where that is cheaper.
fn entries(elf: &ElfFile<'_>, file: &OpenFile, symbols: &[Symbol<'_>], found: &mut UserPlaces) {
    let mut stepped = Vec::new();
    let mut last = None;
    for symbol in symbols {
        // Several names of one function.
        if last.replace(symbol.offset) == Some(symbol.offset) {
            continue;
        }
        let entry = elf.entry(symbol.offset);
        if entry.stepped() {
            stepped.push(symbol.name);
        }
        found.places.push(place(elf, file, symbol.offset + entry.skip(), symbol.name.to_owned()));
    }
    let path = &file.about.path;
    match stepped.as_slice() {
        [] => {}
        [one] => found.warnings.push(format!(
            "`{one}` in {path} begins with an instruction that the kernel has to step over: each hit costs about 10 µs \
             instead of 1 µs"
        )),
        [first, ..] => found.warnings.push(format!(
            "{} of {} functions of {path}, such as `{first}`, begin with an instruction that the kernel has to step over: \
             each hit costs about 10 µs instead of 1 µs",
            stepped.len(),
            symbols.len()
        )),
    }
}

fn place(elf: &ElfFile<'_>, file: &OpenFile, offset: u64, symbol: String) -> UserPlace {
    UserPlace {
        file: file.about.clone(),
        offset: file.from.saturating_add(offset),
        address: elf.address_of(offset).unwrap_or(offset),
        symbol,
        provider: String::new(),
        semaphore: 0,
        arguments: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_offsets_and_addresses_are_told_apart() {
        let shown = |parts: &[&str]| match wanted(parts, &parts.join(":")) {
            Ok(FunctionName::Name { name, offset }) => format!("{name} {offset}"),
            Ok(FunctionName::Demangled(name)) => format!("demangled {name}"),
            Ok(FunctionName::Address(address)) => format!("at {address}"),
            Err(error) => error,
        };
        let cases: [(&[&str], &str); 7] = [
            (&["malloc"], "malloc 0"),
            (&["malloc+0x10"], "malloc 16"),
            (&["malloc+7"], "malloc 7"),
            (&["0x1000"], "at 4096"),
            (&["cpp", "a", "", "b"], "demangled a::b"),
            (&["operator+"], "operator+ 0"),
            (&["a", "", "b"], "a::b 0"),
        ];
        for (parts, expected) in cases {
            assert_eq!(shown(parts), expected);
        }
    }
}
