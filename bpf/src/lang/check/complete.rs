//! What the editor offers at a place of a script. The script is not finished there, so this looks at its letters, and has the
//! checker look only at a repaired beginning of it when types are needed.

use std::collections::BTreeSet;

use bathyscope_catalog::types::TypeKind;
use bathyscope_plan::Span;

use super::{
    checker::Watch,
    hover::{expanded_of, type_at},
    points::{HARDWARE_EVENTS, ITERATORS, SOFTWARE_EVENTS},
    reference::{ReferenceGroup, reference},
};
use crate::lang::{PROVIDERS, host::Host};

/// The most that is offered at once.
const MAX_OFFERED: usize = 200;
/// After how many letters names of constants and types are offered: there are tens of thousands.
const MIN_PREFIX: usize = 2;

/// What kind of thing is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompletionKind {
    /// A kind of attach point: `tracepoint`.
    Provider,
    /// An attach point or a part of one: `sched:`, `sched_switch`.
    Probe,
    /// A member of `args`, a struct or a tuple.
    Field,
    /// A function.
    Function,
    /// A value of the moment: `pid`.
    Value,
    /// A map of the script.
    Map,
    /// A variable of the script.
    Variable,
    /// A setting of the `config` block.
    Setting,
    /// A type.
    Type,
    /// A constant.
    Constant,
    /// A word of the language.
    Keyword,
}

/// One thing that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What is shown.
    pub label: String,
    /// What it is.
    pub kind: CompletionKind,
    /// Its type or signature, or what it does; may be empty.
    pub detail: String,
    /// What is put in.
    pub insert: String,
    /// In place of what, in bytes of the script.
    pub replace: Span,
}

const KEYWORDS: [&str; 13] = [
    "if", "else", "for", "while", "unroll", "let", "return", "break", "continue", "struct", "union", "enum", "comptime",
];

const SETTINGS: [(&str, &str); 14] = [
    ("cpp_demangle", "true: show C++ names as written"),
    ("lazy_symbolication", "true: look names up when they are shown"),
    ("license", "\"GPL\": the licence of the programs"),
    ("max_bpf_progs", "1024: programs at most"),
    ("max_cat_bytes", "10240: bytes that cat() shows"),
    ("max_map_keys", "4096: elements of a map"),
    ("max_probes", "1024: attach points at most"),
    ("max_strlen", "1024: bytes of a text"),
    ("missing_probes", "error, warn or ignore: probes that do not exist"),
    ("on_stack_limit", "32: bytes of a value on the stack"),
    ("perf_rb_pages", "pages of the ring"),
    ("print_maps_on_exit", "true: print maps at the end"),
    ("stack_mode", "bpftrace, perf or raw: how stacks are shown"),
    ("str_trunc_trailer", "\"..\": what follows a text that was cut"),
];

/// What can stand at a place of a script, best first.
pub fn complete(text: &str, offset: u32, host: &dyn Host) -> Vec<Completion> {
    let Some(before) = text.get(..offset as usize) else { return Vec::new() };
    let Some(place) = CursorPlace::of(before) else { return Vec::new() };
    let start = before.len() - place.word.len();
    let replace = Span { start: u32::try_from(start).unwrap_or(offset), end: offset };
    let mut offered = Offered { replace, prefix: place.word.to_owned(), all: Vec::new() };
    match place.kind {
        PlaceKind::Point(point) => offered.points(point, host),
        PlaceKind::Settings => {
            for (name, about) in SETTINGS {
                offered.add(name, CompletionKind::Setting, about, name);
            }
        }
        PlaceKind::Variable => offered.scanned(text, '$', CompletionKind::Variable),
        PlaceKind::Map => offered.scanned(text, '@', CompletionKind::Map),
        PlaceKind::Member { expression, statement } => offered.members(before, expression, statement, host),
        PlaceKind::TypeName(kind) => offered.type_names(kind, host),
        PlaceKind::Word => offered.words(text, host),
    }
    offered.all.truncate(MAX_OFFERED);
    offered.all
}

/// Where in a script the cursor is.
struct CursorPlace<'t> {
    /// What is typed of a name.
    word: &'t str,
    kind: PlaceKind<'t>,
}

enum PlaceKind<'t> {
    /// In an attach point, of which this is typed.
    Point(&'t str),
    Settings,
    Variable,
    Map,
    /// Behind a dot: the expression before it, and where the statement begins that it is in.
    Member {
        expression: Span,
        statement: usize,
    },
    TypeName(TypeKind),
    Word,
}

/// What the letters up to the cursor say.
#[derive(Default)]
struct Scan {
    /// Where open braces are.
    braces: Vec<usize>,
    /// Where the innermost statement or attach point begins.
    statement: usize,
    /// Where the predicate begins, if the cursor is in one.
    predicate: Option<usize>,
    /// Whether the cursor is in a text or comment.
    quiet: bool,
    /// Where a block of settings began, if the cursor is in one.
    settings: bool,
}

fn scan(text: &str) -> Scan {
    let mut scan = Scan::default();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        match (byte, next) {
            (b'"', _) => {
                at += 1;
                while let Some(byte) = bytes.get(at) {
                    match byte {
                        b'\\' => at += 1,
                        b'"' => break,
                        _ => {}
                    }
                    at += 1;
                }
                scan.quiet = at >= bytes.len();
            }
            (b'/', Some(b'/')) => {
                at += bytes.iter().skip(at).position(|b| *b == b'\n').unwrap_or(bytes.len());
                scan.quiet = at >= bytes.len();
            }
            (b'/', Some(b'*')) => {
                let end = text.get(at + 2..).and_then(|rest| rest.find("*/"));
                scan.quiet = end.is_none();
                at = end.map_or(bytes.len(), |end| at + end + 3);
            }
            (b'/', _) if scan.braces.is_empty() => {
                // A path of a file is within an attach point, a predicate after it.
                let point = text.get(scan.statement..at).unwrap_or_default();
                let spaced = point.ends_with([' ', '\n', '\t', ',']) && !point.trim().is_empty();
                match scan.predicate {
                    None if spaced => scan.predicate = Some(at),
                    Some(_) if matches!(next, Some(b' ' | b'\n' | b'{') | None) => scan.predicate = None,
                    _ => {}
                }
            }
            (b'{', _) => {
                let head = text.get(scan.statement..at).unwrap_or_default();
                scan.settings = scan.braces.is_empty() && head.trim_start().starts_with("config");
                scan.braces.push(at);
                scan.statement = at + 1;
                scan.predicate = None;
            }
            (b'}', _) => {
                scan.braces.pop();
                scan.statement = at + 1;
                scan.settings = false;
            }
            (b';', _) => scan.statement = at + 1,
            _ => {}
        }
        at += 1;
    }
    scan
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'t> CursorPlace<'t> {
    fn of(before: &'t str) -> Option<Self> {
        let scan = scan(before);
        if scan.quiet {
            return None;
        }
        let length = before.bytes().rev().take_while(|byte| is_word(*byte)).count();
        let (head, word) = before.split_at_checked(before.len() - length)?;
        let in_code = !scan.braces.is_empty() || scan.predicate.is_some();
        if scan.settings {
            return Some(Self { word, kind: PlaceKind::Settings });
        }
        if !in_code {
            let begin = before.get(scan.statement..)?;
            let point = begin.rsplit(',').next().unwrap_or(begin).trim_start();
            let word = point.rsplit(':').next().unwrap_or(point);
            return Some(Self { word, kind: PlaceKind::Point(point) });
        }
        let kind = match head.as_bytes().last() {
            Some(b'$') => PlaceKind::Variable,
            Some(b'@') => PlaceKind::Map,
            Some(b'.') => Self::member(head, 1, &scan)?,
            Some(b'>') if head.ends_with("->") => Self::member(head, 2, &scan)?,
            _ => match head.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric()).next() {
                Some("struct") => PlaceKind::TypeName(TypeKind::Struct),
                Some("union") => PlaceKind::TypeName(TypeKind::Union),
                Some("enum") => PlaceKind::TypeName(TypeKind::Enum),
                _ => PlaceKind::Word,
            },
        };
        Some(Self { word, kind })
    }

    fn member(head: &str, dot: usize, scan: &Scan) -> Option<PlaceKind<'t>> {
        let end = head.len() - dot;
        let start = postfix_start(head.get(..end)?);
        let statement = scan.predicate.unwrap_or(scan.statement);
        let span = Span { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? };
        (start < end && start >= statement).then_some(PlaceKind::Member { expression: span, statement })
    }
}

/// Where the expression begins that ends here: names, calls, indices and members, without operators before it.
fn postfix_start(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = bytes.len();
    loop {
        let last = at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        match last {
            Some(close @ (b')' | b']')) => {
                let open = if close == b')' { b'(' } else { b'[' };
                let mut depth = 0_usize;
                let mut begin = None;
                for (index, byte) in bytes.iter().enumerate().take(at).rev() {
                    if *byte == close {
                        depth += 1;
                    } else if *byte == open {
                        depth -= 1;
                        if depth == 0 {
                            begin = Some(index);
                            break;
                        }
                    }
                }
                let Some(begin) = begin else { return at };
                at = begin;
                // A name before it is that of a function or array; else the parentheses are all.
                let named = at
                    .checked_sub(1)
                    .and_then(|at| bytes.get(at))
                    .is_some_and(|b| is_word(*b) || matches!(b, b')' | b']' | b'@'));
                if !named {
                    return at;
                }
            }
            Some(byte) if is_word(byte) => {
                while at.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(|byte| is_word(*byte)) {
                    at -= 1;
                }
                let sigil = at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
                match sigil {
                    Some(b'$' | b'@') => return at - 1,
                    Some(b'.') => at -= 1,
                    Some(b'>') if bytes.get(at.saturating_sub(2)) == Some(&b'-') => at -= 2,
                    _ => return at,
                }
            }
            Some(b'@') => return at - 1,
            _ => return at,
        }
    }
}

struct Offered {
    replace: Span,
    prefix: String,
    all: Vec<Completion>,
}

impl Offered {
    fn add(&mut self, label: &str, kind: CompletionKind, detail: &str, insert: &str) {
        if self.all.len() < MAX_OFFERED * 4 && label.starts_with(&self.prefix) {
            let (label, detail, insert) = (label.to_owned(), detail.to_owned(), insert.to_owned());
            self.all.push(Completion { label, kind, detail, insert, replace: self.replace });
        }
    }

    fn points(&mut self, point: &str, host: &dyn Host) {
        let Some((provider, rest)) = point.split_once(':') else {
            for provider in PROVIDERS {
                self.add(provider.name, CompletionKind::Provider, provider.form, provider.name);
            }
            for (word, about) in
                [("config", "config = { … }"), ("macro", "macro name(…) { … }"), ("let", "let @map = hash(1000);")]
            {
                self.add(word, CompletionKind::Keyword, about, word);
            }
            return;
        };
        let provider = crate::lang::provider(provider).map_or(provider, |it| it.name);
        let kind = CompletionKind::Probe;
        match provider {
            "tracepoint" => match rest.split_once(':') {
                None => {
                    let systems: BTreeSet<&str> = host
                        .tracepoints()
                        .iter()
                        .filter_map(|it| it.split_once(':'))
                        .map(|(system, _)| system)
                        .collect();
                    for system in systems {
                        self.add(system, kind, "", &format!("{system}:"));
                    }
                }
                Some((system, _)) => {
                    for (of, event) in host.tracepoints().iter().filter_map(|it| it.split_once(':')) {
                        if of == system {
                            self.add(event, kind, "", event);
                        }
                    }
                }
            },
            "rawtracepoint" => {
                for name in host.raw_tracepoints() {
                    self.add(name, kind, "", name);
                }
            }
            "kprobe" | "kretprobe" | "fentry" | "fexit" => {
                let all = host.functions();
                let first = all.partition_point(|it| it.name.as_str() < self.prefix.as_str());
                let prefix = self.prefix.clone();
                for function in all.iter().skip(first).take_while(|it| it.name.starts_with(&prefix)).take(MAX_OFFERED) {
                    self.add(&function.name, kind, &function.module, &function.name);
                }
            }
            "software" => SOFTWARE_EVENTS.iter().for_each(|it| self.add(it.name, kind, "", it.name)),
            "hardware" => HARDWARE_EVENTS.iter().for_each(|it| self.add(it.name, kind, "", it.name)),
            "iter" => ITERATORS.iter().for_each(|it| self.add(it, kind, "", it)),
            "profile" | "interval" => {
                for unit in ["hz:99", "s:1", "ms:100", "us:1000"] {
                    self.add(unit, kind, "", unit);
                }
            }
            "self" => self.add("signal:SIGUSR1", kind, "", "signal:SIGUSR1"),
            _ => {}
        }
    }

    /// Names that the script has with a sigil.
    fn scanned(&mut self, text: &str, sigil: char, kind: CompletionKind) {
        let mut names = BTreeSet::new();
        for (at, _) in text.match_indices(sigil) {
            let rest = text.get(at + 1..).unwrap_or_default();
            let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
            let name = rest.get(..length).unwrap_or_default();
            // What is being typed is no name yet.
            let here = at + 1 == self.replace.start as usize;
            if !name.is_empty() && !here && !name.starts_with(|c: char| c.is_ascii_digit()) {
                names.insert(name);
            }
        }
        for name in names {
            self.add(name, kind, "", name);
        }
    }

    fn members(&mut self, before: &str, expression: Span, statement: usize, host: &dyn Host) {
        let (Some(head), Some(text)) =
            (before.get(..statement), before.get(expression.start as usize..expression.end as usize))
        else {
            return;
        };
        // The script up to this statement, then only the expression.
        let open = scan(head).braces.len();
        let (opening, open) = if open == 0 { ("{ _ = ", 1) } else { (" _ = ", open) };
        let repaired = format!("{head}{opening}{text};{}", "}".repeat(open));
        let start = u32::try_from(head.len() + opening.len()).unwrap_or(u32::MAX);
        let length = expression.end - expression.start;
        let at = Span { start, end: start.saturating_add(length) };
        let Some(expanded) = expanded_of(&repaired) else { return };
        let Some(known) = type_at(&expanded, &repaired, Watch::Exactly(at), host) else { return };
        for (name, ty) in known.members {
            self.add(&name, CompletionKind::Field, &ty, &name);
        }
    }

    fn type_names(&mut self, kind: TypeKind, host: &dyn Host) {
        if self.prefix.len() < MIN_PREFIX {
            return;
        }
        for name in host.types().complete(kind, &self.prefix, MAX_OFFERED).names {
            self.add(name, CompletionKind::Type, "", name);
        }
    }

    fn words(&mut self, text: &str, host: &dyn Host) {
        for it in reference() {
            let value = it.group == ReferenceGroup::Value;
            let kind = if value { CompletionKind::Value } else { CompletionKind::Function };
            let detail = format!("{} — {}", it.signature, it.about);
            let insert = if value { it.name.to_owned() } else { format!("{}(", it.name) };
            self.add(it.name, kind, &detail, &insert);
        }
        for word in KEYWORDS {
            self.add(word, CompletionKind::Keyword, "", word);
        }
        for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "string", "bool"] {
            self.add(name, CompletionKind::Type, "", name);
        }
        for (at, _) in text.match_indices("macro ") {
            let rest = text.get(at + 6..).unwrap_or_default();
            let name = rest.get(..rest.bytes().take_while(|byte| is_word(*byte)).count()).unwrap_or_default();
            if !name.is_empty() {
                self.add(name, CompletionKind::Function, "a macro of the script", &format!("{name}("));
            }
        }
        if self.prefix.len() >= MIN_PREFIX {
            let architecture = super::calls::arch(host.features().architecture);
            for constant in bathyscope_catalog::constants::constants(architecture) {
                self.add(constant.name, CompletionKind::Constant, &constant.value.to_string(), constant.name);
            }
            for name in host.types().complete_constants(&self.prefix, MAX_OFFERED).names {
                self.add(name, CompletionKind::Constant, "", name);
            }
        }
    }
}
