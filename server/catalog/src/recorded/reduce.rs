//! Makes a small BTF of a large one: what can be reached from some roots in a few steps.
//!
//! What a pointer to a struct leads to is kept up to a number of such steps; beyond, the struct is only declared. So every
//! member of what is kept has its right place, size and name.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::{
    types::{
        TypeId, TypeKind, Types,
        btf::{Raw, kind},
        types::{BtfType, Source, is_record},
    },
    wildcards::Wildcards,
};

/// What to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// How many pointers are followed from a struct or union that is named here; from a function or typedef, those to
    /// its parameters only.
    pub depth: u8,
    /// Names or patterns with `*`, by kind.
    pub wanted: Vec<(TypeKind, String)>,
}

impl Roots {
    /// Reads a list of lines such as `struct task_struct`, `function vfs_*`, `enum *`, `depth 2`; `#` begins a comment.
    ///
    /// # Errors
    /// The line that is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut roots = Self { depth: 2, wanted: Vec::new() };
        for line in text.lines() {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let kind = match words.first() {
                None => continue,
                Some(&"depth") => {
                    let depth = words.get(1).and_then(|depth| depth.parse().ok());
                    roots.depth = depth.ok_or_else(|| line.to_owned())?;
                    continue;
                }
                Some(&"struct") => TypeKind::Struct,
                Some(&"union") => TypeKind::Union,
                Some(&"enum") => TypeKind::Enum,
                Some(&"typedef") => TypeKind::Typedef,
                Some(&"base") => TypeKind::Base,
                Some(&"function") => TypeKind::Function,
                Some(&"variable") => TypeKind::Variable,
                Some(_) => return Err(line.to_owned()),
            };
            roots.wanted.extend(words.iter().skip(1).map(|name| (kind, (*name).to_owned())));
        }
        Ok(roots)
    }

    fn wants(&self, found: BtfType<'_>) -> bool {
        let kind = match found.raw.kind {
            kind::STRUCT => TypeKind::Struct,
            kind::UNION => TypeKind::Union,
            kind::ENUM | kind::ENUM64 => TypeKind::Enum,
            kind::TYPEDEF => TypeKind::Typedef,
            kind::INT | kind::FLOAT => TypeKind::Base,
            kind::FUNC => TypeKind::Function,
            kind::VAR => TypeKind::Variable,
            _ => return false,
        };
        let name = found.name();
        self.wanted.iter().any(|(wanted, pattern)| *wanted == kind && Wildcards::without_classes(pattern).matches(name))
    }
}

/// A reduced BTF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The module's name; `None` is the kernel.
    pub module: Option<String>,
    /// The bytes, as the kernel would show them.
    pub bytes: Vec<u8>,
}

/// What `roots` lead to, of the kernel first and then of each module that has any of it.
pub fn reduce(types: &Types, roots: &Roots) -> Vec<Reduced> {
    let reached = Reached::from(types, roots);
    let mut writer = ReducedWriter { reached: &reached, numbers: HashMap::new(), strings: Strings::default(), next: 1 };
    // All numbers first: types refer to later ones.
    for source in &types.sources {
        for (id, _) in reached.of(source) {
            writer.numbers.insert(id, writer.next);
            writer.next += 1;
        }
    }
    let kept = types.sources.iter().filter(|source| source.btf.base().is_none() || reached.of(source).next().is_some());
    kept.map(|source| Reduced {
        module: source.btf.module_name().map(str::to_owned),
        bytes: writer.write(types, source),
    })
    .collect()
}

/// What was reached, in order of the numbers.
#[derive(Default)]
struct Reached {
    whole: HashSet<TypeId>,
    declared: HashSet<TypeId>,
    variables: HashSet<TypeId>,
    sections: HashSet<TypeId>,
}

impl Reached {
    fn from(types: &Types, roots: &Roots) -> Self {
        let mut reached = Self::default();
        let mut walk = Walk { best: BTreeMap::new(), queue: VecDeque::new() };
        for source in &types.sources {
            for (index, raw) in source.btf.all() {
                let found = BtfType { source, raw };
                if !roots.wants(found) {
                    continue;
                }
                // A function is a step away from what it is given.
                let cost = if is_record(raw.kind) { 0 } else { roots.depth.saturating_sub(1) };
                walk.go(source.id(index), cost, false);
                if raw.kind == kind::VAR {
                    reached.variables.insert(source.id(index));
                }
            }
        }
        while let Some((id, cost, pointed)) = walk.queue.pop_front() {
            if walk.best.get(&(id, pointed)).is_some_and(|best| *best < cost) {
                continue;
            }
            let Some(found) = types.found(id) else { continue };
            let step = pointed && is_record(found.raw.kind) && found.raw.name != 0;
            let cost = cost + u8::from(step);
            if cost > roots.depth {
                reached.declared.insert(id);
                continue;
            }
            reached.whole.insert(id);
            let keeps = !is_record(found.raw.kind) && found.raw.kind != kind::FUNC_PROTO;
            for to in references(found) {
                walk.go(to, cost, found.raw.kind == kind::PTR || (pointed && keeps));
            }
        }
        for source in &types.sources {
            for (index, raw) in source.btf.all().filter(|(_, raw)| raw.kind == kind::DATASEC) {
                let found = BtfType { source, raw };
                if entries(found, 12).any(|at| reached.variables.contains(&found.reference(at))) {
                    reached.sections.insert(source.id(index));
                }
            }
        }
        reached
    }

    /// What is kept of a file.
    fn of<'a>(&'a self, source: &'a Source) -> impl Iterator<Item = (TypeId, Raw)> {
        let all = source.btf.all().map(|(index, raw)| (source.id(index), raw));
        all.filter(|(id, _)| self.whole.contains(id) || self.declared.contains(id) || self.sections.contains(id))
    }
}

/// A walk that comes to everything on the cheapest way.
struct Walk {
    best: BTreeMap<(TypeId, bool), u8>,
    queue: VecDeque<(TypeId, u8, bool)>,
}

impl Walk {
    fn go(&mut self, id: TypeId, cost: u8, pointed: bool) {
        let best = self.best.entry((id, pointed)).or_insert(u8::MAX);
        if cost < *best {
            *best = cost;
            self.queue.push_back((id, cost, pointed));
        }
    }
}

/// Offsets of the entries behind a type's head.
fn entries(found: BtfType<'_>, bytes: usize) -> impl Iterator<Item = usize> {
    (0..found.raw.entries as usize).map(move |entry| entry * bytes)
}

/// Where behind its head a type refers to others.
fn reference_places(found: BtfType<'_>) -> Vec<usize> {
    match found.raw.kind {
        kind::ARRAY => vec![0, 4],
        kind::STRUCT | kind::UNION => entries(found, 12).map(|at| at + 4).collect(),
        kind::FUNC_PROTO => entries(found, 8).map(|at| at + 4).collect(),
        _ => Vec::new(),
    }
}

/// Where behind its head a type names something.
fn name_places(found: BtfType<'_>) -> Vec<usize> {
    match found.raw.kind {
        kind::STRUCT | kind::UNION | kind::ENUM64 => entries(found, 12).collect(),
        kind::FUNC_PROTO | kind::ENUM => entries(found, 8).collect(),
        _ => Vec::new(),
    }
}

/// Whether a type's head refers to another.
fn has_target(kind: u8) -> bool {
    matches!(
        kind,
        kind::PTR
            | kind::TYPEDEF
            | kind::VOLATILE
            | kind::CONST
            | kind::RESTRICT
            | kind::FUNC
            | kind::FUNC_PROTO
            | kind::VAR
            | kind::TYPE_TAG
    )
}

fn references(found: BtfType<'_>) -> Vec<TypeId> {
    let mut all: Vec<_> = reference_places(found).into_iter().map(|at| found.reference(at)).collect();
    if has_target(found.raw.kind) {
        all.push(found.to());
    }
    all
}

/// A table of strings, each once.
#[derive(Default)]
struct Strings {
    known: HashMap<String, u32>,
    bytes: Vec<u8>,
    /// How many bytes earlier files have.
    before: u32,
}

impl Strings {
    fn offset(&mut self, name: &str) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let offset = self.before + u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.known.insert(name.to_owned(), offset);
        offset
    }
}

struct ReducedWriter<'a> {
    reached: &'a Reached,
    numbers: HashMap<TypeId, u32>,
    strings: Strings,
    next: u32,
}

impl ReducedWriter<'_> {
    fn write(&mut self, types: &Types, source: &Source) -> Vec<u8> {
        let module = source.btf.base().is_some();
        if module {
            // A module may use the kernel's names, not those of other modules.
            if self.strings.before == 0 {
                self.strings.before = u32::try_from(self.strings.bytes.len()).unwrap_or(u32::MAX);
            }
            let kernels = self.strings.before;
            self.strings.known.retain(|_, offset| *offset < kernels);
            self.strings.bytes.clear();
        } else {
            self.strings.offset("");
        }
        let base = types.sources.first().map_or(0, |kernel| self.reached.of(kernel).count());
        let own = self.reached.of(source).map(|(id, _)| id).min().and_then(|first| self.numbers.get(&first)).copied();
        // Each module's numbers begin behind the kernel's.
        let shift = if module { own.map_or(0, |own| own - 1 - u32::try_from(base).unwrap_or(0)) } else { 0 };
        let kept: Vec<_> = self.reached.of(source).collect();
        let mut body = Vec::new();
        for (id, raw) in kept {
            self.write_type(&mut body, id, BtfType { source, raw }, (own.unwrap_or(0), shift));
        }
        let mut bytes = Vec::new();
        let length = |part: &[u8]| u32::try_from(part.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&[0x9f, 0xeb, 1, 0]);
        for number in [24, 0, length(&body), length(&body), length(&self.strings.bytes)] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&self.strings.bytes);
        bytes
    }

    fn write_type(&mut self, body: &mut Vec<u8>, id: TypeId, found: BtfType<'_>, own: (u32, u32)) {
        let Raw { kind: of, flag, entries: count, size_or_type, .. } = found.raw;
        let name = self.strings.offset(found.name());
        let number = |to: TypeId| {
            let number = self.numbers.get(&to).copied().unwrap_or(0);
            if number >= own.0 { number - own.1 } else { number }
        };
        let head = |kind: u8, flag: bool, count: u32| u32::from(flag) << 31 | u32::from(kind) << 24 | count;
        let mut put = |number: u32| body.extend_from_slice(&number.to_le_bytes());
        put(name);
        if !self.reached.whole.contains(&id) && is_record(of) {
            put(head(kind::FWD, of == kind::UNION, 0));
            put(0);
            return;
        }
        if of == kind::DATASEC {
            let kept: Vec<_> =
                entries(found, 12).filter(|at| self.reached.variables.contains(&found.reference(*at))).collect();
            put(head(of, flag, u32::try_from(kept.len()).unwrap_or(0)));
            put(size_or_type);
            for at in kept {
                for word in [number(found.reference(at)), found.number(at + 4), found.number(at + 8)] {
                    put(word);
                }
            }
            return;
        }
        put(head(of, flag, count));
        put(if has_target(of) { number(found.to()) } else { size_or_type });
        let (references, names) = (reference_places(found), name_places(found));
        let rest = found.raw.rest_bytes().unwrap_or(0);
        let words: Vec<(usize, u32)> = (0..rest)
            .step_by(4)
            .map(|at| {
                let word = if references.contains(&at) { number(found.reference(at)) } else { found.number(at) };
                (at, word)
            })
            .collect();
        for (at, word) in words {
            let word = if names.contains(&at) { self.strings.offset(found.source.btf.name(word)) } else { word };
            body.extend_from_slice(&word.to_le_bytes());
        }
    }
}
