//! What rows refer to is read when a view asks for it: of running captures as they are, and never silently not at all.

use bathyscope_capture::{
    Append, CaptureId, CaptureSpec, Frame, HostFacts, Ledger, Mapping, MappingKind, Method, ProcessChange,
    ProcessChangeKind, ProfileSpec, StreamKind, StreamSchema, StreamTotals, Symbol, Target,
};
use bathyscope_reader::{CaptureCache, CaptureView};
use bathyscope_store::{CaptureState, End, NewCapture, Options, Role, Store};
use bathyscope_views::{Source as _, ViewError};

use super::harness::Console;

const ID: CaptureId = CaptureId::from_bits(5);

async fn begin(store: &Store) {
    let new = NewCapture {
        id: ID,
        title: "grows".to_owned(),
        owner: "ada".to_owned(),
        spec: CaptureSpec::of(Method::Profile(ProfileSpec::default()), Target::System),
        host: HostFacts::default(),
        streams: vec![StreamSchema::new("cpu-clock", StreamKind::Samples, [])],
        started_unix_ns: 1,
        start_ns: 1,
        simulated: true,
        firing: None,
    };
    store.create(new).await.unwrap();
    let mapping = Mapping { kind: MappingKind::Kernel, build_id: Vec::new(), name: b"[kernel]".to_vec(), pid: 0 };
    store.append(ID, Append { mappings: vec![(1, mapping)], ..Append::default() }).await.unwrap();
}

fn symbol(name: &str) -> Symbol {
    Symbol { function: name.to_owned(), offset: 0, lines: Vec::new() }
}

/// Entries with one id, and a process of that number that is called by the string with that id.
fn entries(id: u32) -> Append {
    let kind = ProcessChangeKind::Existing { comm: id };
    Append {
        strings: vec![(id, format!("text {id}").into_bytes())],
        frames: vec![(id, Frame { mapping: 1, offset: id.into() })],
        stacks: vec![(id, [id, 1].as_slice().into())],
        symbols: vec![(id, symbol("early"))],
        processes: vec![ProcessChange { time_ns: 0, pid: id, tid: id, kind }],
        ..Append::default()
    }
}

async fn finish(store: &Store) {
    let ledger = Ledger { streams: vec![StreamTotals::default()], losses: Vec::new() };
    let (state, reason) = (CaptureState::Finished, "done".to_owned());
    store
        .finish(ID, End { state, reason, end_ns: 9, ledger, readings: vec![None], script: None, sources: Vec::new() })
        .await
        .unwrap();
}

/// What a view finds of an id: its text, frames of its stack, its frame's offset and name, its process's name, in words.
async fn found(view: CaptureView, id: u32) -> String {
    let look = move || {
        let all = view.dictionaries();
        let text = all.text(id).map(|text| String::from_utf8_lossy(text).into_owned());
        let frame = all.frame(id).and_then(|frame| all.mapping(frame.mapping).map(|mapping| (frame, mapping.kind)));
        let offset = frame.map(|(frame, _)| frame.offset);
        let symbol = all.symbol(id).map(|symbol| symbol.function.as_str());
        let process = all.process_name(id, 5);
        view.checked(Ok(())).unwrap();
        format!("{text:?} {:?} {offset:?} {symbol:?} {process:?}", all.stack(id)).replace("Some", "")
    };
    tokio::task::spawn_blocking(look).await.unwrap()
}

const NOTHING: &str = "None None None None None";

#[tokio::test(flavor = "multi_thread")]
async fn a_running_capture_is_seen_as_it_is_and_names_as_they_become() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).await.unwrap();
    begin(&store).await;
    let cache = CaptureCache::new(store.clone());
    let full = |id: u32, name: &str| format!("(\"text {id}\") ([{id}, 1]) ({id}) (\"{name}\") ({id})");
    // Beyond one page, so that the last one grows and a new one begins.
    for id in [1, 2, 2048, 2049, 2050] {
        let before = cache.view(ID, true).await.unwrap();
        assert_eq!(found(before.clone(), id).await, NOTHING, "{id} before it is there");
        store.append(ID, entries(id)).await.unwrap();
        assert_eq!(found(cache.view(ID, true).await.unwrap(), id).await, full(id, "early"));
        assert!(found(before, id).await.starts_with("None None None None"), "{id} came after the snapshot");
        assert_eq!(found(cache.view(ID, true).await.unwrap(), 1).await, full(1, "early"));
    }
    store.put_symbols(ID, vec![(2, symbol("better"))]).await.unwrap();
    assert_eq!(found(cache.view(ID, true).await.unwrap(), 2).await, full(2, "better"));
    finish(&store).await;
    assert_eq!(found(cache.view(ID, true).await.unwrap(), 2).await, full(2, "better"));
    store.put_symbols(ID, vec![(2, symbol("best"))]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(found(cache.view(ID, false).await.unwrap(), 2).await, full(2, "best"), "the recorder has ended");
    }
    store.delete(ID).await.unwrap();
    cache.forget(ID);
    assert!(cache.view(ID, false).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_of_what_cannot_be_read_fails() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).await.unwrap();
    begin(&store).await;
    store.append(ID, entries(1)).await.unwrap();
    finish(&store).await;
    let cache = CaptureCache::new(store.clone());
    let views = [cache.view(ID, false).await.unwrap(), cache.view(ID, false).await.unwrap()];
    let [first, second] = views;
    assert!(found(first.clone(), 1).await.contains("early"));
    store.close().await;
    let look = move || {
        assert!(
            first.dictionaries().text(1).is_some() && first.checked(Ok(())).is_ok(),
            "it has all that it asked for"
        );
        // What is kept for all views needs no database either; what was never read does.
        assert!(second.dictionaries().text(1).is_some() && second.checked(Ok(())).is_ok());
        second
    };
    let second = tokio::task::spawn_blocking(look).await.unwrap();
    cache.forget(ID);
    let look = move || {
        assert_eq!(second.dictionaries().stack(1), None);
        let error = second.checked(Ok(())).unwrap_err();
        assert!(matches!(&error, ViewError::Dictionary { what: "stacks", first: 1, .. }), "{error:?}");
        assert!(std::error::Error::source(&error).is_some_and(|why| why.to_string().contains("closed")), "{error:?}");
        assert!(matches!(second.batch(0, 0, &[]), Err(ViewError::Dictionary { .. })), "and nothing more is read");
    };
    tokio::task::spawn_blocking(look).await.unwrap();
}

/// The page of a stack's frames is made where it may wait.
#[tokio::test(flavor = "multi_thread")]
async fn the_frames_of_a_stack_are_answered() {
    let console = Console::new().await;
    let viewer = console.cookie("vera", Role::Viewer).await;
    begin(&console.store).await;
    console.store.append(ID, entries(1)).await.unwrap();
    finish(&console.store).await;
    let answer = console.get(&format!("/api/captures/{ID}/stacks/1"), &viewer).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["frames"][1]["name"], "early");
    assert_eq!(console.get(&format!("/api/captures/{ID}/stacks/2"), &viewer).await.status, 404);
    let tables = console.get(&format!("/api/captures/{ID}/query"), &viewer).await;
    let rows = tables.json()["tables"].as_array().unwrap().iter().find(|table| table["name"] == "stacks").cloned();
    assert_eq!(rows.unwrap()["rows"], 2);
}
