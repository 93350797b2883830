//! What a traced command prints.

use std::{
    fs::File,
    io::{ErrorKind, Read as _, Write},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, poll};

/// How long the command's last words are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Bytes that are passed on at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// What the command prints goes where this process prints, as if it had been started from the same terminal.
pub(super) fn forward_output(output: Option<(OwnedFd, OwnedFd)>) -> Vec<std::thread::JoinHandle<()>> {
    let Some((stdout, stderr)) = output else { return Vec::new() };
    vec![
        std::thread::spawn(move || forward(stdout, std::io::stdout())),
        std::thread::spawn(move || forward(stderr, std::io::stderr())),
    ]
}

/// Passes on what comes until there is no more, or nobody reads it.
fn forward(from: OwnedFd, mut to: impl Write) {
    let (mut from, mut chunk) = (File::from(from), vec![0; CHUNK_BYTES]);
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // The agent hands out ends of pipes at which nobody waits.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // A signal is no reason to stop: the next round waits again.
                let _interrupted = poll(&mut [PollFd::new(&from, PollFlags::IN)], None);
                continue;
            }
            Err(_error) => return,
        };
        let bytes = chunk.get(..read).unwrap_or_default();
        if to.write_all(bytes).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// Waits for the command's last words; not for those of what it left behind.
pub(super) fn wait_for(forwarded: &[std::thread::JoinHandle<()>]) {
    let since = Instant::now();
    while forwarded.iter().any(|thread| !thread.is_finished()) && since.elapsed() < LAST_WORDS {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_is_passed_on_too() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let (to, mut passed_on) = std::os::unix::net::UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || forward(reader, to));
        let mut writer = File::from(writer);
        let mut seen = [0; 3];
        for text in [b"one", b"two"] {
            writer.write_all(text).unwrap();
            passed_on.read_exact(&mut seen).unwrap();
            assert_eq!(&seen, text);
        }
        drop(writer);
        thread.join().unwrap();
    }
}
