//! What `record` records beside, or in the place of, a trace: system calls, thread states, samples, counts, a script, a recipe.

use std::path::Path;

use bathyscope_capture::{CountSpec, Method, ProfileSpec, ScriptSpec, SourceSpec, StatesSpec, SyscallSpec, shown};
use bathyscope_catalog::{
    closest,
    recipes::{Recipe, recipe},
};
use clap::Args;

use crate::{
    Failure,
    verbs::{
        recipes::{FoundRecipe, found},
        trace::read_script,
    },
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
    /// Sources that may be missing: what this kernel cannot record of them is left out, and the capture says why. By their ids: trace (of -e, -p and --probe), syscalls, states, profile, count (of --stat), script, and those of the recipe
    #[arg(long, value_name = "SOURCE,…", value_delimiter = ',')]
    pub optional: Vec<String>,
}

impl SourceArgs {
    /// Whether there is any source.
    pub(super) fn is_given(&self) -> bool {
        *self != Self { optional: self.optional.clone(), ..Self::default() }
    }

    /// The recipe that is asked for, if it does not come with the program: it may have scripts and probes.
    pub(super) fn own_recipe(&self) -> Option<&str> {
        self.recipe.as_deref().filter(|name| recipe(name).is_none())
    }

    /// The recipe that is asked for, if one is, with own ones from the database in `dir`.
    ///
    /// # Errors
    /// If there is none of the name, or the database cannot be read.
    pub(super) async fn found_recipe(&self, dir: &Path) -> Result<Option<FoundRecipe>, Failure> {
        match &self.recipe {
            Some(name) => found(name, dir).await.map(Some),
            None => Ok(None),
        }
    }

    /// The sources: the trace, those of the recipe, and then the others in the order of the help.
    pub(super) fn sources(&self, trace: Option<Method>, recipe: Option<&Recipe>) -> Result<Vec<SourceSpec>, Failure> {
        let trace = trace.map(SourceSpec::of);
        let by_hand: Vec<SourceSpec> = self.methods()?.into_iter().map(SourceSpec::of).collect();
        // What is asked for by hand goes before what the recipe has under the same name.
        let is_by_hand = |id: &str| trace.iter().chain(&by_hand).any(|source| source.id == id);
        let of_recipe = recipe.map_or_else(Vec::new, |recipe| recipe.sources.clone());
        let of_recipe: Vec<SourceSpec> = of_recipe.into_iter().filter(|source| !is_by_hand(&source.id)).collect();
        let mut sources: Vec<SourceSpec> = trace.into_iter().chain(of_recipe).chain(by_hand).collect();
        self.make_optional(&mut sources)?;
        Ok(sources)
    }

    /// Marks those of --optional.
    fn make_optional(&self, sources: &mut [SourceSpec]) -> Result<(), Failure> {
        for id in self.optional.iter().map(|id| id.trim()) {
            if let Some(source) = sources.iter_mut().find(|source| source.id == id) {
                source.required = false;
                continue;
            }
            let ids: Vec<&str> = sources.iter().map(|source| source.id.as_str()).collect();
            let near =
                closest(id, ids.iter().copied()).map_or_else(String::new, |near| format!("Did you mean `{near}`? "));
            let failure = Failure::new(format!("--optional names `{}`, which is no source of this capture", shown(id)));
            return Err(failure.remedy(format!("{near}Its sources are {}.", ids.join(", "))));
        }
        Ok(())
    }

    /// What is asked for by hand, in the order of the help.
    fn methods(&self) -> Result<Vec<Method>, Failure> {
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
        Ok([syscalls, states, profile, stat, script].into_iter().flatten().collect())
    }
}

fn script(given: &str) -> Result<Method, Failure> {
    let (text, file) = match given.contains('{') {
        true => (given.to_owned(), String::new()),
        false => (read_script(given)?, given.to_owned()),
    };
    Ok(Method::Script(ScriptSpec { text, file, ..ScriptSpec::default() }))
}
