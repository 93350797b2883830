//! Asks the running kernel's verifier, if there are the rights.

use std::{
    fs,
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

/// Whether programs can be loaded.
pub(crate) fn ready() -> bool {
    static READY: LazyLock<bool> = LazyLock::new(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0");
        // CAP_SYS_ADMIN
        u64::from_str_radix(effective.trim(), 16).unwrap_or(0) & (1 << 21) != 0
    });
    *READY
}

/// Loads all programs of a script; the verifier's words if it refuses one.
pub(crate) fn load(compiled: &Compiled) -> Result<(), String> {
    let mut ebpf = LOADER
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .load(&compiled.object)
        .map_err(|error| format!("{error:?}"))?;
    for code in &compiled.codes {
        let program = ebpf.program_mut(&code.name).ok_or("a program is not in the object")?;
        let typed = || BTF.as_ref().expect("the kernel's types");
        let loaded = match program {
            Loaded::TracePoint(program) => program.load(),
            Loaded::PerfEvent(program) => program.load(),
            Loaded::RawTracePoint(program) => program.load(),
            Loaded::KProbe(program) => program.load(),
            Loaded::UProbe(program) => program.load(),
            Loaded::BtfTracePoint(program) => program.load(&code.target, typed()),
            Loaded::FEntry(program) => program.load(&code.target, typed()),
            Loaded::FExit(program) => program.load(&code.target, typed()),
            Loaded::Iter(program) => program.load(&code.target, typed()),
            other => return Err(format!("{other:?}")),
        };
        if let Err(error) = loaded {
            let log = format!("{error:?}").replace("\\n", "\n");
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            return Err(format!("{}: {}\n{}", code.name, tail.join("\n"), disassemble(code)));
        }
    }
    Ok(())
}
