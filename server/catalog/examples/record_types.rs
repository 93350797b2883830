//! Records the types and tracepoints of the running kernel for tests: `record_types ROOTS OUT`. See
//! `tests/types/README.md`.
#![expect(clippy::print_stdout, reason = "it says what it did")]

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use bathyscope_catalog::{
    recorded::{Recording, Roots, reduce},
    types::{Btf, Types},
};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, roots, out] = arguments.as_slice() else { return Err("usage: record_types ROOTS OUT".into()) };
    let roots = Roots::parse(&fs::read_to_string(roots)?)?;
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned();
    let kernel = Arc::new(Btf::parse(fs::read("/sys/kernel/btf/vmlinux")?)?);
    let mut types = Types::new(Arc::clone(&kernel));
    let mut modules: Vec<_> = fs::read_dir("/sys/kernel/btf")?.collect::<Result<_, _>>()?;
    modules.sort_by_key(fs::DirEntry::file_name);
    for module in modules.iter().filter(|module| module.file_name() != "vmlinux") {
        let name = module.file_name().to_string_lossy().into_owned();
        types.add_module(Arc::new(Btf::parse_module(&name, fs::read(module.path())?, &kernel)?))?;
    }
    let btf = reduce(&types, &roots);
    let formats = formats(Path::new("/sys/kernel/tracing/events"))?;
    let recording = Recording { release, btf, formats };
    let packed = recording.pack()?;
    fs::write(out, &packed)?;
    for part in &recording.btf {
        println!("{:>9} bytes of BTF of {}", part.bytes.len(), part.module.as_deref().unwrap_or("vmlinux"));
    }
    println!("{} tracepoints, {} bytes packed", recording.formats.len(), packed.len());
    Ok(())
}

fn formats(events: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let mut formats = BTreeMap::new();
    for system in fs::read_dir(events)? {
        let system = system?;
        if !system.file_type()?.is_dir() {
            continue;
        }
        for event in fs::read_dir(system.path())? {
            let event = event?;
            let format = event.path().join("format");
            if format.is_file() {
                let name = format!("{}:{}", system.file_name().to_string_lossy(), event.file_name().to_string_lossy());
                formats.insert(name, fs::read_to_string(format)?);
            }
        }
    }
    Ok(formats)
}
