//! The stacks of switches and wake-ups: without what recorded them.

use std::{collections::HashMap, sync::Arc};

use bathyscope_decode::{
    perf::Sample,
    states::{StateRecord, StateStacks},
};
use bathyscope_symbols::{Kallsyms, Place};

use crate::naming::kernel_symbol;

/// Functions of the kernel that the tracepoints are in. What they called is the recording itself.
const ORIGINS: [&[u8]; 3] = [b"__schedule", b"try_to_wake_up", b"wake_up_new_task"];
/// So many frames may stand before those.
const MAX_OWN_FRAMES: usize = 12;
/// The most addresses of which it is kept whether they are in such a function; there are few.
const MAX_KNOWN: usize = 1 << 12;

/// Takes from stacks of the kernel what was called to record them.
pub(super) struct StackTrimmer {
    kernel: Option<Arc<Kallsyms>>,
    known: HashMap<u64, bool>,
}

impl StackTrimmer {
    pub(super) fn new(kernel: Option<Arc<Kallsyms>>) -> Self {
        Self { kernel, known: HashMap::new() }
    }

    /// The stacks of the running thread, to be placed.
    pub(super) fn sample(&mut self, record: &StateRecord, stacks: &StateStacks) -> Sample {
        Sample {
            cpu: record.cpu,
            pid: record.running.pid,
            tid: record.running.tid,
            kernel: self.trimmed(&stacks.kernel).to_vec(),
            user: stacks.user.clone(),
            cut: Some(stacks.is_cut),
            ..Sample::default()
        }
    }

    /// Where a thread that is left uninterruptible goes on in the innermost function that is none of the scheduler's.
    pub(super) fn blocks_at(&self, frames: &[u64]) -> Option<u64> {
        let scheduler = self.kernel.as_ref()?.scheduler()?;
        // A return address may lie behind the end of a function.
        let mut outer = frames.iter().skip_while(|address| !scheduler.contains(&address.wrapping_sub(1)));
        outer.find(|address| !scheduler.contains(&address.wrapping_sub(1))).copied()
    }

    /// The function that a call at this address returns to.
    pub(super) fn function(&self, address: u64) -> Option<String> {
        let kernel = self.kernel.as_ref()?;
        let place = Place { offset: kernel.normalise(address), is_return: true };
        kernel_symbol(kernel, place).map(|symbol| symbol.function)
    }

    /// The frames from the function on that the tracepoint is in; all of them where that is not among the innermost.
    fn trimmed<'a>(&mut self, frames: &'a [u64]) -> &'a [u64] {
        let origin = frames.iter().take(MAX_OWN_FRAMES).position(|address| self.is_origin(*address));
        origin.and_then(|at| frames.get(at..)).unwrap_or(frames)
    }

    fn is_origin(&mut self, address: u64) -> bool {
        let Some(kernel) = &self.kernel else { return false };
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        // It is where a call returns to, which may be behind the end of the function.
        let found = kernel.lookup(kernel.normalise(address).wrapping_sub(1));
        let name = found.and_then(|symbol| symbol.name.split(|byte| *byte == b'.').next());
        let is_origin = name.is_some_and(|name| ORIGINS.contains(&name));
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(address, is_origin);
        is_origin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_blocks_in_what_called_the_scheduler() {
        let listing = b"ffffffff81000000 T _text\nffffffff81000100 T mutex_lock\nffffffff81000180 T schedule\n\
            ffffffff81000200 T ext4_sync\nffffffff81000300 T bpf_prog\n\
            ffffffff81000100 T __sched_text_start\nffffffff81000200 T __sched_text_end\n";
        let trimmer = StackTrimmer::new(Some(Arc::new(Kallsyms::parse(listing).expect("a listing"))));
        let at = |offset: u64| 0xffff_ffff_8100_0000 + offset;
        let blocks = |frames: &[u64]| trimmer.blocks_at(frames).and_then(|address| trimmer.function(address));
        let ext4 = Some("ext4_sync".to_owned());
        assert_eq!(blocks(&[at(0x310), at(0x1a0), at(0x110), at(0x210), at(0x320)]), ext4);
        // `schedule` ends where the call returns to.
        assert_eq!(blocks(&[at(0x200), at(0x210)]), ext4);
        assert_eq!(blocks(&[at(0x310), at(0x210)]), None, "the scheduler is not among them");
        assert_eq!(blocks(&[at(0x1a0), at(0x110)]), None, "its caller was cut off");
        assert_eq!(StackTrimmer::new(None).blocks_at(&[at(0x1a0), at(0x210)]), None);
    }

    #[test]
    fn what_records_a_stack_is_no_part_of_it() {
        let listing = b"ffffffff81000000 T _text\nffffffff81000100 T schedule\nffffffff81000200 t __schedule.part.0\n\
            ffffffff81000300 T try_to_wake_up\nffffffff81000400 T bpf_trace_run4\nffffffff81000500 T _etext\n";
        let kernel = Kallsyms::parse(listing).expect("a listing");
        let mut trimmer = StackTrimmer::new(Some(Arc::new(kernel)));
        let at = |offset: u64| 0xffff_ffff_8100_0000 + offset;
        let frames = [at(0x410), at(0x420), at(0x230), at(0x110)];
        assert_eq!(trimmer.trimmed(&frames), &frames[2..]);
        // What lies behind the last instruction of a function is where it returns to.
        assert_eq!(trimmer.trimmed(&[at(0x410), at(0x400)]), [at(0x400)]);
        let others = [at(0x410), at(0x110)];
        assert_eq!(trimmer.trimmed(&others), others);
        assert_eq!(StackTrimmer::new(None).trimmed(&frames), frames);
        assert!(trimmer.trimmed(&[]).is_empty());
    }
}
