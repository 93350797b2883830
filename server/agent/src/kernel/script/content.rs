//! Reading and changing a script's maps and stacks.
//!
//! Whole hashes are read by the kernel's calls for many elements at a time, which go by buckets: what is there all the
//! time is read exactly once, however much else comes and goes. Where these calls are refused it goes from key to key.

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
};

use bathyscope_plan::{MapPlan, MapType, STACK_FRAMES};
use bathyscope_protocol::{AgentError, MAX_MAP_PAGE_BYTES};

use crate::{
    engine::Elements,
    error::refused,
    os::bpf::maps::{self, ElementBuffers},
};

/// How many elements are asked for at a time, at first.
const BATCH: usize = 1024;
/// Bytes of an array's key.
const INDEX_BYTES: usize = 4;

/// A map of the plan.
#[derive(Debug)]
pub(super) struct Content {
    /// None if no program uses it: then it is empty.
    fd: Option<OwnedFd>,
    name: String,
    array: bool,
    key_bytes: usize,
    value_bytes: usize,
    /// Of a map without keys, where in the value it stands that it was set.
    mark: Option<usize>,
    max_entries: u32,
}

impl Content {
    /// The map of `plan`, whose values are of `cpus` CPUs if it is per CPU.
    pub(super) fn new(plan: &MapPlan, fd: Option<OwnedFd>, cpus: u32) -> Self {
        let copies = if plan.is_per_cpu() { cpus as usize } else { 1 };
        let array = matches!(plan.kind, MapType::Array | MapType::PerCpuArray);
        Self {
            fd,
            name: plan.name.clone(),
            array,
            key_bytes: if array { INDEX_BYTES } else { plan.key_bytes as usize },
            value_bytes: (plan.value_bytes as usize).next_multiple_of(8) * copies,
            mark: plan.is_single().then_some(plan.content_bytes() as usize),
            max_entries: plan.max_entries,
        }
    }

    fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        self.fd.as_ref().map(OwnedFd::as_fd).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn trouble(&self, doing: &'static str) -> impl Fn(io::Error) -> AgentError {
        let doing = format!("{doing} the map `{}`", self.name);
        move |error| refused(doing.clone(), &error, "")
    }

    fn element_bytes(&self) -> usize {
        self.key_bytes + self.value_bytes
    }

    /// A page of elements, those after `after`, which the page before gave. With `take` they are removed.
    pub(super) fn read(&self, take: bool, after: Option<&[u8]>) -> Result<Elements, AgentError> {
        if self.fd.is_none() {
            return Ok(Elements::default());
        }
        let read = if self.array { self.read_array(take, after) } else { self.read_hash(take, after) };
        read.map_err(self.trouble("reading"))
    }

    fn read_array(&self, take: bool, after: Option<&[u8]>) -> io::Result<Elements> {
        let mut page = Elements::default();
        let first = after.and_then(|after| after.try_into().ok()).map_or(0, u32::from_le_bytes);
        let room = u32::try_from(MAX_MAP_PAGE_BYTES / self.element_bytes().max(1)).unwrap_or(u32::MAX).max(1);
        let end = self.max_entries.min(first.saturating_add(room));
        let zeros = vec![0; self.value_bytes];
        let mut value = vec![0; self.value_bytes];
        for index in first..end {
            let key = index.to_ne_bytes();
            // SAFETY: an array's keys have 4 bytes, and `value_bytes` is what the kernel takes for a value on all CPUs.
            if unsafe { maps::lookup(self.fd()?, &key, &mut value) }? {
                page.count += 1;
                page.bytes.extend_from_slice(&key);
                page.bytes.extend_from_slice(&value);
            }
            if take {
                // SAFETY: as above.
                unsafe { maps::update(self.fd()?, &key, &zeros) }?;
            }
        }
        page.next = (end < self.max_entries).then(|| end.to_le_bytes().to_vec());
        Ok(page)
    }

    fn read_hash(&self, take: bool, after: Option<&[u8]>) -> io::Result<Elements> {
        let token_bytes = self.key_bytes.max(INDEX_BYTES);
        let after = match after {
            Some(after) if after.len() != token_bytes + 1 => return Err(io::ErrorKind::InvalidInput.into()),
            other => other,
        };
        // The last byte tells which of the two ways the page before went.
        match after.and_then(<[u8]>::split_last) {
            Some((0, token)) => self.read_batches(take, Some(token), token_bytes),
            Some((_by_key, key)) => self.read_by_key(take, key.get(..self.key_bytes)),
            None => match self.read_batches(take, None, token_bytes) {
                Err(error) if is_missing_call(&error) => self.read_by_key(take, None),
                read => read,
            },
        }
    }

    fn read_batches(&self, take: bool, after: Option<&[u8]>, token_bytes: usize) -> io::Result<Elements> {
        let mut page = Elements::default();
        let mut token = after.map(<[u8]>::to_vec);
        let most = (MAX_MAP_PAGE_BYTES / self.element_bytes().max(1)).max(1);
        let mut batch = BATCH.min(most);
        let mut end = vec![0; token_bytes];
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        loop {
            keys.resize(batch * self.key_bytes, 0);
            values.resize(batch * self.value_bytes, 0);
            let count = u32::try_from(batch).unwrap_or(u32::MAX);
            let buffers = ElementBuffers { keys: &mut keys, values: &mut values, count };
            // SAFETY: the buffers are for `batch` keys and values of this map's lengths, and the tokens are as long as a key
            // and at least 4.
            match unsafe { maps::lookup_batch(self.fd()?, take, token.as_deref(), &mut end, buffers) } {
                Ok(got) => {
                    self.add(&mut page, &keys, &values, got.count as usize);
                    if got.last {
                        return Ok(page);
                    }
                    token = Some(end.clone());
                    if page.bytes.len() + batch * self.element_bytes() > MAX_MAP_PAGE_BYTES {
                        page.next = Some([end.as_slice(), &[0]].concat());
                        return Ok(page);
                    }
                }
                // A bucket has more elements than there is room for.
                Err(error) if error.raw_os_error() == Some(libc::ENOSPC) && batch < self.max_entries as usize => {
                    batch = (batch * 2).min(self.max_entries as usize);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn add(&self, page: &mut Elements, keys: &[u8], values: &[u8], count: usize) {
        let values = values.chunks_exact(self.value_bytes.max(1));
        for (key, value) in keys.chunks_exact(self.key_bytes.max(1)).zip(values).take(count) {
            page.bytes.extend_from_slice(key);
            page.bytes.extend_from_slice(value);
            page.count += 1;
        }
    }

    fn read_by_key(&self, take: bool, after: Option<&[u8]>) -> io::Result<Elements> {
        let mut page = Elements::default();
        let mut last = after.map(<[u8]>::to_vec);
        let (mut key, mut value) = (vec![0; self.key_bytes], vec![0; self.value_bytes]);
        // A key that is removed meanwhile sends the walk back to the begin, which must not go on for ever.
        for _ in 0..self.max_entries.saturating_mul(2).max(16) {
            // SAFETY: both are as long as the map's keys.
            if !unsafe { maps::next_key(self.fd()?, last.as_deref(), &mut key) }? {
                return Ok(page);
            }
            // SAFETY: key and value are as long as the map's.
            if unsafe { maps::lookup(self.fd()?, &key, &mut value) }? {
                self.add(&mut page, &key, &value, 1);
            }
            if take {
                // What is removed has no successor: the walk goes on from the begin, where there is less now.
                // SAFETY: the key is as long as the map's.
                unsafe { maps::delete(self.fd()?, &key) }?;
            } else {
                last = Some(key.clone());
            }
            if page.bytes.len() + self.element_bytes() > MAX_MAP_PAGE_BYTES {
                let mut token = key.clone();
                token.resize(self.key_bytes.max(INDEX_BYTES), 0);
                token.push(1);
                page.next = Some(token);
                return Ok(page);
            }
        }
        Ok(page)
    }

    /// Those of `keys` that are in the map.
    pub(super) fn read_elements(&self, keys: &[&[u8]]) -> Result<Elements, AgentError> {
        let mut page = Elements::default();
        let Some(fd) = &self.fd else { return Ok(page) };
        let mut value = vec![0; self.value_bytes];
        for key in keys.iter().filter(|key| key.len() == self.key_bytes) {
            // SAFETY: key and value are as long as the map's.
            if unsafe { maps::lookup(fd.as_fd(), key, &mut value) }.map_err(self.trouble("reading"))? {
                self.add(&mut page, key, &value, 1);
            }
        }
        Ok(page)
    }

    /// All keys, in no order.
    fn keys(&self) -> Result<Vec<Vec<u8>>, AgentError> {
        let (mut keys, mut after) = (Vec::new(), None);
        loop {
            let page = self.read(false, after.as_deref())?;
            let elements = page.bytes.chunks_exact(self.element_bytes().max(1));
            keys.extend(elements.filter_map(|element| element.get(..self.key_bytes).map(<[u8]>::to_vec)));
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(keys),
            }
        }
    }

    /// Removes all elements; an array's values are set to zero.
    pub(super) fn clear(&self) -> Result<u32, AgentError> {
        if self.array {
            return self.fill(&vec![0; self.value_bytes]);
        }
        let keys = self.keys()?;
        self.delete(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Sets all values to zero.
    pub(super) fn zero(&self) -> Result<u32, AgentError> {
        let mut zeros = vec![0; self.value_bytes];
        if let Some(mark) = self.mark.and_then(|mark| zeros.get_mut(mark)) {
            *mark = 1;
        }
        self.fill(&zeros)
    }

    fn fill(&self, value: &[u8]) -> Result<u32, AgentError> {
        let Some(fd) = &self.fd else { return Ok(0) };
        let mut count = 0;
        for key in self.keys()? {
            // SAFETY: key and value are as long as the map's.
            let changed = unsafe { maps::replace(fd.as_fd(), &key, value) };
            count += u32::from(changed.map_err(self.trouble("changing"))?);
        }
        Ok(count)
    }

    /// Removes elements; an array's values are set to zero.
    pub(super) fn delete(&self, keys: &[&[u8]]) -> Result<u32, AgentError> {
        let zeros = vec![0; self.value_bytes];
        let Some(fd) = &self.fd else { return Ok(0) };
        let mut count = 0;
        for key in keys.iter().filter(|key| key.len() == self.key_bytes) {
            // SAFETY: key and value are as long as the map's.
            let changed = unsafe {
                if self.array { maps::replace(fd.as_fd(), key, &zeros) } else { maps::delete(fd.as_fd(), key) }
            };
            count += u32::from(changed.map_err(self.trouble("changing"))?);
        }
        Ok(count)
    }
}

fn is_missing_call(error: &io::Error) -> bool {
    // 524: the kernel's own number for what is not supported, which escapes here.
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP | 524))
}

/// Reads stacks by id, those that are there, with their frames.
pub(super) fn stacks(map: BorrowedFd<'_>, ids: &[u64]) -> Result<Vec<(u64, Vec<u64>)>, AgentError> {
    let mut value = vec![0; 8 * STACK_FRAMES as usize];
    let mut found = Vec::new();
    for id in ids {
        // SAFETY: the maps of stacks have keys of 8 bytes and values of that many frames, which was checked at the start.
        let there = unsafe { maps::lookup(map, &id.to_ne_bytes(), &mut value) };
        if there.map_err(|error| refused("reading stacks", &error, ""))? {
            let words = value.chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)));
            found.push((*id, words.take_while(|address| *address != 0).collect()));
        }
    }
    Ok(found)
}
