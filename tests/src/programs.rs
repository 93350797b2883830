//! Small programs that are traced because what they do is known. Sources are in `tests/programs/`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::workspace::root;

/// The built program `name`, or nothing if there is no C compiler and it was not built before. An emulated kernel finds
/// those that were built outside, where compiling is fast.
///
/// # Panics
/// If it does not compile.
pub fn program(name: &str) -> Option<PathBuf> {
    let found = built(name, name, &["-pthread"])?;
    assert!(found.is_ok(), "tests/programs/{name}.c does not compile");
    found.ok().map(|built| without_blanks(&built))
}

/// The program `name` with its debug information, compiled with an option such as `-O2`; nothing if there is no C compiler and it
/// was not built before.
///
/// # Panics
/// If it does not compile.
pub fn described(name: &str, optimise: &str) -> Option<PathBuf> {
    let found = built(name, &format!("{name}{optimise}"), &["-g", optimise])?;
    assert!(found.is_ok(), "tests/programs/{name}.c does not compile");
    found.ok().map(|built| without_blanks(&built))
}

/// The program that makes calls of 32-bit programs, compiled for so many bits; nothing where there is no compiler for them.
///
/// # Panics
/// If there is no folder for it.
pub fn narrow(bits: u8) -> Option<PathBuf> {
    let bits_word = format!("-m{bits}");
    let alone = ["-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-no-pie"];
    let found = built("narrow", &format!("narrow{bits}"), &[&[bits_word.as_str()][..], &alone].concat())?;
    found.ok().map(|built| without_blanks(&built))
}

/// The program itself, or a copy where its path has blanks: scripts, lines of probes and the kernel take none there.
fn without_blanks(built: &Path) -> PathBuf {
    if !built.to_string_lossy().contains(char::is_whitespace) {
        return built.to_owned();
    }
    let folder = std::env::temp_dir().join(format!("bathyscope-test-programs-{}", rustix::process::geteuid().as_raw()));
    let copy = folder.join(built.file_name().expect("a program has a name"));
    let bytes = fs::read(built).expect("a built program");
    if fs::read(&copy).is_ok_and(|there| there == bytes) {
        return copy;
    }
    fs::create_dir_all(&folder).expect("a folder for programs");
    let fresh = copy.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    fs::write(&fresh, bytes).expect("a copy of a program");
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755)).expect("a program can be executed");
    fs::rename(&fresh, &copy).expect("a file can be renamed");
    copy
}

/// A compiler that does not compile this.
struct Refused;

/// The program `name` of a source; nothing if there is no compiler.
fn built(source: &str, name: &str, options: &[&str]) -> Option<Result<PathBuf, Refused>> {
    let source = root().join("tests/programs").join(source).with_extension("c");
    let built = root().join("target/test-programs").join(name);
    let modified = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
    if modified(&built).is_some_and(|time| Some(time) >= modified(&source)) {
        return Some(Ok(built));
    }
    fs::create_dir_all(built.parent().expect("it is in a folder")).expect("a folder for programs");
    // Built beside and renamed, because other tests, of this process and others, may be looking for it as well.
    static BUILT: AtomicU32 = AtomicU32::new(0);
    let fresh = built.with_extension(format!("{}-{}", std::process::id(), BUILT.fetch_add(1, Ordering::Relaxed)));
    let mut compiler = Command::new("cc");
    // Without optimisation every function has a frame, so that whole stacks are found; what is about stacks without says so
    // itself.
    // Debug information names the source as the project knows it, not where this machine keeps the project.
    compiler.arg(format!("-ffile-prefix-map={}/=", root().display()));
    compiler.args(["-g", "-O0", "-fno-omit-frame-pointer"]).args(options).arg("-o").arg(&fresh).arg(&source);
    if !compiler.status().ok()?.success() {
        return Some(Err(Refused));
    }
    fs::rename(&fresh, &built).expect("a file can be renamed");
    Some(Ok(built))
}

#[cfg(test)]
mod tests {
    #[test]
    fn programs_compile() {
        let folder = super::root().join("tests/programs");
        for source in std::fs::read_dir(folder).unwrap() {
            let path = source.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            // That one is for two kinds of processors, below.
            if path.extension().is_some_and(|end| end == "c") && name != "narrow" {
                let _ = super::program(name);
            }
        }
        for optimise in ["-O0", "-O2"] {
            let _ = super::described("list", optimise);
        }
        if cfg!(target_arch = "x86_64") {
            let _ = (super::narrow(64), super::narrow(32));
        }
    }
}
