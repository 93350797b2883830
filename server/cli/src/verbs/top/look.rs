//! Looks at the running capture, and at what processes use.

use std::{collections::HashMap, sync::Arc};

use bathyscope_capture::CaptureId;
use bathyscope_link::{
    AgentLink,
    activity::{ActivityMessage, ActivitySampler},
};
use bathyscope_reader::{CaptureCache, CaptureView};
use bathyscope_recorder::{LiveMessage, Recorder, Tick};
use bathyscope_store::Store;
use bathyscope_views::{
    Cancel, ReportKey, ReportQuery, ReportRow, ReportValue, SampleReport, Source as _, TimeRange, ViewError,
    sample_report, sampled_streams,
};
use tokio::sync::watch;

use super::{
    data::{SampledLine, TopData},
    state::{Span, TopState},
};
use crate::Failure;

/// The span that is called recent.
const RECENT_NS: u64 = 10_000_000_000;
/// What rows are called that are not told apart.
const OTHERS: &str = "[others]";
/// The most functions that are kept of a look.
const MAX_LINES: usize = 5000;

/// Where it looks.
pub(super) struct Looks {
    captures: CaptureCache,
    recorder: Recorder,
    id: CaptureId,
    activity: watch::Receiver<Option<Arc<ActivityMessage>>>,
    ticks: watch::Receiver<Tick>,
    /// Samples before this are not counted, nanoseconds since the capture's start.
    zero_ns: u64,
    _sampler: ActivitySampler,
}

impl Looks {
    pub(super) fn new(store: Store, recorder: Recorder, id: CaptureId, link: AgentLink) -> Self {
        let sampler = ActivitySampler::new(link);
        let activity = sampler.subscribe();
        let (told, ticks) = watch::channel(Tick::default());
        if let Some(mut live) = recorder.live(id) {
            tokio::spawn(async move {
                while let Some(message) = live.next().await {
                    if let LiveMessage::Tick(tick) = &*message
                        && told.send(tick.clone()).is_err()
                    {
                        return;
                    }
                }
            });
        }
        Self { captures: CaptureCache::new(store), recorder, id, activity, ticks, zero_ns: 0, _sampler: sampler }
    }

    /// Samples count from now on.
    pub(super) fn count_from_now(&mut self) {
        self.zero_ns = self.ticks.borrow().elapsed;
    }

    /// What there is now.
    pub(super) async fn look(&mut self, state: &TopState) -> Result<TopData, Failure> {
        self.recorder.name_functions(self.id).await;
        let failed = |error: &dyn std::fmt::Display| Failure::new(format!("looking at the capture: {error}"));
        let view = self.captures.view(self.id, true).await.map_err(|error| failed(&error))?;
        let mut data = self.counters();
        // Nothing else runs here that the work could hold up.
        let read = tokio::task::block_in_place(|| self.samples(&view, state, &mut data));
        view.checked(read).map_err(|error| failed(&error))?;
        Ok(data)
    }

    /// Everything but the samples.
    fn counters(&mut self) -> TopData {
        let tick = self.ticks.borrow();
        let mut data = TopData {
            elapsed_s: tick.elapsed as f64 / 1e9,
            lost: tick.streams.iter().map(|stream| stream.lost).sum(),
            own_cpu_permille: tick.console_cpu_permille,
            agent_cpu_permille: tick.agent_cpu_permille,
            guard: tick.guard.clone(),
            ..TopData::default()
        };
        match self.activity.borrow_and_update().as_deref() {
            Some(ActivityMessage::Activity(activity)) => data.activity = Some((**activity).clone()),
            Some(ActivityMessage::Absent { why }) => data.absent.clone_from(why),
            None => {}
        }
        data
    }

    fn samples(&self, view: &CaptureView, state: &TopState, data: &mut TopData) -> Result<(), ViewError> {
        let Some((stream, schema)) = sampled_streams(view).into_iter().next() else { return Ok(()) };
        data.event.clone_from(&schema.name);
        let (origin, elapsed) = (view.origin_ns(), self.ticks.borrow().elapsed);
        let recent = elapsed.saturating_sub(RECENT_NS);
        let start = if state.span == Span::Recent { recent.max(self.zero_ns) } else { self.zero_ns };
        let all = TimeRange::of(view);
        let start_ns = if start == 0 { all.start_ns } else { origin.saturating_add(start) };
        let range = TimeRange { start_ns, end_ns: all.end_ns };
        // Once over all samples: what both tables and the zoom want is made of it.
        let query = ReportQuery {
            stream,
            range,
            filter: None,
            keys: vec![ReportKey::Pid, ReportKey::Dso, ReportKey::Symbol],
            children: true,
            chains: None,
            chain_percent: 0.0,
        };
        let report = sample_report(view, &query, &Cancel::new(false))?;
        data.unit = report.unit.as_str();
        counted(&report, state.zoom.as_ref().map(|(pid, _)| *pid), data);
        Ok(())
    }
}

/// Functions and processes of rows that tell both apart; of one process alone where it is zoomed into.
pub(super) fn counted(report: &SampleReport, zoom: Option<u64>, data: &mut TopData) {
    let (mut functions, mut processes): (HashMap<SampledKey<'_>, SampledLine>, HashMap<SampledKey<'_>, SampledLine>) =
        Default::default();
    for row in &report.rows {
        let [process, module, function] = row.values.as_slice() else { continue };
        let (pid, comm) = match process {
            ReportValue::Thread { id, comm } => (*id, comm.as_str()),
            _ => (0, OTHERS),
        };
        if zoom.is_some_and(|zoomed| zoomed != pid) {
            continue;
        }
        let module = if let ReportValue::Module(path) = module { path.as_str() } else { "" };
        let (name, is_kernel) = match function {
            ReportValue::Function { name, is_kernel } => (name.as_str(), *is_kernel),
            _ => (OTHERS, false),
        };
        add(&mut functions, (0, module, name, is_kernel), row, row.total);
        add(&mut processes, (pid, "", comm, false), row, row.own);
    }
    (data.functions, data.processes) = (lines(functions), lines(processes));
    data.samples = data.processes.iter().map(|line| line.samples).sum();
    data.weight = data.processes.iter().map(|line| line.own).sum();
    data.functions.truncate(MAX_LINES);
    data.processes.truncate(MAX_LINES);
}

/// Process, module, name, and whether it is the kernel's.
type SampledKey<'r> = (u64, &'r str, &'r str, bool);

fn add<'r>(
    lines: &mut HashMap<SampledKey<'r>, SampledLine>,
    key: SampledKey<'r>,
    ReportRow { own, samples, .. }: &ReportRow,
    total: u64,
) {
    let line = lines.entry(key).or_insert_with(|| {
        let (pid, module, name, is_kernel) = key;
        let (module, name) = (module.to_owned(), name.to_owned());
        SampledLine { pid, module, name, is_kernel, ..SampledLine::default() }
    });
    line.own += own;
    line.samples += samples;
    line.total += total;
}

/// The heaviest first.
fn lines(lines: HashMap<SampledKey<'_>, SampledLine>) -> Vec<SampledLine> {
    let mut all: Vec<SampledLine> = lines.into_values().collect();
    all.sort_by(|a, b| {
        let names = |line: &SampledLine| (line.name.clone(), line.module.clone(), line.pid);
        (b.total, b.own).cmp(&(a.total, a.own)).then_with(|| names(a).cmp(&names(b)))
    });
    all
}
