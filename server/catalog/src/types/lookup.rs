//! Types by name.

use super::{
    CType, Completions, EnumConstant, TypeId, TypeKind, Types,
    btf::kind,
    local::{LocalType, Locals},
    types::BtfType,
};
use crate::suggest::closest;

/// The longest type name that is looked up.
const MAX_SPELLED_BYTES: usize = 512;

impl Types {
    /// The type that a name means, in any spelling C or the probe language has: `struct foo`, `union bar`, `enum baz`,
    /// `u32`, `pid_t`, `unsigned long long`, `uint64_t`, `size_t`, `bool`, `uint8`. What the script defines comes first,
    /// then the kernel, then modules, then what is built in. Blanks and qualifiers do not matter.
    pub fn spelled(&self, name: &str) -> Option<TypeId> {
        let is_qualifier = |word: &&str| matches!(*word, "const" | "volatile");
        let words: Vec<&str> =
            name.get(..MAX_SPELLED_BYTES.min(name.len()))?.split_whitespace().filter(|w| !is_qualifier(w)).collect();
        match words.as_slice() {
            ["struct", name] => self.find(TypeKind::Struct, name),
            ["union", name] => self.find(TypeKind::Union, name),
            ["enum", name] => self.find(TypeKind::Enum, name),
            ["void"] => Some(TypeId::VOID),
            words => base(words).or_else(|| match words {
                [name] => self.find(TypeKind::Typedef, name).or_else(|| Locals::built_in_typedef(name)),
                _ => None,
            }),
        }
    }

    /// The type of that kind and name: a definition if there is one, else a forward declaration.
    pub fn find(&self, kind: TypeKind, name: &str) -> Option<TypeId> {
        self.definition(kind, name).or_else(|| self.forward(kind, name))
    }

    /// The definition of that kind and name.
    pub(super) fn definition(&self, kind: TypeKind, name: &str) -> Option<TypeId> {
        let scripts = || {
            let id = self.locals.named(kind, name)?;
            (!matches!(self.locals.get(id), Some(LocalType::Forward { .. }))).then_some(id)
        };
        let kernels = || {
            let mut all = self.candidates(name);
            all.find(|(_, found)| found.name() == name && is_definition(*found, kind)).map(|(id, _)| id)
        };
        if name.is_empty() {
            return None;
        }
        scripts().or_else(kernels).or_else(|| if kind == TypeKind::Base { Locals::base(name) } else { None })
    }

    fn forward(&self, kind: TypeKind, name: &str) -> Option<TypeId> {
        let matches =
            |id: TypeId| matches!(self.get(id), CType::Forward { name: n, kind: k } if n == name && k == kind);
        let kernels = || self.candidates(name).map(|(id, _)| id).find(|id| matches(*id));
        self.locals.named(kind, name).or_else(kernels)
    }

    /// The types of BTF that may have this name.
    pub(super) fn candidates(&self, name: &str) -> impl Iterator<Item = (TypeId, BtfType<'_>)> {
        self.sources.iter().flat_map(move |source| {
            let candidates = source.btf.names().candidates(name).iter();
            candidates
                .filter_map(move |index| Some((source.id(*index), BtfType { source, raw: source.btf.raw(*index)? })))
        })
    }

    /// The known name of that kind that is closest to `name`, for "did you mean".
    pub fn closest(&self, kind: TypeKind, name: &str) -> Option<&str> {
        closest(name, self.names(kind))
    }

    /// The names of that kind that begin with `prefix`: the first `limit` of them by the alphabet, and how many there
    /// are.
    pub fn complete(&self, kind: TypeKind, prefix: &str, limit: usize) -> Completions<'_> {
        completions(self.names(kind).filter(|name| name.starts_with(prefix)).collect(), limit)
    }

    /// All names of a kind, in no order, some of them several times.
    fn names(&self, kind: TypeKind) -> impl Iterator<Item = &str> {
        let of_btf = self.sources.iter().flat_map(move |source| {
            let all = source.btf.all().filter(|(_, raw)| raw.name != 0);
            let found = all.map(move |(_, raw)| BtfType { source, raw });
            found.filter(move |found| is_definition(*found, kind)).map(BtfType::name).filter(|name| !name.is_empty())
        });
        self.locals.names(kind).chain(of_btf)
    }

    /// The names of a kind that the kernel and its modules describe, in no order, some of them several times, each with the
    /// module that does; none is the kernel itself.
    pub fn described(&self, kind: TypeKind) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.sources.iter().flat_map(move |source| {
            let all = source.btf.all().filter(|(_, raw)| raw.name != 0);
            let found = all.map(move |(_, raw)| BtfType { source, raw }).filter(move |it| is_definition(*it, kind));
            found.map(move |it| (it.name(), source.btf.module_name())).filter(|(name, _)| !name.is_empty())
        })
    }

    /// An enum constant by name, whatever enum it is in.
    pub fn constant(&self, name: &str) -> Option<EnumConstant<'_>> {
        if let Some((of, at)) = self.locals.constant(name) {
            return self.constant_at(of, at);
        }
        let all = self.sources.iter().flat_map(|source| {
            let candidates = source.btf.constants().candidates(name).iter();
            candidates.filter_map(|(index, at)| self.constant_at(source.id(*index), *at))
        });
        all.filter(|constant| !name.is_empty() && constant.name == name).take(1).last()
    }

    /// The enum constants that begin with `prefix`, as [`Types::complete`].
    pub fn complete_constants(&self, prefix: &str, limit: usize) -> Completions<'_> {
        completions(self.constant_names().filter(|name| name.starts_with(prefix)).collect(), limit)
    }

    /// The enum constant whose name is closest to `name`, for "did you mean".
    pub fn closest_constant(&self, name: &str) -> Option<&str> {
        closest(name, self.constant_names())
    }

    fn constant_names(&self) -> impl Iterator<Item = &str> {
        let of_btf = self.sources.iter().flat_map(move |source| {
            source.btf.all().flat_map(move |(_, raw)| {
                let step = match raw.kind {
                    kind::ENUM => 8,
                    kind::ENUM64 => 12,
                    _ => 0,
                };
                let entries = if step == 0 { 0 } else { raw.entries as usize };
                (0..entries).map(move |at| source.btf.name(source.btf.number(raw.rest + at * step)))
            })
        });
        self.locals.constant_names().chain(of_btf)
    }
}

/// The first by the alphabet, each once.
fn completions(mut names: Vec<&str>, limit: usize) -> Completions<'_> {
    names.sort_unstable();
    names.dedup();
    let total = names.len();
    names.truncate(limit);
    Completions { total, names }
}

/// Whether a type of BTF defines something of that kind.
fn is_definition(found: BtfType<'_>, kind: TypeKind) -> bool {
    match found.raw.kind {
        kind::STRUCT => kind == TypeKind::Struct,
        kind::UNION => kind == TypeKind::Union,
        kind::ENUM | kind::ENUM64 => kind == TypeKind::Enum && found.raw.entries > 0,
        kind::TYPEDEF => kind == TypeKind::Typedef,
        kind::INT | kind::FLOAT => kind == TypeKind::Base,
        kind::FUNC => kind == TypeKind::Function,
        kind::VAR => kind == TypeKind::Variable,
        kind::DATASEC => kind == TypeKind::Section,
        _ => false,
    }
}

/// A built-in type by the words of its name in any order: `long unsigned int` is `unsigned long`.
pub(super) fn base(words: &[&str]) -> Option<TypeId> {
    if let [word] = words {
        match *word {
            "signed" => return Locals::base("int"),
            "unsigned" => return Locals::base("unsigned int"),
            word => return Locals::base(word),
        }
    }
    let count = |word: &str| words.iter().filter(|other| **other == word).count();
    let (unsigned, signed) = (count("unsigned"), count("signed") + count("__signed__"));
    let (long, short, int) = (count("long"), count("short"), count("int"));
    let (char, double, wide) = (count("char"), count("double"), count("__int128"));
    let known = unsigned + signed + long + short + int + char + double + wide;
    let sizes = usize::from(long > 0) + short + char + wide;
    if known != words.len() || unsigned + signed > 1 || int > 1 || long > 2 || sizes > 1 || (double > 0 && int > 0) {
        return None;
    }
    let name = match (char, short, long, wide, double) {
        (1, 0, 0, 0, 0) if int == 0 && signed == 1 => "signed char",
        (1, 0, 0, 0, 0) if int == 0 && unsigned == 1 => "unsigned char",
        (0, 1, 0, 0, 0) => "short",
        (0, 0, 1, 0, 0) => "long",
        (0, 0, 2, 0, 0) => "long long",
        (0, 0, 0, 1, 0) if int == 0 => "__int128",
        (0, 0, 1, 0, 1) if unsigned + signed == 0 => "long double",
        (0, 0, 0, 0, 0) if int == 1 => "int",
        _ => return None,
    };
    match (unsigned, char) {
        (1, 0) => Locals::base(&format!("unsigned {name}")),
        _ => Locals::base(name),
    }
}
