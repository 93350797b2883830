//! How the kernel prints the events of a capture: read when it is made, and kept with its streams.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use bathyscope_capture::{KernelFormat, StreamSchema};
use bathyscope_catalog::{
    MAX_FORMAT_BYTES, parse_event_format,
    print::PrintFormat,
    types::{Btf, Types},
};
use bathyscope_protocol::{KernelFile, ModuleName};

use super::{AgentLink, link::words};

/// What one read of a description takes: more than any has, because some must be read in one piece.
const READ_BYTES: usize = 64 << 10;
/// The most that is read of the kernel's or a module's types.
const MAX_BTF_BYTES: usize = 64 << 20;

/// A file of the kernel, whole.
pub(super) async fn read_whole(link: &AgentLink, file: KernelFile) -> Result<Vec<u8>, String> {
    let most = match file {
        KernelFile::Btf | KernelFile::ModuleBtf { .. } => MAX_BTF_BYTES,
        _ => MAX_FORMAT_BYTES,
    };
    let what = format!("{file:?}");
    let file = link.open_kernel_file(file).await.map_err(|error| words(&error))?;
    let reading = tokio::task::spawn_blocking(move || {
        let (mut all, mut part) = (Vec::new(), vec![0; READ_BYTES]);
        loop {
            match rustix::io::read(&file, part.as_mut_slice()) {
                Ok(0) => return Ok(all),
                Ok(count) if all.len() + count > most => return Err("it is too long".to_owned()),
                Ok(count) => all.extend_from_slice(part.get(..count).unwrap_or_default()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.to_string()),
            }
        }
    });
    let read = reading.await.unwrap_or_else(|error| Err(error.to_string()));
    read.map_err(|why| format!("{what} cannot be read: {why}"))
}

/// The format of an event, for a stream.
#[derive(Clone, Debug)]
pub(super) struct StreamFormat {
    pub(super) stream: u16,
    /// The event's group, by which its module is found.
    pub(super) group: String,
    pub(super) text: Vec<u8>,
}

impl StreamFormat {
    /// Whether it may show functions of the kernel by their names. To read these takes longer than to start a capture, so
    /// that it is not done for nothing.
    pub(super) fn may_name_addresses(&self) -> bool {
        let named = [b"%pS", b"%ps", b"%pB", b"%pF", b"%pf"];
        self.text.windows(3).any(|three| named.iter().any(|conversion| *conversion == three))
    }
}

/// Keeps formats with their streams. `code_start` is where the kernel's code begins, if its functions can be named. What is
/// not understood is left out: the event is then shown by its fields.
pub(super) async fn keep(
    link: &AgentLink,
    schemas: &mut [&mut StreamSchema],
    formats: Vec<StreamFormat>,
    code_start: Option<u64>,
) {
    let mut constants = Constants { link, kernel: None, modules: HashMap::new() };
    for StreamFormat { stream, group, text } in formats {
        let Some(schema) = schemas.get_mut(usize::from(stream)) else { continue };
        match constants.resolved(&group, text, code_start).await {
            Ok(format) => schema.format = Some(Box::new(format)),
            Err(why) => tracing::debug!(event = schema.name, why, "an event is shown by its fields"),
        }
    }
}

/// Values of names in formats, from the types of the kernel and its modules, which are read when one is needed.
struct Constants<'a> {
    link: &'a AgentLink,
    kernel: Option<Option<Arc<Btf>>>,
    modules: HashMap<String, Option<Types>>,
}

impl Constants<'_> {
    async fn resolved(&mut self, group: &str, text: Vec<u8>, code_start: Option<u64>) -> Result<KernelFormat, String> {
        let event = parse_event_format(&text).map_err(|error| error.to_string())?;
        let text = String::from_utf8(text).map_err(|error| error.to_string())?;
        if text.len() > KernelFormat::MAX_TEXT_BYTES {
            return Err("its format is too long".to_owned());
        }
        let mut asked = BTreeSet::new();
        let mut print = PrintFormat::parse(&event, &text, &mut |name| {
            asked.insert(name.to_owned());
            Some(1)
        });
        let mut constants = BTreeMap::new();
        if print.is_ok() && !asked.is_empty() {
            let types = self.types(group).await.ok_or("the kernel's types cannot be read")?;
            for name in asked.into_iter().take(KernelFormat::MAX_CONSTANTS - 1) {
                if let Some(found) = types.constant(&name) {
                    constants.insert(name, found.value);
                }
            }
            print = PrintFormat::parse(&event, &text, &mut |name| constants.get(name).copied());
        }
        let print = print.map_err(|error| error.to_string())?;
        if let Some(start) = code_start.filter(|_| print.names_addresses()) {
            constants.insert(KernelFormat::CODE_START.to_owned(), start.cast_signed());
        }
        Ok(KernelFormat { text, constants })
    }

    /// The kernel's types with those of the module that a group of events is of, where it is one.
    async fn types(&mut self, group: &str) -> Option<&Types> {
        if self.kernel.is_none() {
            let read = read_whole(self.link, KernelFile::Btf).await.ok();
            self.kernel = Some(read.and_then(|bytes| Btf::parse(bytes).ok()).map(Arc::new));
        }
        let kernel = self.kernel.clone().flatten()?;
        if !self.modules.contains_key(group) {
            let mut types = Types::new(Arc::clone(&kernel));
            if let Ok(module) = group.parse::<ModuleName>()
                && let Ok(bytes) = read_whole(self.link, KernelFile::ModuleBtf { module }).await
                && let Ok(module) = Btf::parse_module(group, bytes, &kernel)
            {
                // It was read with this base.
                let _added = types.add_module(Arc::new(module));
            }
            self.modules.insert(group.to_owned(), Some(types));
        }
        self.modules.get(group)?.as_ref()
    }
}
