//! Made hits of tracepoints, in records that look as the kernel's programs write them.

use crate::engine::ProcessReports;
use std::os::fd::{AsFd as _, OwnedFd};

use bathyscope_bpf::probe::{ColumnPlace, Encoding, TargetFilter, TracepointProbe, tracepoint_program};
use bathyscope_capture::{ColumnEncoding, ColumnLayout, EventProbe, Predicate, Value};
use bathyscope_catalog::{in_units, parse_event_format};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ProbeReading, RingContent, RingInfo, RingKind, StreamLayout, rings::SimulatedBpfRing,
};

use super::{
    MadeTarget,
    engine::{SimulatedEngine, Work},
    host::no_such_tracepoint,
    options::Simulation,
    records::{self, Moment},
    sideband::SimulatedSideband,
    world::{self, Draw, MadeProcess, MadeTracepoint, MadeValue, PROCESSES},
};
use crate::error::{failed, refused};

/// The simulated host's CPUs.
pub(super) const CPUS: u32 = 2;
/// Bytes of the ring that reports processes.
pub(super) const SIDEBAND_BYTES: u32 = 64 << 10;
/// What a made hit costs.
pub(super) const NS_PER_HIT: f64 = 150.0;

/// One tracepoint of a capture.
struct MadeStream {
    made: &'static MadeTracepoint,
    layout: Vec<ColumnPlace>,
    record_bytes: u32,
    predicate: Option<Predicate>,
    ring: SimulatedBpfRing,
    counts: ProbeReading,
    wanted: u64,
}

/// A capture of made tracepoints.
pub(super) struct EventWork {
    simulation: Simulation,
    target: MadeTarget,
    streams: Vec<MadeStream>,
    ring_bytes: u32,
    sideband: SimulatedSideband,
    begun: bool,
}

/// Makes the engine of a capture of tracepoints.
pub(crate) fn start(
    simulation: &Simulation,
    probes: &[EventProbe],
    target: &MadeTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<SimulatedEngine, AgentError> {
    SimulatedEngine::new(EventWork::make(simulation, probes, target, ring_bytes, reports)?, target)
}

fn make_stream(probe: &EventProbe, index: usize, ring_bytes: u32) -> Result<MadeStream, AgentError> {
    let name = &probe.tracepoint;
    let (number, made) =
        world::tracepoint(name.system(), name.name()).ok_or_else(|| no_such_tracepoint(&name.to_string()))?;
    let doing = format!("making a program for {name}");
    let invalid = |why: String| failed(AgentErrorKind::Invalid, &doing, why, "");
    let format = parse_event_format(made.format(number).as_bytes()).map_err(|error| invalid(error.to_string()))?;
    let program_name = format!("p{index}");
    // The same code that makes the kernel's programs decides about fields, predicate and places.
    let program = tracepoint_program(&TracepointProbe {
        name: &program_name,
        format: &format,
        fields: &probe.fields,
        predicate: probe.predicate.as_ref(),
        target: TargetFilter::System,
        ring_bytes,
    });
    let program = program.map_err(|error| invalid(error.to_string()))?;
    let predicate = probe.predicate.as_ref().map(|predicate| in_units(&format, predicate)).transpose();
    let ring = SimulatedBpfRing::create(ring_bytes).map_err(|error| refused(&doing, &error, ""))?;
    Ok(MadeStream {
        made,
        layout: program.layout,
        record_bytes: program.record_bytes,
        predicate: predicate.map_err(|error| invalid(error.to_string()))?,
        ring,
        counts: ProbeReading::default(),
        wanted: 0,
    })
}

/// A hit before its fields are made.
struct Hit {
    at: Moment,
    process: &'static MadeProcess,
    draw: Draw,
}

impl Hit {
    fn make(simulation: &Simulation, stream: u64, index: u64, time_ns: u64) -> Option<Self> {
        let draw = Draw::of(simulation.seed, stream, index);
        let process = PROCESSES.get(draw.below(0, PROCESSES.len() as u64) as usize)?;
        let tid = draw.one_of(1, process.threads)?;
        let cpu = draw.below(2, u64::from(CPUS)) as u32;
        Some(Self { at: Moment { pid: process.pid, tid, time_ns, cpu }, process, draw })
    }

    /// What a column of the common ones is, by its place.
    fn common(&self, index: usize) -> Option<MadeValue> {
        Some(match index {
            0 => MadeValue::Unsigned(self.at.time_ns),
            1 => MadeValue::Unsigned(u64::from(self.at.cpu)),
            2 => MadeValue::Unsigned(u64::from(self.at.pid)),
            3 => MadeValue::Unsigned(u64::from(self.at.tid)),
            4 => MadeValue::Text(self.process.comm.to_vec()),
            _ => return None,
        })
    }

    fn satisfies(&self, made: &MadeTracepoint, predicate: &Predicate) -> bool {
        let names = predicate.fields();
        let of_name = |name: &str| match name {
            "pid" => self.common(2),
            "tid" => self.common(3),
            "cpu" => self.common(1),
            "comm" => self.common(4),
            name => made.value(name, self.draw),
        };
        let values: Vec<(&str, Option<MadeValue>)> = names.into_iter().map(|name| (name, of_name(name))).collect();
        predicate.eval(&mut |name| {
            let (_name, value) = values.iter().find(|(known, _value)| *known == name)?;
            match value.as_ref()? {
                MadeValue::Unsigned(number) => Some(Value::Unsigned(*number)),
                MadeValue::Signed(number) => Some(Value::Signed(*number)),
                MadeValue::Text(text) => Some(Value::Text(text)),
                MadeValue::Unreadable => None,
            }
        })
    }
}

/// Writes `value` where and as `place` says.
fn put(record: &mut [u8], place: &ColumnPlace, value: MadeValue) {
    let (bytes, room) = match (place.encoding, value) {
        (Encoding::Unsigned { bytes, .. } | Encoding::Signed { bytes }, MadeValue::Unsigned(number)) => {
            (number.to_le_bytes().to_vec(), usize::from(bytes))
        }
        (Encoding::Unsigned { bytes, .. } | Encoding::Signed { bytes }, MadeValue::Signed(number)) => {
            (number.to_le_bytes().to_vec(), usize::from(bytes))
        }
        (Encoding::FixedText { bytes }, MadeValue::Text(text)) => (text, usize::from(bytes).saturating_sub(1)),
        (Encoding::LengthText { room }, MadeValue::Text(mut text)) => {
            text.truncate(usize::from(room).saturating_sub(1));
            text.push(0);
            let length = i32::try_from(text.len()).unwrap_or(i32::MAX).to_le_bytes();
            (length.into_iter().chain(text).collect(), 4 + usize::from(room))
        }
        (Encoding::LengthText { .. }, MadeValue::Unreadable) => ((-14_i32).to_le_bytes().to_vec(), 4),
        _ => return,
    };
    let places = record.iter_mut().skip(place.offset as usize).take(room);
    for (to, from) in places.zip(bytes) {
        *to = from;
    }
}

impl MadeStream {
    fn hit(&mut self, hit: &Hit, target: &MadeTarget, lose_every: Option<u64>) {
        self.counts.hits += 1;
        self.counts.ns_per_hit = Some(NS_PER_HIT);
        let accepted = target.includes_thread(hit.at.pid, hit.at.tid)
            && self.predicate.as_ref().is_none_or(|predicate| hit.satisfies(self.made, predicate));
        if !accepted {
            self.counts.filtered += 1;
            return;
        }
        self.wanted += 1;
        let dropped = lose_every.is_some_and(|every| self.wanted.is_multiple_of(every));
        if dropped || !self.ring.push(&self.record(hit)) {
            self.counts.ring_full += 1;
        }
    }

    fn record(&self, hit: &Hit) -> Vec<u8> {
        let mut record = vec![0; self.record_bytes as usize];
        for (index, place) in self.layout.iter().enumerate() {
            if let Some(value) = hit.common(index).or_else(|| self.made.value(&place.name, hit.draw)) {
                put(&mut record, place, value);
            }
        }
        record
    }
}

impl EventWork {
    fn make(
        simulation: &Simulation,
        probes: &[EventProbe],
        target: &MadeTarget,
        ring_bytes: u32,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let make = |(index, probe): (usize, &EventProbe)| make_stream(probe, index, ring_bytes);
        let streams = probes.iter().enumerate().map(make).collect::<Result<_, _>>()?;
        let sideband =
            SimulatedSideband::open(reports).map_err(|error| refused("making a simulated ring", &error, ""))?;
        Ok(Self { simulation: simulation.clone(), target: target.clone(), streams, ring_bytes, sideband, begun: false })
    }

    /// The command executes its program.
    fn begin(&mut self, start_ns: u64) {
        self.begun = true;
        if let Some(process) = self.target.executes().and_then(world::process) {
            let at = Moment { pid: process.pid, tid: process.pid, time_ns: start_ns, cpu: 0 };
            self.sideband.push(&records::comm(at, process.comm, true));
            self.sideband.push(&records::mapping(at, process.path, world::build_id(process.pid)));
        }
    }
}

impl Work for EventWork {
    fn layouts(&self) -> Vec<StreamLayout> {
        let column = |place: &ColumnPlace| ColumnLayout {
            name: place.name.clone(),
            offset: place.offset,
            encoding: match place.encoding {
                Encoding::Unsigned { bytes, hex } => ColumnEncoding::Unsigned { bytes, hex },
                Encoding::Signed { bytes } => ColumnEncoding::Signed { bytes },
                Encoding::FixedText { bytes } => ColumnEncoding::FixedText { bytes },
                Encoding::LengthText { room } => ColumnEncoding::LengthText { room },
            },
        };
        let layout = |stream: &MadeStream| StreamLayout::Records {
            record_bytes: stream.record_bytes,
            columns: stream.layout.iter().map(column).collect(),
        };
        self.streams.iter().map(layout).collect()
    }

    fn rings(&self) -> Vec<RingInfo> {
        let ring = |index: usize| RingInfo {
            kind: RingKind::Bpf,
            content: RingContent::Stream { stream: u16::try_from(index).unwrap_or(u16::MAX) },
            data_bytes: self.ring_bytes,
            cpu: None,
        };
        (0..self.streams.len()).map(ring).chain(self.sideband.infos()).collect()
    }

    fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>> {
        let streams = self.streams.iter().map(|stream| stream.ring.as_fd().try_clone_to_owned());
        streams.chain(self.sideband.descriptors()).collect()
    }

    fn make_until(&mut self, start_ns: u64, now_ns: u64) -> Vec<ProbeReading> {
        if !self.begun {
            self.begin(start_ns);
        }
        let rate = self.simulation.rate_per_s;
        let elapsed = u128::from(now_ns.saturating_sub(start_ns));
        let due = u64::try_from(elapsed * u128::from(rate) / 1_000_000_000).unwrap_or(u64::MAX);
        for (number, stream) in (0_u64..).zip(&mut self.streams) {
            while stream.counts.hits < due {
                let index = stream.counts.hits;
                let time_ns =
                    start_ns + u64::try_from(u128::from(index) * 1_000_000_000 / u128::from(rate)).unwrap_or(0);
                let Some(hit) = Hit::make(&self.simulation, number, index, time_ns) else { break };
                stream.hit(&hit, &self.target, self.simulation.lose_every);
            }
        }
        self.streams.iter().map(|stream| stream.counts.clone()).collect()
    }
}
