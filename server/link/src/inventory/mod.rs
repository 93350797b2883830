//! Everything of this host that can be traced, searched while somebody types.
//!
//! What is read together is kept together: functions and types, tracepoints, tracers, what others have attached, the files
//! that processes run. Each is read when it is first asked for, and looked at again when somebody asks after a while: what
//! can only change with the modules when the list of modules is another one, the rest by its age. Nothing is looked at
//! while nobody asks. What takes long is read again in the background, and the old answers meanwhile.
//!
//! It reads what the agent opens, parses it here without rights, and changes nothing on the host.

mod entry;
mod kernel_lines;
mod kinds;
mod lines;
mod parameters;
mod part;
mod read;
mod symbols;
mod types;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bathyscope_capture::ProgramData;
use bathyscope_catalog::{
    elf::FunctionParameters,
    names::{Query, Searched, search},
};

use crate::{AgentLink, LinkError};
use kinds::Source;
use lines::LineCache;
use part::{Facts, Kernel, Part};
use read::Read;
use symbols::SymbolCache;

pub use entry::{Action, Code, Entry, Means};
pub use kernel_lines::KernelLineSite;
pub use kinds::EntryKind;
pub use lines::LineSite;
pub use part::Hidden;
pub use symbols::{FileSymbols, read_symbols};
pub use types::KernelTypes;

/// Why the inventory cannot tell something.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InventoryError {
    /// The agent refused or is not there.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// What the agent opened could not be read.
    #[error("reading {what}: {why}")]
    Read {
        /// What.
        what: String,
        /// Why not.
        why: String,
    },
    /// A program, a library or the kernel's debug information does not tell it.
    #[error("{doing}: {why}")]
    File {
        /// What was being done.
        doing: &'static str,
        /// Which file, and why not.
        why: String,
    },
    /// There is no such entry.
    #[error("this host has no {kind} of that name (any more)")]
    Missing {
        /// Of which kind.
        kind: &'static str,
    },
}

/// When something is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// It stays as long as the agent.
    Never,
    /// At once, if it is older.
    After(Duration),
    /// In the background, if it is older.
    Behind(Duration),
    /// In the background, if there are other modules; looked at if it is older.
    Modules(Duration),
}

fn rule(source: Source) -> Rule {
    match source {
        Source::Kernel => Rule::Modules(Duration::from_secs(5)),
        Source::Tracepoints => Rule::Behind(Duration::from_secs(10)),
        Source::Tracers | Source::Perf | Source::Symbols => Rule::Never,
        Source::Probes | Source::Programs => Rule::After(Duration::from_secs(2)),
        Source::Files => Rule::Behind(Duration::from_secs(10)),
    }
}

const SOURCES: [Source; 7] = [
    Source::Kernel,
    Source::Tracepoints,
    Source::Tracers,
    Source::Perf,
    Source::Probes,
    Source::Programs,
    Source::Files,
];

#[derive(Clone)]
struct KeptList {
    read: Arc<Read>,
    connection: u64,
    read_at: Instant,
    looked_at: Instant,
}

#[derive(Default)]
struct ListSlot {
    kept: RwLock<Option<KeptList>>,
    trouble: RwLock<Option<InventoryError>>,
    /// Held while it is read, so that it is read once however many wait.
    reading: tokio::sync::Mutex<()>,
    /// Whether it is being read.
    busy: AtomicBool,
    /// Whether it is being looked at in the background.
    behind: AtomicBool,
}

fn locked<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

struct Inner {
    link: AgentLink,
    /// Whether programs that run are being read.
    opening: AtomicBool,
    /// When they were read last.
    opened: Mutex<Option<Instant>>,
    slots: BTreeMap<Source, ListSlot>,
    symbols: SymbolCache,
    lines: LineCache,
}

/// What can be traced on this host. Cheap to clone.
#[derive(Clone)]
pub struct Inventory {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Inventory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inventory").finish_non_exhaustive()
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct ProbeSearch {
    /// Words or a pattern; empty for all.
    pub query: String,
    /// Of these kinds; empty for all.
    pub kinds: Vec<EntryKind>,
    /// Only what belongs to this: a module, or a file for functions and markers of user space.
    pub within: Option<String>,
    /// How many to pass over.
    pub offset: usize,
    /// How many to give at most.
    pub limit: usize,
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its kind.
    pub kind: EntryKind,
    /// Its name as people read it.
    pub name: String,
    /// Bytes of it before its own name.
    pub own_at: usize,
    /// Its name as the linker knows it.
    pub raw: String,
    /// What it belongs to.
    pub within: Option<String>,
    /// What the list says beside it.
    pub note: String,
    /// Whether it can be used here.
    pub works: bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct FoundProbes {
    /// How many fit, of the kinds that were asked for.
    pub total: usize,
    /// How many of each kind fit.
    pub by_kind: Vec<(EntryKind, usize)>,
    /// Those that were asked for, best first.
    pub items: Vec<Item>,
}

/// How it stands with a kind.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Which.
    pub kind: EntryKind,
    /// How many entries it has; none if it was not read yet.
    pub count: Option<usize>,
    /// Whether it is being read.
    pub reading: bool,
    /// How old what is kept is.
    pub age: Option<Duration>,
    /// Why it could not be read.
    pub trouble: Option<InventoryError>,
    /// What of it this host keeps from being seen.
    pub hidden: Vec<Hidden>,
}

/// How many names a pattern stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Names that match.
    pub total: usize,
    /// Those of them that can be probed.
    pub usable: usize,
}

impl Inventory {
    /// Asks through `link`. Reads nothing yet.
    pub fn new(link: AgentLink) -> Self {
        let slots = SOURCES.into_iter().map(|source| (source, ListSlot::default())).collect();
        Self {
            inner: Arc::new(Inner {
                link,
                slots,
                symbols: SymbolCache::default(),
                lines: LineCache::default(),
                opening: AtomicBool::new(false),
                opened: Mutex::default(),
            }),
        }
    }

    /// The names that fit, best first.
    ///
    /// # Errors
    /// If nothing of what was asked for can be read.
    pub async fn search(&self, wanted: ProbeSearch) -> Result<FoundProbes, InventoryError> {
        let all = self.parts(&wanted).await?;
        let looking = tokio::task::spawn_blocking(move || answer(&all, &wanted));
        looking.await.map_err(|error| InventoryError::Read { what: "the inventory".to_owned(), why: error.to_string() })
    }

    /// How many names a pattern stands for: `vfs_*`, or for functions of a module `*:mod:ext4`, as ftrace writes it.
    ///
    /// # Errors
    /// If what it names cannot be read.
    pub async fn count(
        &self,
        kind: EntryKind,
        pattern: &str,
        within: Option<String>,
    ) -> Result<Counted, InventoryError> {
        let (pattern, module) = pattern.split_once(":mod:").map_or((pattern, None), |(it, module)| (it, Some(module)));
        let within = module.map(str::to_owned).or(within);
        let wanted = ProbeSearch { kinds: vec![kind], within, ..ProbeSearch::default() };
        let (all, query) = (self.parts(&wanted).await?, Query::pattern(pattern));
        let counting = tokio::task::spawn_blocking(move || counted(&all, &wanted, &query));
        counting
            .await
            .map_err(|error| InventoryError::Read { what: "the inventory".to_owned(), why: error.to_string() })
    }

    /// How it stands with each kind. Reads nothing.
    pub fn standing(&self) -> Vec<Standing> {
        let connection = self.inner.link.status().connection;
        let of_kind = |kind: EntryKind| {
            let mut standing =
                Standing { kind, count: None, reading: false, age: None, trouble: None, hidden: Vec::new() };
            let Some(slot) = self.inner.slots.get(&kind.source()) else {
                standing.count = Some(self.inner.symbols.count(kind));
                return standing;
            };
            standing.reading = slot.busy.load(Ordering::Relaxed);
            standing.trouble = locked(slot.trouble.read()).clone();
            if let Some(kept) = locked(slot.kept.read()).as_ref().filter(|kept| kept.connection == connection) {
                let part = kept.read.parts.iter().find(|part| part.kind == kind);
                standing.count = part.map(|part| part.names.len());
                standing.age = Some(kept.read_at.elapsed());
                let of_kind = |hidden: &&Hidden| hidden.kind.is_none_or(|it| it == kind);
                standing.hidden = kept.read.hidden.iter().filter(of_kind).cloned().collect();
            }
            standing
        };
        EntryKind::ALL.into_iter().map(of_kind).collect()
    }

    /// Forgets everything, so that it is read again when it is next asked for.
    pub fn forget(&self) {
        for slot in self.inner.slots.values() {
            *locked(slot.kept.write()) = None;
            *locked(slot.trouble.write()) = None;
        }
        self.inner.symbols.forget();
        self.inner.lines.forget();
    }

    /// Everything that a search has to look at, read if it has to be.
    async fn parts(&self, wanted: &ProbeSearch) -> Result<Vec<Arc<Read>>, InventoryError> {
        let asked = |source: Source| wanted.kinds.is_empty() || wanted.kinds.iter().any(|kind| kind.source() == source);
        let mut all = Vec::new();
        let mut trouble = None;
        for source in SOURCES {
            let found = match asked(source) {
                true => self.read(source).await,
                // Of the others only what is there already is counted.
                false => self.kept(source).map(|kept| kept.read).ok_or(InventoryError::Missing { kind: "kind" }),
            };
            match found {
                Ok(read) => all.push(read),
                Err(error) if asked(source) => trouble = Some(error),
                Err(_not_read) => {}
            }
        }
        let file = wanted.within.as_deref().filter(|within| within.starts_with('/'));
        if let Some(path) = file.filter(|_| asked(Source::Symbols)) {
            self.symbols_of(path).await?;
        }
        all.extend(self.inner.symbols.reads());
        let has = |kind: &EntryKind| all.iter().any(|read| read.parts.iter().any(|part| part.kind == *kind));
        let nothing = match wanted.kinds.as_slice() {
            [] => all.iter().all(|read| read.parts.iter().all(|part| part.names.is_empty())),
            kinds => !kinds.iter().any(|kind| has(kind) || kind.source() == Source::Symbols),
        };
        match trouble {
            Some(error) if nothing => Err(error),
            _ => Ok(all),
        }
    }

    fn kept(&self, source: Source) -> Option<KeptList> {
        let connection = self.inner.link.status().connection;
        let kept = locked(self.inner.slots.get(&source)?.kept.read()).clone();
        kept.filter(|kept| kept.connection == connection)
    }

    /// What is kept, if it need not be looked at first; else what is read now.
    async fn read(&self, source: Source) -> Result<Arc<Read>, InventoryError> {
        let Some(kept) = self.kept(source) else { return self.read_now(source, None).await };
        let older = |limit: Duration| kept.looked_at.elapsed() > limit;
        match rule(source) {
            Rule::After(limit) if older(limit) => return self.read_now(source, Some(kept.looked_at)).await,
            Rule::Behind(limit) | Rule::Modules(limit) if older(limit) => self.look_behind(source, kept.clone()),
            _ => {}
        }
        Ok(kept.read)
    }

    /// Looks in the background whether it is still so, and reads it again if not.
    fn look_behind(&self, source: Source, kept: KeptList) {
        let Some(slot) = self.inner.slots.get(&source) else { return };
        if slot.behind.swap(true, Ordering::Relaxed) {
            return;
        }
        let this = self.clone();
        tokio::spawn(async move {
            let same = match rule(source) {
                Rule::Modules(_) => {
                    this.blocking(read::module_signature).await.is_ok_and(|it| it == kept.read.signature)
                }
                _ => false,
            };
            let Some(slot) = this.inner.slots.get(&source) else { return };
            if same {
                if let Some(kept) = locked(slot.kept.write()).as_mut() {
                    kept.looked_at = Instant::now();
                }
            } else if let Err(error) = this.read_now(source, Some(kept.looked_at)).await {
                tracing::debug!(?source, %error, "a part of the inventory cannot be read again");
            }
            slot.behind.store(false, Ordering::Relaxed);
        });
    }

    /// Reads it, unless somebody else has since `looked_at`.
    async fn read_now(&self, source: Source, looked_at: Option<Instant>) -> Result<Arc<Read>, InventoryError> {
        let Some(slot) = self.inner.slots.get(&source) else { return Err(InventoryError::Missing { kind: "kind" }) };
        let _turn = slot.reading.lock().await;
        if let Some(kept) = self.kept(source).filter(|kept| Some(kept.looked_at) > looked_at) {
            return Ok(kept.read);
        }
        slot.busy.store(true, Ordering::Relaxed);
        let connection = self.inner.link.status().connection;
        let kernel = self.kernel();
        let read = self
            .blocking(move |link| match source {
                Source::Kernel => read::kernel(link),
                Source::Tracepoints => read::tracepoints(link),
                Source::Tracers => read::all_tracers(link),
                Source::Perf => read::perf(link),
                Source::Probes => read::probes(link),
                Source::Programs => read::programs(link, kernel.as_deref()),
                Source::Files | Source::Symbols => read::files(link),
            })
            .await;
        slot.busy.store(false, Ordering::Relaxed);
        let now = Instant::now();
        match read {
            Ok(read) => {
                let read = Arc::new(read);
                let kept = KeptList { read: Arc::clone(&read), connection, read_at: now, looked_at: now };
                *locked(slot.kept.write()) = Some(kept);
                *locked(slot.trouble.write()) = None;
                Ok(read)
            }
            Err(error) => {
                *locked(slot.trouble.write()) = Some(error.clone());
                Err(error)
            }
        }
    }

    /// The kernel's types, if they were read.
    fn kernel(&self) -> Option<Arc<Kernel>> {
        let kept = self.kept(Source::Kernel)?;
        kept.read.parts.iter().find_map(|part| match &part.facts {
            Facts::Kernel(kernel) => Some(Arc::clone(kernel)),
            _ => None,
        })
    }

    /// Runs what waits for the agent on a thread that may.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AgentLink) -> Result<T, InventoryError> + Send + 'static,
    ) -> Result<T, InventoryError> {
        let link = self.inner.link.clone();
        let done = tokio::task::spawn_blocking(move || work(&link)).await;
        done.unwrap_or_else(|error| {
            Err(InventoryError::Read { what: "the inventory".to_owned(), why: error.to_string() })
        })
    }

    /// Reads what the programs that run offer, as far as that is not known, so that a search finds it: at most [`MOST_PROGRAMS`] of them,
    /// first those that the fewest processes share, which libraries are not. Goes on in the background.
    pub fn open_running(&self) {
        {
            let mut opened = self.inner.opened.lock().unwrap_or_else(PoisonError::into_inner);
            if opened.is_some_and(|at| at.elapsed() < OPEN_AGAIN) {
                return;
            }
            *opened = Some(Instant::now());
        }
        if self.inner.opening.swap(true, Ordering::Relaxed) {
            return;
        }
        let this = self.clone();
        tokio::spawn(async move {
            let found = this.read(Source::Files).await.map(|read| running_programs(&read)).unwrap_or_default();
            for path in found {
                // Whoever traces as one cannot look into all.
                if let Err(error) = this.symbols_of(&path).await {
                    tracing::debug!(path, %error, "the functions of a program that runs cannot be read");
                }
            }
            this.inner.opening.store(false, Ordering::Relaxed);
        });
    }

    /// The functions and markers of a file that a process has mapped, or of any program.
    ///
    /// # Errors
    /// If it is no program, or cannot be read.
    pub async fn symbols_of(&self, path: &str) -> Result<Arc<FileSymbols>, InventoryError> {
        let pid = self.mapped_by(path);
        let (path, this) = (path.to_owned(), self.clone());
        self.blocking(move |link| this.inner.symbols.get(link, &path, pid)).await
    }

    /// The first lines of a source file from one on of which a program has instructions, with the functions that they are in.
    ///
    /// # Errors
    /// If it is no program, cannot be read, or has no debug information.
    pub async fn source_lines(
        &self,
        path: &str,
        source: &str,
        from: u32,
        most: usize,
    ) -> Result<Vec<LineSite>, InventoryError> {
        let pid = self.mapped_by(path);
        let (path, source, this) = (path.to_owned(), source.to_owned(), self.clone());
        self.blocking(move |link| this.inner.lines.find(link, (&path, pid), (&source, from), most)).await
    }

    /// The first lines of a source file of the kernel from one on, with the places at which they begin.
    ///
    /// # Errors
    /// In words, if its debug information is not on this host, or is of another kernel.
    pub async fn kernel_lines(
        &self,
        source: &str,
        from: u32,
        most: usize,
    ) -> Result<Vec<KernelLineSite>, InventoryError> {
        let (source, this) = (source.to_owned(), self.clone());
        self.blocking(move |link| kernel_lines::find(&this.inner.lines, link, (&source, from), most)).await
    }

    /// What debug information says of the variables at a place in the kernel (`vfs_read`, `vfs_read+12`), and in words why it says
    /// nothing; that may be empty.
    ///
    /// # Errors
    /// If it cannot be asked for.
    pub async fn kernel_place_variables(&self, parts: Vec<String>) -> Result<(ProgramData, String), InventoryError> {
        let read = move |link: &AgentLink| {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            Ok(match crate::script::kernel_variables(&mut link.clone(), &parts, None) {
                Ok(data) => (data, String::new()),
                Err(why) => (ProgramData::default(), why),
            })
        };
        self.blocking(read).await
    }

    /// The parameters of a function of a program, as its debug information describes them; none if it does not.
    ///
    /// # Errors
    /// If it is no program, or cannot be read.
    pub async fn function_parameters(
        &self,
        path: &str,
        function: &str,
    ) -> Result<Option<FunctionParameters>, InventoryError> {
        let pid = self.mapped_by(path);
        let (path, function) = (path.to_owned(), function.to_owned());
        self.blocking(move |link| parameters::parameters_of(link, (&path, pid), &function)).await
    }

    /// What debug information says of the variables at a place in a program (`main`, `main+12`), and in words why it says
    /// nothing; that may be empty.
    ///
    /// # Errors
    /// If it is no program, cannot be read, or has no such place.
    pub async fn place_variables(&self, path: &str, place: &str) -> Result<(ProgramData, String), InventoryError> {
        let pid = self.mapped_by(path);
        let (path, place) = (path.to_owned(), place.to_owned());
        let read = move |link: &AgentLink| {
            let told = |why: String| InventoryError::File { doing: "reading the variables of a program", why };
            crate::script::place_variables(&mut link.clone(), pid, &path, &place).map_err(told)
        };
        self.blocking(read).await
    }

    /// A process that has a file mapped; none if none is known to.
    fn mapped_by(&self, path: &str) -> Option<u32> {
        let kept = self.kept(Source::Files)?;
        kept.read.parts.iter().find_map(|part| {
            let Facts::Files(files) = &part.facts else { return None };
            let name = part.names.exactly(path).next().and_then(|index| part.names.get(index))?;
            files.get(usize::try_from(name.value).ok()?).map(|file| file.pid)
        })
    }
}

/// The most programs that are read before anybody has named them.
const MOST_PROGRAMS: usize = 24;
/// How soon they are looked at again.
const OPEN_AGAIN: Duration = Duration::from_secs(10);

/// Programs of a list of mapped files, those first that are of the fewest processes.
fn running_programs(read: &Read) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for part in &read.parts {
        let Facts::Files(files) = &part.facts else { continue };
        for name in part.names.iter() {
            let Some(file) = usize::try_from(name.value).ok().and_then(|index| files.get(index)) else { continue };
            // The kernel names a process as the file or link that it was started by, cut at 15 bytes: `python3` of `python3.11`.
            let own = name.text.rsplit('/').next().unwrap_or_default();
            let is_program = file.processes.iter().any(|(_, comm)| comm.len() > 1 && own.starts_with(comm.as_str()));
            if is_program && name.group.is_none_or(str::is_empty) {
                found.push((file.count, name.text.to_owned()));
            }
        }
    }
    found.sort();
    found.truncate(MOST_PROGRAMS);
    found.into_iter().map(|(_, path)| path).collect()
}

/// Parts with what of them is searched.
fn lists<'a>(all: &'a [Arc<Read>], wanted: &'a ProbeSearch, asked: bool) -> Vec<(&'a Part, Searched<'a>)> {
    let parts = all.iter().flat_map(|read| &read.parts);
    let fits = |part: &&Part| (wanted.kinds.is_empty() || wanted.kinds.contains(&part.kind)) == asked;
    // In the order of the kinds, whatever was read first.
    let mut parts: Vec<&Part> = parts.filter(fits).collect();
    parts.sort_by_key(|part| EntryKind::ALL.iter().position(|kind| *kind == part.kind));
    let searched = |part: &'a Part| Searched { names: &part.names, group: wanted.within.as_deref() };
    parts.into_iter().map(|part| (part, searched(part))).collect()
}

fn answer(all: &[Arc<Read>], wanted: &ProbeSearch) -> FoundProbes {
    let query = Query::new(&wanted.query);
    let mut answer = FoundProbes::default();
    let mut by_kind: BTreeMap<EntryKind, usize> = BTreeMap::new();
    for asked in [true, false] {
        let lists = lists(all, wanted, asked);
        let searched: Vec<Searched<'_>> = lists.iter().map(|(_, searched)| *searched).collect();
        let (offset, limit) = if asked { (wanted.offset, wanted.limit) } else { (0, 0) };
        let found = search(&searched, &query, offset, limit);
        for ((part, _), total) in lists.iter().zip(&found.totals) {
            *by_kind.entry(part.kind).or_default() += total;
        }
        if asked {
            answer.total = found.total();
            answer.items = found.hits.iter().filter_map(|hit| item(lists.get(hit.list)?.0, hit.index)).collect();
        }
    }
    let count = |kind: EntryKind| Some((kind, *by_kind.get(&kind)?));
    answer.by_kind = EntryKind::ALL.into_iter().filter_map(count).collect();
    answer
}

fn counted(all: &[Arc<Read>], wanted: &ProbeSearch, query: &Query) -> Counted {
    let lists = lists(all, wanted, true);
    let searched: Vec<Searched<'_>> = lists.iter().map(|(_, searched)| *searched).collect();
    let found = search(&searched, query, 0, usize::MAX);
    let usable = found.hits.iter().filter(|hit| {
        let part = lists.get(hit.list).map(|(part, _)| *part);
        part.and_then(|part| Some(part.note(&part.names.get(hit.index)?).1)).unwrap_or(false)
    });
    Counted { total: found.total(), usable: usable.count() }
}

fn item(part: &Part, index: usize) -> Option<Item> {
    let name = part.names.get(index)?;
    let (note, works) = part.note(&name);
    Some(Item {
        kind: part.kind,
        name: name.text.to_owned(),
        own_at: name.own_at,
        raw: name.raw.to_owned(),
        within: name.group.map(str::to_owned),
        note,
        works,
    })
}
