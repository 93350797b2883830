//! Types that serde writes or reads, and handlers, as they are written in the sources of the workspace.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use syn::{Item, ItemFn, UseTree};

/// Structures of which `Deserialize` is written by hand, and that look as their fields do.
const READ_FIELDS: [&str; 1] = ["Limits"];

/// What serde does with a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Writes it.
    Written,
    /// Reads it.
    Read,
}

impl Side {
    /// The trait that says so.
    fn serde_trait(self) -> &'static str {
        match self {
            Self::Written => "Serialize",
            Self::Read => "Deserialize",
        }
    }
}

/// A file: where it is, and what its names mean.
pub struct SourceFile {
    pub crate_name: String,
    pub module: Vec<String>,
    /// What is said of it: its first comment.
    pub doc: String,
    /// Paths of imported names, beginning with the crate.
    uses: BTreeMap<String, Vec<String>>,
    pub items: Vec<Item>,
}

/// A type by where it is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeId {
    pub file: usize,
    item: usize,
}

/// All files of the workspace that write or read something by serde, or handle requests.
pub struct Sources {
    pub files: Vec<SourceFile>,
    /// Types that are written or aliases, by name; and those that are read.
    written: BTreeMap<String, Vec<TypeId>>,
    read: BTreeMap<String, Vec<TypeId>>,
}

impl Sources {
    pub fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        let mut folders: Vec<PathBuf> =
            fs::read_dir(root.join("server")).unwrap().map(|entry| entry.unwrap().path()).collect();
        folders.push(root.join("bpf"));
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap().to_str().unwrap();
            let crate_name = if name == "cli" { "bathyscope".to_owned() } else { format!("bathyscope_{name}") };
            read_folder(&folder.join("src"), &crate_name, &mut Vec::new(), &mut files);
        }
        let (written, read) = (types_of(&files, Side::Written), types_of(&files, Side::Read));
        Self { files, written, read }
    }

    pub fn item(&self, id: TypeId) -> &Item {
        &self.files[id.file].items[id.item]
    }

    pub fn name(&self, id: TypeId) -> String {
        let named = |side| serde_name(self.item(id), side);
        named(Side::Written).or_else(|| named(Side::Read)).unwrap()
    }

    /// What is said of a type.
    pub fn doc(&self, id: TypeId) -> String {
        match self.item(id) {
            Item::Struct(item) => doc_of(&item.attrs),
            Item::Enum(item) => doc_of(&item.attrs),
            _ => String::new(),
        }
    }

    /// The place of a module's file.
    pub fn file(&self, crate_name: &str, module: &[&str]) -> usize {
        let is_it = |file: &SourceFile| file.crate_name == crate_name && file.module == module;
        self.files.iter().position(is_it).unwrap_or_else(|| panic!("{crate_name} has no file of {}", module.join("::")))
    }

    pub fn function(&self, file: usize, name: &str) -> &ItemFn {
        let found = self.files[file].items.iter().find_map(|item| match item {
            Item::Fn(function) if function.sig.ident == name => Some(function),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{} has no function {name}", self.files[file].module.join("::")))
    }

    /// The type that `path` means in a file.
    pub fn resolve(&self, side: Side, file: usize, path: &[String]) -> TypeId {
        let source = &self.files[file];
        let full = source.full_path(path);
        let (name, place) = full.split_last().unwrap();
        let types = if side == Side::Written { &self.written } else { &self.read };
        let all = types.get(name).map(Vec::as_slice).unwrap_or_default();
        let of_crate: Vec<TypeId> =
            all.iter().copied().filter(|id| place.first() == Some(&self.files[id.file].crate_name)).collect();
        let within = |exact: bool| {
            let fits = |id: &&TypeId| {
                let module = &self.files[id.file].module;
                if exact { module == &place[1..] } else { module.starts_with(&place[1..]) }
            };
            of_crate.iter().filter(fits).copied().collect::<Vec<_>>()
        };
        // Where it is said to be; below that, as it is named there again; in its crate; anywhere.
        for candidates in [within(true), within(false), of_crate.clone(), all.to_vec()] {
            match candidates[..] {
                [] => {}
                [one] => return one,
                _ => panic!("{}: {} could be several types", source.module.join("::"), path.join("::")),
            }
        }
        panic!(
            "{}::{}: no type that serde knows is called {}",
            source.crate_name,
            source.module.join("::"),
            path.join("::")
        )
    }
}

impl SourceFile {
    /// A path as it is written here, from its crate on.
    fn full_path(&self, path: &[String]) -> Vec<String> {
        let (first, rest) = path.split_first().unwrap();
        let here = || std::iter::once(self.crate_name.clone()).chain(self.module.iter().cloned());
        let begin: Vec<String> = match self.uses.get(first) {
            Some(used) => used.clone(),
            None if first == "crate" => vec![self.crate_name.clone()],
            None if first == "self" => here().collect(),
            None if first == "super" => here().take(self.module.len()).collect(),
            None if first.starts_with("bathyscope") => vec![first.clone()],
            None => here().chain([first.clone()]).collect(),
        };
        begin.into_iter().chain(rest.iter().cloned()).collect()
    }
}

fn read_folder(folder: &Path, crate_name: &str, module: &mut Vec<String>, files: &mut Vec<SourceFile>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            module.push(name);
            read_folder(&path, crate_name, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
            let own = !matches!(name.as_str(), "mod" | "lib" | "main");
            let module = module.iter().cloned().chain(own.then_some(name)).collect();
            files.extend(read_file(&path, crate_name, module));
        }
    }
}

fn read_file(path: &Path, crate_name: &str, module: Vec<String>) -> Option<SourceFile> {
    let text = fs::read_to_string(path).unwrap();
    let is_http = crate_name == "bathyscope_console" && module.first().is_some_and(|room| room == "http");
    if !is_http && !text.contains("erialize") {
        return None;
    }
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let doc = doc_of(&parsed.attrs);
    let mut file =
        SourceFile { crate_name: crate_name.to_owned(), module, doc, uses: BTreeMap::new(), items: parsed.items };
    let mut uses = BTreeMap::new();
    for item in &file.items {
        if let Item::Use(used) = item {
            note_uses(&file, &mut Vec::new(), &used.tree, &mut uses);
        }
    }
    file.uses = uses;
    Some(file)
}

fn note_uses(file: &SourceFile, before: &mut Vec<String>, tree: &UseTree, uses: &mut BTreeMap<String, Vec<String>>) {
    let mut note = |name: String, path: Vec<String>| {
        let path = match path.first().map(String::as_str) {
            Some("super") => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let module = &file.module[..file.module.len().saturating_sub(up)];
                [std::slice::from_ref(&file.crate_name), module, &path[up..]].concat()
            }
            // The crate's other names and modules of this file.
            Some(first) if !matches!(first, "std" | "core" | "serde" | "axum" | "http") => file.full_path(&path),
            _ => path,
        };
        uses.insert(name, path);
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            note_uses(file, before, &path.tree, uses);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => note(before.last().unwrap().clone(), before.clone()),
        UseTree::Name(name) => note(name.ident.to_string(), [before.as_slice(), &[name.ident.to_string()]].concat()),
        UseTree::Rename(name) => note(name.rename.to_string(), [before.as_slice(), &[name.ident.to_string()]].concat()),
        UseTree::Group(group) => {
            for tree in &group.items {
                note_uses(file, before, tree, uses);
            }
        }
        UseTree::Glob(_) => {}
    }
}

/// All types that serde writes or reads, by name.
fn types_of(files: &[SourceFile], side: Side) -> BTreeMap<String, Vec<TypeId>> {
    let mut types: BTreeMap<String, Vec<TypeId>> = BTreeMap::new();
    for (file, source) in files.iter().enumerate() {
        for (item, found) in source.items.iter().enumerate() {
            if let Some(name) = serde_name(found, side) {
                types.entry(name).or_default().push(TypeId { file, item });
            }
        }
    }
    types
}

/// The text of comments that document something, with its line breaks.
pub fn doc_of(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(named) if named.path.is_ident("doc") => match &named.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned()).collect();
    lines.join("\n").trim().to_owned()
}

/// The name of a type that serde writes or reads, derived or by hand, or of an alias.
fn serde_name(item: &Item, side: Side) -> Option<String> {
    let derives = |attributes: &[syn::Attribute]| {
        let has = |attribute: &syn::Attribute| {
            let mut found = false;
            if attribute.path().is_ident("derive") {
                let read = attribute.parse_nested_meta(|meta| {
                    found |= meta.path.segments.last().is_some_and(|last| last.ident == side.serde_trait());
                    Ok(())
                });
                read.unwrap();
            }
            found
        };
        attributes.iter().any(has)
    };
    // Fields that are read by hand, as what is missing depends on the others, say what it looks like.
    let by_fields = |name: &syn::Ident| side == Side::Read && READ_FIELDS.contains(&name.to_string().as_str());
    match item {
        Item::Struct(found) if derives(&found.attrs) || by_fields(&found.ident) => Some(found.ident.to_string()),
        Item::Enum(found) if derives(&found.attrs) => Some(found.ident.to_string()),
        Item::Type(found) => Some(found.ident.to_string()),
        Item::Impl(found) => {
            let (_, path, _) = found.trait_.as_ref()?;
            let syn::Type::Path(of) = &*found.self_ty else { return None };
            let is_serde = path.segments.last()?.ident == side.serde_trait();
            let name = &of.path.segments.last().unwrap().ident;
            (is_serde && !by_fields(name)).then(|| name.to_string())
        }
        _ => None,
    }
}
