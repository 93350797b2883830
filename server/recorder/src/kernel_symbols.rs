//! The kernel's symbols, read once for each connection to the agent and kept: they take a few megabytes.

use std::{
    fs::File,
    io::Read,
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_protocol::KernelFile;
use bathyscope_symbols::Kallsyms;
use tokio::sync::Mutex;

use super::{AgentLink, link::words};

/// The most that is read of `/proc/kallsyms`.
const MAX_BYTES: u64 = 256 << 20;

#[derive(Debug)]
struct Kept {
    connection: u64,
    at: Instant,
    symbols: Arc<Kallsyms>,
}

/// The kernel's symbols.
#[derive(Debug, Default)]
pub(crate) struct KernelSymbols(Mutex<Option<Kept>>);

impl KernelSymbols {
    /// The symbols, not older than `max_age` (modules come and go); none if they cannot be read.
    pub(crate) async fn get(&self, link: &AgentLink, max_age: Duration) -> Option<Arc<Kallsyms>> {
        let connection = link.status().connection;
        let mut kept = self.0.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.connection == connection && kept.at.elapsed() <= max_age) {
            return Some(Arc::clone(&kept.symbols));
        }
        match read(link).await {
            Ok(symbols) => {
                let symbols = Arc::new(symbols);
                *kept = Some(Kept { connection, at: Instant::now(), symbols: Arc::clone(&symbols) });
                Some(symbols)
            }
            Err(why) => {
                tracing::warn!(why, "kernel functions have no names");
                // Where the image lies does not change before the next boot, so old symbols are good enough.
                kept.as_ref().filter(|kept| kept.connection == connection).map(|kept| Arc::clone(&kept.symbols))
            }
        }
    }
}

async fn read(link: &AgentLink) -> Result<Kallsyms, String> {
    let file = link.open_kernel_file(KernelFile::Kallsyms).await.map_err(|error| words(&error))?;
    let parse = move || {
        let mut text = Vec::new();
        File::from(file).take(MAX_BYTES).read_to_end(&mut text).map_err(|error| error.to_string())?;
        Kallsyms::parse(&text).map_err(|error| error.to_string())
    };
    tokio::task::spawn_blocking(parse).await.map_err(|error| error.to_string())?
}
