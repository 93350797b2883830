//! From the end of a range back to its start, through whoever a thread waited for.

use std::{collections::HashMap, ops::Range};

use bathyscope_capture::{StreamSchema, TrackEntry, TrackKind, TrackNameId, visible};

use super::{
    MAX_PATH_PARTS,
    causes::{Causes, Sleep, SleepEnd, SleepOf, Waker},
};
use crate::{
    Source, ViewError,
    answers::{PathGap, PathKind, PathPart, PathThread, PathWait, TrackLabel},
    source::relative,
    tracks::{FoundTrack, StoredRow, TrackReader, TrackedStream, tracked_label},
};

/// What a thread does in a row of its states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadDoing {
    Running,
    /// It could run, and waits for a CPU.
    Waiting,
    Dead,
    Asleep,
    AsleepUninterruptible,
}

/// The states of threads of a capture.
pub(super) struct ThreadStatesOf<'a, 'b> {
    source: &'a dyn Source,
    tracks: &'b TrackedStream<'a>,
    /// What the CPUs ran, if that is known.
    cpus: Option<TrackedStream<'a>>,
    waker_pid: Option<usize>,
    waker_tid: Option<usize>,
    stack: Option<usize>,
    doing: HashMap<TrackNameId, ThreadDoing>,
}

impl<'a, 'b> ThreadStatesOf<'a, 'b> {
    pub(super) fn new(source: &'a dyn Source, tracks: &'b TrackedStream<'a>) -> Self {
        let schema = source.streams().get(usize::from(tracks.stream));
        let column = |name: &str| schema.and_then(|schema| schema.column(name));
        let cpus = TrackedStream::all(source, |stream, rule| {
            let schema = source.streams().get(usize::from(stream));
            *rule.kind() == TrackKind::Cpu && schema.is_some_and(|schema| schema.name == "cpu occupation")
        });
        Self {
            source,
            tracks,
            cpus: cpus.into_iter().next(),
            waker_pid: column("waker_pid"),
            waker_tid: column("waker_tid"),
            stack: column("stack"),
            doing: HashMap::new(),
        }
    }

    fn doing(&mut self, row: &TrackEntry) -> ThreadDoing {
        let (tracks, source) = (self.tracks, self.source);
        *self.doing.entry(row.name).or_insert_with(|| match tracks.text(source, row) {
            b"running" => ThreadDoing::Running,
            b"runnable" | b"preempted" => ThreadDoing::Waiting,
            b"dead" => ThreadDoing::Dead,
            b"uninterruptible" => ThreadDoing::AsleepUninterruptible,
            _ => ThreadDoing::Asleep,
        })
    }

    fn stored(&self, tid: u64, row: &TrackEntry) -> Result<Option<StoredRow>, ViewError> {
        let mut wanted: Vec<usize> = [self.waker_pid, self.waker_tid, self.stack].into_iter().flatten().collect();
        wanted.sort_unstable();
        self.tracks.stored_row(self.source, tid, row, &wanted)
    }
}

/// A thread that the path is in, on behalf of the one below it on the stack.
#[derive(Clone, Copy, Debug)]
struct PathFrame {
    /// The thread, an index.
    thread: u32,
    /// When the thread below fell asleep: the path goes on in that one before then.
    floor_ns: u64,
    /// When this thread woke the one below; whatever woke this one came before.
    woke_ns: u64,
    /// The wait of the thread below, an index.
    wait: Option<u32>,
}

/// A walk.
pub(super) struct PathWalk<'a, 'b, 'c> {
    states: ThreadStatesOf<'a, 'b>,
    reader: TrackReader<'a>,
    causes: &'c mut Causes<'a>,
    /// The last part first.
    parts: Vec<PathPart>,
    waits: Vec<PathWait>,
    threads: Vec<PathThread>,
    tracks: Vec<Option<FoundTrack<'a>>>,
    by_tid: HashMap<u64, u32>,
    /// Everything from here on is done.
    at_ns: u64,
}

impl<'a, 'b, 'c> PathWalk<'a, 'b, 'c> {
    pub(super) fn new(states: ThreadStatesOf<'a, 'b>, reader: TrackReader<'a>, causes: &'c mut Causes<'a>) -> Self {
        Self {
            states,
            reader,
            causes,
            parts: Vec::new(),
            waits: Vec::new(),
            threads: Vec::new(),
            tracks: Vec::new(),
            by_tid: HashMap::new(),
            at_ns: 0,
        }
    }

    /// Walks back over a range; where it gave up, if it did.
    ///
    /// # Errors
    /// If rows cannot be read, or the view was cancelled.
    pub(super) fn walk(&mut self, track: FoundTrack<'a>, range: Range<u64>) -> Result<Option<u64>, ViewError> {
        let thread = self.add_thread(track.info.key, track.info.pid, Some(track));
        self.at_ns = range.end;
        let mut frames = vec![PathFrame { thread, floor_ns: range.start, woke_ns: u64::MAX, wait: None }];
        while let Some(frame) = frames.last().copied() {
            self.reader.go_on()?;
            if self.at_ns <= frame.floor_ns {
                frames.pop();
            } else if self.parts.len() >= MAX_PATH_PARTS || self.waits.len() >= MAX_PATH_PARTS {
                return Ok(Some(self.at_ns));
            } else if let Some(next) = self.step(&frame)? {
                frames.push(next);
            }
        }
        Ok(None)
    }

    /// What was found, in order of time.
    pub(super) fn made(mut self) -> (Vec<PathPart>, Vec<PathWait>, Vec<PathThread>) {
        self.parts.reverse();
        (self.parts, self.waits, self.threads)
    }

    /// Takes the row before the moment that the walk has come to; a frame if the path goes on in another thread.
    fn step(&mut self, frame: &PathFrame) -> Result<Option<PathFrame>, ViewError> {
        let Some(track) = self.tracks.get(frame.thread as usize).copied().flatten() else {
            self.gap(frame, frame.floor_ns, PathGap::NoStates);
            return Ok(None);
        };
        let Some((number, row)) = self.reader.row_at(track, self.at_ns.saturating_sub(1))? else {
            let last = self.reader.row_number(track, track.info.rows.saturating_sub(1))?;
            let is_dead = last.is_some_and(|last| self.states.doing(&last) == ThreadDoing::Dead);
            let why = if is_dead { PathGap::Ended } else { PathGap::NoStates };
            self.gap(frame, track.info.sum.end_ns.max(frame.floor_ns), why);
            return Ok(None);
        };
        if row.begin_ns >= self.at_ns {
            return self.before_row(frame, track, (number, row));
        }
        let start_ns = row.begin_ns.max(frame.floor_ns);
        match self.states.doing(&row) {
            ThreadDoing::Running => {
                let stored = self.states.stored(track.info.key, &row)?;
                let cpu = stored.and_then(|stored| stored.number(Some(StreamSchema::CPU)));
                self.part(frame, start_ns, PathPart { cpu, ..part_of(PathKind::Running) });
            }
            ThreadDoing::Waiting => self.wait_for_cpu(frame, track, (number, row), start_ns)?,
            ThreadDoing::Dead => self.gap(frame, start_ns, PathGap::Ended),
            ThreadDoing::Asleep => return self.sleep(frame, track, (number, row), false),
            ThreadDoing::AsleepUninterruptible => return self.sleep(frame, track, (number, row), true),
        }
        Ok(None)
    }

    /// There are no states before a row. If it is the first and the thread was made then, the path goes on in who made it.
    fn before_row(
        &mut self,
        frame: &PathFrame,
        track: FoundTrack<'a>,
        (number, row): (u64, TrackEntry),
    ) -> Result<Option<PathFrame>, ViewError> {
        let before = match number.checked_sub(1) {
            Some(before) => self.reader.row_number(track, before)?,
            None => None,
        };
        let key = track.info.key;
        if self.states.doing(&row) == ThreadDoing::Waiting
            && let Some(made) = self.causes.wakeups.of_thread(key, row.begin_ns)?.filter(|wakeup| wakeup.is_new)
            && made.waker_tid != 0
            && row.begin_ns < frame.woke_ns
        {
            let maker = Waker { pid: made.waker_pid, tid: made.waker_tid };
            let floor_ns = before.map_or(frame.floor_ns, |before| before.end_ns.max(frame.floor_ns));
            return Ok(Some(self.go_on_in(maker, frame, (floor_ns, row.begin_ns), (SleepOf::default(), true))));
        }
        let (from_ns, is_dead) = match before {
            Some(before) => (before.end_ns.max(frame.floor_ns), self.states.doing(&before) == ThreadDoing::Dead),
            None => (frame.floor_ns, false),
        };
        self.gap(frame, from_ns, if is_dead { PathGap::Ended } else { PathGap::NoStates });
        Ok(None)
    }

    /// The thread waits for a CPU: the one on which it runs next, else the one whose queue it was in.
    fn wait_for_cpu(
        &mut self,
        frame: &PathFrame,
        track: FoundTrack<'a>,
        (number, row): (u64, TrackEntry),
        start_ns: u64,
    ) -> Result<(), ViewError> {
        let key = track.info.key;
        let next = self.reader.row_number(track, number + 1)?;
        let ran = next.filter(|next| next.begin_ns == row.end_ns);
        let ran = ran.filter(|next| self.states.doing(next) == ThreadDoing::Running).unwrap_or(row);
        let cpu = self.states.stored(key, &ran)?.and_then(|stored| stored.number(Some(StreamSchema::CPU)));
        let had_cpu = match cpu {
            Some(cpu) => self.had_cpu(cpu, start_ns..self.at_ns, key)?,
            None => None,
        };
        self.part(frame, start_ns, PathPart { cpu, had_cpu, ..part_of(PathKind::Cpu) });
        Ok(())
    }

    /// Which thread had a CPU for the longest in a range; none if it was idle.
    fn had_cpu(&mut self, cpu: u64, range: Range<u64>, but_tid: u64) -> Result<Option<TrackLabel>, ViewError> {
        let Some(cpus) = &self.states.cpus else { return Ok(None) };
        let mut most: Option<(u64, TrackNameId)> = None;
        for track in cpus.of_key(cpu) {
            for (name, time_ns) in self.reader.totals(track, range.clone())? {
                let tid = cpus.directory.names.get(name as usize).map_or(0, |name| u64::from(name.tid));
                if tid != 0 && tid != but_tid && most.is_none_or(|most| (time_ns, name) > most) {
                    most = Some((time_ns, name));
                }
            }
        }
        Ok(most.map(|(_, name)| tracked_label(self.states.source, cpus, name)))
    }

    /// The thread sleeps.
    fn sleep(
        &mut self,
        frame: &PathFrame,
        track: FoundTrack<'a>,
        (number, row): (u64, TrackEntry),
        is_uninterruptible: bool,
    ) -> Result<Option<PathFrame>, ViewError> {
        let key = track.info.key;
        let start_ns = row.begin_ns.max(frame.floor_ns);
        let Some(next) = self.reader.row_number(track, number + 1)? else {
            let call = self.causes.call_name(&mut self.reader, key, row.begin_ns)?;
            self.part(frame, start_ns, PathPart { call, gap: Some(PathGap::NotWoken), ..part_of(PathKind::Unknown) });
            return Ok(None);
        };
        let is_woken = next.begin_ns == row.end_ns && self.states.doing(&next) == ThreadDoing::Waiting;
        let waker = match self.states.waker_tid.filter(|_| is_woken) {
            Some(tid) => self.states.stored(key, &next)?.map(|stored| Waker {
                pid: stored.number(self.states.waker_pid).unwrap_or(0),
                tid: stored.number(Some(tid)).unwrap_or(0),
            }),
            None => None,
        };
        let stack = match self.states.stack {
            Some(stack) => self.states.stored(key, &row)?.and_then(|stored| stored.number(Some(stack))),
            None => None,
        };
        let stack = stack.and_then(|stack| u32::try_from(stack).ok()).unwrap_or(0);
        let sleep = Sleep { tid: key, row, is_uninterruptible, stack, waker };
        let slept = self.causes.of_sleep(&mut self.reader, &sleep)?;
        let SleepOf { call, function, .. } = slept.clone();
        let made = PathPart { call, function, ..part_of(PathKind::Unknown) };
        match slept.end.clone() {
            SleepEnd::Thread(waker) if row.end_ns < frame.woke_ns => {
                return Ok(Some(self.go_on_in(waker, frame, (start_ns, row.end_ns), (slept, false))));
            }
            SleepEnd::Thread(_) => {
                self.part(frame, start_ns, PathPart { gap: Some(PathGap::Inconsistent), ..made });
            }
            SleepEnd::Other(kind, ended_by) => self.part(frame, start_ns, PathPart { kind, ended_by, ..made }),
            SleepEnd::Unknown(gap) => self.part(frame, start_ns, PathPart { gap: Some(gap), ..made }),
        }
        Ok(None)
    }

    /// The path goes on in the thread that woke or made the one of `frame`.
    fn go_on_in(
        &mut self,
        waker: Waker,
        frame: &PathFrame,
        (start_ns, woken_ns): (u64, u64),
        (slept, is_start): (SleepOf, bool),
    ) -> PathFrame {
        let track = self.states.tracks.of_key(waker.tid).next();
        let thread = self.add_thread(waker.tid, waker.pid, track);
        let wait = u32::try_from(self.waits.len()).unwrap_or(u32::MAX);
        self.waits.push(PathWait {
            thread: frame.thread,
            waker: thread,
            start: self.relative(start_ns),
            woken: self.relative(woken_ns),
            is_lock: slept.is_lock,
            is_start,
            call: slept.call,
            function: slept.function,
            outer: frame.wait,
        });
        PathFrame { thread, floor_ns: start_ns, woke_ns: woken_ns, wait: Some(wait) }
    }

    fn add_thread(&mut self, tid: u64, pid: u64, track: Option<FoundTrack<'a>>) -> u32 {
        let next = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        let known = *self.by_tid.entry(tid).or_insert(next);
        if known == next {
            let dictionaries = self.states.source.dictionaries();
            let name = track.and_then(|track| dictionaries.text(track.info.comm)).map(visible);
            let pid = track.map_or(pid, |track| track.info.pid);
            let track_id = track.map(|track| track.id.to_string());
            self.threads.push(PathThread { tid, pid, name: name.unwrap_or_default(), track: track_id });
            self.tracks.push(track);
        }
        known
    }

    fn relative(&self, time_ns: u64) -> i64 {
        relative(self.states.source.origin_ns(), time_ns)
    }

    fn gap(&mut self, frame: &PathFrame, start_ns: u64, gap: PathGap) {
        self.part(frame, start_ns, PathPart { gap: Some(gap), ..part_of(PathKind::Unknown) });
    }

    /// Adds a part from `start_ns` until where the walk has come to.
    fn part(&mut self, frame: &PathFrame, start_ns: u64, part: PathPart) {
        let (start, end) = (self.relative(start_ns), self.relative(self.at_ns));
        self.parts.push(PathPart { start, end, thread: frame.thread, wait: frame.wait, ..part });
        self.at_ns = start_ns;
    }
}

fn part_of(kind: PathKind) -> PathPart {
    PathPart {
        start: 0,
        end: 0,
        kind,
        thread: 0,
        wait: None,
        cpu: None,
        had_cpu: None,
        call: None,
        function: None,
        ended_by: None,
        gap: None,
    }
}
