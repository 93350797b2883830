//! What a child without rights says about a file that it reads, and what is believed of it: nothing that was not checked.
//!
//! A message is a letter and its content: `H` the header, `P` a page of dictionaries, processes or output (both JSON), `C` the
//! number of a stream and a chunk's bytes, `E` the end, `F` why the file is refused.

use std::io;

use bathyscope_capture::{
    Append, EncodedChunk, Frame, FrameId, FunctionCode, MAX_CHUNK_BYTES, Mapping, MappingId, OutputLine, ProcessChange,
    ScriptRecord, StackId, StringId, Symbol,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sqlx::{
    ConnectOptions as _,
    sqlite::{SqliteConnectOptions, SqliteOwnedBuf},
};

use super::{
    feed::{Feed, FileFeed, Header},
    of_file, refuse,
};
use crate::{CaptureRecord, NoteRecord, StoreError, append::size_of, error::failed};

/// The largest message: a page of the largest texts, as JSON.
pub const MAX_IMPORT_MESSAGE_BYTES: usize = 128 << 20;
/// Bytes of a title, an owner and a reason.
const MAX_WORDS: [usize; 3] = [256, 64, 1024];
const MAX_STREAMS: usize = 256;
const MAX_LOSSES: usize = 100_000;
const MAX_PLAN_BYTES: usize = 4 << 20;
const MAX_TEXT_BYTES: usize = 65_536;
const MAX_BUILD_ID_BYTES: usize = 64;
const MAX_SYMBOL_BYTES: usize = 262_144;
const MAX_FUNCTIONS: usize = 4096;

/// Gives the next message of a child; none after the last. An error is why the child failed, in words.
pub type NextMessage = Box<dyn FnMut() -> Result<Option<Vec<u8>>, String> + Send>;

#[derive(Serialize, Deserialize)]
struct WireHeader {
    record: CaptureRecord,
    script: Option<ScriptRecord>,
    notes: Vec<NoteRecord>,
    digest: [u8; 32],
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WirePage {
    strings: Vec<(StringId, Vec<u8>)>,
    mappings: Vec<(MappingId, Mapping)>,
    frames: Vec<(FrameId, Frame)>,
    stacks: Vec<(StackId, Vec<FrameId>)>,
    symbols: Vec<(FrameId, Symbol)>,
    code: Vec<FunctionCode>,
    processes: Vec<ProcessChange>,
    output: Vec<OutputLine>,
}

impl From<Append> for WirePage {
    fn from(page: Append) -> Self {
        let Append { strings, mappings, frames, stacks, symbols, code, processes, output, .. } = page;
        let stacks = stacks.into_iter().map(|(id, stack)| (id, stack.to_vec())).collect();
        Self { strings, mappings, frames, stacks, symbols, code, processes, output }
    }
}

impl From<WirePage> for Append {
    fn from(page: WirePage) -> Self {
        let WirePage { strings, mappings, frames, stacks, symbols, code, processes, output } = page;
        let stacks = stacks.into_iter().map(|(id, stack)| (id, stack.into())).collect();
        Self { strings, mappings, frames, stacks, symbols, code, processes, output, ..Self::default() }
    }
}

/// Reads the bytes of a file as a capture, in a process that may do nothing else, and says all of it by `send`.
///
/// # Errors
/// If nobody listens any more. What is wrong with the file is said.
pub async fn tell_file(bytes: Vec<u8>, send: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send)) -> io::Result<()> {
    let told = match open(bytes).await {
        Ok(mut feed) => tell(&mut feed, send).await,
        Err(error) => Err(Untold::File(error)),
    };
    match told {
        Ok(()) => Ok(()),
        Err(Untold::Nobody(error)) => Err(error),
        Err(Untold::File(error)) => {
            let why = match error {
                StoreError::Import { why } => why,
                other => other.to_string(),
            };
            send(&[b"F", why.as_bytes()].concat())
        }
    }
}

enum Untold {
    File(StoreError),
    Nobody(io::Error),
}

impl From<StoreError> for Untold {
    fn from(error: StoreError) -> Self {
        Self::File(error)
    }
}

impl From<io::Error> for Untold {
    fn from(error: io::Error) -> Self {
        Self::Nobody(error)
    }
}

/// The file as a database in memory: nothing is opened by a name.
async fn open(bytes: Vec<u8>) -> Result<Feed, StoreError> {
    const DOING: &str = "reading a file";
    // In memory even an empty file would be a database.
    if bytes.is_empty() {
        return Err(refuse("it is empty"));
    }
    let options = SqliteConnectOptions::new()
        .in_memory(true)
        .disable_statement_logging()
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", "-8192");
    let mut conn = options.connect().await.map_err(failed(DOING)).map_err(of_file)?;
    let copied = SqliteOwnedBuf::try_from(bytes.as_slice()).map_err(failed(DOING)).map_err(of_file)?;
    drop(bytes);
    conn.deserialize(None, copied, true).await.map_err(failed(DOING)).map_err(of_file)?;
    Ok(Feed::File(Box::new(FileFeed::new(conn))))
}

async fn tell(feed: &mut Feed, send: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send)) -> Result<(), Untold> {
    let Header { record, script, notes, digest } = feed.header().await?;
    send(&json(b'H', &WireHeader { record, script, notes, digest })?)?;
    while let Some(mut page) = feed.next().await? {
        for (stream, chunk) in std::mem::take(&mut page.chunks) {
            send(&[b"C", &stream.to_le_bytes()[..], &chunk.bytes].concat())?;
        }
        if page != Append::default() {
            send(&json(b'P', &WirePage::from(page))?)?;
        }
    }
    feed.finish().await?;
    Ok(send(b"E")?)
}

fn json(letter: u8, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut message = vec![letter];
    serde_json::to_writer(&mut message, value).map_err(|error| refuse(error.to_string()))?;
    Ok(message)
}

/// The child's messages, and what they have said so far.
pub(crate) struct Messages {
    next: Option<NextMessage>,
    most_bytes: u64,
    told_bytes: u64,
    /// The last ids of strings, mappings, frames and stacks.
    last: [u32; 4],
    functions: usize,
    /// By stream, how many chunks are still to come.
    chunks: Vec<u32>,
    ended: bool,
}

impl Messages {
    /// At most so many bytes are taken in all.
    pub(crate) fn new(next: NextMessage, most_bytes: u64) -> Self {
        let (told_bytes, last, functions, chunks) = (0, [0; 4], 0, Vec::new());
        Self { next: Some(next), most_bytes, told_bytes, last, functions, chunks, ended: false }
    }

    /// The next message. Waiting for it blocks a thread, but not one of those that do other work.
    async fn receive(&mut self) -> Result<(u8, Vec<u8>), StoreError> {
        let mut next = self.next.take().ok_or(StoreError::Closed)?;
        let received = tokio::task::spawn_blocking(move || {
            let message = next();
            (message, next)
        });
        let (message, next) = received.await.map_err(|_ended| StoreError::Closed)?;
        self.next = Some(next);
        let mut message = message.map_err(refuse)?.ok_or_else(odd)?;
        if message.is_empty() {
            return Err(odd());
        }
        let content = message.split_off(1);
        match message.first() {
            Some(b'F') => {
                let why = String::from_utf8_lossy(&content);
                Err(refuse(bathyscope_capture::visible(crate::limits::cut(&why, 1000).as_bytes()).to_string()))
            }
            Some(letter) => Ok((*letter, content)),
            None => Err(odd()),
        }
    }

    pub(crate) async fn header(&mut self) -> Result<Header, StoreError> {
        let (letter, content) = self.receive().await?;
        if letter != b'H' {
            return Err(odd());
        }
        let WireHeader { record, script, notes, digest } = parsed(&content)?;
        let words = [&record.title, &record.owner, &record.reason];
        let plan = script.as_ref().map_or(0, |script| script.plan.len());
        let too_long = words.iter().zip(MAX_WORDS).any(|(text, most)| text.len() > most) || plan > MAX_PLAN_BYTES;
        if too_long || record.streams.len() > MAX_STREAMS || record.ledger.losses.len() > MAX_LOSSES {
            return Err(odd());
        }
        self.chunks = record.streams.iter().map(|stream| stream.chunks).collect();
        Ok(Header { record, script, notes, digest })
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Append>, StoreError> {
        let (letter, content) = self.receive().await?;
        let page = match letter {
            b'P' => self.page(&content)?,
            b'C' => self.chunk(content)?,
            b'E' if content.is_empty() && self.chunks.iter().all(|left| *left == 0) => {
                self.ended = true;
                return Ok(None);
            }
            _ => return Err(odd()),
        };
        self.told_bytes = self.told_bytes.saturating_add(size_of(&page));
        if self.told_bytes > self.most_bytes {
            return Err(refuse(format!("it holds more than {} MiB", self.most_bytes >> 20)));
        }
        Ok(Some(page))
    }

    /// A child says that it has found every checksum right by saying that this is the end.
    pub(crate) async fn finish(&mut self) -> Result<(), StoreError> {
        if self.ended { Ok(()) } else { Err(odd()) }
    }

    fn page(&mut self, content: &[u8]) -> Result<Append, StoreError> {
        let page: WirePage = parsed(content)?;
        // What comes after rows could be referred to by them before it was known.
        let [strings, mappings, frames, stacks] = &mut self.last;
        let numbered = rises(strings, page.strings.iter().map(|entry| entry.0))
            && rises(mappings, page.mappings.iter().map(|entry| entry.0))
            && rises(frames, page.frames.iter().map(|entry| entry.0))
            && rises(stacks, page.stacks.iter().map(|entry| entry.0));
        self.functions += page.code.len();
        let of_symbol = |symbol: &Symbol| {
            let lines = symbol.lines.iter().map(|line| line.function.len() + line.file.len() + 32).sum::<usize>();
            symbol.function.len() + lines
        };
        let fits = page.strings.iter().all(|(_, text)| text.len() <= MAX_TEXT_BYTES)
            && page
                .mappings
                .iter()
                .all(|(_, it)| it.name.len() <= MAX_TEXT_BYTES && it.build_id.len() <= MAX_BUILD_ID_BYTES)
            && page.symbols.iter().all(|(_, symbol)| of_symbol(symbol) <= 2 * MAX_SYMBOL_BYTES)
            && page.code.iter().all(|code| code.bytes.len() <= MAX_TEXT_BYTES)
            && page.output.iter().all(|line| line.bytes.len() <= MAX_TEXT_BYTES)
            && self.functions <= MAX_FUNCTIONS;
        let page = Append::from(page);
        if numbered && fits && page != Append::default() { Ok(page) } else { Err(odd()) }
    }

    fn chunk(&mut self, mut content: Vec<u8>) -> Result<Append, StoreError> {
        if content.len() < 2 || content.len() - 2 > MAX_CHUNK_BYTES {
            return Err(odd());
        }
        let bytes = content.split_off(2);
        let stream = content.try_into().map(u16::from_le_bytes).map_err(|_length| odd())?;
        let left = self.chunks.get_mut(usize::from(stream)).filter(|left| **left > 0).ok_or_else(odd)?;
        *left -= 1;
        // The rest is made anew from the bytes.
        let (stats, leaves) = (Vec::new(), Vec::new());
        let chunk = EncodedChunk { rows: 0, first_ns: 0, last_ns: 0, stats, bytes, leaves };
        Ok(Append { chunks: vec![(stream, chunk)], ..Append::default() })
    }
}

/// Whether ids go on by one from the last.
fn rises(last: &mut u32, ids: impl Iterator<Item = u32>) -> bool {
    for id in ids {
        if Some(id) != last.checked_add(1) {
            return false;
        }
        *last = id;
    }
    true
}

fn parsed<T: DeserializeOwned>(content: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(content).map_err(|_malformed| odd())
}

/// The child says what no file is read as: somebody speaks in its place.
fn odd() -> StoreError {
    refuse("the process without rights that reads it said what cannot be")
}
