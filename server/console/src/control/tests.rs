//! The control socket, asked as the command line asks it.

use bathyscope_protocol::{ClientError, ProtocolError};
use bathyscope_recorder::RecorderOptions;
use bathyscope_store::Options;

use super::*;
use crate::http::SessionClock;

async fn asked<T: Send + 'static>(dir: &Path, ask: impl FnOnce(&Path) -> T + Send + 'static) -> T {
    let dir = dir.to_owned();
    tokio::task::spawn_blocking(move || ask(&dir)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn recipes_are_saved_and_deleted_beside_a_console() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
    let stop = CancellationToken::new();
    let sessions = Sessions::open(store.clone(), SessionClock::Boot, &stop).await.unwrap();
    let link = AgentLink::new(|| Err(ClientError::Broken(ProtocolError::Closed))).unwrap();
    let recorder = Recorder::new(store.clone(), link.clone(), RecorderOptions::new(dir.path().to_owned()));
    let shares = crate::http::Shares::open(store.clone(), false, &stop).await.unwrap();
    let captures = bathyscope_reader::CaptureCache::new(store.clone());
    let sharing = Sharing { shares, captures, origin: "http://127.0.0.1:1".to_owned() };
    let importer = Importer::none("no files here");
    let people = People::new(store.clone(), sessions.clone(), &stop);
    let webhooks = Webhooks::new(store.clone(), None, None, &stop);
    let tracing = Tracing {
        recorder,
        link,
        store: store.clone(),
        importer,
        sharing,
        people,
        webhooks,
        retention: RetentionRule::default(),
    };
    let starter = Some(rustix::process::geteuid().as_raw());
    let control = Control::bind(dir.path(), sessions, "http://127.0.0.1:1".to_owned(), starter).unwrap();
    let serving = tokio::spawn(control.with_tracing(tracing).serve(stop.clone()));
    // As large as one may be.
    let script = "x".repeat(MAX_RECIPE_BYTES - 400);
    let text = format!(
        r#"{{"name":"mine","of":"system","limits":{{}},"sources":[{{"id":"s","method":{{"script":{{"text":"{script}"}}}}}}]}}"#
    );
    let recipe: Recipe = serde_json::from_str(&text).unwrap();
    let save = async |recipe: Recipe, replace| {
        let saving = move |dir: &Path| {
            let console = ControlConnection::open(dir).unwrap().unwrap();
            console.save_recipe(recipe, replace).map_err(|failure| failure.report())
        };
        asked(dir.path(), saving).await
    };
    save(recipe.clone(), false).await.unwrap();
    let kept = store.kept(None, None, false).await.unwrap();
    assert_eq!((kept[0].name.as_str(), kept[0].owner.as_str()), ("mine", TERMINAL));
    assert!(save(recipe.clone(), false).await.unwrap_err().contains("already, saved by terminal"));
    save(recipe.clone(), true).await.unwrap();
    let error = save(Recipe { name: "disk".to_owned(), ..recipe }, true).await.unwrap_err();
    assert!(error.contains("comes with the program"), "{error}");
    let delete = async |name: &'static str| {
        let deleting = move |dir: &Path| {
            let console = ControlConnection::open(dir).unwrap().unwrap();
            console.delete_recipe(name).map_err(|failure| failure.report())
        };
        asked(dir.path(), deleting).await
    };
    assert!(delete("mind").await.unwrap_err().contains("did you mean `mine`?"));
    delete("mine").await.unwrap();
    assert_eq!(store.kept(None, None, false).await.unwrap(), []);
    let audit: Vec<String> = store.audit(0, 9).await.unwrap().into_iter().map(|record| record.entry.action).collect();
    assert_eq!(audit, ["recipe.delete", "recipe.save", "recipe.save"]);
    stop.cancel();
    serving.await.unwrap();
    assert!(ControlConnection::open(dir.path()).unwrap().is_none(), "no console runs there any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_logs_in_whom_it_names() {
    let dir = tempfile::tempdir().unwrap();
    // Longer than the path of a socket may be.
    let deep = dir.path().join("d".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let store = Store::open(&deep, Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
    let stop = CancellationToken::new();
    let sessions = Sessions::open(store, SessionClock::Boot, &stop).await.unwrap();
    let starter = Some(rustix::process::geteuid().as_raw());
    let control = Control::bind(&deep, sessions.clone(), "http://127.0.0.1:1".to_owned(), starter).unwrap();
    let serving = tokio::spawn(control.serve(stop.clone()));
    let asked = deep.clone();
    let link = tokio::task::spawn_blocking(move || login_link(&asked, "alice", Role::Viewer, 60)).await.unwrap();
    let (url, role) = link.unwrap();
    assert_eq!(role, Role::Viewer);
    let token = url.strip_prefix("http://127.0.0.1:1/login#token=").unwrap();
    let (_secret, session) = sessions.login(token, None).await.unwrap().unwrap();
    assert_eq!((session.user(), session.role()), ("alice", Role::Viewer));
    stop.cancel();
    serving.await.unwrap();
    assert!(!deep.join(NAME).exists());
    let asked = deep.clone();
    let refused = tokio::task::spawn_blocking(move || login_link(&asked, "alice", Role::Viewer, 60)).await.unwrap();
    assert!(refused.unwrap_err().report().contains("bathyscope serve"));
    assert_eq!(probes(&deep).unwrap(), None, "no console runs there any more");
    assert!(!optimize_kprobes(&deep, true).unwrap());
}
