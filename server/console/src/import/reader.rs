//! The reader: a process of the console that starts children for files. It has no rights either, but those to start them; it
//! passes on what both sides say and looks at none of it.

use std::{
    io::{self, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
};

use bathyscope_link::words;
use bathyscope_protocol::sandbox::Sandbox;
use rustix::{
    event::{PollFd, PollFlags, poll},
    pipe::{PipeFlags, pipe_with},
};

use super::{
    child,
    frames::{self, FrameKind},
};

/// Serves the console at the other end of `console` until that is gone.
///
/// # Errors
/// If the console says what is not agreed.
pub fn serve(console: OwnedFd) -> io::Result<()> {
    let mut console = UnixStream::from(console);
    let served = loop {
        if let Err(error) = one_request(&mut console) {
            break error;
        }
    };
    // A console may end at any time, also while it imports.
    let is_gone = matches!(served.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe);
    if is_gone { Ok(()) } else { Err(served) }
}

fn one_request(console: &mut UnixStream) -> io::Result<()> {
    match frames::read(console)?.0 {
        FrameKind::Begin => one_file(console),
        FrameKind::Cancel => frames::write(console, FrameKind::Idle, &[]),
        // What comes behind a file whose child has ended early.
        _ => Ok(()),
    }
}

/// Reads one file: takes it in, then gives what the child says.
fn one_file(console: &mut UnixStream) -> io::Result<()> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let started = child::start(read.as_fd(), None);
    drop(read);
    match started {
        Ok(child) => match take_in(console, std::fs::File::from(write))? {
            Taken::Cancelled => end_child(child, console),
            Taken::All => pass_on(console, child),
        },
        Err(error) => frames::write(console, FrameKind::Failed, words(&error).as_bytes()),
    }
}

fn end_child(child: Sandbox, console: &mut UnixStream) -> io::Result<()> {
    frames::write(console, FrameKind::Idle, &child.close().to_le_bytes())
}

enum Taken {
    All,
    Cancelled,
}

/// Gives the child the bytes of the file. One that has ended already has said why.
fn take_in(console: &mut UnixStream, mut child: std::fs::File) -> io::Result<Taken> {
    let mut ended = false;
    loop {
        match frames::read(console)? {
            (FrameKind::Data, bytes) if !ended => match child.write_all(&bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ended = true,
                written => written?,
            },
            (FrameKind::Data, _) => {}
            (FrameKind::End, _) => return Ok(Taken::All),
            (FrameKind::Cancel, _) => return Ok(Taken::Cancelled),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the console broke the protocol")),
        }
    }
}

/// Gives the console what the child says, until that has ended or nobody wants it any more.
fn pass_on(console: &mut UnixStream, mut child: Sandbox) -> io::Result<()> {
    loop {
        let cancelled = {
            let mut both =
                [PollFd::new(&child, PollFlags::IN), PollFd::from_borrowed_fd(console.as_fd(), PollFlags::IN)];
            match poll(&mut both, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            both.last().is_some_and(|console| !console.revents().is_empty())
        };
        if cancelled {
            match frames::read(console)? {
                (FrameKind::Cancel, _) => return end_child(child, console),
                _ => continue,
            }
        }
        match child::watch(&mut child) {
            Ok(Some(message)) => frames::write(console, FrameKind::Message, &message)?,
            Ok(None) => return frames::write(console, FrameKind::Ended, &child.close().to_le_bytes()),
            Err(why) => return frames::write(console, FrameKind::Failed, why.as_bytes()),
        }
    }
}
