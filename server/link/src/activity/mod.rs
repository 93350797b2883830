//! Who uses this host: CPU, memory, faults and I/O by process, user, container, disk and network device, as differences of two
//! readings of the kernel's counters. Nothing is stored, and nothing is read while nobody looks.

mod kernel;
mod message;
mod page;
mod rates;
mod sampler;

pub use message::{
    Activity, ActivityMessage, ContainerActivity, DiskActivity, HostActivity, HostPressure, NetworkActivity, Pressure,
    ProcessActivity, Usage, UserActivity,
};
pub use sampler::{ActivitySampler, pressure_waited_us};
