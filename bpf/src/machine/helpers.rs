//! Helpers.

use std::collections::BTreeMap;

use super::{
    execute::Run,
    maps::{E2BIG, EFAULT, EINVAL, ENOENT},
    memory::{RegionUse, Regions},
};
use crate::ir::{Helper, MapKind};

/// The kernel's limit of rounds.
const MAX_ROUNDS: u64 = 1 << 23;
/// What is left over behind text that was read.
const GARBAGE: u8 = 0xaa;
const USER_STACK: u64 = 1 << 8;
const SKIP_MASK: u64 = 0xff;
/// Bytes before each record of a ring.
const RECORD_HEADER_BYTES: usize = 8;
const NAMESPACE_ID_BYTES: usize = 8;

/// What is in a table of memory, if all of it is there.
pub(super) fn peek(memory: &BTreeMap<u64, Vec<u8>>, address: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut found = Vec::with_capacity(bytes);
    while found.len() < bytes {
        let at = address.checked_add(found.len() as u64)?;
        let (start, content) = memory.range(..=at).next_back()?;
        let offset = usize::try_from(at - start).ok()?;
        let rest = content.get(offset..).filter(|rest| !rest.is_empty())?;
        found.extend(rest.iter().take(bytes - found.len()));
    }
    Some(found)
}

fn error(code: i64) -> Result<u64, String> {
    Ok(code.cast_unsigned())
}

fn length(value: u64) -> Result<usize, String> {
    usize::try_from(value).ok().filter(|bytes| *bytes <= 1 << 20).ok_or_else(|| format!("{value:#x} bytes"))
}

impl Run<'_> {
    pub(super) fn helper(&mut self, helper: Helper, a: [u64; 5]) -> Result<u64, String> {
        if let Some(result) = self.machine.world.overrides.get(&helper) {
            return error(*result);
        }
        match helper {
            Helper::MapLookup
            | Helper::MapLookupPercpu
            | Helper::MapUpdate
            | Helper::MapDelete
            | Helper::ForEachMapElem => self.map_helper(helper, a),
            Helper::RingbufOutput
            | Helper::RingbufReserve
            | Helper::RingbufSubmit
            | Helper::RingbufDiscard
            | Helper::RingbufQuery => self.ring_helper(helper, a),
            Helper::ProbeReadUser
            | Helper::ProbeReadKernel
            | Helper::ProbeReadUserStr
            | Helper::ProbeReadKernelStr
            | Helper::ProbeWriteUser
            | Helper::Strncmp
            | Helper::DPath => self.memory_helper(helper, a),
            Helper::GetStackId | Helper::GetStack => self.stack_helper(helper, a),
            Helper::Loop => self.rounds(a),
            _ => self.world_helper(helper, a),
        }
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        self.machine.regions.read(address, bytes, false)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<u64, String> {
        self.machine.regions.write(address, bytes, false).map(|()| 0)
    }

    /// What is asked of the world.
    fn world_helper(&mut self, helper: Helper, a: [u64; 5]) -> Result<u64, String> {
        let world = &mut self.machine.world;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let mut clock = || {
            world.time_ns += 1;
            world.time_ns
        };
        Ok(match helper {
            Helper::KtimeGetNs => clock(),
            Helper::KtimeGetBootNs => clock() + world.boot_offset_ns,
            Helper::KtimeGetTaiNs => clock() + world.tai_offset_ns,
            Helper::Jiffies64 => world.jiffies,
            Helper::GetPrandomU32 => {
                self.machine.randoms += 1;
                let all = &self.machine.world.random;
                let index = (self.machine.randoms - 1).checked_rem(all.len()).unwrap_or(0);
                all.get(index).copied().map_or(0, u64::from)
            }
            Helper::GetSmpProcessorId => u64::from(world.cpu),
            Helper::GetNumaNodeId => u64::from(world.numa_node),
            Helper::GetCurrentPidTgid => pair(world.tgid, world.tid),
            Helper::GetCurrentUidGid => pair(world.gid, world.uid),
            Helper::GetCurrentTask | Helper::GetCurrentTaskBtf => world.task,
            Helper::TaskPtRegs => world.task_registers,
            Helper::GetCurrentCgroupId => world.cgroup,
            Helper::GetCurrentAncestorCgroupId => {
                let level = usize::try_from(a[0]).map_err(|error| error.to_string())?;
                world.ancestor_cgroups.get(level).copied().unwrap_or(0)
            }
            Helper::PerCpuPtr if a[1] >= u64::from(self.machine.cpus) => 0,
            Helper::PerCpuPtr => a[0].wrapping_add(a[1].wrapping_mul(world.per_cpu_stride)),
            Helper::ThisCpuPtr => a[0].wrapping_add(u64::from(world.cpu).wrapping_mul(world.per_cpu_stride)),
            Helper::GetSocketCookie => world.socket_cookies.get(&a[0]).copied().unwrap_or(0),
            Helper::GetFuncIp => world.function,
            Helper::GetAttachCookie => world.cookie,
            Helper::GetFuncArgCnt => world.arguments.len() as u64,
            Helper::SendSignal | Helper::SendSignalThread => {
                self.machine.effects.signals.push((a[0], helper == Helper::SendSignalThread));
                0
            }
            Helper::OverrideReturn => {
                self.machine.effects.overridden.push(a[1]);
                0
            }
            _ => return self.filling_helper(helper, a),
        })
    }

    /// What fills memory with what is asked of the world.
    fn filling_helper(&mut self, helper: Helper, a: [u64; 5]) -> Result<u64, String> {
        let world = &self.machine.world;
        match helper {
            Helper::GetCurrentComm => {
                let (mut comm, room) = (world.comm.to_vec(), length(a[1])?);
                comm.resize(room, 0);
                if let Some(last) = comm.last_mut() {
                    *last = 0;
                }
                self.write(a[0], &comm)
            }
            Helper::GetNsCurrentPidTgid if length(a[3])? == NAMESPACE_ID_BYTES => {
                let (tgid, tid) = world.namespace_ids.unwrap_or((world.tgid, world.tid));
                let bytes: Vec<u8> = [tid, tgid].into_iter().flat_map(u32::to_le_bytes).collect();
                self.write(a[2], &bytes)
            }
            Helper::PerfProgReadValue if length(a[2])? == size_of::<[u64; 3]>() => {
                let bytes: Vec<u8> = world.perf_value.into_iter().flat_map(u64::to_le_bytes).collect();
                self.write(a[1], &bytes)
            }
            Helper::GetFuncArg => {
                let argument = usize::try_from(a[1]).ok().and_then(|index| world.arguments.get(index)).copied();
                let done = if argument.is_some() { 0 } else { EINVAL };
                self.write(a[2], &argument.unwrap_or(0).to_le_bytes())?;
                error(done)
            }
            Helper::GetFuncRet => {
                let result = world.result.to_le_bytes();
                self.write(a[1], &result)
            }
            Helper::SeqWrite => {
                let bytes = self.read(a[1], length(a[2])?)?;
                self.machine.effects.written.extend(bytes);
                Ok(0)
            }
            _ => Err("it cannot be called so".to_owned()),
        }
    }

    fn map_helper(&mut self, helper: Helper, a: [u64; 5]) -> Result<u64, String> {
        let index = self.map_index(a[0])?;
        let definition =
            self.machine.maps.get(index).map(|map| map.definition.clone()).ok_or("there is no such map")?;
        if matches!(definition.kind, MapKind::RingBuffer | MapKind::StackTrace) {
            return Err(format!("{} has no keys", definition.name));
        }
        if helper == Helper::ForEachMapElem {
            return self.entries(index, a);
        }
        let key = self.read(a[1], definition.key_bytes as usize)?;
        let cpu = self.machine.world.cpu;
        let value = match helper {
            Helper::MapUpdate => self.read(a[2], definition.value_bytes as usize)?,
            _ => Vec::new(),
        };
        let Some(map) = self.machine.maps.get(index) else { return Ok(0) };
        match helper {
            Helper::MapLookupPercpu if !definition.kind.is_per_cpu() => Err("the map is not per CPU".to_owned()),
            Helper::MapLookupPercpu => Ok(match u32::try_from(a[2]) {
                Ok(cpu) if cpu < self.machine.cpus => map.lookup(&key, cpu),
                _ => 0,
            }),
            Helper::MapLookup => Ok(map.lookup(&key, cpu)),
            Helper::MapUpdate => error(map.update(&key, &value, a[3], cpu, &mut self.machine.regions)),
            _ => error(map.delete(&key)),
        }
    }

    fn entries(&mut self, index: usize, a: [u64; 5]) -> Result<u64, String> {
        let callback = Self::function_start(a[1])?;
        let keys = self.machine.maps.get(index).map(|map| map.keys()).unwrap_or_default();
        let mut seen = 0;
        for key in keys {
            let cpu = self.machine.world.cpu;
            let value = self.machine.maps.get(index).map_or(0, |map| map.lookup(&key, cpu));
            if value == 0 {
                // The callback deleted it.
                continue;
            }
            seen += 1;
            let region = self.machine.regions.add(key, RegionUse::Key);
            let result = self.call(callback, &[a[0], Regions::address(region), value, a[2]]);
            self.machine.regions.remove(region);
            match result? {
                0 => {}
                1 => break,
                other => return Err(format!("the callback returns {other}")),
            }
        }
        Ok(seen)
    }

    fn rounds(&mut self, a: [u64; 5]) -> Result<u64, String> {
        let rounds = a[0] & u64::from(u32::MAX);
        if rounds > MAX_ROUNDS {
            return error(E2BIG);
        }
        if a[3] != 0 {
            return error(EINVAL);
        }
        let callback = Self::function_start(a[1])?;
        for round in 0..rounds {
            match self.call(callback, &[round, a[2]])? {
                0 => {}
                1 => return Ok(round + 1),
                other => return Err(format!("the callback returns {other}")),
            }
        }
        Ok(rounds)
    }

    fn ring_helper(&mut self, helper: Helper, a: [u64; 5]) -> Result<u64, String> {
        if matches!(helper, Helper::RingbufSubmit | Helper::RingbufDiscard) {
            let (record, ring) = self.record.take().ok_or("no record is reserved")?;
            if Regions::address(record) != a[0] {
                return Err("it is not the record's start".to_owned());
            }
            let record = self.machine.regions.remove(record).map(|region| region.bytes).unwrap_or_default();
            if helper == Helper::RingbufSubmit {
                self.submit(ring, record);
            }
            return Ok(0);
        }
        let index = self.map_index(a[0])?;
        let definition =
            self.machine.maps.get(index).map(|map| map.definition.clone()).ok_or("there is no such map")?;
        if definition.kind != MapKind::RingBuffer {
            return Err(format!("{} is no ring", definition.name));
        }
        let used = |bytes: usize| (bytes + RECORD_HEADER_BYTES).next_multiple_of(8);
        let records = self.machine.records.iter().filter(|(name, _)| *name == definition.name);
        let taken: usize = records.map(|(_, record)| used(record.len())).sum();
        let room = |bytes: usize| taken + used(bytes) < definition.max_entries as usize;
        match helper {
            Helper::RingbufQuery => Ok(match a[1] {
                0 => taken as u64,
                1 => u64::from(definition.max_entries),
                _ => 0,
            }),
            Helper::RingbufOutput => {
                let bytes = length(a[2])?;
                let record = self.read(a[1], bytes)?;
                if !room(bytes) {
                    // EAGAIN
                    return error(-11);
                }
                self.submit(index, record);
                Ok(0)
            }
            _ if self.record.is_some() => Err("a second record is reserved".to_owned()),
            _ => {
                let bytes = length(a[1])?;
                if !room(bytes) {
                    return Ok(0);
                }
                let record = self.machine.regions.add(vec![0x55; bytes], RegionUse::Record);
                self.record = Some((record, index));
                Ok(Regions::address(record))
            }
        }
    }

    fn submit(&mut self, ring: usize, record: Vec<u8>) {
        if let Some(name) = self.machine.maps.get(ring).map(|map| map.definition.name.clone()) {
            self.machine.records.push((name, record));
        }
    }

    /// What a helper that reads kernel memory finds: the program's own memory is part of it.
    fn kernel(&self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        match self.machine.regions.find(address) {
            Some((_, region, offset)) => region.bytes.get(offset..offset.checked_add(bytes)?).map(<[u8]>::to_vec),
            None => peek(&self.machine.world.kernel, address, bytes),
        }
    }

    fn memory_helper(&mut self, helper: Helper, a: [u64; 5]) -> Result<u64, String> {
        match helper {
            Helper::ProbeReadUser | Helper::ProbeReadKernel => {
                let bytes = length(a[1])?;
                let found = match helper {
                    Helper::ProbeReadUser => peek(&self.machine.world.user, a[2], bytes),
                    _ => self.kernel(a[2], bytes),
                };
                let done = if found.is_some() { 0 } else { EFAULT };
                self.write(a[0], &found.unwrap_or_else(|| vec![0; bytes]))?;
                error(done)
            }
            Helper::ProbeReadUserStr | Helper::ProbeReadKernelStr => {
                let room = length(a[1])?;
                let text = self.text(helper, a[2], room);
                let length = text.as_ref().map_or(EFAULT, |text| i64::try_from(text.len()).unwrap_or(0) + 1);
                let mut filled = text.unwrap_or_default();
                filled.push(0);
                if length < 0 {
                    filled.resize(room, 0);
                }
                self.write(a[0], &filled)?;
                // What follows the NUL is left as it was; the verifier takes it for written.
                for at in (a[0]..).take(room).skip(filled.len()) {
                    if self.read(at, 1).is_err() {
                        self.write(at, &[GARBAGE])?;
                    }
                }
                error(length)
            }
            Helper::ProbeWriteUser => {
                let bytes = self.read(a[1], length(a[2])?)?;
                let user = &mut self.machine.world.user;
                if peek(user, a[0], bytes.len()).is_none() {
                    return error(EFAULT);
                }
                for (at, byte) in (a[0]..).zip(bytes) {
                    let place = user.range_mut(..=at).next_back();
                    let offset = |start: u64| usize::try_from(at - start).unwrap_or(usize::MAX);
                    if let Some(to) = place.and_then(|(start, content)| content.get_mut(offset(*start))) {
                        *to = byte;
                    }
                }
                Ok(0)
            }
            Helper::Strncmp => self.compare(a),
            _ => {
                let room = length(a[2])?;
                let Some(path) = self.machine.world.paths.get(&a[0]).cloned() else { return error(ENOENT) };
                if path.len() >= room {
                    // ENAMETOOLONG
                    return error(-36);
                }
                let bytes = path.len() as u64 + 1;
                let mut filled = path;
                filled.push(0);
                filled.resize(room, GARBAGE);
                self.write(a[1], &filled)?;
                Ok(bytes)
            }
        }
    }

    /// Text up to its NUL, or as much as there is room for with one.
    fn text(&self, helper: Helper, from: u64, room: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() + 1 < room {
            let at = from.checked_add(text.len() as u64)?;
            let byte = match helper {
                Helper::ProbeReadUserStr => peek(&self.machine.world.user, at, 1),
                _ => self.kernel(at, 1),
            };
            match byte?.as_slice() {
                [0] => break,
                bytes => text.extend(bytes),
            }
        }
        Some(text)
    }

    fn compare(&self, a: [u64; 5]) -> Result<u64, String> {
        let bytes = self.read(a[0], length(a[1])?)?;
        let Some((_, region, offset)) =
            self.machine.regions.find(a[2]).filter(|(_, region, _)| region.purpose == RegionUse::Constant)
        else {
            return Err("the text is no constant".to_owned());
        };
        let text = region.bytes.get(offset..).unwrap_or_default();
        if !text.contains(&0) {
            return Err("the text has no end".to_owned());
        }
        for (left, right) in bytes.iter().zip(text) {
            if left != right || *left == 0 {
                return error(i64::from(*left) - i64::from(*right));
            }
        }
        Ok(0)
    }

    fn stack_helper(&mut self, helper: Helper, a: [u64; 5]) -> Result<u64, String> {
        if a[0] != self.context {
            return Err("it is not the context".to_owned());
        }
        let flags = if helper == Helper::GetStackId { a[2] } else { a[3] };
        let world = &self.machine.world;
        let stack = if flags & USER_STACK == 0 { &world.kernel_stack } else { &world.user_stack };
        let skipped = usize::try_from(flags & SKIP_MASK).unwrap_or(0);
        let bytes: Vec<u8> = stack.iter().skip(skipped).flat_map(|address| address.to_le_bytes()).collect();
        if bytes.is_empty() {
            return error(EFAULT);
        }
        if helper == Helper::GetStack {
            let room = length(a[2])?;
            let mut filled = bytes;
            filled.truncate(room);
            let count = filled.len() as u64;
            filled.resize(room, 0);
            self.write(a[1], &filled)?;
            return Ok(count);
        }
        let index = self.map_index(a[1])?;
        let Some(map) = self.machine.maps.get(index).filter(|map| map.definition.kind == MapKind::StackTrace) else {
            return Err("it is no map of stacks".to_owned());
        };
        let most = bytes.len().min(map.definition.value_bytes as usize);
        let bytes = bytes.get(..most).unwrap_or_default();
        error(map.stack_id(bytes, &mut self.machine.regions))
    }
}
