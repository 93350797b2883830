//! The console's side of scripts.

use std::os::fd::OwnedFd;

use bathyscope_plan::Features;

use super::{
    AgentClient, ClientError,
    call::{self, TypedRequest},
};
use crate::{
    AgentError, AgentErrorKind, Bytes, CaptureHandle, MAX_KEYS, MAX_MAP_PAGE_BYTES, MAX_STACK_IDS, MapPage,
    ProtocolError, ScriptChecked, ScriptFacts, ScriptStage, WireScript, large,
};

/// Bytes of a stack's id and number of frames.
const STACK_HEAD_BYTES: usize = 16;
/// The most frames of a stack that are taken from the agent.
const MAX_FRAMES: usize = 1024;
/// Room for the keys of a request, which has to fit into a packet as hexadecimal digits.
const KEY_BYTES_A_REQUEST: usize = 32 << 10;

/// Elements of a map, one after the other: key, then value (of every CPU in a per-CPU map).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapContent {
    /// How many elements.
    pub count: usize,
    /// The elements; all take the same number of bytes.
    pub bytes: Vec<u8>,
}

impl MapContent {
    /// Key and value of each, if a key has `key_bytes`.
    pub fn elements(&self, key_bytes: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
        let each = self.bytes.len().checked_div(self.count).unwrap_or(0).max(1);
        self.bytes.chunks_exact(each).filter_map(move |element| element.split_at_checked(key_bytes))
    }
}

/// A file of user space, open.
#[derive(Debug)]
pub struct OpenedUserFile {
    /// The file.
    pub file: OwnedFd,
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its size.
    pub bytes: u64,
}

impl AgentClient {
    /// What scripts can use on the host.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn host_features(&mut self) -> Result<Features, ClientError> {
        self.ask(call::host_features())
    }

    /// What can stand at a place of a script, and what stands there.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn script_facts(&mut self, text: &str, offset: u32) -> Result<ScriptFacts, ClientError> {
        self.ask(call::script_facts(text.to_owned(), offset))
    }

    /// Compiles a script and loads nothing.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn check_script(
        &mut self,
        script: WireScript,
        show: Option<ScriptStage>,
    ) -> Result<ScriptChecked, ClientError> {
        self.ask(call::check_script(script, show))
    }

    /// All elements of a script's map, at most `most_bytes` of them. With `take` they are removed as they are read.
    ///
    /// # Errors
    /// If the agent refuses it, there is more, or the connection breaks.
    pub fn read_map(
        &mut self,
        capture: CaptureHandle,
        map: u32,
        take: bool,
        most_bytes: usize,
    ) -> Result<MapContent, ClientError> {
        let mut content = MapContent::default();
        let mut after = None;
        loop {
            let (page, next) = self.map_page(call::read_map(capture, map, take, after))?;
            content.count += page.count;
            content.bytes.extend(page.bytes);
            match next {
                Some(_more) if content.bytes.len() >= most_bytes => return Err(too_large(map, most_bytes)),
                Some(more) => after = Some(more),
                None => return Ok(content),
            }
        }
    }

    /// Some elements of a script's map: those of `keys` that exist, in their order.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn read_elements(
        &mut self,
        capture: CaptureHandle,
        map: u32,
        keys: &[Vec<u8>],
    ) -> Result<MapContent, ClientError> {
        let mut content = MapContent::default();
        for keys in portions(keys) {
            let (page, _none) = self.map_page(call::read_elements(capture, map, keys))?;
            content.count += page.count;
            content.bytes.extend(page.bytes);
        }
        Ok(content)
    }

    /// Removes all elements of a script's map. Returns how many.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn clear_map(&mut self, capture: CaptureHandle, map: u32) -> Result<u32, ClientError> {
        self.ask(call::clear_map(capture, map))
    }

    /// Sets all values of a script's map to zero. Returns how many.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn zero_map(&mut self, capture: CaptureHandle, map: u32) -> Result<u32, ClientError> {
        self.ask(call::zero_map(capture, map))
    }

    /// Removes elements of a script's map. Returns how many there were.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn delete_keys(&mut self, capture: CaptureHandle, map: u32, keys: &[Vec<u8>]) -> Result<u32, ClientError> {
        let mut count = 0;
        for keys in portions(keys) {
            count += self.ask(call::delete_keys(capture, map, keys))?;
        }
        Ok(count)
    }

    /// Stacks by id, those that exist: each id with its frames' addresses.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn read_stacks(
        &mut self,
        capture: CaptureHandle,
        user: bool,
        ids: &[u64],
    ) -> Result<Vec<(u64, Vec<u64>)>, ClientError> {
        let mut stacks = Vec::new();
        for ids in ids.chunks(MAX_STACK_IDS) {
            let most = ids.len() * (STACK_HEAD_BYTES + 8 * MAX_FRAMES);
            let (count, file) = self.ask_with(call::read_stacks(capture, user, ids.to_vec()))?;
            let bytes = self.content(&file, most)?;
            let some = decode_stacks(&bytes).filter(|some| some.len() == count as usize);
            stacks.extend(some.ok_or_else(|| self.wrong_reply("read_stacks"))?);
        }
        Ok(stacks)
    }

    /// Runs a script's probes of a signal. Returns how many ran.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn run_signal(&mut self, capture: CaptureHandle, number: i32) -> Result<u32, ClientError> {
        self.ask(call::run_signal(capture, number))
    }

    /// Walks an iterator of a script once more.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn read_iterator(&mut self, capture: CaptureHandle, probe: u32) -> Result<(), ClientError> {
        self.ask(call::read_iterator(capture, probe))
    }

    /// Opens a program or library of the host, or of a process's own root.
    ///
    /// # Errors
    /// If it is none, may not be read, or the connection breaks.
    pub fn open_user_file(&mut self, path: &str, in_process: Option<u32>) -> Result<OpenedUserFile, ClientError> {
        let ((device, inode, bytes), file) = self.ask_with(call::open_user_file(path.to_owned(), in_process))?;
        Ok(OpenedUserFile { file, device, inode, bytes })
    }

    fn map_page(&mut self, call: TypedRequest<MapPage, OwnedFd>) -> Result<(MapContent, Option<Bytes>), ClientError> {
        let name = call.name;
        let (page, file) = self.ask_with(call)?;
        let bytes = self.content(&file, MAX_MAP_PAGE_BYTES)?;
        // Elements of different lengths, or none with more to come, would not end.
        let count = page.count as usize;
        if bytes.len().checked_rem(count).unwrap_or(bytes.len()) != 0 {
            return Err(self.wrong_reply(name));
        }
        Ok((MapContent { count, bytes }, page.next))
    }

    pub(super) fn content(&mut self, file: &OwnedFd, most: usize) -> Result<Vec<u8>, ClientError> {
        large::read_sealed(file, most).map_err(|source| {
            self.broken = true;
            ClientError::Broken(ProtocolError::Io { doing: "reading what the agent sent in a file", source })
        })
    }
}

fn too_large(map: u32, most_bytes: usize) -> ClientError {
    ClientError::Refused(AgentError {
        kind: AgentErrorKind::Limit,
        doing: format!("reading map {map} of the script"),
        why: format!("its elements take more than {most_bytes} bytes"),
        remedy: "Let it have fewer keys.".to_owned(),
        detail: String::new(),
    })
}

/// Splits keys so that each request fits into a packet.
fn portions(keys: &[Vec<u8>]) -> impl Iterator<Item = Vec<Bytes>> {
    let longest = keys.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let each = (KEY_BYTES_A_REQUEST / longest).clamp(1, MAX_KEYS);
    keys.chunks(each).map(|some| some.iter().cloned().map(Bytes).collect())
}

fn decode_stacks(mut bytes: &[u8]) -> Option<Vec<(u64, Vec<u64>)>> {
    let mut stacks = Vec::new();
    while !bytes.is_empty() {
        let (id, rest) = bytes.split_first_chunk::<8>()?;
        let (count, rest) = rest.split_first_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok().filter(|count| *count <= MAX_FRAMES)?;
        let (frames, rest) = rest.split_at_checked(8 * count)?;
        let frames = frames.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
        stacks.push((u64::from_le_bytes(*id), frames.collect()));
        bytes = rest;
    }
    Some(stacks)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_decoded_whole_or_not_at_all() {
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        let two = words(&[7, 2, 100, 200, 8, 0]);
        assert_eq!(decode_stacks(&two).unwrap(), [(7, vec![100, 200]), (8, vec![])]);
        assert_eq!(decode_stacks(&two[..two.len() - 1]), None);
        assert_eq!(decode_stacks(&words(&[7, u64::MAX])), None);
        assert_eq!(decode_stacks(&[]).unwrap(), []);
    }

    #[test]
    fn long_keys_are_asked_for_in_portions() {
        let counts = |bytes: usize, keys: usize| -> Vec<usize> {
            portions(&vec![vec![0; bytes]; keys]).map(|some| some.len()).collect()
        };
        assert_eq!(counts(8, 600), [256, 256, 88]);
        assert_eq!(counts(16 << 10, 3), [2, 1]);
        assert_eq!(counts(8, 0), [0; 0]);
    }

    #[test]
    fn elements_of_a_map_are_split_by_their_key() {
        let content = MapContent { count: 2, bytes: vec![1, 0, 0, 0, 9, 2, 0, 0, 0, 8] };
        let elements: Vec<_> = content.elements(4).collect();
        assert_eq!(elements, [(&[1, 0, 0, 0][..], &[9][..]), (&[2, 0, 0, 0], &[8])]);
        assert_eq!(MapContent::default().elements(4).count(), 0);
    }
}
