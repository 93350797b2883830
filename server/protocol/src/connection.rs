//! Packets of JSON with descriptors beside them.

use std::{
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    },
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{MAX_MESSAGE_BYTES, MAX_MESSAGE_FDS, large};

/// The deepest nesting of a message: a predicate of the greatest depth in a request, with room.
const MAX_JSON_DEPTH: usize = 64;
/// The deepest nesting of a large message: types within types in a plan. The parser's own limit is a little higher.
const MAX_LARGE_JSON_DEPTH: usize = 120;
const CONTROL_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_MESSAGE_FDS));

/// Why a packet could not be sent or received. The connection cannot be used afterwards.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The other side is gone.
    #[error("the other side closed the connection")]
    Closed,
    /// Nothing came, or nothing was taken, in time.
    #[error("the other side did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// A packet larger than [`MAX_MESSAGE_BYTES`].
    #[error("a message has more than {MAX_MESSAGE_BYTES} bytes")]
    TooLarge,
    /// More descriptors than [`MAX_MESSAGE_FDS`], or descriptors where there must be none.
    #[error("a message has {found} descriptors where at most {most} are allowed")]
    Descriptors {
        /// How many there are, as far as they were received.
        found: usize,
        /// How many are allowed.
        most: usize,
    },
    /// Not a message of this protocol. What it said is left out on purpose: it may be anything.
    #[error("a message is not one of this protocol ({what} at byte {offset})")]
    Malformed {
        /// What kind of trouble.
        what: &'static str,
        /// Where.
        offset: usize,
    },
    /// A reply of another kind than the request asks for.
    #[error("the reply does not belong to the request `{request}`")]
    WrongReply {
        /// The request's name.
        request: &'static str,
    },
    /// The kernel refused.
    #[error("{doing} failed")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

impl ProtocolError {
    fn io(doing: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| match errno {
            Errno::PIPE | Errno::CONNRESET => Self::Closed,
            errno => Self::Io { doing, source: errno.into() },
        }
    }
}

/// The packet that stands for a larger message in a file.
#[derive(Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct InFile {
    in_file: u64,
}

/// A message as it arrived.
#[derive(Debug)]
pub struct Received<M> {
    /// The message.
    pub message: M,
    /// What came beside it, without the file that held a large message.
    pub descriptors: Vec<OwnedFd>,
    /// Whether it was too large for a packet.
    pub large: bool,
}

/// Who is at the other end, as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    /// Its process id when it connected.
    pub pid: u32,
    /// Its effective user when it connected.
    pub uid: u32,
}

/// One end of a `SOCK_SEQPACKET` connection.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
}

impl Connection {
    /// Two ends that are connected with each other.
    ///
    /// # Errors
    /// If the kernel gives no sockets.
    pub fn pair() -> Result<(Self, Self), ProtocolError> {
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map(|(one, other)| (Self { socket: one }, Self { socket: other }))
            .map_err(ProtocolError::io("making a pair of sockets"))
    }

    /// Who is at the other end.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn peer(&self) -> Result<PeerCredentials, ProtocolError> {
        let peer =
            rustix::net::sockopt::socket_peercred(&self.socket).map_err(ProtocolError::io("asking who connected"))?;
        Ok(PeerCredentials { pid: peer.pid.as_raw_nonzero().get().unsigned_abs(), uid: peer.uid.as_raw() })
    }

    /// Sends one message with `descriptors`, waiting up to `timeout` for room.
    ///
    /// # Errors
    /// If it is too large, or the other side is gone or takes nothing.
    pub fn send<M: Serialize>(
        &self,
        message: &M,
        descriptors: &[BorrowedFd<'_>],
        timeout: Duration,
    ) -> Result<(), ProtocolError> {
        let malformed = |_what: serde_json::Error| ProtocolError::Malformed { what: "not serialisable", offset: 0 };
        let bytes = serde_json::to_vec(message).map_err(malformed)?;
        self.send_bytes(&bytes, descriptors, timeout)
    }

    /// Sends one message; in a sealed file if it is too large for a packet, at most `most` bytes. Only a message that
    /// fits into a packet may have descriptors beside it.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send_large<M: Serialize>(
        &self,
        message: &M,
        descriptors: &[BorrowedFd<'_>],
        most: usize,
        timeout: Duration,
    ) -> Result<(), ProtocolError> {
        let malformed = |_what: serde_json::Error| ProtocolError::Malformed { what: "not serialisable", offset: 0 };
        let bytes = serde_json::to_vec(message).map_err(malformed)?;
        if bytes.len() <= MAX_MESSAGE_BYTES {
            return self.send_bytes(&bytes, descriptors, timeout);
        }
        if bytes.len() > most || !descriptors.is_empty() {
            return Err(ProtocolError::TooLarge);
        }
        let file = large::sealed_file("bathyscope-message", &bytes)
            .map_err(|source| ProtocolError::Io { doing: "making a file for a large message", source })?;
        self.send(&InFile { in_file: bytes.len() as u64 }, &[file.as_fd()], timeout)
    }

    /// Sends `bytes` as one packet; what [`Connection::send`] does after it has made JSON.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send_bytes(
        &self,
        bytes: &[u8],
        descriptors: &[BorrowedFd<'_>],
        timeout: Duration,
    ) -> Result<(), ProtocolError> {
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(ProtocolError::TooLarge);
        }
        if descriptors.len() > MAX_MESSAGE_FDS {
            return Err(ProtocolError::Descriptors { found: descriptors.len(), most: MAX_MESSAGE_FDS });
        }
        let deadline = Instant::now() + timeout;
        loop {
            let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
                return Err(ProtocolError::Descriptors { found: descriptors.len(), most: MAX_MESSAGE_FDS });
            }
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match rustix::net::sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut control, flags) {
                Ok(_sent) => return Ok(()),
                Err(Errno::AGAIN) => self.wait_for(PollFlags::OUT, Some(deadline), timeout)?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(ProtocolError::io("sending a message")(errno)),
            }
        }
    }

    /// Receives one message with its descriptors, all of them close-on-exec. Without a timeout it waits for ever.
    ///
    /// # Errors
    /// If the other side is gone, sends nothing in time, or sends something that is not such a message.
    pub fn receive<M: DeserializeOwned>(&self, timeout: Option<Duration>) -> Result<(M, Vec<OwnedFd>), ProtocolError> {
        let (bytes, descriptors) = self.receive_bytes(timeout)?;
        Ok((parse(&bytes)?, descriptors))
    }

    /// As [`Connection::receive`], for messages that may be in a file, of at most `most` bytes.
    ///
    /// # Errors
    /// As [`Connection::receive`]; a file that is not sealed is not read.
    pub fn receive_large<M: DeserializeOwned>(
        &self,
        timeout: Option<Duration>,
        most: usize,
    ) -> Result<Received<M>, ProtocolError> {
        let (bytes, mut descriptors) = self.receive_bytes(timeout)?;
        if !bytes.starts_with(b"{\"in_file\"") {
            return Ok(Received { message: parse(&bytes)?, descriptors, large: false });
        }
        let InFile { in_file } = parse(&bytes)?;
        let file = match (descriptors.pop(), descriptors.is_empty()) {
            (Some(file), true) => file,
            (file, _) => {
                let found = descriptors.len() + usize::from(file.is_some());
                return Err(ProtocolError::Descriptors { found, most: 1 });
            }
        };
        let malformed = |what| ProtocolError::Malformed { what, offset: 0 };
        if in_file > most as u64 {
            return Err(ProtocolError::TooLarge);
        }
        let bytes =
            large::read_sealed(&file, most).map_err(|_error| malformed("its file is not sealed or too large"))?;
        if bytes.len() as u64 != in_file {
            return Err(malformed("its file has another size than it says"));
        }
        Ok(Received { message: parse_to(&bytes, MAX_LARGE_JSON_DEPTH)?, descriptors, large: true })
    }

    pub(crate) fn receive_bytes(&self, timeout: Option<Duration>) -> Result<(Vec<u8>, Vec<OwnedFd>), ProtocolError> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut bytes = vec![0_u8; MAX_MESSAGE_BYTES];
        loop {
            self.wait_for(PollFlags::IN, deadline, timeout.unwrap_or_default())?;
            let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
            let got = match rustix::net::recvmsg(&self.socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)
            {
                Ok(got) => got,
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(errno) => return Err(ProtocolError::io("receiving a message")(errno)),
            };
            let mut descriptors = Vec::new();
            for part in control.drain() {
                if let RecvAncillaryMessage::ScmRights(received) = part {
                    descriptors.extend(received);
                }
            }
            // The space is a little larger than the limit, for alignment.
            if got.flags.contains(ReturnFlags::CTRUNC) || descriptors.len() > MAX_MESSAGE_FDS {
                return Err(ProtocolError::Descriptors { found: descriptors.len(), most: MAX_MESSAGE_FDS });
            }
            if got.flags.contains(ReturnFlags::TRUNC) {
                return Err(ProtocolError::TooLarge);
            }
            if got.bytes == 0 {
                return Err(ProtocolError::Closed);
            }
            bytes.truncate(got.bytes);
            return Ok((bytes, descriptors));
        }
    }

    fn wait_for(&self, what: PollFlags, deadline: Option<Instant>, timeout: Duration) -> Result<(), ProtocolError> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec::try_from(left).unwrap_or_default());
            match poll(&mut [PollFd::new(&self.socket, what)], left.as_ref()) {
                Ok(0) => return Err(ProtocolError::TimedOut(timeout)),
                Ok(_ready) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(ProtocolError::io("waiting for the other side")(errno)),
            }
        }
    }
}

impl From<OwnedFd> for Connection {
    /// Takes over a connected `SOCK_SEQPACKET` socket.
    fn from(socket: OwnedFd) -> Self {
        Self { socket }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Parses one message strictly: bounded depth, no unknown fields (the types say so), nothing after it.
fn parse<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, ProtocolError> {
    parse_to(bytes, MAX_JSON_DEPTH)
}

fn parse_to<M: DeserializeOwned>(bytes: &[u8], most: usize) -> Result<M, ProtocolError> {
    if let Some(offset) = too_deep_at(bytes, most) {
        return Err(ProtocolError::Malformed { what: "nested too deep", offset });
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let what = match error.classify() {
            serde_json::error::Category::Data => "unknown or wrong content",
            serde_json::error::Category::Eof => "cut short",
            serde_json::error::Category::Io | serde_json::error::Category::Syntax => "not JSON",
        };
        ProtocolError::Malformed { what, offset: error.column() }
    })
}

fn too_deep_at(bytes: &[u8], most: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > most {
                    return Some(offset);
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
