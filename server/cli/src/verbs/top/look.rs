//! Looks at the running capture, and at what processes use.

use std::sync::Arc;

use bathyscope_capture::CaptureId;
use bathyscope_link::{
    AgentLink,
    activity::{ActivityMessage, ActivitySampler},
};
use bathyscope_reader::{CaptureCache, CaptureView, ViewQuery};
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
        let of = state.zoom.as_ref().map_or_else(String::new, |(pid, _)| format!("pid == {pid}"));
        let filter = ViewQuery { filter: of, ..ViewQuery::default() }.flame(view)?.filter;
        let query = |keys: &[ReportKey], filter, children| ReportQuery {
            stream,
            range,
            filter,
            keys: keys.to_vec(),
            children,
            chains: None,
            chain_percent: 0.0,
        };
        let cancel = Cancel::new(false);
        let functions = sample_report(view, &query(&[ReportKey::Dso, ReportKey::Symbol], filter, true), &cancel)?;
        let processes = sample_report(view, &query(&[ReportKey::Pid], None, false), &cancel)?;
        (data.unit, data.samples, data.weight) = (functions.unit.as_str(), functions.samples, functions.total);
        data.functions = lines(&functions);
        data.processes = lines(&processes);
        if state.zoom.is_some() {
            let (pid, _) = state.zoom.clone().unwrap_or_default();
            data.processes.retain(|line| line.pid == pid);
        }
        Ok(())
    }
}

fn lines(report: &SampleReport) -> Vec<SampledLine> {
    let line = |row: &ReportRow| {
        let mut line = SampledLine { own: row.own, total: row.total, samples: row.samples, ..SampledLine::default() };
        for value in &row.values {
            match value {
                ReportValue::Module(path) => line.module.clone_from(path),
                ReportValue::Function { name, is_kernel } => (line.name, line.is_kernel) = (name.clone(), *is_kernel),
                ReportValue::Thread { id, comm } => (line.pid, line.name) = (*id, comm.clone()),
                ReportValue::Other => "[others]".clone_into(&mut line.name),
                ReportValue::Text(_) | ReportValue::Number(_) => {}
            }
        }
        line
    };
    report.rows.iter().take(MAX_LINES).map(line).collect()
}
