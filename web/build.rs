//! Joins the modules below `static/js` and compresses all files, so that the binary holds and serves them as browsers take
//! them; samples too, which are databases with much room in them. Builds this room again when a file is added or removed; the compiler tracks only those it has seen.

use std::{
    collections::BTreeMap,
    env, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

#[path = "build/bundle.rs"]
mod bundle;
#[path = "build/shrink.rs"]
mod shrink;

/// The module that files of pages begin with (`src/saved.rs`), and what is not in them, as it needs a server.
const SAVED: &str = "saved_entry.js";
const NOT_SAVED: [&str; 6] = [
    "against_dialog.js",
    "investigate_dialog.js",
    "rights_dialog.js",
    "save_file.js",
    "share_dialog.js",
    "sql_view.js",
];

/// What is no module, but a script of its own.
const SCRIPTS: [&str; 1] = ["theme_boot.js"];

fn main() -> io::Result<()> {
    for path in ["static", "samples", "templates", "build.rs", "build"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    for name in ["static", "samples"] {
        // What was removed must not stay.
        if let Err(error) = fs::remove_dir_all(out.join(name))
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        compress_folder(Path::new(name), &out.join(name))?;
    }
    join_modules(&Path::new("static").join("js"), &out.join("static").join("js"))?;
    ["static", "samples"].into_iter().try_for_each(|name| embedding(&out.join(name)))
}

/// Writes the type that embeds a folder. Its attribute takes no variable, but with a feature that brings libraries for homes
/// of users.
fn embedding(folder: &Path) -> io::Result<()> {
    let text = format!(
        "/// The files of a folder, each compressed, with `.gz` at the end of its name.\n\
         #[derive(RustEmbed)]\n#[folder = {folder:?}]\nstruct Files;\n"
    );
    fs::write(folder.with_extension("rs"), text)
}

/// Whether `path` is a module of ours, which pages get joined with others: a script in a room below `static/js`.
fn is_module(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let below = path.strip_prefix(Path::new("static").join("js"));
    path.extension().is_some_and(|extension| extension == "js")
        && !SCRIPTS.contains(&name)
        && below.is_ok_and(|below| !below.starts_with("vendor"))
}

/// Joins the modules in the rooms of `from` and writes what comes of them.
fn join_modules(from: &Path, to: &Path) -> io::Result<()> {
    let mut sources = BTreeMap::new();
    read_modules(from, from, &mut sources)?;
    let sources = bundle::flatten(&sources).map_err(io::Error::other)?;
    let mut files = bundle::bundle(&sources).map_err(io::Error::other)?;
    let saved = bundle::whole(&sources, SAVED, &NOT_SAVED).map_err(io::Error::other)?;
    files.insert("saved.js".to_owned(), saved);
    for (name, text) in files {
        write_compressed(&to.join(format!("{name}.gz")), text.as_bytes())?;
    }
    Ok(())
}

/// Reads the modules below `folder`, by their path below `root`.
fn read_modules(folder: &Path, root: &Path, sources: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_modules(&path, root, sources)?;
        } else if is_module(&path) {
            let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            sources.insert(below, fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Whether `path` only says what a script holds, for those who check modules that use it.
fn is_declaration(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".d.ts")
}

/// Writes each file below `from` but modules and declarations to the same path below `to`, with `.gz` added to its name.
fn compress_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, mut name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            if has_files(&path)? {
                compress_folder(&path, &to.join(name))?;
            }
        } else if !is_module(&path) && !is_declaration(&path) {
            name.push(".gz");
            write_compressed(&to.join(name), &fs::read(path)?)?;
        }
    }
    Ok(())
}

/// Whether there is anything below `folder` but modules and declarations.
fn has_files(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if if path.is_dir() { has_files(&path)? } else { !is_module(&path) && !is_declaration(&path) } {
            return Ok(true);
        }
    }
    Ok(false)
}

fn write_compressed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut encoder = GzEncoder::new(fs::File::create(path)?, Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish().map(drop)
}
