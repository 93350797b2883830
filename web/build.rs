//! Compresses the files below `static`, so that the binary holds and serves them as browsers take them. Builds this room again
//! when a file is added or removed; the compiler tracks only those it has seen.

use std::{
    env, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=static");
    println!("cargo:rerun-if-changed=templates");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?.join("static");
    // What was removed below `static` must not stay.
    if let Err(error) = fs::remove_dir_all(&out)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    compress_folder(Path::new("static"), &out)?;
    embedding(&out)
}

/// Writes the type that embeds the folder. Its attribute takes no variable, but with a feature that brings libraries for homes
/// of users.
fn embedding(folder: &Path) -> io::Result<()> {
    let text = format!(
        "/// The files below `static`, each compressed, with `.gz` at the end of its name.\n\
         #[derive(rust_embed::RustEmbed)]\n#[folder = {folder:?}]\nstruct Files;\n"
    );
    fs::write(folder.with_extension("rs"), text)
}

/// Writes each file below `from` to the same path below `to`, with `.gz` added to its name.
fn compress_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, mut name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            compress_folder(&path, &to.join(name))?;
        } else {
            name.push(".gz");
            let mut encoder = GzEncoder::new(fs::File::create(to.join(name))?, Compression::best());
            encoder.write_all(&fs::read(path)?)?;
            encoder.finish()?;
        }
    }
    Ok(())
}
