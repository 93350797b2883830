//! Pages of dictionaries: what is read many at a time is what was stored.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use crate::common;

use bathyscope_capture::{Append, Frame, Mapping, MappingKind, Symbol, SymbolLine};
use bathyscope_store::{DictionaryEnds, Store};
use common::*;

fn text(id: u32) -> Vec<u8> {
    match id % 5 {
        0 => Vec::new(),
        1 => vec![0xff, 0, b'<', 0],
        2 => "ümläut".repeat(id as usize % 7).into_bytes(),
        _ => format!("text {id}").into_bytes(),
    }
}

fn stack(id: u32) -> Vec<u32> {
    (0..id % 9).map(|depth| 1 + (id * 7 + depth) % 500).collect()
}

fn symbol(id: u32) -> Symbol {
    let line = |line| SymbolLine { function: "in\0line \"d\"".to_owned(), file: "ä.c".to_owned(), line };
    let function = ["", "plain", "nul\0inside", "größe<T>"][id as usize % 4].to_owned();
    Symbol { function, offset: u64::MAX - u64::from(id), lines: (0..id % 3).map(line).collect() }
}

/// `keep` says which ids there are.
async fn stored(store: &Store, number: u64, keep: impl Fn(&u32) -> bool + Copy) -> Append {
    let ids = || (1..=500).filter(keep);
    let mapping = Mapping { kind: MappingKind::Kernel, build_id: Vec::new(), name: b"[kernel]".to_vec(), pid: 0 };
    let append = Append {
        strings: ids().map(|id| (id, text(id))).collect(),
        mappings: vec![(1, mapping)],
        frames: (1..=500).map(|id| (id, Frame { mapping: 1, offset: u64::MAX << (id % 64) })).collect(),
        stacks: ids().map(|id| (id, stack(id).into())).collect(),
        symbols: ids().filter(|id| id % 6 != 0).map(|id| (id, symbol(id))).collect(),
        ..Append::default()
    };
    store.create(new_capture(id(number), "pages")).await.unwrap();
    store.append(id(number), append.clone()).await.unwrap();
    append
}

async fn compare(store: &Store, number: u64, append: &Append, first: u32, last: u32) {
    let texts = store.string_page(id(number), first, last).await.unwrap();
    let stacks = store.stack_page(id(number), first, last).await.unwrap();
    for wanted in first.saturating_sub(2)..last + 2 {
        let within = (first..=last).contains(&wanted);
        let text = append.strings.iter().find(|entry| within && entry.0 == wanted).map(|entry| entry.1.as_slice());
        assert_eq!(texts.get(wanted), text, "text {wanted} of {first} to {last}");
        let stack = append.stacks.iter().find(|entry| within && entry.0 == wanted).map(|entry| &*entry.1);
        assert_eq!(stacks.get(wanted), stack, "stack {wanted} of {first} to {last}");
    }
    let within = |id: u32| (first..=last).contains(&id);
    let frames: Vec<_> = append.frames.iter().filter(|entry| within(entry.0)).copied().collect();
    assert_eq!(store.frame_page(id(number), first, last).await.unwrap(), frames, "frames {first} to {last}");
    let symbols: Vec<_> = append.symbols.iter().filter(|entry| within(entry.0)).cloned().collect();
    assert_eq!(store.symbol_page(id(number), first, last).await.unwrap(), symbols, "symbols {first} to {last}");
}

#[tokio::test]
async fn pages_are_what_was_stored_with_and_without_gaps() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let whole = stored(&store, 1, |_| true).await;
    let gaps = stored(&store, 2, |id| id % 3 != 0 && !(100..300).contains(id)).await;
    for (first, last) in [(1, 1), (1, 500), (1, 2048), (7, 7), (90, 310), (150, 250), (499, 600), (501, 900)] {
        compare(&store, 1, &whole, first, last).await;
        compare(&store, 2, &gaps, first, last).await;
    }
    let all = DictionaryEnds { strings: 500, mappings: 1, frames: 500, stacks: 500 };
    assert_eq!(store.dictionary_ends(id(1)).await.unwrap(), all);
    assert_eq!(store.dictionary_ends(id(9)).await.unwrap(), DictionaryEnds::default());
}

#[tokio::test]
async fn a_page_of_what_grows_has_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(id(1), "grows")).await.unwrap();
    for end in 1..4 {
        let strings = vec![(end, text(end))];
        store.append(id(1), Append { strings, ..Append::default() }).await.unwrap();
        let page = store.string_page(id(1), 1, 2048).await.unwrap();
        assert_eq!((page.get(end), page.get(end + 1)), (Some(text(end).as_slice()), None));
        assert_eq!(store.dictionary_ends(id(1)).await.unwrap().strings, end);
    }
    let put = |name: &str| vec![(1, Symbol { function: name.to_owned(), offset: 0, lines: Vec::new() })];
    let frames = vec![(1, Frame { mapping: 1, offset: 0 })];
    let mapping = Mapping { kind: MappingKind::Kernel, build_id: Vec::new(), name: b"[kernel]".to_vec(), pid: 0 };
    let append = Append { frames, mappings: vec![(1, mapping)], symbols: put("first"), ..Append::default() };
    store.append(id(1), append).await.unwrap();
    store.put_symbols(id(1), put("better")).await.unwrap();
    assert_eq!(store.symbol_page(id(1), 1, 9).await.unwrap(), put("better"));
}
