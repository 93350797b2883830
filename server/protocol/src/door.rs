//! How the console gets a connection to the agent without any name in a file system.
//!
//! A door is a pair of sockets that the supervisor makes and gives to the two processes: whoever holds an end is who it was
//! given to. The console hands one end of a new connection through; the supervisor keeps a copy of the agent's end, so that
//! the next agent finds what waits there.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{AddressFamily, SocketType, sockopt},
};

use crate::{Connection, ProtocolError};

/// What stands in a packet beside the descriptor.
const KNOCK: &[u8] = b"connect";
/// The same where the descriptor is a door.
const HANDED_OVER: &[u8] = b"door";
/// How long there may be no room for another connection that waits.
const KNOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// One end of a door.
#[derive(Debug)]
pub struct Door {
    socket: Connection,
}

impl Door {
    /// Both ends: which side uses which does not matter.
    ///
    /// # Errors
    /// If the kernel gives no sockets.
    pub fn pair() -> Result<(Self, Self), ProtocolError> {
        let (one, other) = Connection::pair()?;
        Ok((Self { socket: one }, Self { socket: other }))
    }

    /// A new connection, whose other end waits at the door until there is an agent to take it.
    ///
    /// # Errors
    /// If nobody can come any more, or too many wait.
    pub fn connect(&self) -> Result<Connection, ProtocolError> {
        let (ours, theirs) = Connection::pair()?;
        self.socket.send_bytes(KNOCK, &[theirs.as_fd()], KNOCK_TIMEOUT)?;
        Ok(ours)
    }

    /// Gives another door to whoever holds the other end, who takes it with [`Door::take`] before anything else comes.
    ///
    /// # Errors
    /// If nobody can take it.
    pub fn hand_over(&self, other: &Self) -> Result<(), ProtocolError> {
        self.socket.send_bytes(HANDED_OVER, &[other.as_fd()], KNOCK_TIMEOUT)
    }

    /// Takes a door that was handed over.
    ///
    /// # Errors
    /// If none was.
    pub fn take(&self) -> Result<Self, ProtocolError> {
        let (bytes, mut descriptors) = self.socket.receive_bytes(Some(KNOCK_TIMEOUT))?;
        match (bytes == HANDED_OVER, descriptors.pop(), descriptors.is_empty()) {
            (true, Some(door), true) => Ok(Self::from(door)),
            _ => Err(ProtocolError::Malformed { what: "no door", offset: 0 }),
        }
    }

    /// Whether nobody holds the other end any more: the supervisor has ended, and the agent with it.
    pub fn is_abandoned(&self) -> bool {
        let mut ends = [PollFd::new(&self.socket, PollFlags::empty())];
        let looked = poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        looked.is_ok() && ends.iter().any(|end| end.revents().contains(PollFlags::HUP))
    }

    /// Waits for the next connection. What comes is checked to be one; what is done with it is not.
    ///
    /// # Errors
    /// [`ProtocolError::Closed`] if nobody can come any more; anything else is about what came, and the next one may be right.
    pub fn accept(&self) -> Result<Connection, ProtocolError> {
        let malformed = |what| ProtocolError::Malformed { what, offset: 0 };
        let (bytes, mut descriptors) = self.socket.receive_bytes(None)?;
        if bytes != KNOCK {
            return Err(malformed("not a request for a connection"));
        }
        let (Some(socket), true) = (descriptors.pop(), descriptors.is_empty()) else {
            return Err(malformed("not one descriptor"));
        };
        let is_one = sockopt::socket_domain(&socket) == Ok(AddressFamily::UNIX)
            && sockopt::socket_type(&socket) == Ok(SocketType::SEQPACKET)
            && sockopt::socket_acceptconn(&socket) == Ok(false);
        if is_one { Ok(Connection::from(socket)) } else { Err(malformed("not a connection")) }
    }
}

impl From<OwnedFd> for Door {
    /// Takes over an end that another process made.
    fn from(socket: OwnedFd) -> Self {
        Self { socket: Connection::from(socket) }
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reply, Request};

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn a_door_is_abandoned_when_the_last_copy_of_the_other_end_is_closed() {
        let (door, other) = Door::pair().unwrap();
        let copy = other.as_fd().try_clone_to_owned().unwrap();
        drop(other);
        assert!(!door.is_abandoned());
        drop(copy);
        assert!(door.is_abandoned());
    }

    #[test]
    fn p53_a_door_is_handed_through_another_one() {
        let (supervisors, consoles) = Door::pair().unwrap();
        let (consoles_second, others) = Door::pair().unwrap();
        supervisors.hand_over(&consoles_second).unwrap();
        drop(consoles_second);
        let second = consoles.take().unwrap();
        let connection = second.connect().unwrap();
        let served = others.accept().unwrap();
        connection.send(&Request::Capabilities, &[], SOON).unwrap();
        assert_eq!(served.receive::<Request>(Some(SOON)).unwrap().0, Request::Capabilities);
        // The first is as it was; what is no door is refused.
        consoles.connect().unwrap();
        assert!(supervisors.accept().is_ok());
        supervisors.connect().unwrap();
        assert!(matches!(consoles.take(), Err(ProtocolError::Malformed { .. })));
    }

    #[test]
    fn p53_connections_wait_at_the_door_for_whoever_serves_next() {
        let (consoles, agents) = Door::pair().unwrap();
        let connection = consoles.connect().unwrap();
        let next_agents = Door::from(agents.as_fd().try_clone_to_owned().unwrap());
        drop(agents);
        let served = next_agents.accept().unwrap();
        assert_eq!(served.peer().unwrap().uid, rustix::process::geteuid().as_raw());
        connection.send(&Request::Capabilities, &[], SOON).unwrap();
        assert_eq!(served.receive::<Request>(Some(SOON)).unwrap().0, Request::Capabilities);
        drop(served);
        assert!(matches!(connection.receive::<Reply>(Some(SOON)), Err(ProtocolError::Closed)));
        drop(consoles);
        assert!(matches!(next_agents.accept(), Err(ProtocolError::Closed)));
    }

    #[test]
    fn p53_what_is_no_connection_is_not_taken() {
        let (consoles, agents) = Door::pair().unwrap();
        let null: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
        let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let (packets, _other) = Connection::pair().unwrap();
        let packets = packets.as_fd();
        let cases: [(&[u8], &[BorrowedFd<'_>]); 5] = [
            (KNOCK, &[]),
            (KNOCK, &[null.as_fd()]),
            (KNOCK, &[stream.as_fd()]),
            (KNOCK, &[packets, packets]),
            (b"{}", &[packets]),
        ];
        for (bytes, descriptors) in cases {
            consoles.socket.send_bytes(bytes, descriptors, SOON).unwrap();
            let refused = agents.accept();
            assert!(matches!(refused, Err(ProtocolError::Malformed { .. })), "{refused:?}");
        }
        let _next = consoles.connect().unwrap();
        agents.accept().unwrap();
    }
}
