//! A capture, and a line of the list of captures.

use bathyscope_capture::{CaptureId, HostFacts, Ledger, Reading, StreamKind, visible};
use bathyscope_store::{CaptureRecord, CaptureState, CaptureSummary, Origin};
use bathyscope_views::{ColumnHead, heads};
use serde::Serialize;

use super::WireSpec;

/// A line of the list of captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaptureItem {
    id: CaptureId,
    title: String,
    state: CaptureState,
    method: String,
    target: String,
    host: String,
    started_unix_ns: i64,
    duration_ns: u64,
    rows: u64,
    bytes: u64,
    lost: u64,
    owner: String,
    imported: bool,
    simulated: bool,
}

impl From<CaptureSummary> for CaptureItem {
    fn from(summary: CaptureSummary) -> Self {
        Self {
            id: summary.id,
            title: shown(&summary.title),
            state: summary.state,
            method: summary.method,
            target: shown(&summary.target),
            host: shown(&summary.host),
            started_unix_ns: summary.started_unix_ns,
            duration_ns: summary.duration_ns,
            rows: summary.rows,
            bytes: summary.chunk_bytes,
            lost: summary.lost,
            owner: shown(&summary.owner),
            imported: summary.origin == Origin::Imported,
            simulated: summary.simulated,
        }
    }
}

/// A capture without its rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capture {
    id: CaptureId,
    title: String,
    state: CaptureState,
    reason: String,
    spec: WireSpec,
    host: HostFacts,
    started_unix_ns: i64,
    start_ns: u64,
    end_ns: u64,
    streams: Vec<Stream>,
    ledger: Ledger,
    readings: Vec<Option<Reading>>,
    output_bytes: u64,
    bytes: u64,
    imported: bool,
    simulated: bool,
    owner: String,
}

/// One stream of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stream {
    index: usize,
    name: String,
    kind: StreamKind,
    columns: Vec<ColumnHead>,
    rows: u64,
}

impl From<CaptureRecord> for Capture {
    fn from(record: CaptureRecord) -> Self {
        let stream = |(index, stream): (usize, &bathyscope_store::StreamRecord)| Stream {
            index,
            name: shown(&stream.schema.name),
            kind: stream.schema.kind,
            columns: heads(&stream.schema),
            rows: stream.rows,
        };
        Self {
            id: record.id,
            title: shown(&record.title),
            state: record.state,
            reason: shown(&record.reason),
            spec: WireSpec::from(&record.spec),
            host: host(record.host),
            started_unix_ns: record.started_unix_ns,
            start_ns: record.start_ns,
            end_ns: record.end_ns,
            streams: record.streams.iter().enumerate().map(stream).collect(),
            readings: record.streams.iter().map(|stream| stream.reading).collect(),
            ledger: record.ledger,
            output_bytes: record.output_bytes,
            bytes: record.chunk_bytes,
            imported: record.origin == Origin::Imported,
            simulated: record.simulated,
            owner: shown(&record.owner),
        }
    }
}

fn shown(text: &str) -> String {
    visible(text.as_bytes())
}

/// Facts of a host that may have come in a file.
fn host(facts: HostFacts) -> HostFacts {
    HostFacts {
        hostname: shown(&facts.hostname),
        kernel_release: shown(&facts.kernel_release),
        machine: shown(&facts.machine),
        boot_id: shown(&facts.boot_id),
        kernel_build_id: shown(&facts.kernel_build_id),
        ..facts
    }
}
