//! The journal: what this process is about to make in tracefs, written before it is made.
//!
//! tracefs belongs to the whole machine, and what was made there stays when its maker is killed. So each instance, each
//! event and each change of the machine's own settings is written down first. The next agent, or `bathyscope cleanup`,
//! reads the journals of processes that have ended and undoes what is left.
//!
//! It lies in a directory that only the agent's user can enter; the one with the socket belongs to the console, which
//! must not be able to have things removed. It holds nothing worth keeping over a reboot, so nothing is synced.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use bathyscope_protocol::AgentError;
use serde::{Deserialize, Serialize};

use crate::{error::refused, os::owner::Owner};

/// Where the directory is made, the first that works.
const BASES: [&str; 2] = ["/run", "/tmp"];
const DIRECTORY: &str = "bathyscope-agent";
/// The longest journal that is read.
const MAX_BYTES: u64 = 4 << 20;

/// A file of tracefs and how it is put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restore {
    /// Its path below tracefs.
    pub(crate) file: String,
    /// What is written; empty empties it.
    pub(crate) before: String,
    /// Only if it reads so now; otherwise somebody else has changed it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ours: Option<String>,
}

/// Something that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum JournalEntry {
    /// A tracing instance.
    Instance {
        /// Its name.
        name: String,
    },
    /// A dynamic event.
    Event {
        /// Its group and name, with a `/` between.
        name: String,
    },
    /// Settings of the machine's own instance, or of a tracer.
    Settings {
        /// The tracer that is set there; empty if none is.
        tracer: String,
        /// How they are put back, in this order.
        restore: Vec<Restore>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum JournalLine {
    Begin { boot: String, owner: Owner },
    Make { id: u64, entry: JournalEntry },
    Done { id: u64 },
}

#[derive(Debug, Default)]
struct JournalState {
    file: Option<(PathBuf, File)>,
    open: BTreeMap<u64, JournalEntry>,
    next: u64,
}

static JOURNAL: Mutex<JournalState> = Mutex::new(JournalState { file: None, open: BTreeMap::new(), next: 1 });

/// An entry of this process's journal.
#[derive(Debug)]
#[must_use = "an entry that is never closed is undone by the next agent"]
pub(crate) struct Ticket(u64);

/// The journal of a process that may have ended.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its file.
    pub(crate) path: PathBuf,
    /// Who wrote it.
    pub(crate) owner: Owner,
    /// Whether it is of an earlier boot, since when nothing is left.
    pub(crate) outdated: bool,
    /// What was made or about to be made, and not removed since, in the order in which it was written.
    pub(crate) entries: Vec<JournalEntry>,
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Whether a directory is this user's alone.
fn is_private(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == own && meta.mode() & 0o077 == 0)
}

fn make_directory() -> io::Result<PathBuf> {
    let mut trouble = io::Error::from(io::ErrorKind::NotFound);
    for base in BASES {
        let path = Path::new(base).join(DIRECTORY);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => trouble = error,
            _ if is_private(&path) => return Ok(path),
            _ => trouble = io::Error::other(format!("{} belongs to somebody else", path.display())),
        }
    }
    Err(trouble)
}

impl JournalState {
    fn write(&mut self, line: &JournalLine) -> io::Result<()> {
        if self.file.is_none() {
            let owner = Owner::this().ok_or(io::ErrorKind::NotFound)?;
            let Owner { namespace, pid, ticks } = owner;
            let path = make_directory()?.join(format!("{namespace}-{pid}-{ticks}.journal"));
            let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
            file.write_all(&text_of(&JournalLine::Begin { boot: boot_id(), owner })?)?;
            self.file = Some((path, file));
        }
        let Some((_path, file)) = &mut self.file else { return Ok(()) };
        file.write_all(&text_of(line)?)
    }
}

fn text_of(line: &JournalLine) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

/// Writes down what is about to be made.
pub(crate) fn note(entry: JournalEntry) -> Result<Ticket, AgentError> {
    let mut state = JOURNAL.lock().unwrap_or_else(PoisonError::into_inner);
    let id = state.next;
    state.next += 1;
    let written = state.write(&JournalLine::Make { id, entry: entry.clone() });
    written.map_err(|error| {
        let remedy = "Without a journal nothing is made in tracefs, as nobody could remove it after a crash. \
            Give the agent a /run that it can write.";
        refused("writing the agent's journal", &error, remedy)
    })?;
    state.open.insert(id, entry);
    Ok(Ticket(id))
}

impl Ticket {
    /// It was removed, or never made.
    pub(crate) fn done(self) {
        let mut state = JOURNAL.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.remove(&self.0);
        if !state.open.is_empty() {
            // Should it not be written, the next agent looks for something that is gone.
            let _written = state.write(&JournalLine::Done { id: self.0 });
        } else if let Some((path, _file)) = state.file.take() {
            let _gone = fs::remove_file(path);
        }
    }
}

/// The journals of all processes, this one's too.
pub(crate) fn all() -> Vec<Found> {
    let directories = BASES.iter().map(|base| Path::new(base).join(DIRECTORY)).filter(|path| is_private(path));
    let files = directories.filter_map(|path| fs::read_dir(path).ok()).flatten().filter_map(Result::ok);
    let journals = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|it| it == "journal"));
    journals.filter_map(|path| read(&path)).collect()
}

fn read(path: &Path) -> Option<Found> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let (boot, owner, entries) = parse(&text)?;
    Some(Found { path: path.to_owned(), owner, outdated: boot != boot_id(), entries })
}

/// Reads a journal. A last line that was not written to its end is left out: what it announces was not made.
fn parse(text: &str) -> Option<(String, Owner, Vec<JournalEntry>)> {
    let mut lines = text.lines().map_while(|line| serde_json::from_slice::<JournalLine>(line.as_bytes()).ok());
    let Some(JournalLine::Begin { boot, owner }) = lines.next() else { return None };
    let mut open = BTreeMap::new();
    for line in lines {
        match line {
            JournalLine::Make { id, entry } => {
                open.insert(id, entry);
            }
            JournalLine::Done { id } => {
                open.remove(&id);
            }
            JournalLine::Begin { .. } => {}
        }
    }
    Some((boot, owner, open.into_values().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p40_a_journal_tells_what_was_not_removed() {
        let begin = r#"{"begin":{"boot":"b","owner":{"namespace":1,"pid":2,"ticks":3}}}"#;
        let make =
            |id: u64, name: &str| format!(r#"{{"make":{{"id":{id},"entry":{{"instance":{{"name":"{name}"}}}}}}}}"#);
        let entry = |name: &str| JournalEntry::Instance { name: name.to_owned() };
        let read = |lines: &[&str]| parse(&lines.join("\n")).map(|(_boot, _owner, entries)| entries);
        let (one, two) = (make(1, "one"), make(2, "two"));
        assert_eq!(read(&[begin, &one, &two]), Some(vec![entry("one"), entry("two")]));
        assert_eq!(read(&[begin, &one, &two, r#"{"done":{"id":1}}"#]), Some(vec![entry("two")]));
        assert_eq!(read(&[begin, &one, r#"{"make":{"id":2,"ent"#]), Some(vec![entry("one")]));
        assert_eq!(read(&[begin]), Some(Vec::new()));
        assert_eq!(read(&[&one]), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn settings_come_back_as_they_were_written() {
        let restore = Restore { file: "max_graph_depth".to_owned(), before: "0".to_owned(), ours: None };
        let entry = JournalEntry::Settings { tracer: "function_graph".to_owned(), restore: vec![restore] };
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<JournalEntry>(&text).unwrap(), entry);
    }
}
