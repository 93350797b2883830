//! What a traced command prints.

use std::{
    fs::File,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

/// How long the command's last words are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What the command prints goes where this process prints, as if it had been started from the same terminal.
pub(super) fn forward_output(output: Option<(OwnedFd, OwnedFd)>) -> Vec<std::thread::JoinHandle<()>> {
    let Some((stdout, stderr)) = output else { return Vec::new() };
    let copy = |from: OwnedFd, to: fn() -> Box<dyn std::io::Write>| {
        std::thread::spawn(move || {
            // Nobody reads any more, or there is no more.
            let _ended = std::io::copy(&mut File::from(from), &mut to());
        })
    };
    vec![copy(stdout, || Box::new(std::io::stdout())), copy(stderr, || Box::new(std::io::stderr()))]
}

/// Waits for the command's last words; not for those of what it left behind.
pub(super) fn wait_for(forwarded: &[std::thread::JoinHandle<()>]) {
    let since = Instant::now();
    while forwarded.iter().any(|thread| !thread.is_finished()) && since.elapsed() < LAST_WORDS {
        std::thread::sleep(Duration::from_millis(1));
    }
}
