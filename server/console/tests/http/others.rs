//! Others that the console connects to, on this host, and the process that does it: here a thread.

use axum::Router;
use bathyscope_console::{
    config::OutboundTargets,
    outbound::{Outbound, OutboundProcess, serve_outbound},
};
use bathyscope_protocol::Door;
use tokio::{net::TcpListener, runtime::Handle};

/// A server of this host; its address without a path, such as `http://127.0.0.1:4711`.
pub async fn serving(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// What connects to these, which are addresses as [`serving`] gives them.
pub fn connecting_to(urls: &[&str]) -> Outbound {
    let hosts = urls.iter().map(|url| url.trim_start_matches("http://").parse().unwrap());
    let targets = OutboundTargets { private: hosts.collect(), ..OutboundTargets::default() };
    let process = OutboundProcess::new(targets.clone(), &[]).unwrap();
    let (ours, theirs) = Door::pair().unwrap();
    let runtime = Handle::current();
    std::thread::spawn(move || serve_outbound(&theirs, &process, &runtime));
    Outbound::new(ours, targets)
}
