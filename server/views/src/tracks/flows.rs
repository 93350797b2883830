//! What leads to a row of a track and on from it: who woke a thread and whom it woke, who issued a block request and who was
//! woken at its end.

use bathyscope_capture::{StackId, StreamSchema, TrackEntry, TrackKind, visible};

use crate::{
    Dictionaries, Source, ViewError,
    answers::{FlowKind, FlowWay, TrackFlow, TrackFlows},
    frame_names,
    source::relative,
};

use super::{
    FoundTrack, TrackReader, TrackedStream, Wakeup,
    critical_path::{Causes, state_streams},
    word,
};

/// The most wake-ups, and the most block requests, that are told of a row.
const MAX_FLOWS: usize = 32;
/// The most frames of a stack.
const MAX_FRAMES: usize = 128;
/// Chunks of block requests that are looked at.
const MAX_REQUEST_CHUNKS: usize = 16;
/// How long after the end of a block request a thread is woken for it at most.
const AFTER_REQUEST_NS: u64 = 1_000_000;

/// Functions of a stack, the innermost first, made visible.
pub(super) fn stack_lines(dictionaries: &Dictionaries, stack: StackId) -> Vec<String> {
    let frames = if stack == 0 { None } else { dictionaries.stack(stack) }.unwrap_or_default();
    let names = frames.iter().take(MAX_FRAMES).flat_map(|frame| frame_names(dictionaries, *frame));
    names.map(|(name, _)| name).collect()
}

/// Finds what leads to rows and on from them.
pub(super) struct FlowFinder<'a> {
    source: &'a dyn Source,
    states: Vec<TrackedStream<'a>>,
    causes: Causes<'a>,
}

impl<'a> FlowFinder<'a> {
    pub(super) fn new(source: &'a dyn Source) -> Self {
        Self { source, states: state_streams(source), causes: Causes::of(source) }
    }

    /// Of a row of a track of this stream.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(super) fn of_row(
        &self,
        reader: &mut TrackReader<'a>,
        track: FoundTrack<'a>,
        (number, row): (u64, TrackEntry),
    ) -> Result<TrackFlows, ViewError> {
        let mut flows = TrackFlows::default();
        if let Some(states) = self.states.iter().find(|states| states.stream == track.id.stream) {
            match states.text(self.source, &row) {
                b"running" => {
                    let before = match number.checked_sub(1) {
                        Some(before) => reader.row_number(track, before)?,
                        None => None,
                    };
                    if let Some(before) = before.filter(|before| states.text(self.source, before) == b"runnable") {
                        self.add_waker(reader, track, &before, &mut flows)?;
                    }
                    self.add_woken(reader, track.info.key, &row, &mut flows)?;
                    self.add_issued(reader, track.info.key, &row, &mut flows)?;
                }
                b"runnable" => self.add_waker(reader, track, &row, &mut flows)?,
                b"preempted" | b"dead" => {}
                _ => {
                    let next = reader.row_number(track, number + 1)?;
                    let next = next.filter(|next| next.begin_ns == row.end_ns);
                    if let Some(next) = next.filter(|next| states.text(self.source, next) == b"runnable") {
                        self.add_waker(reader, track, &next, &mut flows)?;
                    }
                }
            }
            flows.call = self.causes.call_text(reader, track.info.key, row.begin_ns)?;
        } else if self.causes.is_request(track.id.stream) {
            self.add_request(reader, track, &row, &mut flows)?;
        } else if self.is_of_threads(track.id.stream) {
            self.add_woken(reader, track.info.key, &row, &mut flows)?;
        }
        Ok(flows)
    }

    fn is_of_threads(&self, stream: u16) -> bool {
        let schema = self.source.streams().get(usize::from(stream));
        schema.and_then(bathyscope_capture::TrackRule::of).is_some_and(|rule| *rule.kind() == TrackKind::Thread)
    }

    fn time(&self, time_ns: u64) -> i64 {
        relative(self.source.origin_ns(), time_ns)
    }

    fn text(&self, id: u32) -> String {
        self.source.dictionaries().text(id).map(visible).unwrap_or_default()
    }

    /// The track of a thread's states.
    fn thread(&self, tid: u64) -> Option<FoundTrack<'a>> {
        self.states.iter().find_map(|states| states.of_key(tid).next())
    }

    fn flow(&self, way: FlowWay, kind: FlowKind, (pid, tid): (u64, u64), time_ns: u64) -> TrackFlow {
        let track = self.thread(tid);
        TrackFlow {
            way,
            kind,
            time: self.time(time_ns),
            pid: track.map_or(pid, |track| track.info.pid),
            tid,
            name: track.map(|track| self.text(track.info.comm)).unwrap_or_default(),
            track: track.map(|track| track.id.to_string()),
            cpu: None,
            latency: None,
            stack: Vec::new(),
        }
    }

    /// Who woke the thread into a row in which it can run.
    fn add_waker(
        &self,
        reader: &mut TrackReader<'a>,
        track: FoundTrack<'a>,
        runnable: &TrackEntry,
        flows: &mut TrackFlows,
    ) -> Result<(), ViewError> {
        let tid = track.info.key;
        let Some(wakeup) = self.causes.wakeups.of_thread(tid, runnable.begin_ns)? else { return Ok(()) };
        let woke = self.causes.woken_by(reader, &wakeup)?;
        let kind = match (wakeup.is_new, woke.is_interrupt) {
            (true, _) => FlowKind::Start,
            (false, true) if woke.may_be_idle => FlowKind::Idle,
            (false, true) => FlowKind::Interrupt,
            (false, false) => FlowKind::WakeUp,
        };
        let waker = (wakeup.waker_pid, wakeup.waker_tid);
        let made = self.flow(FlowWay::From, kind, waker, runnable.begin_ns);
        let name = match (woke.is_interrupt, made.name) {
            (true, _) => woke.interrupt,
            (false, name) if name.is_empty() => self.text(wakeup.waker_comm),
            (false, name) => name,
        };
        flows.flows.push(TrackFlow {
            name,
            track: made.track.filter(|_| !woke.is_interrupt),
            cpu: Some(wakeup.cpu),
            latency: Some(runnable.duration_ns()),
            stack: stack_lines(self.source.dictionaries(), wakeup.stack),
            ..made
        });
        if let Some(request) = woke.request {
            let made = self.flow(FlowWay::From, FlowKind::Completion, (0, 0), request.row.end_ns);
            let track = Some(request.track.to_string());
            flows.flows.push(TrackFlow { name: request.name, track, pid: 0, tid: 0, ..made });
        }
        Ok(())
    }

    /// Whom a thread woke in the time of a row.
    fn add_woken(
        &self,
        reader: &mut TrackReader<'a>,
        tid: u64,
        row: &TrackEntry,
        flows: &mut TrackFlows,
    ) -> Result<(), ViewError> {
        if tid == 0 {
            return Ok(());
        }
        let range = row.begin_ns..row.end_ns.max(row.begin_ns + 1);
        let found = self.causes.wakeups.search(range, MAX_FLOWS, |wakeup| wakeup.waker_tid == tid)?;
        flows.more += found.more;
        flows.is_cut |= found.is_cut;
        for wakeup in found.wakeups {
            if self.causes.woken_by(reader, &wakeup)?.is_interrupt {
                continue;
            }
            flows.flows.push(self.woken(reader, &wakeup, FlowKind::WakeUp)?);
        }
        Ok(())
    }

    fn woken(&self, reader: &mut TrackReader<'a>, wakeup: &Wakeup, kind: FlowKind) -> Result<TrackFlow, ViewError> {
        let kind = if wakeup.is_new { FlowKind::Start } else { kind };
        let made = self.flow(FlowWay::To, kind, (0, wakeup.wakee_tid), wakeup.time_ns);
        let latency = match self.thread(wakeup.wakee_tid) {
            Some(track) => reader.row_at(track, wakeup.time_ns)?.map(|(_, row)| row),
            None => None,
        };
        let latency = latency.filter(|row| row.begin_ns == wakeup.time_ns).map(|row| row.duration_ns());
        let stack = stack_lines(self.source.dictionaries(), wakeup.stack);
        Ok(TrackFlow { cpu: Some(wakeup.cpu), latency, stack, ..made })
    }

    /// The block requests that a thread issued in the time of a row.
    fn add_issued(
        &self,
        reader: &mut TrackReader<'a>,
        tid: u64,
        row: &TrackEntry,
        flows: &mut TrackFlows,
    ) -> Result<(), ViewError> {
        let Some((stream, columns)) = self.causes.requests() else { return Ok(()) };
        let chunks = self.source.chunks(stream.stream);
        let mut looked = 0;
        for (chunk, meta) in chunks.iter().enumerate() {
            if meta.last_ns < row.begin_ns || meta.first_ns >= row.end_ns {
                continue;
            }
            looked += 1;
            if looked > MAX_REQUEST_CHUNKS {
                flows.is_cut = true;
                break;
            }
            let batch = self.source.batch(stream.stream, chunk, &columns)?;
            for at in 0..batch.rows() {
                let number = |column: usize| word(&batch, Some(column), at);
                let time_ns = number(StreamSchema::TIME).unwrap_or(0);
                let is_own = number(StreamSchema::TID) == Some(tid);
                if !is_own || time_ns < row.begin_ns || time_ns >= row.end_ns {
                    continue;
                }
                if flows.flows.len() >= 2 * MAX_FLOWS {
                    flows.more += 1;
                    continue;
                }
                let (track, name) = self.causes.request_at(reader, (&batch, at), time_ns)?;
                let made = self.flow(FlowWay::To, FlowKind::Issue, (0, 0), time_ns);
                let track = track.map(|track| track.to_string());
                flows.flows.push(TrackFlow { name, track, tid: 0, pid: 0, ..made });
            }
        }
        flows.flows.sort_by_key(|flow| flow.time);
        Ok(())
    }

    /// Who issued a block request, and who was woken at its end.
    fn add_request(
        &self,
        reader: &mut TrackReader<'a>,
        track: FoundTrack<'a>,
        row: &TrackEntry,
        flows: &mut TrackFlows,
    ) -> Result<(), ViewError> {
        let Some((stream, columns)) = self.causes.requests() else { return Ok(()) };
        let Some(stored) = stream.stored_row(self.source, track.info.key, row, &columns)? else { return Ok(()) };
        let number = |column: usize| stored.number(Some(column)).unwrap_or(0);
        let issuer = (number(StreamSchema::PID), number(StreamSchema::TID));
        let made = self.flow(FlowWay::From, FlowKind::Issue, issuer, row.begin_ns);
        let comm = u32::try_from(number(StreamSchema::COMM)).unwrap_or(0);
        let name = if made.name.is_empty() { self.text(comm) } else { made.name };
        flows.flows.push(TrackFlow { name, cpu: Some(number(StreamSchema::CPU)), ..made });
        let Some(end_cpu) = self.causes.request_end_cpu(&stored) else { return Ok(()) };
        let range = row.end_ns..row.end_ns.saturating_add(AFTER_REQUEST_NS);
        let found = self.causes.wakeups.search(range, 1, |wakeup| wakeup.cpu == end_cpu)?;
        for wakeup in found.wakeups {
            flows.flows.push(self.woken(reader, &wakeup, FlowKind::Completion)?);
        }
        Ok(())
    }
}
