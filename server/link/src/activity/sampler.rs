//! Reads the counters once a second, for as long as somebody looks: once for all who do.

use std::{
    collections::HashMap,
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bathyscope_capture::visible;
use bathyscope_catalog::groups::{Container, name_of};
use bathyscope_protocol::{ActivityPage, AgentClient, ClientError, KernelFile, MAX_CONTAINER_IDS, PressureResource};
use tokio::{sync::watch, task::JoinHandle};

use super::{
    kernel::{self, KernelTexts},
    message::ActivityMessage,
    page,
    rates::{self, ActivitySample, ContainerLabel, Labels},
};
use crate::{AgentLink, LinkError, processes::user_of, words};

/// The shortest time from one reading to the next.
const EVERY: Duration = Duration::from_secs(1);
/// A reading takes at most one in so many parts of the time, however many processes there are.
const PART_OF_TIME: u32 = 10;
/// The most pages of processes of a reading; further processes are counted.
const MAX_PAGES: usize = 64;
/// The most that is read of a text of the kernel.
const MAX_TEXT_BYTES: u64 = 1 << 20;
/// How long names of users and containers are kept.
const NAMES_FRESH: Duration = Duration::from_secs(30);
/// Digits of the id of a container that has no name.
const ID_DIGITS: usize = 12;

type Shared = Arc<Mutex<Option<Running>>>;

/// The task that reads, and where it tells what it read.
#[derive(Debug)]
struct Running {
    told: watch::Sender<Option<Arc<ActivityMessage>>>,
    task: JoinHandle<()>,
}

/// See the module. It reads nothing until somebody subscribes.
#[derive(Debug)]
pub struct ActivitySampler {
    link: AgentLink,
    running: Shared,
}

impl ActivitySampler {
    /// Asks through `link`.
    pub fn new(link: AgentLink) -> Self {
        Self { link, running: Shared::default() }
    }

    /// What is told from now on; the last that was told is there at once. Must be called on a thread of the runtime.
    pub fn subscribe(&self) -> watch::Receiver<Option<Arc<ActivityMessage>>> {
        let mut running = lock(&self.running);
        if let Some(running) = running.as_ref().filter(|running| !running.task.is_finished()) {
            let mut receiver = running.told.subscribe();
            // What was told last is new to this one.
            receiver.mark_changed();
            return receiver;
        }
        let (told, receiver) = watch::channel(None);
        let task = tokio::spawn(read_while_watched(self.link.clone(), Arc::clone(&self.running)));
        *running = Some(Running { told, task });
        receiver
    }

    /// Whether counters are read now.
    pub fn is_running(&self) -> bool {
        lock(&self.running).is_some()
    }
}

fn lock(running: &Shared) -> MutexGuard<'_, Option<Running>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells those who look; gives back whether there are any. If not, the task counts as ended.
fn tell(running: &Shared, message: Option<ActivityMessage>) -> bool {
    let mut slot = lock(running);
    let watched = slot.as_ref().is_some_and(|running| running.told.receiver_count() > 0);
    match (watched, slot.as_ref(), message) {
        (true, Some(running), Some(message)) => drop(running.told.send(Some(Arc::new(message)))),
        (true, ..) => {}
        (false, ..) => *slot = None,
    }
    watched
}

async fn read_while_watched(link: AgentLink, running: Shared) {
    let begun = Instant::now();
    let mut before: Option<ActivitySample> = None;
    let mut names = Names::default();
    loop {
        let asked = Instant::now();
        let message = match read(&link, begun, &mut names).await {
            Ok(now) => {
                let activity = before.as_ref().map(|before| rates::activity(before, &now, &names));
                before = Some(now);
                activity.map(|activity| ActivityMessage::Activity(Box::new(activity)))
            }
            Err(error) => {
                before = None;
                Some(ActivityMessage::Absent { why: words(&error) })
            }
        };
        if !tell(&running, message) {
            return;
        }
        let took = asked.elapsed();
        tokio::time::sleep(EVERY.max(took * PART_OF_TIME).saturating_sub(took)).await;
        if !tell(&running, None) {
            return;
        }
    }
}

/// Files of the kernel that are opened each time; none where one is not there.
type Opened = [Option<OwnedFd>; 9];

fn open_all(client: &mut AgentClient) -> Result<Opened, ClientError> {
    let mut opened = Opened::default();
    let pressure = |resource| KernelFile::Pressure { resource };
    let files = [
        KernelFile::Stat,
        KernelFile::LoadAverage,
        KernelFile::MemoryInfo,
        KernelFile::MemoryStat,
        KernelFile::DiskStat,
        KernelFile::NetworkStat,
        pressure(PressureResource::Cpu),
        pressure(PressureResource::Memory),
        pressure(PressureResource::Io),
    ];
    for (place, file) in opened.iter_mut().zip(files) {
        *place = match client.open_kernel_file(file) {
            Ok(file) => Some(file),
            Err(ClientError::Refused(_missing)) => None,
            Err(broken) => return Err(broken),
        };
    }
    Ok(opened)
}

/// For how long threads have waited since the host was started, microseconds: some, or all at a time. None where the kernel does not
/// tell.
///
/// # Errors
/// If the agent is not there.
pub async fn pressure_waited_us(
    link: &AgentLink,
    resource: PressureResource,
    full: bool,
) -> Result<Option<u64>, LinkError> {
    let opened = link.call(move |client| match client.open_kernel_file(KernelFile::Pressure { resource }) {
        Ok(file) => Ok(Some(file)),
        Err(ClientError::Refused(_missing)) => Ok(None),
        Err(broken) => Err(broken),
    });
    Ok(kernel::pressure_total_us(&text(opened.await?), full))
}

fn text(file: Option<OwnedFd>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(file) = file
        && let Err(error) = File::from(file).take(MAX_TEXT_BYTES).read_to_end(&mut bytes)
    {
        tracing::debug!(%error, "counters of the kernel cannot be read");
    }
    bytes
}

fn texts(opened: Opened) -> KernelTexts {
    let [stat, load_average, memory_info, memory_stat, disk_stat, network_stat, cpu, memory, io] = opened.map(text);
    let pressure = [cpu, memory, io];
    KernelTexts { stat, load_average, memory_info, memory_stat, disk_stat, network_stat, pressure }
}

async fn read(link: &AgentLink, begun: Instant, names: &mut Names) -> Result<ActivitySample, LinkError> {
    let (opened, at) = link.call(move |client| Ok((open_all(client)?, begun.elapsed()))).await?;
    let mut sample = ActivitySample { at, ..ActivitySample::default() };
    let mut pages = Vec::new();
    let mut after = 0;
    for _page in 0..MAX_PAGES {
        let (ActivityPage { last, left, .. }, bytes, at) = link
            .call(move |client| {
                let at = begun.elapsed();
                let (page, bytes) = client.process_activity(after)?;
                Ok((page, bytes, at))
            })
            .await?;
        pages.push((bytes, at));
        (after, sample.unread) = (last, u64::from(left));
        if left == 0 {
            break;
        }
    }
    let parsed = tokio::task::spawn_blocking(move || {
        let processes = pages.iter().flat_map(|(bytes, at)| page::processes(bytes, *at)).collect();
        (kernel::counters(&texts(opened)), processes)
    });
    (sample.kernel, sample.processes) = parsed
        .await
        .map_err(|error| LinkError::Absent { message: format!("reading the counters of this host: {error}") })?;
    names.look_up(link, &sample).await?;
    Ok(sample)
}

/// Names of users and containers.
#[derive(Debug, Default)]
struct Names {
    read_at: Option<Instant>,
    passwd: Vec<u8>,
    /// By id.
    containers: HashMap<String, Option<String>>,
}

impl Names {
    /// Asks for what is not known yet, and again for all after a while.
    async fn look_up(&mut self, link: &AgentLink, sample: &ActivitySample) -> Result<(), LinkError> {
        if self.read_at.is_none_or(|at| at.elapsed() >= NAMES_FRESH) {
            let passwd = tokio::fs::read("/etc/passwd").await.unwrap_or_default();
            *self = Self { read_at: Some(Instant::now()), passwd, containers: HashMap::new() };
        }
        let ids = sample.processes.iter().filter_map(|process| name_of(&process.group).container).map(|it| it.id);
        let is_new = |id: &&str| id.len() == 64 && !self.containers.contains_key(*id);
        let mut unknown: Vec<String> = ids.filter(is_new).map(str::to_owned).collect();
        unknown.sort_unstable();
        unknown.dedup();
        // The rest at the next reading.
        unknown.truncate(MAX_CONTAINER_IDS);
        if unknown.is_empty() {
            return Ok(());
        }
        let asked = unknown.clone();
        match link.call(move |client| client.container_names(&asked)).await {
            Ok(names) => self.containers.extend(unknown.into_iter().zip(names.into_iter().map(|one| one.name))),
            // They go by their ids.
            Err(LinkError::Refused(_ids)) => self.containers.extend(unknown.into_iter().map(|id| (id, None))),
            Err(broken) => return Err(broken),
        }
        Ok(())
    }
}

impl Labels for Names {
    fn user(&self, uid: u32) -> String {
        user_of(&self.passwd, uid)
    }

    fn container(&self, group: &str) -> Option<ContainerLabel> {
        let Container { runtime, id, name } = name_of(group).container?;
        let told = name.or_else(|| self.containers.get(id).and_then(|name| name.as_deref()));
        let short = || id.get(..ID_DIGITS).unwrap_or(id);
        let name = visible(told.unwrap_or_else(short).as_bytes());
        Some(ContainerLabel { name, runtime: runtime.to_owned() })
    }

    fn page_bytes(&self) -> u64 {
        rustix::param::page_size() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_go_by_the_name_of_their_runtime_or_the_beginning_of_their_id() {
        let id = "0f1e2d3c4b5a69788796a5b4c3d2e1f0".repeat(2);
        let mut names = Names { passwd: b"eva:x:1000:\n".to_vec(), ..Names::default() };
        let group = format!("/system.slice/docker-{id}.scope/init");
        let label = |names: &Names, group: &str| names.container(group).map(|it| (it.name, it.runtime));
        let docker = |name: &str| Some((name.to_owned(), "docker".to_owned()));
        assert_eq!(label(&names, &group), docker("0f1e2d3c4b5a"));
        names.containers.insert(id.clone(), Some("a\x1bb".to_owned()));
        assert_eq!(label(&names, &group), docker("a\\x1bb"));
        assert_eq!(label(&names, "/lxc.payload.web"), Some(("web".to_owned(), "lxc".to_owned())));
        assert_eq!(label(&names, "/system.slice/cron.service"), None);
        assert_eq!((names.user(1000), names.user(7)), ("eva".to_owned(), "7".to_owned()));
    }
}
