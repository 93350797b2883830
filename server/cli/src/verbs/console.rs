//! `console` (hidden): the unprivileged side, started by `serve` with its end of the door as standard input. Gives up its rights before anything else.

use std::path::Path;

use bathyscope_console::import::NewReader;

use crate::{Failure, Outcome, config::ConsoleArgs, launch::start_reader};

/// Gives up all rights, and every file and system call that is not needed; then serves HTTP until it is told to stop.
///
/// # Errors
/// If rights remain, the store cannot be opened, or the address cannot be bound.
pub fn run(args: ConsoleArgs) -> Outcome {
    // Before anything is given up: afterwards this process may start no other.
    let reader = NewReader::start(|socket| start_reader(Path::new("/proc/self/exe"), args.uid, args.gid, socket));
    // Nobody but who starts this reads the key and the proxy's secret.
    let transport = args.listen.transport()?;
    let proxy_users = args.proxy_users.proxy_users()?;
    let oidc = args.oidc.provider(&args.listen)?;
    crate::launch::confine(args.uid, args.gid, args.supervisor)?;
    crate::logging::start(&args.log)?;
    let door = super::agent::door_on_stdin()?;
    let connects = !args.outbound.targets().is_empty();
    let outbound = connects.then(|| door.take()).transpose();
    let outbound =
        outbound.map_err(|error| Failure::because("taking the socket of the process that connects", error))?;
    // Before there is a thread: Landlock holds for the thread that asks for it, and for those that it starts.
    crate::launch::restrict_files(&args.data.directory()?, args.listen.listen.port())?;
    crate::launch::filter_system_calls()?;
    to_the_end(
        super::runtime()?,
        bathyscope_console::server::run(args.config(transport, (proxy_users, oidc))?, (door, outbound), reader),
    )
}

/// Runs `serving`. What then still works on a thread that cannot be interrupted, such as reading a large file of symbols, ends
/// with the process: dropping the runtime would wait for it, until the supervisor kills this process and tells a failure.
fn to_the_end<T>(runtime: tokio::runtime::Runtime, serving: impl Future<Output = T>) -> T {
    let outcome = runtime.block_on(serving);
    runtime.shutdown_background();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_for_a_thread_that_still_works() {
        let (end, ended) = std::sync::mpsc::sync_channel::<()>(1);
        let serving = async move {
            tokio::task::spawn_blocking(move || ended.recv());
            7
        };
        assert_eq!(to_the_end(crate::verbs::runtime().expect("a runtime"), serving), 7);
        drop(end);
    }
}
