//! How much memory the rings and maps of all captures of one agent may take together.
//!
//! It is the kernel's memory, which nobody takes back while a capture runs, and the console asks for it: so it has one
//! budget, by what the host has.

use bathyscope_protocol::{AgentError, AgentErrorKind, RingsCut};

use crate::{
    error::failed,
    os::{cgroups::first_mount, cpus, sideband::RING_BYTES as SIDEBAND_RING_BYTES},
};

/// The smallest ring of a stream.
pub const MIN_RING_BYTES: u32 = 64 << 10;
/// The largest ring of a stream.
pub const MAX_RING_BYTES: u32 = 64 << 20;
/// The most bytes of a script's maps, however much there is.
pub(crate) const MAX_MAP_BYTES: u64 = 1 << 30;
/// What is always allowed of rings.
const LEAST_BYTES: u64 = 8 << 20;
/// What is always allowed of maps.
const LEAST_MAP_BYTES: u64 = 64 << 20;
/// A capture that cannot have so much for each CPU is refused, unless it wants less.
const LEAST_BYTES_PER_CPU: u64 = 1 << 20;
/// The most that one capture takes: the kernel clears it all while nobody else is answered.
const MOST_BYTES_AT_ONCE: u64 = 512 << 20;

/// The kernel's memory that a source may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceMemory {
    /// Bytes of each stream's ring, a power of two within the limits.
    pub(crate) ring_bytes: u32,
    /// The most bytes that its maps may take, with the ring.
    pub(crate) map_bytes: u64,
}

/// What the host has, in bytes.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// Of the machine.
    all: u64,
    /// What can be had without swapping.
    available: u64,
    /// The least limit of the control groups that this process is in.
    group_limit: Option<u64>,
}

impl Memory {
    fn look() -> Self {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let bytes = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
        };
        let all = bytes("MemTotal:").unwrap_or(0);
        Self { all, available: bytes("MemAvailable:").unwrap_or(all), group_limit: group_limit() }
    }

    /// What the rings of all captures may hold together, of which they hold `held`.
    fn limit(self, held: u64) -> u64 {
        (self.all / 16).min(self.fourth(held)).max(LEAST_BYTES)
    }

    /// What the maps of all scripts may take together. Most grow as they are filled, and few ever are: what they may take
    /// is much more than what they do.
    fn map_limit(self, held: u64) -> u64 {
        self.fourth(held).clamp(LEAST_MAP_BYTES, MAX_MAP_BYTES)
    }

    /// A fourth of what is available, with what is held, and of the group's limit.
    fn fourth(self, held: u64) -> u64 {
        self.available.saturating_add(held).min(self.group_limit.unwrap_or(u64::MAX)) / 4
    }
}

/// The least limit of the groups from this process's own up to the root, or to where a container begins.
fn group_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = first_mount()?;
    let own = std::path::Path::new(own.trim_start_matches('/'));
    let read = |group: &std::path::Path| -> Option<u64> {
        let path = std::path::Path::new(&mount).join(group).join("memory.max");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    own.ancestors().filter_map(read).min()
}

/// What is left for one more capture, or for one of its sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLeft {
    limit: u64,
    held: u64,
    /// The most that it may take.
    most: u64,
    map_bytes: u64,
    cpus: u64,
    /// Whether it opens the side band.
    has_sideband: bool,
}

impl MemoryLeft {
    /// Beside captures that hold `held` bytes of rings and `maps` of maps.
    pub(crate) fn beside(held: u64, maps: u64) -> Self {
        let cpus = cpus::online().map_or(1, |cpus| cpus.len().max(1) as u64);
        let memory = Memory::look();
        let map_bytes = memory.map_limit(maps).saturating_sub(maps);
        let (limit, most) = (memory.limit(held), MOST_BYTES_AT_ONCE);
        Self { limit, held, most, map_bytes, cpus, has_sideband: true }
    }

    fn left(self) -> u64 {
        self.limit.saturating_sub(self.held).min(self.most)
    }

    /// What the first of so many sources may take, if each of them has as much. One of them opens the side band.
    pub(crate) fn share(self, sources: u64, has_sideband: bool) -> Self {
        Self { most: self.left() / sources.max(1), has_sideband, ..self }
    }

    /// A source has taken of its share what is not left of it.
    pub(crate) fn take_as(&mut self, share: Self) {
        let taken = share.held.saturating_sub(self.held);
        (self.held, self.most, self.map_bytes) = (share.held, self.most.saturating_sub(taken), share.map_bytes);
    }

    fn refusal(self) -> AgentError {
        let mib = |bytes: u64| bytes >> 20;
        let why = format!(
            "the rings of all captures of this agent may hold {} MiB of memory, and {} MiB are held",
            mib(self.limit),
            mib(self.held)
        );
        failed(AgentErrorKind::Limit, "making the capture's rings", why, "Stop another capture first.")
    }

    /// Bytes of each of `rings` rings that want `each`, halved as often as it takes, beside what is `reserved`. None if too
    /// little is left.
    fn each(self, rings: u64, each: u64, reserved: u64) -> Option<u64> {
        let left = self.left().saturating_sub(reserved);
        let least = rings.saturating_mul(each).min(LEAST_BYTES_PER_CPU * self.cpus);
        let mut given = each;
        while rings.saturating_mul(given) > left {
            given /= 2;
        }
        let fits = given >= u64::from(MIN_RING_BYTES).min(each) && rings.saturating_mul(given) >= least;
        fits.then_some(given)
    }

    /// How many CPUs there are.
    pub(crate) fn cpus(self) -> u64 {
        self.cpus
    }

    /// Bytes of the rings of the side band, of all CPUs; nothing where another source opens it.
    pub(crate) fn sideband_bytes(self) -> u64 {
        if self.has_sideband { u64::from(SIDEBAND_RING_BYTES) * self.cpus } else { 0 }
    }

    /// The most bytes that the maps of another script may take, beside its ring.
    pub(crate) fn map_bytes(self) -> u64 {
        self.map_bytes
    }

    /// Makes `rings` rings of `ring_bytes` fit, beside `reserved` bytes, and takes both; says what was cut of the rings.
    pub(crate) fn fit_rings(
        &mut self,
        rings: u64,
        ring_bytes: &mut u32,
        reserved: u64,
    ) -> Result<Option<RingsCut>, AgentError> {
        let wanted = u64::from(*ring_bytes);
        let given = self.each(rings, wanted, reserved).ok_or_else(|| self.refusal())?;
        *ring_bytes = u32::try_from(given).unwrap_or(*ring_bytes);
        self.held = self.held.saturating_add(rings * given).saturating_add(reserved);
        Ok((given < wanted).then_some(RingsCut { wanted_bytes: rings * wanted, given_bytes: rings * given }))
    }

    /// Makes a buffer of `kib` for each CPU fit, at least `least_kib` of it, beside `reserved` bytes, and takes both; says what was
    /// cut of the buffers.
    pub(crate) fn fit_buffers(
        &mut self,
        kib: &mut u32,
        least_kib: u32,
        reserved: u64,
    ) -> Result<Option<RingsCut>, AgentError> {
        let each = u64::from(*kib) * 1024;
        let left = self.left().saturating_sub(reserved) / self.cpus;
        if each <= left {
            self.held = self.held.saturating_add(each * self.cpus).saturating_add(reserved);
            return Ok(None);
        }
        if left < each.min(LEAST_BYTES_PER_CPU).max(u64::from(least_kib) * 1024) {
            return Err(self.refusal());
        }
        *kib = u32::try_from(left / 1024).unwrap_or(*kib);
        let given_bytes = left / 1024 * 1024 * self.cpus;
        self.held = self.held.saturating_add(given_bytes).saturating_add(reserved);
        Ok(Some(RingsCut { wanted_bytes: each * self.cpus, given_bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn p58_the_limit_follows_what_the_host_has() {
        let limit = |all, available, group_limit, held| {
            Memory { all: all * MIB, available: available * MIB, group_limit }.limit(held * MIB) / MIB
        };
        assert_eq!(limit(16_384, 16_000, None, 0), 1024, "a sixteenth of all");
        assert_eq!(limit(16_384, 2_000, None, 0), 500, "a fourth of what is available");
        assert_eq!(limit(16_384, 1_600, None, 400), 500, "what captures hold was available before");
        assert_eq!(limit(16_384, 16_000, Some(256 * MIB), 0), 64, "a fourth of the group's limit");
        assert_eq!(limit(64, 10, Some(MIB), 0), 8, "never less");
        let maps = |available: u64, held: u64| {
            Memory { all: 0, available: available * MIB, group_limit: None }.map_limit(held * MIB) / MIB
        };
        assert_eq!((maps(100, 0), maps(1000, 200), maps(64_000, 0)), (64, 300, 1024));
    }

    fn left(limit: u64, held: u64, cpus: u64) -> MemoryLeft {
        let (limit, held, most) = (limit * MIB, held * MIB, MOST_BYTES_AT_ONCE);
        MemoryLeft { limit, held, most, map_bytes: 0, cpus, has_sideband: true }
    }

    #[test]
    fn p58_sources_share_what_is_left() {
        let mut all = left(100, 40, 2);
        let mut wishes = [16 * MIB as u32, 64 * MIB as u32, 8 * MIB as u32];
        let mut behind = 3;
        for wish in &mut wishes {
            let mut share = all.share(behind, behind == 3);
            let reserved = share.sideband_bytes();
            share.fit_rings(1, wish, reserved).unwrap();
            all.take_as(share);
            behind -= 1;
        }
        // 20 MiB for the first, of which 1 MiB is the side band's; 21.5 for the second, and what is left for the last.
        assert_eq!(wishes.map(|bytes| u64::from(bytes) / MIB), [16, 16, 8]);
        assert_eq!(all.left() / MIB, 60 - 17 - 16 - 8);
    }

    #[test]
    fn p58_wishes_are_halved_until_they_fit() {
        assert_eq!(left(1024, 0, 2).each(64, 16 * MIB, 0), Some(8 * MIB), "what one capture may take");
        assert_eq!(left(1024, 1000, 2).each(64, 16 * MIB, 0), Some(MIB / 4));
        assert_eq!(left(1024, 1000, 2).each(1, 16 * MIB, 0), Some(16 * MIB));
        assert_eq!(left(1024, 1023, 2).each(1, 16 * MIB, 0), None, "less than 1 MiB for each CPU");
        assert_eq!(left(1024, 1023, 2).each(1, MIB / 2, 0), Some(MIB / 2), "but enough for a small one");
        assert_eq!(left(1024, 1024, 2).each(1, MIB / 2, 0), None);
        assert_eq!(left(8, 0, 2).each(64, MIB, 0), Some(MIB / 8));
        assert_eq!(left(8, 0, 2).each(256, MIB, 0), None, "rings have a least size");
        assert_eq!(left(8, 0, 2).each(4, MIB, 6 * MIB), Some(MIB / 2), "what is reserved is not given");
    }
}
