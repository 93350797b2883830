//! Asks the running kernel's verifier, if there are the rights. For another kernel the objects are kept instead: the kernel
//! lab is an emulated machine in which compiling takes fifteen times as long, so scripts are compiled outside of it, with
//! `BATHYSCOPE_KEEP_OBJECTS=FOLDER` and `BATHYSCOPE_KEEP_FOR=6.12`, and [`crate::verifier`] loads there what was kept.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex},
};

use aya::{Btf, EbpfLoader, programs::Program as Loaded};
use bathyscope_bpf::{disassemble, lang::Compiled};

static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    Mutex::new(loader)
});

static BTF: LazyLock<Option<Btf>> = LazyLock::new(|| Btf::from_sys_fs().ok());

/// Where objects are kept, and for which series of kernels; none if they are loaded.
static KEEP: LazyLock<Option<(PathBuf, String)>> = LazyLock::new(|| {
    let series = env::var("BATHYSCOPE_KEEP_FOR").ok()?;
    env::var_os("BATHYSCOPE_KEEP_OBJECTS").map(|folder| (folder.into(), series))
});

/// The series of recorded kernels for which objects can be loaded, or are kept; none, said as skipped, if there is none.
pub(crate) fn series() -> Option<String> {
    if let Some((_folder, series)) = KEEP.as_ref() {
        return Some(series.clone());
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let series = release.split('.').take(2).collect::<Vec<_>>().join(".");
    let known = ready() && ["6.1", "6.12", "6.18"].contains(&series.as_str());
    if !known {
        println!("SKIPPED: programs for the running kernel — root and one of the recorded kernels; this is {series}");
    }
    known.then_some(series)
}

/// Whether that kernel has probes on its functions.
pub(crate) fn has_kprobes() -> bool {
    let events = ["/sys/kernel/tracing/kprobe_events", "/sys/kernel/debug/tracing/kprobe_events"];
    KEEP.is_some() || events.into_iter().any(|events| Path::new(events).exists())
}

/// Whether programs can be loaded, or are kept.
pub(crate) fn ready() -> bool {
    if KEEP.is_some() {
        return true;
    }
    static READY: LazyLock<bool> = LazyLock::new(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0");
        // CAP_SYS_ADMIN
        u64::from_str_radix(effective.trim(), 16).unwrap_or(0) & (1 << 21) != 0
    });
    *READY
}

/// Loads all programs of a script, or keeps them; the verifier's words if it refuses one.
pub(crate) fn load(compiled: &Compiled) -> Result<(), String> {
    let programs: Vec<_> = compiled.codes.iter().map(|code| (code.name.as_str(), code.target.as_str())).collect();
    if let Some((folder, _series)) = KEEP.as_ref() {
        keep(folder, &compiled.object, &programs);
        return Ok(());
    }
    load_object(&compiled.object, &programs).map_err(|(refused, log)| {
        let code = compiled.codes.iter().find(|code| code.name == refused);
        format!("{refused}: {log}\n{}", code.map(disassemble).unwrap_or_default())
    })
}

/// Keeps an object under a name that is made of its bytes, with its programs beside it, a line each.
fn keep(folder: &Path, object: &[u8], programs: &[(&str, &str)]) {
    let mut hasher = DefaultHasher::new();
    object.hash(&mut hasher);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    let lines: String = programs.iter().map(|(name, target)| format!("{name}\t{target}\n")).collect();
    fs::create_dir_all(folder).unwrap();
    fs::write(path.with_extension("o"), object).unwrap();
    fs::write(path.with_extension("programs"), lines).unwrap();
}

/// Loads the programs of an object, each with its name and, where its type has one, its target; the name of the one that is
/// refused, and the end of the verifier's log.
pub(crate) fn load_object(object: &[u8], programs: &[(&str, &str)]) -> Result<(), (String, String)> {
    let mut ebpf = LOADER
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .load(object)
        .map_err(|error| ("the object".to_owned(), format!("{error:?}")))?;
    for (name, target) in programs {
        let refused = |log: String| ((*name).to_owned(), log);
        let program = ebpf.program_mut(name).ok_or_else(|| refused("it is not in the object".to_owned()))?;
        let typed = || BTF.as_ref().expect("the kernel's types");
        let loaded = match program {
            Loaded::TracePoint(program) => program.load(),
            Loaded::PerfEvent(program) => program.load(),
            Loaded::RawTracePoint(program) => program.load(),
            Loaded::KProbe(program) => program.load(),
            Loaded::UProbe(program) => program.load(),
            Loaded::BtfTracePoint(program) => program.load(target, typed()),
            Loaded::FEntry(program) => program.load(target, typed()),
            Loaded::FExit(program) => program.load(target, typed()),
            Loaded::Iter(program) => program.load(target, typed()),
            other => return Err(refused(format!("{other:?}"))),
        };
        if let Err(error) = loaded {
            let log = format!("{error:?}").replace("\\n", "\n");
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            return Err(refused(tail.into_iter().rev().collect::<Vec<_>>().join("\n")));
        }
    }
    Ok(())
}
