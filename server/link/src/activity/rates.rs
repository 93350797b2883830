//! What was used between two readings. Pure: counters, names and times in, rates out.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::{
    kernel::KernelCounters,
    message::{
        Activity, ContainerActivity, DiskActivity, HostActivity, NetworkActivity, ProcessActivity, Usage, UserActivity,
    },
    page::ProcessCounters,
};
use crate::processes::TICKS_PER_S;

/// Rows of a list that are told for each of its numbers: as many as a page shows.
const ROWS: usize = 20;
/// Nanoseconds of a tick in which the kernel counts CPU time.
const TICK_NS: u64 = 1_000_000_000 / TICKS_PER_S;

/// What was read at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct ActivitySample {
    /// When the kernel's counters were read, since the sampler began.
    pub(super) at: Duration,
    pub(super) kernel: KernelCounters,
    pub(super) processes: Vec<ProcessCounters>,
    /// Processes that were not read.
    pub(super) unread: u64,
}

/// A container, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ContainerLabel {
    pub(super) name: String,
    pub(super) runtime: String,
}

/// What users and control groups are called.
pub(super) trait Labels {
    /// A user by name or number.
    fn user(&self, uid: u32) -> String;
    /// The container that a control group is or belongs to.
    fn container(&self, group: &str) -> Option<ContainerLabel>;
    /// Bytes of a page of memory.
    fn page_bytes(&self) -> u64;
}

/// What is used in a second, if a counter went from `before` to `now`; nothing if it went back.
fn per_s(before: u64, now: u64, between: Duration) -> u64 {
    let ns = between.as_nanos().max(1);
    u64::try_from(u128::from(now.saturating_sub(before)) * 1_000_000_000 / ns).unwrap_or(u64::MAX)
}

/// A share of a time as thousandths.
fn permille(used_ns: u64, between: Duration) -> u64 {
    u64::try_from(u128::from(used_ns) * 1000 / between.as_nanos().max(1)).unwrap_or(u64::MAX)
}

impl Usage {
    fn between(before: &ProcessCounters, now: &ProcessCounters, page_bytes: u64) -> Self {
        let between = now.at.saturating_sub(before.at);
        let ticks = now.cpu_ticks.saturating_sub(before.cpu_ticks);
        Self {
            cpu_permille: permille(ticks.saturating_mul(TICK_NS), between),
            memory_bytes: now.resident_pages.saturating_mul(page_bytes),
            faults_per_s: per_s(before.faults, now.faults, between),
            read_bytes_per_s: per_s(before.read_bytes, now.read_bytes, between),
            written_bytes_per_s: per_s(before.written_bytes, now.written_bytes, between),
        }
    }

    fn add(&mut self, other: &Self) {
        self.cpu_permille = self.cpu_permille.saturating_add(other.cpu_permille);
        self.memory_bytes = self.memory_bytes.saturating_add(other.memory_bytes);
        self.faults_per_s = self.faults_per_s.saturating_add(other.faults_per_s);
        self.read_bytes_per_s = self.read_bytes_per_s.saturating_add(other.read_bytes_per_s);
        self.written_bytes_per_s = self.written_bytes_per_s.saturating_add(other.written_bytes_per_s);
    }
}

/// What was used between two readings.
pub(super) fn activity(before: &ActivitySample, now: &ActivitySample, labels: &impl Labels) -> Activity {
    let between = now.at.saturating_sub(before.at);
    let processes = processes(before, now, labels);
    let (users, containers) = (users(&processes), containers(&processes));
    let disks = disks(before, now, between);
    let networks = networks(before, now, between);
    Activity {
        interval_ms: u64::try_from(between.as_millis()).unwrap_or(u64::MAX),
        host: host(&before.kernel, &now.kernel, between),
        processes_total: (processes.len() as u64).saturating_add(now.unread),
        processes_unread: now.unread,
        users_total: users.len() as u64,
        containers_total: containers.len() as u64,
        disks_total: disks.len() as u64,
        networks_total: networks.len() as u64,
        processes: first_of(processes.into_iter().map(|(process, _)| process).collect(), |it| numbers_of(&it.usage)),
        users: first_of(users, |it| numbers_of(&it.usage)),
        containers: first_of(containers, |it| numbers_of(&it.usage)),
        disks: first_of(disks, |it| {
            [it.busy_permille, it.read_bytes_per_s, it.written_bytes_per_s, it.reads_per_s, it.writes_per_s]
        }),
        networks: first_of(networks, |it| {
            let [received, sent] = [it.received_packets_per_s, it.sent_packets_per_s];
            [it.received_bytes_per_s, it.sent_bytes_per_s, received, sent, it.failed_packets_per_s]
        }),
    }
}

fn numbers_of(usage: &Usage) -> [u64; 5] {
    let Usage { cpu_permille, memory_bytes, faults_per_s, read_bytes_per_s, written_bytes_per_s } = *usage;
    [cpu_permille, memory_bytes, faults_per_s, read_bytes_per_s, written_bytes_per_s]
}

/// The rows that are among the first by one of their numbers, each once, largest first by the first number, then the second.
fn first_of<T>(mut rows: Vec<T>, numbers: impl Fn(&T) -> [u64; 5]) -> Vec<T> {
    rows.sort_by_cached_key(|row| std::cmp::Reverse(numbers(row)));
    let mut kept = vec![false; rows.len()];
    for column in 0..5 {
        let value = |at: &usize| rows.get(*at).and_then(|row| numbers(row).get(column).copied()).unwrap_or(0);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        // A stable sort: rows that are equal here stay in the order of their first numbers.
        order.sort_by_key(|at| std::cmp::Reverse(value(at)));
        for at in order.into_iter().take(ROWS) {
            if let Some(kept) = kept.get_mut(at) {
                *kept = true;
            }
        }
    }
    rows.into_iter().zip(kept).filter_map(|(row, kept)| kept.then_some(row)).collect()
}

/// Each process with the runtime of its container.
fn processes(
    before: &ActivitySample,
    now: &ActivitySample,
    labels: &impl Labels,
) -> Vec<(ProcessActivity, Option<ContainerLabel>)> {
    let key = |process: &ProcessCounters| (process.pid, process.start_ticks);
    let earlier: HashMap<(u32, u64), &ProcessCounters> =
        before.processes.iter().map(|process| (key(process), process)).collect();
    let page_bytes = labels.page_bytes();
    let mut users: HashMap<u32, String> = HashMap::new();
    let mut row = |process: &ProcessCounters| {
        // What began since has used all that it has used since; what was not read then is known from the next time on.
        let begun = ProcessCounters { at: before.at, ..ProcessCounters::default() };
        let first = if before.unread == 0 { &begun } else { process };
        let usage = Usage::between(earlier.get(&key(process)).copied().unwrap_or(first), process, page_bytes);
        let container = labels.container(&process.group);
        let row = ProcessActivity {
            pid: process.pid,
            start_ticks: process.start_ticks,
            comm: process.comm.clone(),
            user: users.entry(process.uid).or_insert_with(|| labels.user(process.uid)).clone(),
            container: container.as_ref().map(|container| container.name.clone()),
            state: process.state.to_string(),
            threads: process.threads,
            kernel: process.kernel,
            usage,
        };
        (row, container)
    };
    now.processes.iter().map(&mut row).collect()
}

fn users(processes: &[(ProcessActivity, Option<ContainerLabel>)]) -> Vec<UserActivity> {
    let mut all: BTreeMap<&str, UserActivity> = BTreeMap::new();
    for (process, _) in processes {
        let user = all.entry(&process.user).or_default();
        user.processes += 1;
        user.usage.add(&process.usage);
    }
    all.into_iter().map(|(name, user)| UserActivity { user: name.to_owned(), ..user }).collect()
}

fn containers(processes: &[(ProcessActivity, Option<ContainerLabel>)]) -> Vec<ContainerActivity> {
    let mut all: BTreeMap<(&str, &str), ContainerActivity> = BTreeMap::new();
    for (process, container) in processes {
        if let Some(ContainerLabel { name, runtime }) = container {
            let container = all.entry((name, runtime)).or_default();
            container.processes += 1;
            container.usage.add(&process.usage);
        }
    }
    let named = |((name, runtime), container): ((&str, &str), ContainerActivity)| ContainerActivity {
        name: name.to_owned(),
        runtime: runtime.to_owned(),
        ..container
    };
    all.into_iter().map(named).collect()
}

fn host(before: &KernelCounters, now: &KernelCounters, between: Duration) -> HostActivity {
    let busy = now.busy_ticks.saturating_sub(before.busy_ticks);
    let all = now.all_ticks.saturating_sub(before.all_ticks).max(1);
    HostActivity {
        cpus: now.cpus,
        cpu_permille: u32::try_from(busy.saturating_mul(1000) / all).unwrap_or(u32::MAX).min(1000),
        running: now.running,
        blocked: now.blocked,
        load: now.load,
        memory_bytes: now.memory_bytes,
        memory_available_bytes: now.memory_available_bytes,
        swap_bytes: now.swap_bytes,
        swap_used_bytes: now.swap_bytes.saturating_sub(now.swap_free_bytes),
        faults_per_s: per_s(before.faults, now.faults, between),
        major_faults_per_s: per_s(before.major_faults, now.major_faults, between),
        pressure: now.pressure,
    }
}

fn disks(before: &ActivitySample, now: &ActivitySample, between: Duration) -> Vec<DiskActivity> {
    let row = |(name, disk): (&String, &super::kernel::DiskCounters)| {
        // What came since is known from the next time on.
        let earlier = before.kernel.disks.get(name).unwrap_or(disk);
        let busy_ns = disk.busy_ms.saturating_sub(earlier.busy_ms).saturating_mul(1_000_000);
        DiskActivity {
            name: name.clone(),
            busy_permille: permille(busy_ns, between).min(1000),
            reads_per_s: per_s(earlier.reads, disk.reads, between),
            writes_per_s: per_s(earlier.writes, disk.writes, between),
            read_bytes_per_s: per_s(earlier.read_bytes, disk.read_bytes, between),
            written_bytes_per_s: per_s(earlier.written_bytes, disk.written_bytes, between),
        }
    };
    now.kernel.disks.iter().map(row).collect()
}

fn networks(before: &ActivitySample, now: &ActivitySample, between: Duration) -> Vec<NetworkActivity> {
    let row = |(name, device): (&String, &super::kernel::NetworkCounters)| {
        let earlier = before.kernel.networks.get(name).unwrap_or(device);
        NetworkActivity {
            name: name.clone(),
            received_bytes_per_s: per_s(earlier.received_bytes, device.received_bytes, between),
            sent_bytes_per_s: per_s(earlier.sent_bytes, device.sent_bytes, between),
            received_packets_per_s: per_s(earlier.received_packets, device.received_packets, between),
            sent_packets_per_s: per_s(earlier.sent_packets, device.sent_packets, between),
            failed_packets_per_s: per_s(earlier.failed_packets, device.failed_packets, between),
        }
    };
    now.kernel.networks.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::kernel::{DiskCounters, NetworkCounters};

    struct MadeLabels;

    impl Labels for MadeLabels {
        fn user(&self, uid: u32) -> String {
            if uid == 0 { "root".to_owned() } else { uid.to_string() }
        }

        fn container(&self, group: &str) -> Option<ContainerLabel> {
            let name = group.strip_prefix("/docker/")?.to_owned();
            Some(ContainerLabel { name, runtime: "docker".to_owned() })
        }

        fn page_bytes(&self) -> u64 {
            4096
        }
    }

    fn process(pid: u32, start_ticks: u64, cpu_ticks: u64, at_s: u64) -> ProcessCounters {
        let at = Duration::from_secs(at_s);
        ProcessCounters { pid, start_ticks, cpu_ticks, state: 'S', at, ..ProcessCounters::default() }
    }

    fn sample(at_s: u64, processes: Vec<ProcessCounters>) -> ActivitySample {
        ActivitySample { at: Duration::from_secs(at_s), processes, ..ActivitySample::default() }
    }

    fn cpu(activity: &Activity) -> Vec<(u32, u64)> {
        activity.processes.iter().map(|it| (it.pid, it.usage.cpu_permille)).collect()
    }

    #[test]
    fn rates_are_of_the_time_between_the_readings_of_a_process() {
        let before = ProcessCounters { read_bytes: 100, written_bytes: 50, faults: 1, ..process(7, 1, 10, 10) };
        let now = ProcessCounters {
            read_bytes: 300,
            written_bytes: 40,
            faults: 9,
            resident_pages: 2,
            group: "/docker/web".to_owned(),
            ..process(7, 1, 110, 12)
        };
        let activity = activity(&sample(10, vec![before]), &sample(11, vec![now]), &MadeLabels);
        let usage = Usage {
            cpu_permille: 500,
            memory_bytes: 8192,
            faults_per_s: 4,
            read_bytes_per_s: 100,
            written_bytes_per_s: 0,
        };
        let of_process = &activity.processes[0];
        assert_eq!((of_process.usage, of_process.container.as_deref()), (usage, Some("web")));
        assert_eq!((activity.interval_ms, activity.processes_total), (1000, 1));
        assert_eq!(activity.containers[0].usage, usage);
        assert_eq!((&*activity.users[0].user, activity.users[0].processes), ("root", 1));
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let before = sample(10, vec![process(7, 1, 5000, 10), process(8, 1, 100, 10)]);
        let now = sample(12, vec![process(7, 1100, 20, 12), process(9, 1, 50, 12)]);
        assert_eq!(cpu(&activity(&before, &now, &MadeLabels)), [(9, 250), (7, 100)]);
        // Where not all were read, what is new may be old.
        let before = ActivitySample { unread: 3, ..before };
        assert_eq!(cpu(&activity(&before, &now, &MadeLabels)), [(7, 0), (9, 0)]);
    }

    #[test]
    fn counters_at_their_ends_give_numbers_all_the_same() {
        let most = ProcessCounters {
            cpu_ticks: u64::MAX,
            faults: u64::MAX,
            resident_pages: u64::MAX,
            read_bytes: u64::MAX,
            ..process(7, 1, 0, 0)
        };
        let (before, now) = (sample(0, vec![process(7, 1, 0, 0)]), sample(0, vec![most.clone(), most]));
        let made = activity(&before, &now, &MadeLabels);
        assert_eq!(made.users[0].usage.memory_bytes, u64::MAX);
        assert_eq!(activity(&now, &before, &MadeLabels).processes[0].usage, Usage::default());
    }

    #[test]
    fn rows_are_kept_that_are_first_by_one_of_their_numbers() {
        let mut all: Vec<ProcessCounters> = (0..100).map(|pid| process(pid, 1, u64::from(pid), 11)).collect();
        all[3].read_bytes = 1 << 20;
        let made = activity(&sample(10, Vec::new()), &sample(11, all), &MadeLabels);
        assert_eq!(made.processes_total, 100);
        let pids: Vec<u32> = made.processes.iter().map(|process| process.pid).collect();
        assert_eq!(pids, (80..100).rev().chain([3]).collect::<Vec<_>>());
    }

    #[test]
    fn devices_have_rates_from_their_second_reading_on() {
        let disk = |reads: u64, busy_ms: u64| DiskCounters {
            reads,
            busy_ms,
            read_bytes: reads * 512,
            ..DiskCounters::default()
        };
        let network = |received_bytes: u64| NetworkCounters { received_bytes, ..NetworkCounters::default() };
        let mut before = sample(10, Vec::new());
        before.kernel.disks.insert("vda".to_owned(), disk(100, 1000));
        before.kernel.networks.insert("eth0".to_owned(), network(100));
        let mut now = sample(12, Vec::new());
        now.kernel.disks.insert("vda".to_owned(), disk(200, 2000));
        now.kernel.disks.insert("vdb".to_owned(), disk(900, 9000));
        now.kernel.networks.insert("eth0".to_owned(), network(2100));
        now.kernel.networks.insert("tun0".to_owned(), network(5));
        let made = activity(&before, &now, &MadeLabels);
        let disks: Vec<_> = made.disks.iter().map(|it| (&*it.name, it.busy_permille, it.reads_per_s)).collect();
        assert_eq!(disks, [("vda", 500, 50), ("vdb", 0, 0)]);
        let networks: Vec<_> = made.networks.iter().map(|it| (&*it.name, it.received_bytes_per_s)).collect();
        assert_eq!(networks, [("eth0", 1000), ("tun0", 0)]);
    }

    #[test]
    fn the_hosts_share_is_of_all_cpus() {
        let counters = |busy_ticks, all_ticks, faults| KernelCounters {
            busy_ticks,
            all_ticks,
            faults,
            swap_bytes: 10,
            swap_free_bytes: 4,
            ..KernelCounters::default()
        };
        let made = host(&counters(100, 1000, 50), &counters(150, 1400, 60), Duration::from_secs(2));
        assert_eq!((made.cpu_permille, made.faults_per_s, made.swap_used_bytes), (125, 5, 6));
        assert_eq!(host(&counters(1, 1, 1), &counters(1, 1, 1), Duration::ZERO).cpu_permille, 0);
    }
}
