//! What those who look are told.

use serde::Serialize;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityMessage {
    /// The counters were read.
    Activity(Box<Activity>),
    /// They could not be read; they are tried again.
    Absent {
        /// Why not.
        why: String,
    },
}

/// What was used between two readings. Of each list those rows are told that are first by one of their numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Activity {
    /// Milliseconds between the readings.
    pub interval_ms: u64,
    /// The whole host.
    pub host: HostActivity,
    /// How many processes there are.
    pub processes_total: u64,
    /// How many of them were not read, because there are too many.
    pub processes_unread: u64,
    /// Processes.
    pub processes: Vec<ProcessActivity>,
    /// How many users have processes.
    pub users_total: u64,
    /// Users.
    pub users: Vec<UserActivity>,
    /// How many containers have processes.
    pub containers_total: u64,
    /// Containers.
    pub containers: Vec<ContainerActivity>,
    /// How many disks have been used.
    pub disks_total: u64,
    /// Disks, without their partitions.
    pub disks: Vec<DiskActivity>,
    /// How many network devices have been used.
    pub networks_total: u64,
    /// Network devices.
    pub networks: Vec<NetworkActivity>,
}

/// The whole host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostActivity {
    /// CPUs that are switched on.
    pub cpus: u32,
    /// Share of the time of all CPUs in which they ran something, in thousandths.
    pub cpu_permille: u32,
    /// Threads that run or wait for a CPU.
    pub running: u64,
    /// Threads that wait for a disk.
    pub blocked: u64,
    /// The load of the last 1, 5 and 15 minutes.
    pub load: [f64; 3],
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of memory that programs can still get.
    pub memory_available_bytes: u64,
    /// Bytes of swap space.
    pub swap_bytes: u64,
    /// Bytes of it that are used.
    pub swap_used_bytes: u64,
    /// Page faults in a second.
    pub faults_per_s: u64,
    /// Those of them that waited for a disk.
    pub major_faults_per_s: u64,
    /// How long threads waited; none where the kernel does not tell.
    pub pressure: Option<HostPressure>,
}

/// How long threads waited, over the last 10 seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostPressure {
    /// For a CPU.
    pub cpu: Pressure,
    /// For memory.
    pub memory: Pressure,
    /// For disks.
    pub io: Pressure,
}

/// How long threads waited for something, over the last 10 seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pressure {
    /// Share of the time in which some thread waited, in thousandths.
    pub some_permille: u32,
    /// Share of the time in which all threads waited that were not idle, in thousandths.
    pub full_permille: u32,
}

/// What a process, or several, use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// CPU time in thousandths of one CPU.
    pub cpu_permille: u64,
    /// Bytes of memory that are resident; what processes share is counted for each.
    pub memory_bytes: u64,
    /// Page faults in a second.
    pub faults_per_s: u64,
    /// Bytes read from disks in a second; zero where the kernel does not tell.
    pub read_bytes_per_s: u64,
    /// Bytes written to disks in a second; zero where the kernel does not tell.
    pub written_bytes_per_s: u64,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessActivity {
    /// Its id.
    pub pid: u32,
    /// When it was started, in ticks since the host was: with the id it names the process.
    pub start_ticks: u64,
    /// Its name, made visible.
    pub comm: String,
    /// The user that it runs as, by name or number.
    pub user: String,
    /// The container that it runs in, if it does.
    pub container: Option<String>,
    /// The letter of its state: `R` runs, `S` sleeps, `D` waits for a disk.
    pub state: String,
    /// Its threads.
    pub threads: u64,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
    /// What it uses.
    #[serde(flatten)]
    pub usage: Usage,
}

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UserActivity {
    /// The name, or the number where there is none.
    pub user: String,
    /// Processes of this user.
    pub processes: u64,
    /// What they use.
    #[serde(flatten)]
    pub usage: Usage,
}

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ContainerActivity {
    /// What its runtime calls it, or the beginning of its id.
    pub name: String,
    /// What runs it, such as `docker`.
    pub runtime: String,
    /// Processes in it.
    pub processes: u64,
    /// What they use.
    #[serde(flatten)]
    pub usage: Usage,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiskActivity {
    /// Its name, made visible.
    pub name: String,
    /// Share of the time in which it had something to do, in thousandths.
    pub busy_permille: u64,
    /// Reads in a second.
    pub reads_per_s: u64,
    /// Writes in a second.
    pub writes_per_s: u64,
    /// Bytes read in a second.
    pub read_bytes_per_s: u64,
    /// Bytes written in a second.
    pub written_bytes_per_s: u64,
}

/// A network device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NetworkActivity {
    /// Its name, made visible.
    pub name: String,
    /// Bytes received in a second.
    pub received_bytes_per_s: u64,
    /// Bytes sent in a second.
    pub sent_bytes_per_s: u64,
    /// Packets received in a second.
    pub received_packets_per_s: u64,
    /// Packets sent in a second.
    pub sent_packets_per_s: u64,
    /// Packets with errors, or dropped, in a second, both ways.
    pub failed_packets_per_s: u64,
}
