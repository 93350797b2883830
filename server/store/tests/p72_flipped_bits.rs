//! P72: a bit that the disk turns in what chunks refer to is told, on reading and by a check, and never shown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use std::{fs, path::Path};

use bathyscope_capture::{Append, Frame, Mapping, MappingKind, Symbol};
use bathyscope_store::{CaptureState, Store, StoreError};
use common::*;

/// Entries of each dictionary: more than one page.
const ENTRIES: u32 = 3000;

fn text(id: u32) -> Vec<u8> {
    format!("a string with the number {id:06}").into_bytes()
}

fn function(id: u32) -> String {
    format!("function_number_{id:06}")
}

fn mapping_name(id: u32) -> Vec<u8> {
    format!("/usr/lib/library-{id:06}.so").into_bytes()
}

/// A number whose eight bytes are nowhere else.
fn place(id: u32) -> u64 {
    0x5a17_c3e9_0000_0000 | u64::from(id)
}

fn stack(id: u32) -> [u32; 3] {
    [id, (id * 7) % ENTRIES + 1, (id * 13) % ENTRIES + 1]
}

fn many() -> Append {
    let mapping = |id| Mapping { kind: MappingKind::File, build_id: vec![1, 2, 3], name: mapping_name(id), pid: 0 };
    let frame = |id| (id, Frame { mapping: id % 100 + 1, offset: place(id) });
    Append {
        strings: (1..=ENTRIES).map(|id| (id, text(id))).collect(),
        mappings: (1..=100).map(|id| (id, mapping(id))).collect(),
        frames: (1..=ENTRIES).map(frame).collect(),
        stacks: (1..=ENTRIES).map(|id| (id, stack(id).as_slice().into())).collect(),
        end_ns: START_NS + 1,
        ..Append::default()
    }
}

fn symbols(from: u32, to: u32) -> Vec<(u32, Symbol)> {
    (from..=to).map(|id| (id, Symbol { function: function(id), offset: 16, lines: Vec::new() })).collect()
}

async fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "whole")).await.unwrap();
    store.append(ID, many()).await.unwrap();
    // Names come in any order, and again when there are better ones.
    let worse = symbols(1, 50)
        .into_iter()
        .map(|(id, _)| (id, Symbol { function: "?".to_owned(), offset: 0, lines: Vec::new() }));
    store.put_symbols(ID, worse.collect()).await.unwrap();
    store.put_symbols(ID, symbols(2000, ENTRIES)).await.unwrap();
    store.put_symbols(ID, symbols(1, 1999)).await.unwrap();
    store.finish(ID, end(bathyscope_capture::Ledger::default())).await.unwrap();
    store.check(ID).await.unwrap();
    store.close().await;
    dir
}

/// Reads a dictionary as views do, and in one go; true if either says that something is damaged.
async fn is_told(store: &Store, what: &str) -> bool {
    let mut told = 0;
    for (first, last) in [(1, 2048), (2049, 4096)] {
        told += usize::from(match what {
            "strings" => store.string_page(ID, first, last).await.is_err(),
            "frames" => store.frame_page(ID, first, last).await.is_err(),
            "stacks" => store.stack_page(ID, first, last).await.is_err(),
            "symbols" => store.symbol_page(ID, first, last).await.is_err(),
            _ => store.mappings(ID, 0).await.is_err() || store.capture(ID).await.is_err(),
        });
    }
    let whole = match what {
        "strings" => store.strings(ID, 0).await.is_err(),
        "frames" => store.frames(ID, 0).await.is_err(),
        "stacks" => store.stacks(ID, 0).await.is_err(),
        "symbols" => store.symbols(ID, 0).await.is_err(),
        _ => true,
    };
    told > 0 && whole
}

fn find(file: &[u8], bytes: &[u8]) -> Vec<usize> {
    file.windows(bytes.len()).enumerate().filter(|(_, window)| *window == bytes).map(|(at, _)| at).collect()
}

/// What is flipped: of which dictionary, and which bytes of the file.
fn targets() -> Vec<(&'static str, Vec<u8>)> {
    let ids = (0..20).map(|number| 1 + number * 149);
    let stack_bytes = |id| stack(id).iter().flat_map(|frame| frame.to_le_bytes()).collect();
    let columns = ["next_pid", "sched_switch", "cpu-clock", "stack"];
    let mut all = Vec::new();
    for id in ids {
        all.push(("strings", text(id)));
        all.push(("symbols", function(id).into_bytes()));
        all.push(("stacks", stack_bytes(id)));
        all.push(("frames", place(id).to_be_bytes().to_vec()));
        all.push(("mappings", mapping_name(id % 100 + 1)));
        all.push(("schema", columns[id as usize % 4].as_bytes().to_vec()));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn p72_one_flipped_bit_in_names_stacks_or_columns_is_told_120_of_120() {
    let whole = filled().await;
    let file = fs::read(database(whole.path())).unwrap();
    let (mut told, targets) = (0, targets());
    for (number, (what, bytes)) in targets.iter().enumerate() {
        let mut places = find(&file, bytes);
        // What is free of an earlier version of a page does not count; columns are in the spec too.
        let at = places.pop().unwrap_or_else(|| panic!("{what} {number} is not in the file"));
        let mut flipped = file.clone();
        for at in places.into_iter().chain([at]) {
            flipped[at + number % bytes.len()] ^= 1 << (number % 8);
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(database(dir.path()), &flipped).unwrap();
        match Store::open(dir.path(), options()).await {
            Ok(store) => {
                let checked = store.check(ID).await;
                assert!(checked.is_err(), "{what} {number}: the check finds nothing");
                assert!(is_told(&store, what).await, "{what} {number}: it is read as if nothing were wrong");
                let file = dir.path().join("out.bathy");
                assert!(store.export_file(ID, &file).await.is_err(), "{what} {number}: it is exported as good");
                store.close().await;
            }
            Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{what} {number}: {error:?}"),
        }
        told += 1;
    }
    assert_eq!((told, targets.len()), (120, 120));
}

async fn execute(dir: &Path, statement: &'static str) {
    use sqlx::Connection as _;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(database(dir)).foreign_keys(false);
    let mut conn = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn p72_rows_that_vanish_move_or_appear_are_told() {
    let whole = filled().await;
    for (what, statement) in [
        ("strings", "DELETE FROM strings WHERE id = 77"),
        ("strings", "UPDATE strings SET id = 99999 WHERE id = 3000"),
        ("strings", "DELETE FROM strings"),
        ("stacks", "DELETE FROM stacks WHERE id = 3000"),
        ("stacks", "UPDATE stacks SET frames = x'01000000' WHERE id = 5"),
        ("frames", "UPDATE frames SET mapping_id = mapping_id % 100 + 1 WHERE id = 9"),
        ("frames", "INSERT INTO frames SELECT capture_id, 3001, 1, 1 FROM frames WHERE id = 1"),
        ("symbols", "DELETE FROM symbols WHERE frame_id = 12"),
        ("symbols", "UPDATE symbols SET lines = '[ ]' WHERE frame_id = 12"),
        ("mappings", "UPDATE mappings SET kind = 'kernel' WHERE id = 3"),
        ("schema", "UPDATE captures SET spec = replace(spec, '99', '98')"),
        ("strings", "DELETE FROM checksums WHERE part = 0 AND page = 1"),
        ("schema", "UPDATE checksums SET sum = sum + 1 WHERE part = 5"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::copy(database(whole.path()), database(dir.path())).unwrap();
        execute(dir.path(), statement).await;
        let store = open(dir.path()).await;
        let error = store.check(ID).await.unwrap_err();
        assert!(matches!(error, StoreError::DamagedPart { .. }), "{statement}: {error:?}");
        assert!(error.to_string().contains("restore a copy"), "{error}");
        assert!(is_told(&store, what).await, "{statement}: it is read as if nothing were wrong");
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p72_a_capture_that_grows_is_never_told_to_be_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "growing")).await.unwrap();
    let mapping = Mapping { kind: MappingKind::File, build_id: Vec::new(), name: b"a".to_vec(), pid: 0 };
    store.append(ID, Append { mappings: vec![(1, mapping)], ..Append::default() }).await.unwrap();
    let growing = tokio::spawn({
        let store = store.clone();
        async move {
            for id in 1..400 {
                let strings = vec![(id * 2, text(id))];
                let frames = vec![(id, Frame { mapping: 1, offset: place(id) })];
                store.append(ID, Append { strings, frames, ..Append::default() }).await.unwrap();
                store.put_symbols(ID, symbols(id, id)).await.unwrap();
            }
        }
    });
    while !growing.is_finished() {
        store.string_page(ID, 1, 2048).await.unwrap();
        store.symbol_page(ID, 1, 2048).await.unwrap();
        store.frames(ID, 100).await.unwrap();
        store.check(ID).await.unwrap();
    }
    growing.await.unwrap();
    assert_eq!(store.capture(ID).await.unwrap().state, CaptureState::Recording);
    assert_eq!(store.strings(ID, 100).await.unwrap().first().map(|entry| entry.0), Some(102));
}
