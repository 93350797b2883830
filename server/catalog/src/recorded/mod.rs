//! Types and tracepoints of real kernels, recorded for tests: what their BTF and their tracefs say, reduced to what is
//! often traced. `tests/types/README.md` says how they are recorded.
//!
//! They are embedded, so that a test needs no path: this is not for shipped programs.

mod program;
mod reduce;

use std::{collections::BTreeMap, fmt::Write as _, io, sync::Arc};

pub use program::list_types;
pub use reduce::{Reduced, Roots, reduce};

use crate::types::{Btf, Types};

/// The kernels that are recorded.
pub const KERNELS: [&str; 3] = ["6.1", "6.12", "6.18"];
/// The most bytes of a recording when unpacked.
const MAX_BYTES: u64 = 64 << 20;
const MAGIC: &str = "bathyscope types 1";

/// One recorded kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// As `uname -r` says.
    pub release: String,
    /// Its types.
    pub btf: Arc<Btf>,
    /// Types of some of its modules.
    pub modules: Vec<Arc<Btf>>,
    /// The text of the format file of every tracepoint, by `system:event`.
    pub formats: BTreeMap<String, String>,
}

impl Kernel {
    /// All its types.
    pub fn types(&self) -> Types {
        let mut types = Types::new(Arc::clone(&self.btf));
        for module in &self.modules {
            // They were read with this base.
            let _added = types.add_module(Arc::clone(module));
        }
        types
    }
}

/// What a recording is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// As `uname -r` says.
    pub release: String,
    /// The kernel's BTF, and that of modules.
    pub btf: Vec<Reduced>,
    /// The text of the format file of every tracepoint, by `system:event`.
    pub formats: BTreeMap<String, String>,
}

/// Why there is no recorded kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// It was never recorded.
    #[error("no kernel {series} is recorded; there are {KERNELS:?}")]
    Unknown {
        /// What was asked for.
        series: String,
    },
    /// The file is damaged.
    #[error("a recording is damaged: {what}; record it again as tests/types/README.md says")]
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
    /// It cannot be unpacked.
    #[error("a recording cannot be packed or unpacked")]
    Packed(#[from] io::Error),
}

/// The recorded kernel of that series, such as `6.12`.
///
/// # Errors
/// If there is none, or what is recorded cannot be read.
pub fn kernel(series: &str) -> Result<Kernel, RecordedError> {
    macro_rules! recording {
        ($series:literal) => {
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/types/", $series, "/kernel.zst"))
                .as_slice()
        };
    }
    let packed = match series {
        "6.1" => recording!("6.1"),
        "6.12" => recording!("6.12"),
        "6.18" => recording!("6.18"),
        _ => return Err(RecordedError::Unknown { series: series.to_owned() }),
    };
    unpack(packed)?.kernel()
}

impl Recording {
    /// Reads the BTF.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn kernel(self) -> Result<Kernel, RecordedError> {
        let damaged = |_error| RecordedError::Damaged { what: "its BTF cannot be read" };
        let mut all = self.btf.into_iter();
        let kernel = all.next().ok_or(RecordedError::Damaged { what: "it has no BTF" })?;
        let btf = Arc::new(Btf::parse(kernel.bytes).map_err(damaged)?);
        let module = |of: Reduced| {
            let name = of.module.unwrap_or_default();
            Btf::parse_module(&name, of.bytes, &btf).map(Arc::new).map_err(damaged)
        };
        let modules = all.map(module).collect::<Result<_, _>>()?;
        Ok(Kernel { release: self.release, btf, modules, formats: self.formats })
    }

    /// Makes a file of it.
    ///
    /// # Errors
    /// If it cannot be compressed.
    pub fn pack(&self) -> Result<Vec<u8>, RecordedError> {
        let mut text = format!("{MAGIC}\nrelease {}\n", self.release).into_bytes();
        let mut part = |head: String, body: &[u8]| {
            text.extend_from_slice(format!("{head} {}\n", body.len()).as_bytes());
            text.extend_from_slice(body);
            text.push(b'\n');
        };
        for Reduced { module, bytes } in &self.btf {
            part(format!("btf {}", module.as_deref().unwrap_or("vmlinux")), bytes);
        }
        let mut formats = String::new();
        for (name, format) in &self.formats {
            let _written = writeln!(formats, "event {name} {}\n{format}", format.len());
        }
        part("formats all".to_owned(), formats.as_bytes());
        let mut compressor = zstd::bulk::Compressor::new(19)?;
        compressor.long_distance_matching(true)?;
        Ok(compressor.compress(&text)?)
    }
}

/// Reads what [`Recording::pack`] wrote.
///
/// # Errors
/// If it is something else.
pub fn unpack(packed: &[u8]) -> Result<Recording, RecordedError> {
    let mut bytes = Vec::new();
    let mut decoder = zstd::stream::read::Decoder::new(packed)?;
    decoder.window_log_max(27)?;
    io::Read::read_to_end(&mut io::Read::take(decoder, MAX_BYTES), &mut bytes)?;
    let mut rest = bytes.as_slice();
    if line(&mut rest)? != MAGIC {
        return Err(RecordedError::Damaged { what: "it is none" });
    }
    let mut recording = Recording::default();
    let release = line(&mut rest)?.strip_prefix("release ");
    release.ok_or(RecordedError::Damaged { what: "it has no release" })?.clone_into(&mut recording.release);
    while !rest.is_empty() {
        let (kind, name, body) = part(&mut rest)?;
        match kind {
            "btf" => {
                let module = (name != "vmlinux").then(|| name.to_owned());
                recording.btf.push(Reduced { module, bytes: body.to_vec() });
            }
            _ => {
                let mut rest = body;
                while !rest.is_empty() {
                    let (_event, name, body) = part(&mut rest)?;
                    recording.formats.insert(name.to_owned(), String::from_utf8_lossy(body).into_owned());
                }
            }
        }
    }
    Ok(recording)
}

fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a str, RecordedError> {
    const DAMAGED: RecordedError = RecordedError::Damaged { what: "a line is cut off" };
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(DAMAGED)?;
    let (line, behind) = rest.split_at_checked(end).ok_or(DAMAGED)?;
    *rest = behind.get(1..).unwrap_or_default();
    std::str::from_utf8(line).map_err(|_invalid| DAMAGED)
}

/// A head such as `btf vmlinux 1234`, then so many bytes, then the end of a line.
fn part<'a>(rest: &mut &'a [u8]) -> Result<(&'a str, &'a str, &'a [u8]), RecordedError> {
    const DAMAGED: RecordedError = RecordedError::Damaged { what: "a part is cut off" };
    let words: Vec<&str> = line(rest)?.split(' ').collect();
    let [kind, name, length] = words.as_slice() else { return Err(DAMAGED) };
    let length: usize = length.parse().map_err(|_no_number| DAMAGED)?;
    let (body, behind) = rest.split_at_checked(length).ok_or(DAMAGED)?;
    *rest = behind.get(1..).unwrap_or_default();
    Ok((kind, name, body))
}
