//! Dictionaries that are loaded page by page are those in memory, load each page once, and tell what they could not load.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bathyscope_capture::{Frame, Mapping, MappingKind, Packed, ProcessChange, ProcessChangeKind, Symbol};
use bathyscope_views::{
    Dictionaries, LastIds, LoadError, LoadPages, PAGE_IDS, Page, PageContent, PageKind, ProcessNames, Room, ViewError,
    page_ids,
};

const LAST: u32 = 3 * PAGE_IDS + 7;
const MAPPINGS: u32 = 5;

fn change(pid: u32) -> ProcessChange {
    ProcessChange { time_ns: 1, pid, tid: pid, kind: ProcessChangeKind::Existing { comm: pid } }
}

/// Every eleventh entry is missing.
fn is_there(id: &u32) -> bool {
    !id.is_multiple_of(11)
}

fn in_memory() -> Dictionaries {
    let mut all = Dictionaries::default();
    for id in (1..=LAST).filter(is_there) {
        all.insert_string(id, format!("text {id}").into_bytes());
        all.insert_stack(id, (0..id % 5).map(|depth| id + depth).collect());
        all.insert_frame(id, Frame { mapping: 1 + id % MAPPINGS, offset: id.into() });
        all.insert_symbol(id, Symbol { function: format!("f{id}"), offset: 0, lines: Vec::new() });
        all.insert_process(&change(id));
    }
    for id in 1..=MAPPINGS {
        let name = format!("/lib/{id}").into_bytes();
        all.insert_mapping(id, Mapping { kind: MappingKind::File, build_id: Vec::new(), name, pid: 0 });
    }
    all
}

#[derive(Debug, Default)]
struct Loader {
    loads: Mutex<HashMap<(PageKind, u32), (usize, bool)>>,
    bytes: Arc<AtomicUsize>,
    /// From this many loads on it fails.
    fails_after: Option<(usize, LoadErrorKind)>,
}

#[derive(Clone, Copy, Debug)]
enum LoadErrorKind {
    Failed,
    NoRoom,
}

impl Loader {
    fn total(&self) -> usize {
        self.loads.lock().unwrap().values().map(|(times, _)| times).sum()
    }
}

impl LoadPages for Loader {
    fn page(&self, kind: PageKind, number: u32, keep: bool) -> Result<Arc<Page>, LoadError> {
        match self.fails_after {
            Some((most, LoadErrorKind::Failed)) if self.total() >= most => {
                return Err(LoadError::Failed(Arc::new(std::io::Error::other("the disk is gone"))));
            }
            Some((most, LoadErrorKind::NoRoom)) if self.total() >= most => {
                return Err(LoadError::NoRoom { limit_bytes: 5 << 20 });
            }
            _ => {}
        }
        self.loads.lock().unwrap().entry((kind, number)).or_insert((0, keep)).0 += 1;
        let all = in_memory();
        let (first, last) = page_ids(number);
        let ids = || first..=last.min(LAST);
        let content = match kind {
            PageKind::Texts => {
                PageContent::Texts(Packed::sparse(first, ids().filter_map(|id| Some((id, all.text(id)?)))))
            }
            PageKind::Stacks => {
                PageContent::Stacks(Packed::sparse(first, ids().filter_map(|id| Some((id, all.stack(id)?)))))
            }
            PageKind::Frames => PageContent::Frames(ids().map(|id| all.frame(id)).collect()),
            PageKind::Symbols => PageContent::Symbols(ids().map(|id| all.symbol(id).cloned()).collect()),
            PageKind::Mappings => PageContent::Mappings((1..=MAPPINGS).map(|id| all.mapping(id).cloned()).collect()),
            PageKind::Names => {
                let mut names = ProcessNames::default();
                (1..=LAST).filter(is_there).for_each(|id| names.insert(&change(id)));
                PageContent::Names(names)
            }
        };
        let room = Room::take(content.bytes(), &self.bytes, usize::MAX).unwrap();
        Ok(Arc::new(Page::new(content, room)))
    }
}

fn paged(loader: &Arc<Loader>) -> Dictionaries {
    let load: Arc<dyn LoadPages> = Arc::clone(loader) as Arc<dyn LoadPages>;
    Dictionaries::paged(load, LastIds { string: LAST, mapping: MAPPINGS, frame: LAST, stack: LAST })
}

#[test]
fn pages_hold_what_memory_holds_and_each_is_loaded_once() {
    let (loader, memory) = (Arc::new(Loader::default()), in_memory());
    let paged = paged(&loader);
    assert_eq!(loader.total(), 0, "nothing is loaded before it is asked for");
    assert_eq!((paged.last_string(), paged.last_stack()), (memory.last_string(), memory.last_stack()));
    assert_eq!((paged.last_frame(), paged.last_mapping()), (memory.last_frame(), memory.last_mapping()));
    for id in (0..LAST + 3).chain([PAGE_IDS, PAGE_IDS + 1, u32::MAX]) {
        assert_eq!(paged.text(id), memory.text(id), "text {id}");
        assert_eq!(paged.stack(id), memory.stack(id), "stack {id}");
        assert_eq!(paged.frame(id), memory.frame(id), "frame {id}");
        assert_eq!(paged.symbol(id), memory.symbol(id), "symbol {id}");
        assert_eq!(paged.mapping(id), memory.mapping(id), "mapping {id}");
        assert_eq!(paged.process_name(id, 5), memory.process_name(id, 5), "process {id}");
    }
    paged.check().unwrap();
    assert!(loader.loads.lock().unwrap().values().all(|load| *load == (1, true)));
    assert_eq!(loader.total(), 4 * 4 + 2);
    let held = loader.bytes.load(Ordering::Relaxed);
    assert!(held > 0);
    drop(paged);
    assert_eq!(loader.bytes.load(Ordering::Relaxed), 0, "what views held is given up");
}

#[test]
fn going_through_stacks_holds_one_page_at_a_time() {
    let (loader, memory) = (Arc::new(Loader::default()), in_memory());
    let paged = paged(&loader);
    let wanted = || [0].into_iter().chain((1..LAST + 5).filter(|id| id % 3 != 0));
    let mut most = 0;
    let gone = paged.for_each_stack(wanted(), |id, frames| {
        assert_eq!(frames, memory.stack(id), "stack {id}");
        most = most.max(loader.bytes.load(Ordering::Relaxed));
        Ok::<_, Infallible>(())
    });
    let Ok(()) = gone;
    assert_eq!((loader.total(), loader.bytes.load(Ordering::Relaxed)), (4, 0));
    let all_bytes: usize = (1..=LAST).filter_map(|id| memory.stack(id)).map(|frames| frames.len() * 4 + 8).sum();
    assert!(most < all_bytes, "{most} of {all_bytes} bytes at a time");
    let stopped = paged.for_each_stack(wanted(), |id, _| if id > 5 { Err(id) } else { Ok(()) });
    assert_eq!(stopped, Err(7));
}

#[test]
fn what_cannot_be_loaded_is_told_and_not_asked_for_again() {
    for (kind, expected) in [
        (LoadErrorKind::Failed, "texts from number 2049 on cannot be loaded"),
        (LoadErrorKind::NoRoom, "there is no memory left for texts"),
    ] {
        let loader = Arc::new(Loader { fails_after: Some((1, kind)), ..Loader::default() });
        let paged = paged(&loader);
        assert_eq!(paged.text(1), Some(b"text 1".as_slice()));
        paged.check().unwrap();
        assert_eq!(paged.text(PAGE_IDS + 2), None);
        assert_eq!((paged.frame(1), paged.text(2)), (None, Some(b"text 2".as_slice())));
        let error = paged.check().unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(matches!(error, ViewError::Dictionary { .. } | ViewError::TooMuch { limit_bytes: 0x50_0000, .. }));
        assert!(paged.clone().check().is_err() && loader.total() == 1, "{error}");
    }
}
