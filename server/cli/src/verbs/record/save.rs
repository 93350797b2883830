//! `record --save`: what is asked for, kept as a recipe of one's own.
//!
//! A recipe has sources, limits and a question, and no target: with --save alone nothing is recorded.

use std::process::ExitCode;

use bathyscope_capture::{SourceSpec, TracepointName};
use bathyscope_catalog::recipes::{Recipe, RecipeTarget, check_own_name};
use bathyscope_console::{
    control::ControlConnection,
    library::LibraryUser,
    recipes::{RecipeError, check, save},
};
use bathyscope_store::{Options, Store};
use clap::Args;

use super::{RecordArgs, available, limits, name, sources};
use crate::{
    Failure, Outcome,
    config::LogArgs,
    launch::{OwnAgent, Workplace},
    verbs::recipes::FoundRecipe,
};

/// What is saved for the next time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Recipes of your own")]
pub struct SaveArgs {
    /// Save sources, limits and name as a recipe of your own, for --recipe and the form in the browser. Without COMMAND, -P and -a nothing is recorded
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Let it replace a recipe of that name
    #[arg(long, requires = "save")]
    pub replace: bool,
}

impl SaveArgs {
    /// Fails for a name that no recipe may have, before anything is done.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let Some(name) = &self.save else { return Ok(()) };
        check_own_name(name).map_err(|error| Failure::because("saving a recipe", error))
    }
}

/// Whether saving is all that is asked for: no target is named.
pub(super) fn is_all(args: &RecordArgs) -> bool {
    args.saving.save.is_some() && args.command.is_empty() && args.pid.is_empty() && !args.all
}

/// A recipe that is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecipeToSave {
    recipe: Recipe,
    replace: bool,
}

/// What is to be saved, if anything is: what the capture records of no matter whom.
///
/// # Errors
/// If it cannot be a recipe.
pub(super) fn to_save(
    args: &RecordArgs,
    sources: Vec<SourceSpec>,
    from: Option<&FoundRecipe>,
) -> Result<Option<RecipeToSave>, Failure> {
    let Some(saved) = &args.saving.save else { return Ok(None) };
    let recipe = Recipe {
        name: saved.clone(),
        order: 0,
        question: name(args, from).trim().to_owned(),
        about: String::new(),
        needs: String::new(),
        cost: String::new(),
        of: usual_target(args, from),
        opens: from.and_then(|found| found.recipe().opens),
        limits: limits(args, from, true),
        sources,
        key_numbers: from.map_or_else(Vec::new, |found| found.recipe().key_numbers.clone()),
    };
    // Said before something is started, and before a console is asked.
    recipe.to_own_text().map_err(|error| Failure::because(format!("saving the recipe `{saved}`"), error))?;
    Ok(Some(RecipeToSave { recipe, replace: args.saving.replace }))
}

/// Whose events the recipe is usually of.
fn usual_target(args: &RecordArgs, from: Option<&FoundRecipe>) -> RecipeTarget {
    if args.all {
        return RecipeTarget::System;
    }
    if !args.pid.is_empty() {
        return RecipeTarget::Process;
    }
    if args.filter_command || args.only_command {
        return RecipeTarget::Command;
    }
    from.map_or(RecipeTarget::System, |found| found.recipe().of)
}

impl RecipeToSave {
    /// Fails if it could not be saved because of what is there already.
    ///
    /// # Errors
    /// Why not.
    pub(super) async fn check(&self, store: &Store) -> Result<(), Failure> {
        let checked = check(store, &self.recipe, LibraryUser::TERMINAL, self.replace).await;
        checked.map(drop).map_err(|error| self.failed(error))
    }

    /// Saves it beside a capture that has begun, which goes on whatever becomes of the recipe.
    #[expect(clippy::print_stderr, reason = "standard output is for rows")]
    pub(super) async fn save_or_tell(self, store: &Store) {
        match self.save(store).await {
            Ok(()) => self.tell(),
            Err(failure) => eprintln!("{}", failure.report()),
        }
    }

    async fn save(&self, store: &Store) -> Result<(), Failure> {
        let saved = save(store, self.recipe.clone(), LibraryUser::TERMINAL, self.replace).await;
        saved.map(drop).map_err(|error| self.failed(error))
    }

    #[expect(clippy::print_stderr, reason = "standard output is for rows")]
    fn tell(&self) {
        let name = &self.recipe.name;
        eprintln!("bathyscope: saved; `bathyscope record --recipe {name}` records it");
    }

    fn failed(&self, error: RecipeError) -> Failure {
        let is_there = matches!(error, RecipeError::Exists { .. });
        let failure = Failure::because(format!("saving the recipe `{}`", self.recipe.name), error);
        if is_there { failure.remedy("--replace replaces it.") } else { failure }
    }
}

/// Saves a recipe and records nothing; a console may run.
///
/// # Errors
/// If it is no recipe, or cannot be saved.
pub(super) fn run(args: &RecordArgs, log: &LogArgs) -> Outcome {
    refuse_what_is_for_recording(args)?;
    let directory = args.data.directory()?;
    // While this process has its rights: the console answers who connected, and not its own user.
    let console = ControlConnection::open(&directory)?;
    let place = Workplace::make(Some(&directory))?;
    let available = if args.events.events.is_empty() {
        place.give_up_rights()?;
        Vec::new()
    } else {
        available_events(&place, log)?
    };
    crate::logging::start(log)?;
    let runtime = crate::verbs::runtime()?;
    let from = runtime.block_on(args.sources.found_recipe(place.directory()))?;
    let sources = sources(args, &available, from.as_ref())?;
    let Some(saving) = to_save(args, sources, from.as_ref())? else { return Ok(ExitCode::SUCCESS) };
    match console {
        Some(console) => console.save_recipe(saving.recipe.clone(), saving.replace)?,
        None => runtime.block_on(async {
            let options = Options { now: bathyscope_recorder::boot_time(), ..Options::default() };
            let store = Store::open(place.directory(), options).await;
            let store = store.map_err(|error| Failure::because("opening the database", error))?;
            let saved = saving.save(&store).await;
            store.close().await;
            saved
        })?,
    }
    saving.tell();
    Ok(ExitCode::SUCCESS)
}

/// The events of this kernel, among which patterns find theirs.
fn available_events(place: &Workplace, log: &LogArgs) -> Result<Vec<TracepointName>, Failure> {
    let mut agent = OwnAgent::start(None, Some(log))?;
    available(&mut agent.client_at(place)?)
}

/// Nothing that is asked for is left out in silence.
fn refuse_what_is_for_recording(args: &RecordArgs) -> Result<(), Failure> {
    let given = [
        ("--live", args.live),
        ("-o", args.output.is_some()),
        ("--user", args.user.is_some()),
        ("-F", args.filter_command),
        ("--only-command", args.only_command),
        ("-c", args.children),
    ];
    let Some((option, _)) = given.iter().find(|(_, given)| *given) else { return Ok(()) };
    let failure = Failure::new(format!("{option} is for recording, and with --save alone nothing is recorded"));
    Err(failure.remedy("Name whose events are recorded too, by COMMAND, -P or -a; or leave it out."))
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{args, names, recipe_for_tests},
        *,
    };

    fn saved(words: &[&str]) -> Result<Recipe, String> {
        let args = args(words);
        let made = || -> Result<RecipeToSave, Failure> {
            args.saving.check()?;
            if is_all(&args) {
                refuse_what_is_for_recording(&args)?;
            }
            let from = args.sources.recipe.as_deref().map(recipe_for_tests);
            let sources = sources(&args, &names(), from.as_ref())?;
            Ok(to_save(&args, sources, from.as_ref())?.expect("--save is given"))
        };
        made().map(|saving| saving.recipe).map_err(|failure| failure.report())
    }

    #[test]
    fn a_recipe_has_sources_limits_and_question_of_what_is_asked_for() {
        let told = |recipe: &Recipe| {
            let ids: Vec<String> = recipe
                .sources
                .iter()
                .map(|source| format!("{}{}", source.id, if source.required { "" } else { "?" }))
                .collect();
            format!("{:?} {:?} {:?} {}", recipe.of, recipe.question, recipe.limits.duration_ms, ids.join(" "))
        };
        let cases: [(&[&str], &str); 10] = [
            (&["--syscalls", "--profile", "--save", "a"], r#"System "" None syscalls profile"#),
            (
                &["--states", "--optional=states", "--duration", "5s", "--name", " Why? ", "--save", "a", "-P", "7"],
                r#"Process "Why?" Some(5000) states?"#,
            ),
            (&["-e", "sched", "--save", "a", "ls"], r#"System "" None trace"#),
            (&["-e", "sched", "--save", "a", "-F", "ls"], r#"Command "" None trace"#),
            (
                &["--recipe", "waiting", "--save", "a"],
                r#"Process "Who waits for whom?" Some(10000) states futex? on-cpu?"#,
            ),
            (
                &["--recipe", "waiting", "--save", "a", "--optional", "states", "--name", "It?", "ls"],
                r#"Process "It?" Some(10000) states? futex? on-cpu?"#,
            ),
            (
                &["--recipe", "waiting", "--save", "a", "-a"],
                r#"System "Who waits for whom?" Some(10000) states futex? on-cpu?"#,
            ),
            (
                &["--recipe", "mine", "--stat", "--save", "a"],
                r#"Process "Why is it slow?" Some(3000) trace? on-cpu count"#,
            ),
            (
                &["--recipe", "mine", "--duration=1s", "--save=a"],
                r#"Process "Why is it slow?" Some(1000) trace? on-cpu"#,
            ),
            (&["--script", "begin { exit() }", "--save", "a"], r#"System "" None script"#),
        ];
        for (words, expected) in cases {
            let recipe = saved(words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert_eq!(told(&recipe), expected, "{words:?}");
            assert_eq!((recipe.name.as_str(), recipe.order), ("a", 0), "{words:?}");
        }
        let recipe = saved(&["--recipe", "mine", "--budget", "9", "--save", "a"]).unwrap();
        assert_eq!((recipe.limits.max_events, recipe.limits.budget_cpu_permille), (Some(500), 90));
        assert_eq!(recipe.opens, recipe_for_tests("mine").recipe().opens);
        // A pattern stands for the events that it was for when it was saved.
        let recipe = saved(&["-e", "sched:*", "--save", "a"]).unwrap();
        let text = recipe.to_own_text().unwrap();
        assert!(text.contains("sched:sched_switch") && text.contains("sched:sched_wakeup"), "{text}");
    }

    #[test]
    fn nonsense_is_refused_before_anything_is_done() {
        let cases: [(&[&str], &str); 11] = [
            (&["--syscalls", "--save", "disk"], "comes with the program"),
            (&["--syscalls", "--save", "My recipe"], "cannot be the name of a recipe"),
            (&["--syscalls", "--save", ""], "cannot be the name of a recipe"),
            (&["--syscalls", "--save", "../x"], "cannot be the name of a recipe"),
            (&["--save", "a"], "a trace needs a tracer"),
            (&["--syscalls", "--name", "a\nb", "--save", "a"], "line break"),
            (&["--profile=0", "--save", "a"], "frequency"),
            (&["--syscalls", "--live", "--save", "a"], "--live is for recording"),
            (&["--syscalls", "-o", "x.bathy", "--save", "a"], "-o is for recording"),
            (&["--syscalls", "-F", "--save", "a"], "-F is for recording"),
            (&["--syscalls", "--user", "root", "--save", "a"], "--user is for recording"),
        ];
        for (words, expected) in cases {
            let error = saved(words).unwrap_err();
            assert!(error.contains(expected), "{words:?}: {error}");
        }
        let long = "n".repeat(65);
        assert!(saved(&["--syscalls", "--save", &long]).unwrap_err().contains("cannot be the name"));
        use clap::Parser as _;
        let replace_alone = crate::verbs::Cli::try_parse_from(["bathyscope", "record", "--syscalls", "--replace"]);
        assert!(replace_alone.is_err());
    }

    #[test]
    fn nothing_is_recorded_where_nobody_is_named() {
        for (words, expected) in [
            (&["--syscalls", "--save", "a"][..], true),
            (&["--recipe", "disk", "--save", "a", "--duration", "5s"], true),
            (&["--syscalls", "--save", "a", "-a"], false),
            (&["--syscalls", "--save", "a", "-P", "7"], false),
            (&["--syscalls", "--save", "a", "ls"], false),
            (&["--syscalls"], false),
        ] {
            assert_eq!(is_all(&args(words)), expected, "{words:?}");
        }
    }
}
