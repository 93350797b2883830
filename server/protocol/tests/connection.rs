//! Packets with descriptors: what is carried, and what closes a connection (P20).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    io::{Read as _, Seek as _, Write as _},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use bathyscope_capture::Target;
use bathyscope_protocol::{
    AgentClient, AgentError, AgentErrorKind, ClientError, Connection, KernelFile, MAX_MESSAGE_BYTES, MAX_MESSAGE_FDS,
    PROTOCOL_VERSION, ProtocolError, Reply, Request, RingContent, RingInfo, RingKind, Started, StartedSource,
    WireMethod, WireSource,
};

const SOON: Duration = Duration::from_secs(5);

fn send_and_receive(bytes: &[u8]) -> Result<Request, ProtocolError> {
    let (one, other) = Connection::pair().unwrap();
    one.send_bytes(bytes, &[], SOON)?;
    other.receive::<Request>(Some(SOON)).map(|(request, _descriptors)| request)
}

#[test]
fn p20_only_messages_of_the_protocol_are_taken() {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let refused: &[&str] = &[
        "",
        "{",
        "null",
        "[]",
        "\"nothing_we_know\"",
        "{\"hello\":{}}",
        "{\"hello\":{\"version\":1,\"more\":2}}",
        "{\"hello\":{\"version\":1}} trailing",
        "{\"hello\":{\"version\":-1}}",
        "{\"hello\":{\"version\":1,\"version\":1}}",
        "{\"enable\":{\"capture\":4294967296}}",
        "{\"open_kernel_file\":{\"file\":\"/etc/shadow\"}}",
        "{\"open_kernel_file\":{\"file\":{\"event_format\":{\"tracepoint\":\"../../etc:passwd\"}}}}",
        "{\"open_process_file\":{\"pid\":\"self\",\"file\":\"maps\"}}",
        &deep,
        "\u{0}\u{1}\u{2}",
    ];
    for text in refused {
        let error = send_and_receive(text.as_bytes()).unwrap_err();
        // An empty packet cannot be told from the end of the connection.
        let expected = matches!(error, ProtocolError::Malformed { .. }) || text.is_empty();
        assert!(expected, "{text}: {error}");
        assert!(!error.to_string().contains("shadow") && !error.to_string().contains("nothing_we_know"));
    }
    assert_eq!(send_and_receive(b"{\"hello\":{\"version\":1}}").unwrap(), Request::Hello { version: 1 });
    assert_eq!(send_and_receive(b"\"capabilities\"").unwrap(), Request::Capabilities);
}

#[test]
fn p14_sizes_at_the_limit_pass_and_above_it_do_not() {
    let padded = |bytes: usize| {
        let mut text = b"{\"hello\":{\"version\":1}}".to_vec();
        text.resize(bytes, b' ');
        text
    };
    for bytes in [MAX_MESSAGE_BYTES - 1, MAX_MESSAGE_BYTES] {
        assert_eq!(send_and_receive(&padded(bytes)).unwrap(), Request::Hello { version: 1 });
    }
    assert!(matches!(send_and_receive(&padded(MAX_MESSAGE_BYTES + 1)), Err(ProtocolError::TooLarge)));
}

/// Sends past our own checks, as a hostile peer would.
fn send_raw(connection: &Connection, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
    let mut space = vec![std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
    let parts = [std::io::IoSlice::new(bytes)];
    rustix::net::sendmsg(connection.as_fd(), &parts, &mut control, SendFlags::empty()).unwrap();
}

#[test]
fn p20_oversized_packets_and_too_many_descriptors_are_noticed_on_arrival() {
    let (one, other) = Connection::pair().unwrap();
    let null = std::fs::File::open("/dev/null").unwrap();
    let before = open_descriptors();
    send_raw(&one, &vec![b' '; MAX_MESSAGE_BYTES + 1], &[null.as_fd()]);
    assert!(matches!(other.receive::<Request>(Some(SOON)), Err(ProtocolError::TooLarge)));
    send_raw(&one, b"\"capabilities\"", &vec![null.as_fd(); MAX_MESSAGE_FDS + 1]);
    assert!(matches!(other.receive::<Request>(Some(SOON)), Err(ProtocolError::Descriptors { .. })));
    assert_eq!(open_descriptors(), before, "descriptors of refused packets are closed");
}

fn open_descriptors() -> usize {
    // Only those of this kind: other tests run beside this one.
    let is_null = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path()).is_ok_and(|target| target == std::path::Path::new("/dev/null"))
    };
    std::fs::read_dir("/proc/self/fd").unwrap().filter(|entry| is_null(entry.as_ref().unwrap())).count()
}

#[test]
fn descriptors_arrive_usable_and_close_on_exec() {
    let (one, other) = Connection::pair().unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"content").unwrap();
    one.send(&Reply::File, &[file.as_fd()], SOON).unwrap();
    let (reply, mut descriptors) = other.receive::<Reply>(Some(SOON)).unwrap();
    assert_eq!((reply, descriptors.len()), (Reply::File, 1));
    let received = descriptors.remove(0);
    let flags = rustix::io::fcntl_getfd(&received).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    let mut received = std::fs::File::from(received);
    let mut text = String::new();
    received.rewind().unwrap();
    received.read_to_string(&mut text).unwrap();
    assert_eq!(text, "content");
}

#[test]
fn silence_ends_in_a_timeout_and_a_closed_end_is_told() {
    let (one, other) = Connection::pair().unwrap();
    let short = Duration::from_millis(20);
    assert!(matches!(other.receive::<Request>(Some(short)), Err(ProtocolError::TimedOut(_))));
    drop(one);
    assert!(matches!(other.receive::<Request>(None), Err(ProtocolError::Closed)));
    assert!(matches!(other.send(&Request::Capabilities, &[], SOON), Err(ProtocolError::Closed)));
}

#[test]
fn a_peer_that_takes_nothing_does_not_hold_the_sender() {
    let (one, _other) = Connection::pair().unwrap();
    let big = vec![b' '; MAX_MESSAGE_BYTES];
    let short = Duration::from_millis(20);
    let ended = (0..100).find_map(|_| one.send_bytes(&big, &[], short).err());
    assert!(matches!(ended, Some(ProtocolError::TimedOut(_))));
}

/// An agent that answers each request with the next of `replies`, whatever was asked.
fn scripted(replies: Vec<(Reply, usize)>) -> AgentClient {
    let (ours, theirs) = Connection::pair().unwrap();
    std::thread::spawn(move || {
        let null = OwnedFd::from(std::fs::File::open("/dev/zero").unwrap());
        let hello = (Reply::Hello { version: PROTOCOL_VERSION, simulated: true }, 0);
        for (reply, descriptors) in std::iter::once(hello).chain(replies) {
            if theirs.receive::<Request>(Some(SOON)).is_err() {
                return;
            }
            theirs.send(&reply, &vec![null.as_fd(); descriptors], SOON).unwrap();
        }
    });
    AgentClient::over(ours).unwrap()
}

#[test]
fn a_refusal_keeps_the_connection_and_a_wrong_reply_ends_it() {
    let mut client =
        scripted(vec![(Reply::Failed(agent_error()), 0), (Reply::File, 1), (Reply::Done, 0), (Reply::File, 1)]);
    assert!(client.simulated());
    assert!(matches!(client.open_kernel_file(KernelFile::Notes), Err(ClientError::Refused(_))));
    assert!(client.open_kernel_file(KernelFile::Notes).is_ok());
    assert!(matches!(client.open_kernel_file(KernelFile::Notes), Err(ClientError::Broken(_))));
    assert!(matches!(client.open_kernel_file(KernelFile::Notes), Err(ClientError::Broken(_))));
}

#[test]
fn replies_with_unasked_descriptors_are_not_trusted() {
    let mut client = scripted(vec![(Reply::Done, 1)]);
    assert!(matches!(client.discard(1), Err(ClientError::Broken(ProtocolError::Descriptors { .. }))));
    let mut client = scripted(vec![(Reply::File, 0)]);
    assert!(matches!(client.open_kernel_file(KernelFile::Notes), Err(ClientError::Broken(_))));
}

fn agent_error() -> AgentError {
    AgentError {
        kind: AgentErrorKind::NotFound,
        doing: "opening".into(),
        why: "it is gone".into(),
        remedy: String::new(),
        detail: String::new(),
    }
}

#[test]
fn rings_come_in_several_packets_with_the_outputs_last() {
    let ring = RingInfo { kind: RingKind::Bpf, content: RingContent::Sideband, data_bytes: 4096, cpu: None };
    // Of two sources.
    let of = |count| StartedSource { rings: vec![ring.clone(); count], ..StartedSource::default() };
    let started = Started { sources: vec![of(1), of(2)], has_output: true, ..Started::default() };
    let mut client = scripted(vec![(Reply::Rings { count: 2 }, 2), (Reply::Rings { count: 3 }, 3)]);
    let taken = client.take_rings(1, &started).unwrap();
    assert_eq!((taken.rings.len(), taken.output.is_some()), (3, true));
    let mut client = scripted(vec![(Reply::Rings { count: 0 }, 0)]);
    assert!(client.take_rings(1, &started).is_err(), "an agent that never delivers");
}

#[test]
fn what_was_made_of_a_script_and_of_nothing_else_has_a_plan() {
    let of_script = StartedSource { script: Some(Box::default()), ..StartedSource::default() };
    let of_events = StartedSource::default;
    let events = || WireMethod::Events { probes: Vec::new() };
    let script = || WireMethod::Script(Box::default());
    let start = |sources: Vec<WireSource>, made: &[StartedSource]| {
        let started = Started { sources: made.to_vec(), ..Started::default() };
        let mut client = scripted(vec![(Reply::Started(started), 0)]);
        client.start(1, sources, Target::System, 1 << 16)
    };
    assert_eq!(start(events().into(), &[of_events()]).unwrap().sources[0].script, None);
    assert!(start(script().into(), std::slice::from_ref(&of_script)).unwrap().sources[0].script.is_some());
    let both = || vec![events().into(), script().into()];
    assert_eq!(start(both(), &[of_events(), of_script.clone()]).unwrap().sources.len(), 2);
    let refused = |sources, made: &[StartedSource]| {
        assert!(matches!(start(sources, made), Err(ClientError::Broken(_))), "{made:?}");
    };
    refused(events().into(), std::slice::from_ref(&of_script));
    refused(script().into(), &[of_events()]);
    refused(both(), &[of_script.clone(), of_events()]);
    refused(both(), &[of_events()]);
    // Only what is not required may be missing.
    let failed = StartedSource { failed: Some(agent_error()), ..of_events() };
    let optional = |method| WireSource { required: false, ..WireSource::from(method) };
    assert!(start(vec![optional(script())], std::slice::from_ref(&failed)).is_ok());
    refused(script().into(), std::slice::from_ref(&failed));
    refused(vec![optional(script())], &[StartedSource { script: of_script.script, ..failed }]);
}

#[test]
fn processes_must_ascend() {
    let good = |pids: &[u32], more| (Reply::Processes { pids: pids.to_vec(), more }, 0);
    let mut client = scripted(vec![good(&[1, 2], true), good(&[5], false)]);
    assert_eq!(client.list_processes().unwrap(), [1, 2, 5]);
    for bad in [vec![good(&[2, 1], false)], vec![good(&[], true)], vec![good(&[3], true), good(&[3], false)]] {
        assert!(matches!(scripted(bad).list_processes(), Err(ClientError::Broken(_))));
    }
}
