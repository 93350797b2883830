//! A console that was taken over, at the agent's socket.

use std::{os::fd::AsFd as _, thread::JoinHandle, time::Duration};

use bathyscope_agent::{SessionEnd, SimulatedBackend, Simulation, serve};
use bathyscope_capture::{CountSpec, EventProbe, Target};
use bathyscope_protocol::{
    Budget, Bytes, Connection, KernelFile, PROTOCOL_VERSION, PressureResource, ProcessFile, ProtocolError, Reply,
    Request, SocketTable, WireMethod, WireScript, WireSource,
};

/// How long an answer may take.
const SOON: Duration = Duration::from_secs(20);
/// The most packets or requests of one input.
const MOST: usize = 64;

fn agent() -> (Connection, JoinHandle<SessionEnd>) {
    let (ours, theirs) = Connection::pair().expect("a pair of sockets");
    let simulation = Simulation { rate_per_s: 100, ..Simulation::default() };
    let thread = std::thread::spawn(move || serve(&theirs, &mut SimulatedBackend::new(simulation)));
    (ours, thread)
}

/// Packets, each with its length in two bytes in front. The agent answers or closes; it never hangs or panics.
pub(crate) fn bytes(input: &[u8]) {
    let (connection, thread) = agent();
    let hello = Request::Hello { version: PROTOCOL_VERSION };
    let mut rest = input;
    // Half of the inputs get past the greeting.
    if input.first().is_some_and(|first| first.is_multiple_of(2)) {
        connection.send(&hello, &[], SOON).expect("the agent takes a greeting");
        connection.receive::<Reply>(Some(SOON)).expect("the agent greets");
        rest = input.get(1..).unwrap_or_default();
    }
    for _ in 0..MOST {
        let Some((length, after)) = rest.split_first_chunk::<2>() else { break };
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (packet, after) = after.split_at(length);
        rest = after;
        if packet.is_empty() || rustix::net::send(connection.as_fd(), packet, rustix::net::SendFlags::NOSIGNAL).is_err()
        {
            break;
        }
        match connection.receive::<Reply>(Some(SOON)) {
            Err(ProtocolError::TimedOut(_)) => panic!("the agent hangs"),
            Err(ProtocolError::Closed) => break,
            _answered => {}
        }
    }
    drop(connection);
    let _ended = thread.join().expect("the agent does not panic");
}

fn events() -> WireMethod {
    let probe = EventProbe { tracepoint: "sched:sched_switch".parse().unwrap(), fields: Vec::new(), predicate: None };
    WireMethod::Events { probes: vec![probe] }
}

fn script(text: &str) -> WireScript {
    WireScript { text: text.to_owned(), ..WireScript::default() }
}

/// Requests that are valid by themselves; `small` are numbers in them.
fn request(kind: u8, small: u8) -> Request {
    let capture = u32::from(small % 4);
    let text = "tracepoint:sched:sched_switch { @[pid] = count(); printf(\"x\"); }";
    let (map, key) = (u32::from(small / 4 % 3), Bytes(vec![small; 8]));
    match kind % 42 {
        0 => Request::Hello { version: PROTOCOL_VERSION },
        1 => Request::Capabilities,
        2 => Request::PerfEvents,
        3 => Request::BpfPrograms { after: u32::from(small) },
        4 => Request::DynamicEvents,
        5 => Request::OpenKernelFile { file: KernelFile::Kallsyms },
        6 => Request::OpenProcessFile { pid: u32::from(small), file: ProcessFile::Maps },
        7 => Request::ListProcesses { after: u32::from(small) },
        8 => Request::ListGroups { after: String::new() },
        9 | 10 => {
            let optional = WireSource { required: false, ..events().into() };
            let counts = WireMethod::Count(CountSpec { groups: vec![vec!["cs".to_owned()]], ..CountSpec::default() });
            let (beside, counts) = (vec![events().into(), optional, counts.clone().into()], counts.into());
            let sources = [events().into(), beside, vec![], counts][usize::from(small / 4 % 4)].clone();
            Request::Start { capture, sources, target: Target::System, ring_bytes: 1 << 16 }
        }
        11 => {
            let method = WireMethod::Script(Box::new(script(text)));
            Request::Start { capture, sources: method.into(), target: Target::System, ring_bytes: 1 << 16 }
        }
        12 => Request::TakeRings { capture, from: u32::from(small / 4) },
        13 => Request::SetBudget { capture, budget: Budget::of_cpu(u32::from(small) + 1, small.is_multiple_of(2)) },
        14 | 15 => Request::Enable { capture },
        16 => Request::Readings { capture },
        17 => Request::OpenCounters { capture },
        18 | 19 => Request::Stop { capture, end_command: small.is_multiple_of(2) },
        20 => Request::Discard { capture },
        21 => Request::DetachEvents { capture, events: vec![u16::from(small)] },
        22 => Request::CheckScript { script: script(text), show: None },
        23 => Request::ReadMap { capture, map: u32::from(small / 4), take: small.is_multiple_of(2), after: None },
        24 => Request::ReadElements { capture, map, keys: vec![key] },
        25 => Request::ClearMap { capture, map },
        26 => Request::ZeroMap { capture, map },
        27 => Request::DeleteKeys { capture, map, keys: vec![key] },
        28 => Request::ReadStacks { capture, user: small.is_multiple_of(2), ids: vec![u64::from(small)] },
        29 => Request::RunSignal { capture, number: i32::from(small) },
        30 => Request::ReadIterator { capture, probe: u32::from(small / 4) },
        31 => Request::ScriptFacts { text: text.to_owned(), offset: u32::from(small) },
        32 => Request::ContainerNames { ids: vec![format!("{small:064x}")] },
        33 => Request::HostFeatures,
        34 => Request::BpfLinks { after: u32::from(small) },
        35 => Request::DetachOthers { group: "bathyscope_1_2_3_4".to_owned(), name: format!("x{small}") },
        36 => Request::TryEvent { line: "p:x vfs_read".to_owned() },
        37 => Request::OptimizeKprobes { on: small.is_multiple_of(2) },
        38 => Request::ProcessActivity { after: u32::from(small) },
        39 => Request::OpenKernelFile { file: KernelFile::Pressure { resource: PressureResource::Cpu } },
        40 => {
            let file = ProcessFile::Sockets { table: SocketTable::Tcp };
            Request::OpenProcessFile { pid: u32::from(small), file }
        }
        _ => Request::OpenUserFile { path: "/proc/self/exe".to_owned(), in_process: Some(u32::from(small)) },
    }
}

/// Valid requests in an order that the bytes choose, two for each.
pub(crate) fn requests(input: &[u8]) {
    let (connection, thread) = agent();
    connection.send(&Request::Hello { version: PROTOCOL_VERSION }, &[], SOON).expect("the agent takes a greeting");
    connection.receive::<Reply>(Some(SOON)).expect("the agent greets");
    for pair in input.chunks_exact(2).take(MOST) {
        let [kind, small] = pair else { break };
        if connection.send_large(&request(*kind, *small), &[], 1 << 20, SOON).is_err() {
            break;
        }
        match connection.receive_large::<Reply>(Some(SOON), 64 << 20) {
            Err(ProtocolError::TimedOut(_)) => panic!("the agent hangs"),
            Err(_closed) => break,
            Ok(_answer) => {}
        }
    }
    drop(connection);
    let _ended = thread.join().expect("the agent does not panic");
}
