//! What `record` records beside, or in the place of, a trace: system calls, thread states, samples, counts, a script.

use bathyscope_capture::{CountSpec, Method, ProfileSpec, ScriptSpec, SourceSpec, StatesSpec, SyscallSpec};
use bathyscope_catalog::recipes::Recipe;
use clap::Args;

use crate::{
    Failure,
    verbs::{recipes::named, trace::read_script},
};

/// How often counters are read: so that there are lines over time.
const COUNT_INTERVAL_MS: u32 = 100;

/// Further sources of the capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "More in the same capture")]
pub struct SourceArgs {
    /// What answers a question: a recipe that `bathyscope recipes` lists. Without -P, -a or a system-wide recipe it is of COMMAND
    #[arg(long, value_name = "NAME")]
    pub recipe: Option<String>,
    /// System calls: all, or these, as after `strace -e`
    #[arg(long, value_name = "CALLS", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub syscalls: Option<String>,
    /// Which thread has which CPU and who wakes whom, at about 0.2 µs each
    #[arg(long)]
    pub states: bool,
    /// With the stacks of threads that go to sleep, which makes such a switch about ten times as dear
    #[arg(long, requires = "states")]
    pub sleep_stacks: bool,
    /// With the stacks of those that wake threads, which makes a wake-up about ten times as dear
    #[arg(long, requires = "states")]
    pub wake_stacks: bool,
    /// Samples of stacks, so many a second; without a number 99. What trace-cmd calls --profile is `bathyscope report --calls`
    #[arg(long, value_name = "HZ", num_args = 0..=1, require_equals = true, default_missing_value = "99")]
    pub profile: Option<u32>,
    /// Counts of events every 100 ms: those of `stat`, or these, as after `perf stat -e`
    #[arg(long, value_name = "EVENTS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub stat: Option<String>,
    /// A script: a file, or its text if it has a `{`
    #[arg(long, value_name = "SCRIPT")]
    pub script: Option<String>,
}

impl SourceArgs {
    /// Whether there is any.
    pub(super) fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// The sources, in the order of the help.
    pub(super) fn sources(&self) -> Result<Vec<SourceSpec>, Failure> {
        let words = |list: &str| list.split(',').map(str::trim).map(str::to_owned).collect::<Vec<_>>();
        let syscalls = self.syscalls.as_deref().map(|list| {
            let calls = if list == "all" { Vec::new() } else { words(list) };
            Method::Syscalls(SyscallSpec { calls, fd_paths: true, ..SyscallSpec::default() })
        });
        let Self { sleep_stacks, wake_stacks, .. } = *self;
        let states = self.states.then_some(Method::States(StatesSpec { sleep_stacks, wake_stacks }));
        let profile = self.profile.map(|frequency_hz| {
            let (kernel_stacks, user_stacks) = (true, true);
            Method::Profile(ProfileSpec { frequency_hz, kernel_stacks, user_stacks, ..ProfileSpec::default() })
        });
        let stat = self.stat.as_deref().map(|list| {
            let alone = |event: String| vec![event];
            let groups = if list.is_empty() { Vec::new() } else { words(list).into_iter().map(alone).collect() };
            Method::Count(CountSpec { groups, interval_ms: COUNT_INTERVAL_MS, ..CountSpec::default() })
        });
        let script = self.script.as_deref().map(script).transpose()?;
        let by_hand = [syscalls, states, profile, stat, script].into_iter().flatten().map(SourceSpec::of);
        let mut sources = self.recipe()?.map_or_else(Vec::new, |recipe| recipe.sources.clone());
        for source in by_hand {
            // What is asked for by hand goes before what the recipe has under the same name.
            sources.retain(|known| known.id != source.id);
            sources.push(source);
        }
        Ok(sources)
    }

    /// The recipe, if one was asked for.
    pub(super) fn recipe(&self) -> Result<Option<&'static Recipe>, Failure> {
        self.recipe.as_deref().map(named).transpose()
    }
}

fn script(given: &str) -> Result<Method, Failure> {
    let (text, file) = match given.contains('{') {
        true => (given.to_owned(), String::new()),
        false => (read_script(given)?, given.to_owned()),
    };
    Ok(Method::Script(ScriptSpec { text, file, ..ScriptSpec::default() }))
}
