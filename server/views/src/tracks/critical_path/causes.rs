//! What a sleep was for, and what ended it: another thread, a device, a timer.

use bathyscope_capture::{Batch, ColumnType, RowKind, StackId, StreamSchema, TrackEntry, TrackKind, visible};

use super::frames::{SleepFrames, WakeFrames};
use crate::{
    Source, ViewError,
    answers::{PathGap, PathKind, PathRecorded, ThreadCall, TrackId},
    source::relative,
    tracks::{StoredRow, TrackReader, TrackedStream, Wakeup, Wakeups, entry_label, word},
};

/// How long after the end of a block request a thread is woken for it at most.
const AFTER_REQUEST_NS: u64 = 1_000_000;
/// The most devices and lanes that a block request is looked for in.
const MAX_REQUEST_TRACKS: usize = 64;
/// Requests of a device that ended before a thread was woken, and that are looked at.
const MAX_ENDED_REQUESTS: usize = 32;
/// The result of a call that waited for its time in vain.
const TIMED_OUT: i64 = -110;
/// Calls that sleep until a time.
const SLEEPS: [&str; 2] = ["nanosleep", "clock_nanosleep"];
/// Calls that wait for a time at most and give 0 when it is over.
const WAITS: [&str; 7] = ["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"];
/// Calls that wait for locks.
const LOCKS: [&str; 5] = ["futex", "futex_wait", "futex_waitv", "flock", "semop"];

/// A sleep of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleep {
    pub(super) tid: u64,
    pub(super) row: TrackEntry,
    pub(super) is_uninterruptible: bool,
    /// Where it fell asleep, 0 if that is not recorded.
    pub(super) stack: StackId,
    /// Who woke it, as its states say; none if they do not.
    pub(super) waker: Option<Waker>,
}

/// Who woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waker {
    pub(super) pid: u64,
    pub(super) tid: u64,
}

/// What a thread slept for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SleepOf {
    pub(super) call: Option<String>,
    pub(super) function: Option<String>,
    pub(super) is_lock: bool,
    pub(super) end: SleepEnd,
}

/// What ended a sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SleepEnd {
    /// Another thread.
    Thread(Waker),
    /// Something else, with its name where that is known.
    Other(PathKind, Option<String>),
    /// Not known.
    Unknown(PathGap),
}

impl Default for SleepEnd {
    fn default() -> Self {
        Self::Unknown(PathGap::NoWakeup)
    }
}

/// What of a capture tells what threads slept for.
pub(crate) struct Causes<'a> {
    source: &'a dyn Source,
    pub(crate) wakeups: Wakeups<'a>,
    /// Interrupt handlers and soft interrupts, by CPU.
    interrupts: Vec<TrackedStream<'a>>,
    requests: Option<RequestStream<'a>>,
    calls: Option<CallStream<'a>>,
    has_stacks: bool,
    has_wake_stacks: bool,
}

struct RequestStream<'a> {
    tracks: TrackedStream<'a>,
    end_cpu: Option<usize>,
    rwbs: Option<usize>,
    sector: Option<usize>,
    dev: Option<usize>,
}

struct CallStream<'a> {
    tracks: TrackedStream<'a>,
    result: Option<usize>,
    args: Option<usize>,
}

/// The call that a thread was in.
struct CallThen {
    name: String,
    args: String,
    result: Option<i64>,
    track: TrackId,
    begin_ns: u64,
}

/// What a wake-up came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct WokenBy {
    pub(crate) is_interrupt: bool,
    /// What the interrupt is called; empty where that is not known.
    pub(crate) interrupt: String,
    /// Whether the idle task of the CPU may have done it: it stood there, and no interrupt is recorded at that moment.
    pub(crate) may_be_idle: bool,
    /// The block request that the thread waited for.
    pub(crate) request: Option<FoundRequest>,
}

/// A block request.
#[derive(Clone, Debug)]
pub(crate) struct FoundRequest {
    pub(crate) track: TrackId,
    pub(crate) row: TrackEntry,
    /// What it does, on which device and where.
    pub(crate) name: String,
}

impl RequestStream<'_> {
    fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = [self.end_cpu, self.rwbs, self.sector, self.dev]
            .into_iter()
            .flatten()
            .chain(self.tracks.rule.columns())
            .collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// What a request does, on which device and where.
    fn name(&self, source: &dyn Source, rows: &Batch, row: usize) -> String {
        let id = word(rows, self.rwbs, row).and_then(|id| u32::try_from(id).ok());
        let does = id.and_then(|id| source.dictionaries().text(id)).map(visible).unwrap_or_default();
        let device = word(rows, self.dev, row).map(|dev| format!(" {}:{}", dev >> 20, dev & ((1 << 20) - 1)));
        let sector = word(rows, self.sector, row).map(|sector| format!(" sector {sector}"));
        format!("{does}{}{}", device.unwrap_or_default(), sector.unwrap_or_default())
    }
}

fn is_slice(schema: &StreamSchema) -> bool {
    matches!(schema.meaning().kind, RowKind::Slice { .. })
}

impl<'a> Causes<'a> {
    pub(crate) fn of(source: &'a dyn Source) -> Self {
        let schema_of = |stream: u16| source.streams().get(usize::from(stream));
        let named = |names: &'static [&'static str]| {
            TrackedStream::all(source, move |stream, _| {
                schema_of(stream).is_some_and(|schema| names.contains(&schema.name.as_str()) && is_slice(schema))
            })
        };
        let mut interrupts = named(&["soft interrupts", "interrupt handlers"]);
        interrupts.retain(|tracks| *tracks.rule.kind() == TrackKind::Cpu);
        let requests = named(&["block requests"]).into_iter().next().map(|tracks| {
            let column = |name: &str| schema_of(tracks.stream).and_then(|schema| schema.column(name));
            let (end_cpu, rwbs, sector, dev) = (column("end_cpu"), column("rwbs"), column("sector"), column("dev"));
            RequestStream { end_cpu, rwbs, sector, dev, tracks }
        });
        let calls = TrackedStream::all(source, |stream, rule| {
            let has_calls = |schema: &StreamSchema| is_slice(schema) && schema.column("call").is_some();
            *rule.kind() == TrackKind::Thread && schema_of(stream).is_some_and(has_calls)
        });
        let calls = calls.into_iter().next().map(|tracks| {
            let column = |name: &str| schema_of(tracks.stream).and_then(|schema| schema.column(name));
            let (result, args) = (column("result"), column("args"));
            CallStream { result, args, tracks }
        });
        let has_stack = |name: &str| {
            let found = source.streams().iter().find(|schema| schema.name == name);
            found.is_some_and(|schema| schema.columns.iter().any(|column| column.ty == ColumnType::Stack))
        };
        Self {
            source,
            wakeups: Wakeups::of(source),
            interrupts,
            requests,
            calls,
            has_stacks: has_stack("thread states"),
            has_wake_stacks: has_stack("wakeups") || has_stack("sched:sched_waking"),
        }
    }

    pub(super) fn recorded(&self) -> PathRecorded {
        PathRecorded {
            wakeups: !self.wakeups.is_empty(),
            interrupts: !self.interrupts.is_empty() || self.has_wake_stacks,
            calls: self.calls.is_some() || self.has_stacks,
            requests: self.requests.is_some(),
        }
    }

    /// What a sleep was for.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(super) fn of_sleep(&self, reader: &mut TrackReader<'_>, sleep: &Sleep) -> Result<SleepOf, ViewError> {
        let call = self.call(reader, sleep.tid, sleep.row.begin_ns)?;
        let frames = SleepFrames::of(self.source.dictionaries(), sleep.stack);
        let is_call = |names: &[&str]| call.as_ref().is_some_and(|call| names.contains(&call.name.as_str()));
        let is_lock = frames.is_lock || is_call(&LOCKS);
        let wakeup = match sleep.waker {
            Some(_) => self.wakeups.of_thread(sleep.tid, sleep.row.end_ns)?,
            None => None,
        };
        let interrupt = match sleep.waker {
            Some(waker) => self.interrupt(reader, sleep.tid, waker, wakeup.as_ref())?,
            None => None,
        };
        let end = match (sleep.waker, interrupt) {
            (Some(waker), None) => SleepEnd::Thread(waker),
            (waker, interrupt) => {
                let cpu = wakeup.map(|wakeup| wakeup.cpu);
                let known = interrupt.unwrap_or_default();
                let result = call.as_ref().and_then(|call| call.result);
                let timed_out = result == Some(TIMED_OUT) || (result == Some(0) && is_call(&WAITS));
                let is_timer = known.is_timer || frames.is_timer || is_call(&SLEEPS) || timed_out;
                let is_disk = known.is_disk || frames.is_disk || sleep.is_uninterruptible;
                let slept = (sleep.row.begin_ns, sleep.row.end_ns);
                let request = if is_timer { None } else { self.request(reader, (sleep.tid, slept), cpu, is_disk)? };
                let request = request.map(|request| request.name);
                match () {
                    () if is_timer => SleepEnd::Other(PathKind::Timer, known.name),
                    () if is_disk || request.is_some() => SleepEnd::Other(PathKind::Disk, request.or(known.name)),
                    () if known.may_be_idle => SleepEnd::Other(PathKind::Interrupt, Some(idle_or_interrupt(cpu))),
                    () if waker.is_some() => SleepEnd::Other(PathKind::Interrupt, known.name),
                    () if is_lock => SleepEnd::Other(PathKind::Lock, None),
                    () => SleepEnd::Unknown(PathGap::NoWakeup),
                }
            }
        };
        Ok(SleepOf { call: call.map(|call| call.name), function: frames.function, is_lock, end })
    }

    /// The call that a thread was in at a moment.
    pub(super) fn call_name(
        &self,
        reader: &mut TrackReader<'_>,
        tid: u64,
        time_ns: u64,
    ) -> Result<Option<String>, ViewError> {
        Ok(self.call(reader, tid, time_ns)?.map(|call| call.name))
    }

    fn call(&self, reader: &mut TrackReader<'_>, tid: u64, time_ns: u64) -> Result<Option<CallThen>, ViewError> {
        let Some(CallStream { tracks, result, args }) = &self.calls else { return Ok(None) };
        for track in tracks.of_key(tid) {
            let Some((_, row)) = reader.row_at(track, time_ns)?.filter(|(_, row)| row.begin_ns <= time_ns) else {
                continue;
            };
            let mut wanted: Vec<usize> = [result, args].into_iter().copied().flatten().collect();
            wanted.sort_unstable();
            let stored = tracks.stored_row(self.source, tid, &row, &wanted)?;
            let args = stored.as_ref().and_then(|stored| stored.number(*args)).and_then(|id| u32::try_from(id).ok());
            return Ok(Some(CallThen {
                name: visible(tracks.text(self.source, &row)),
                args: args.and_then(|id| self.source.dictionaries().text(id)).map(visible).unwrap_or_default(),
                result: stored.and_then(|stored| stored.signed(*result)),
                track: track.id,
                begin_ns: row.begin_ns,
            }));
        }
        Ok(None)
    }

    /// The call that a thread was in at a moment, with its arguments.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(crate) fn call_text(
        &self,
        reader: &mut TrackReader<'_>,
        tid: u64,
        time_ns: u64,
    ) -> Result<Option<ThreadCall>, ViewError> {
        let call = self.call(reader, tid, time_ns)?;
        let start = |begin_ns| relative(self.source.origin_ns(), begin_ns);
        Ok(call.map(|CallThen { name, args, track, begin_ns, .. }| ThreadCall {
            name,
            args,
            track: track.to_string(),
            start: start(begin_ns),
        }))
    }

    /// What a wake-up of a thread came from.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(crate) fn woken_by(&self, reader: &mut TrackReader<'_>, wakeup: &Wakeup) -> Result<WokenBy, ViewError> {
        let waker = Waker { pid: wakeup.waker_pid, tid: wakeup.waker_tid };
        let found = self.interrupt(reader, wakeup.wakee_tid, waker, Some(wakeup))?;
        let Some(Interrupt { name, is_timer, is_disk, may_be_idle }) = found else { return Ok(WokenBy::default()) };
        let near = (wakeup.time_ns.saturating_sub(AFTER_REQUEST_NS), wakeup.time_ns);
        let request =
            if is_timer { None } else { self.request(reader, (wakeup.wakee_tid, near), Some(wakeup.cpu), is_disk)? };
        let kind = match () {
            () if is_timer => "timer",
            () if is_disk => "disk",
            () => "",
        };
        Ok(WokenBy { is_interrupt: true, interrupt: name.unwrap_or_else(|| kind.to_owned()), may_be_idle, request })
    }

    /// Whether a stream has block requests.
    pub(crate) fn is_request(&self, stream: u16) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.tracks.stream == stream)
    }

    /// The tracks of block requests, and the columns that tell of one.
    pub(crate) fn requests(&self) -> Option<(&TrackedStream<'a>, Vec<usize>)> {
        self.requests.as_ref().map(|requests| (&requests.tracks, requests.columns()))
    }

    /// On which track a stored block request is, and what it is called.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(crate) fn request_at(
        &self,
        reader: &mut TrackReader<'_>,
        (rows, row): (&Batch, usize),
        time_ns: u64,
    ) -> Result<(Option<TrackId>, String), ViewError> {
        let Some(requests) = &self.requests else { return Ok((None, String::new())) };
        let name = requests.name(self.source, rows, row);
        for track in requests.tracks.of_key(word(rows, requests.dev, row).unwrap_or(0)) {
            if reader.row_at(track, time_ns)?.is_some_and(|(_, found)| found.begin_ns == time_ns) {
                return Ok((Some(track.id), name));
            }
        }
        Ok((None, name))
    }

    /// The CPU on which a block request ended.
    pub(crate) fn request_end_cpu(&self, stored: &StoredRow) -> Option<u64> {
        stored.number(self.requests.as_ref()?.end_cpu)
    }

    /// Whether an interrupt made the wake-up, and which; none if a thread did.
    fn interrupt(
        &self,
        reader: &mut TrackReader<'_>,
        tid: u64,
        waker: Waker,
        wakeup: Option<&Wakeup>,
    ) -> Result<Option<Interrupt>, ViewError> {
        let frames = WakeFrames::of(self.source.dictionaries(), wakeup.map_or(0, |wakeup| wakeup.stack));
        // Idle threads wake nobody by themselves, and who sleeps does not wake itself.
        let is_certain = waker.tid == 0 || waker.tid == tid || frames.is_interrupt;
        if frames.is_told && !is_certain {
            return Ok(None);
        }
        let mut found =
            Interrupt { is_timer: frames.is_timer, is_disk: frames.is_disk, name: None, may_be_idle: false };
        // The innermost one made the wake-up.
        let mut inside_ns = None;
        if let Some(wakeup) = wakeup {
            for tracks in &self.interrupts {
                let is_soft = self.is_soft(tracks.stream);
                for track in tracks.of_key(wakeup.cpu) {
                    let row = reader.row_at(track, wakeup.time_ns)?;
                    let Some((_, row)) = row.filter(|(_, row)| row.begin_ns <= wakeup.time_ns) else { continue };
                    let name = entry_label(self.source, tracks, &row).text;
                    found.is_timer |= is_soft && matches!(name.as_str(), "TIMER" | "HRTIMER");
                    found.is_disk |= is_soft && name == "BLOCK";
                    if inside_ns.is_none_or(|begin_ns| row.begin_ns > begin_ns) {
                        inside_ns = Some(row.begin_ns);
                        found.name = Some(if is_soft { format!("soft interrupt {name}") } else { name });
                    }
                }
            }
        }
        found.may_be_idle = waker.tid == 0 && inside_ns.is_none() && !frames.is_interrupt;
        Ok((is_certain || inside_ns.is_some()).then_some(found))
    }

    fn is_soft(&self, stream: u16) -> bool {
        self.source.streams().get(usize::from(stream)).is_some_and(|schema| schema.name == "soft interrupts")
    }

    /// The block request that a thread was most likely woken for: it ended last before that, while the thread slept, and is
    /// its own, or it `is_disk` that it waited for and the request ended on the same CPU.
    fn request(
        &self,
        reader: &mut TrackReader<'_>,
        (tid, (slept_ns, woken_ns)): (u64, (u64, u64)),
        cpu: Option<u64>,
        is_disk: bool,
    ) -> Result<Option<FoundRequest>, ViewError> {
        let Some(requests) = &self.requests else { return Ok(None) };
        let RequestStream { tracks, end_cpu, .. } = requests;
        let wanted = requests.columns();
        let from_ns = slept_ns.max(woken_ns.saturating_sub(AFTER_REQUEST_NS));
        let mut best: Option<(bool, FoundRequest)> = None;
        for track in tracks.every().take(MAX_REQUEST_TRACKS) {
            let after = reader.row_at(track, woken_ns)?.map_or(track.info.rows, |(number, _)| number);
            for number in (0..after).rev().take(MAX_ENDED_REQUESTS) {
                let Some(row) = reader.row_number(track, number)?.filter(|row| row.end_ns >= from_ns) else { break };
                let Some(stored) = tracks.stored_row(self.source, track.info.key, &row, &wanted)? else { continue };
                let is_own = stored.number(Some(StreamSchema::TID)) == Some(tid);
                let is_here = cpu.is_none() || stored.number(*end_cpu) == cpu;
                if !(is_own || is_disk && is_here) {
                    continue;
                }
                let better = |(own, other): &(bool, FoundRequest)| (is_own, row.end_ns) > (*own, other.row.end_ns);
                if best.as_ref().is_none_or(better) {
                    let name = requests.name(self.source, &stored.batch, stored.row);
                    best = Some((is_own, FoundRequest { track: track.id, row, name }));
                }
                if is_own {
                    break;
                }
            }
        }
        Ok(best.map(|(_, request)| request))
    }
}

/// Who wakes a thread where the idle task stood and no interrupt is recorded, in words.
fn idle_or_interrupt(cpu: Option<u64>) -> String {
    cpu.map_or_else(
        || "an interrupt or the idle task".to_owned(),
        |cpu| format!("an interrupt or the idle task of CPU {cpu}"),
    )
}

/// An interrupt that woke a thread.
#[derive(Clone, Debug, Default)]
struct Interrupt {
    name: Option<String>,
    is_timer: bool,
    is_disk: bool,
    /// As [`WokenBy::may_be_idle`].
    may_be_idle: bool,
}
