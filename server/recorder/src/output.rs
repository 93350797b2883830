//! What a traced command prints: read without waiting, kept up to a limit, never shown to a terminal as it is.

use std::{os::fd::OwnedFd, sync::Arc, time::Duration};

use bathyscope_capture::{Append, OutputLine, OutputStream};
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe::Receiver,
    sync::{mpsc, watch},
    time::Instant,
};

use super::{appender::Outgoing, clock::monotonic_ns, progress::Progress};

/// The most output that is kept of one capture; the rest is read, so that the command does not hang, and counted.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// The most bytes of one piece.
const MAX_PIECE_BYTES: usize = 64 << 10;
/// How long pieces are gathered before they are stored.
const GATHER: Duration = Duration::from_millis(200);
/// How long the end of the output is waited for after the end of the capture.
const AFTER_THE_END: Duration = Duration::from_millis(200);

struct Pipe {
    reader: Option<Receiver>,
    stream: OutputStream,
    buffer: Vec<u8>,
}

impl Pipe {
    fn new(fd: OwnedFd, stream: OutputStream) -> Self {
        let reader = Receiver::from_owned_fd(fd);
        if let Err(error) = &reader {
            tracing::warn!(%error, "the command's output cannot be read");
        }
        Self { reader: reader.ok(), stream, buffer: vec![0; MAX_PIECE_BYTES] }
    }

    /// The next piece; waits for ever once the pipe has ended.
    async fn next(&mut self) -> Vec<u8> {
        loop {
            let Some(reader) = &mut self.reader else { return std::future::pending().await };
            match reader.read(&mut self.buffer).await {
                Ok(bytes @ 1..) => return self.buffer.get(..bytes).unwrap_or_default().to_vec(),
                Ok(0) | Err(_) => self.reader = None,
            }
        }
    }
}

/// Reads both outputs until they end, or until shortly after `ending` says that the capture does.
pub(crate) async fn read(
    (stdout, stderr): (OwnedFd, OwnedFd),
    to_store: mpsc::Sender<Outgoing>,
    progress: Arc<Progress>,
    mut ending: watch::Receiver<bool>,
) {
    let mut stdout = Pipe::new(stdout, OutputStream::Stdout);
    let mut stderr = Pipe::new(stderr, OutputStream::Stderr);
    let mut kept = 0_usize;
    let mut lines: Vec<OutputLine> = Vec::new();
    let mut deadline: Option<Instant> = None;
    let mut send_at: Option<Instant> = None;
    while stdout.reader.is_some() || stderr.reader.is_some() {
        let wake = [deadline, send_at].into_iter().flatten().min();
        let (stream, bytes) = tokio::select! {
            bytes = stdout.next() => (stdout.stream, bytes),
            bytes = stderr.next() => (stderr.stream, bytes),
            () = sleep_until(wake) => {
                send_at = None;
                send(&to_store, &mut lines).await;
                if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    break;
                }
                continue;
            }
            () = ended(&mut ending), if deadline.is_none() => {
                deadline = Some(Instant::now() + AFTER_THE_END);
                continue;
            }
        };
        let room = MAX_KEPT_BYTES - kept;
        let mut bytes = bytes;
        progress.leave_out_output(bytes.len().saturating_sub(room) as u64);
        bytes.truncate(room);
        if !bytes.is_empty() {
            kept += bytes.len();
            match lines
                .last_mut()
                .filter(|last| last.stream == stream && last.bytes.len() + bytes.len() <= MAX_PIECE_BYTES)
            {
                // Many programs write a line in several parts.
                Some(last) => last.bytes.append(&mut bytes),
                None => lines.push(OutputLine { time_ns: monotonic_ns(), stream, bytes }),
            }
            send_at.get_or_insert_with(|| Instant::now() + GATHER);
        }
    }
    send(&to_store, &mut lines).await;
}

async fn ended(ending: &mut watch::Receiver<bool>) {
    // Nobody there to say so is the end as well.
    let _guard_is_not_needed = ending.wait_for(|ending| *ending).await.map(|_| ());
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn send(to_store: &mpsc::Sender<Outgoing>, lines: &mut Vec<OutputLine>) {
    if !lines.is_empty() {
        let append = Append { output: std::mem::take(lines), ..Append::default() };
        let _the_store_may_be_gone = to_store.send(Outgoing { append, rows: Vec::new() }).await;
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write};

    use super::*;

    #[tokio::test]
    async fn p21_both_outputs_are_kept_up_to_the_limit() {
        let (out, out_end) = rustix::pipe::pipe().unwrap();
        let (err, err_end) = rustix::pipe::pipe().unwrap();
        let (to_store, mut stored) = mpsc::channel(100);
        let progress = Arc::new(Progress::new(0, None, None));
        let (_ending, watched) = watch::channel(false);
        let reading = tokio::spawn(read((out, err), to_store, Arc::clone(&progress), watched));
        let writing = std::thread::spawn(move || {
            File::from(err_end).write_all(b"oops\n").unwrap();
            File::from(out_end).write_all(&vec![b'x'; MAX_KEPT_BYTES + 1000]).unwrap();
        });
        let mut by_stream = [0, 0];
        while let Some(outgoing) = stored.recv().await {
            for line in outgoing.append.output {
                by_stream[usize::from(line.stream == OutputStream::Stderr)] += line.bytes.len();
            }
        }
        reading.await.unwrap();
        writing.join().unwrap();
        assert_eq!(by_stream[1], 5);
        assert_eq!(by_stream[0], MAX_KEPT_BYTES - 5);
        assert_eq!(progress.output_left_out(), 1005);
    }

    #[tokio::test]
    async fn a_pipe_that_somebody_keeps_open_does_not_hold_the_end() {
        let (out, _kept_open) = rustix::pipe::pipe().unwrap();
        let (err, _kept_too) = rustix::pipe::pipe().unwrap();
        let (to_store, mut stored) = mpsc::channel(1);
        let (ending, watched) = watch::channel(false);
        ending.send(true).unwrap();
        read((out, err), to_store, Arc::new(Progress::new(0, None, None)), watched).await;
        assert!(stored.recv().await.is_none());
    }
}
