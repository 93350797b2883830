//! Runs a script from its start to its end.

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use bathyscope_agent::Simulation;
use bathyscope_capture::Target;
use bathyscope_decode::script::Form;
use bathyscope_link::{
    AgentLink, ScriptAgent as _,
    script::{ScriptFailure, ScriptOptions, ScriptRequest, USUAL_RING_BYTES},
};
use bathyscope_protocol::{AgentClient, CaptureHandle, StartedSource, TargetState};
use bathyscope_recorder::script::{Finished, MapSnapshot, ScriptEvent, ScriptSession};
use bathyscope_recorder::{guard_words, shows_user_addresses};

use super::{
    forward::{forward_output, wait_for},
    losses,
    names::ScriptNames,
    printer::{OutputStyle, ScriptPrinter},
    signals::Signals,
    sink::Buffering,
};
use crate::{
    Failure, Outcome,
    config::{LogArgs, LogFormat, Scripts},
    launch::OwnAgent,
    verbs::{budgets::BudgetArgs, facts::link, trace::status_of},
};

/// The only capture over this connection.
const HANDLE: CaptureHandle = 1;
/// How long to wait for records where there are none.
const PAUSE: Duration = Duration::from_millis(4);
/// How long a target counts as having just begun.
const YOUNG: Duration = Duration::from_millis(200);
/// How often the target and the mappings of its memory are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A script to run, as the command line says it.
#[derive(Clone, Debug)]
pub(crate) struct ScriptArgs {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) params: Vec<String>,
    pub(crate) target: Target,
    pub(crate) allow_unsafe: bool,
    pub(crate) duration: Option<Duration>,
    pub(crate) budgets: BudgetArgs,
    pub(crate) form: Form,
    pub(crate) output: Option<PathBuf>,
    pub(crate) buffering: Buffering,
    pub(crate) quiet: bool,
    pub(crate) raw: bool,
    pub(crate) verbose: u8,
    pub(crate) warnings: bool,
    pub(crate) dry_run: bool,
    pub(crate) simulate: Option<Simulation>,
    pub(crate) log: String,
}

impl ScriptArgs {
    /// An agent that may do what the script may.
    pub(super) fn start_agent(&self, log: &LogArgs) -> Result<OwnAgent, Failure> {
        let rights = if self.allow_unsafe { Scripts::Change } else { Scripts::Observe };
        OwnAgent::start_for_scripts(self.simulate.as_ref(), Some(log), rights)
    }

    fn request(&self) -> ScriptRequest {
        ScriptRequest {
            text: self.text.clone(),
            name: self.name.clone(),
            params: self.params.clone(),
            options: ScriptOptions { unsafe_allowed: self.allow_unsafe, comm: false, bare: true },
            settings: crate::verbs::script::settings(std::env::vars_os()),
            target: self.target.clone(),
            folder: std::env::current_dir().ok(),
            ring_bytes: USUAL_RING_BYTES,
        }
    }
}

/// Runs it.
///
/// # Errors
/// If it cannot be run, or its output not be written.
pub(crate) fn run(args: &ScriptArgs) -> Outcome {
    let log = LogArgs { log_format: LogFormat::Text, log: args.log.clone() };
    // What needs rights, or must happen before there are threads: the agent, and the file for the output, which may be
    // where only who started this can write.
    let mut agent = args.start_agent(&log)?;
    let printer = open_printer(args)?;
    let client = agent.client()?;
    crate::logging::start(&log)?;
    let outcome = if args.dry_run { check(args, &printer, client) } else { trace(args, printer, client) };
    drop(agent);
    outcome
}

/// Where the output goes; opened while there are the rights of who started this.
pub(super) fn open_printer(args: &ScriptArgs) -> Result<ScriptPrinter, Failure> {
    let look = OutputStyle {
        form: args.form,
        buffering: args.buffering,
        quiet: args.quiet,
        warnings: args.warnings,
        raw: args.raw,
    };
    ScriptPrinter::new(args.output.as_deref(), look, &args.name, &args.text)
}

/// Compiles it and says what is to be said.
fn check(args: &ScriptArgs, printer: &ScriptPrinter, client: AgentClient) -> Outcome {
    match bathyscope_link::script::check_script(&mut link(client)?, &args.request(), None) {
        Ok(checked) => {
            printer.diagnostics(&checked.diagnostics, args.verbose > 0);
            Ok(if checked.plan.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Err(error) => refused(args, printer, error),
    }
}

/// What is wrong with a script is told with its lines; everything else as other failures are.
pub(super) fn refused(args: &ScriptArgs, printer: &ScriptPrinter, error: ScriptFailure) -> Outcome {
    match error {
        ScriptFailure::Script { diagnostics } => {
            printer.diagnostics(&diagnostics, args.verbose > 0);
            Ok(ExitCode::FAILURE)
        }
        ScriptFailure::Refused(error) => {
            let detail = if args.verbose > 0 && !error.detail.is_empty() {
                format!("\n{}", error.detail)
            } else {
                String::new()
            };
            Err(Failure::new(format!("{}: {}{detail}", error.doing, error.why)).remedy(error.remedy))
        }
        error => Err(Failure::because("running the script", error)),
    }
}

fn trace(args: &ScriptArgs, mut printer: ScriptPrinter, client: AgentClient) -> Outcome {
    let link = link(client)?;
    let names = ScriptNames::new(link.clone());
    // Before anything runs: a signal must not end this process without the end of the script.
    let signals = Signals::listen()?;
    printer.stop_at(signals.clone());
    let mut session = match ScriptSession::start(link, HANDLE, &args.request()) {
        Ok(session) => session,
        Err(error) => return refused(args, &printer, error),
    };
    if args.warnings {
        printer.diagnostics(&session.plan().warnings.clone(), args.verbose > 0);
    }
    if session.plan().probes.is_empty() {
        return Err(Failure::new("the script has no probes to attach").remedy(
            "Its patterns match nothing on this host, or all its probes are missing: see `bathyscope trace -l PATTERN`.",
        ));
    }
    // The command waits at its first instruction: later it may be gone before anybody has looked at it.
    let target = session.started().target_pid.filter(|_| shows_user_addresses(session.plan()));
    if let Some(pid) = target {
        names.remember(pid, Duration::ZERO);
    }
    let forwarded = forward_output(session.take_output());
    if let Some(budget) = args.budgets.of_the_agent() {
        let set = session.agent().call(move |client| client.set_budget(HANDLE, budget));
        set.map_err(|error| Failure::because("setting the budget", error))?;
    }
    let attached = match session.enable() {
        Ok(enabled) => enabled.attached,
        Err(error) => return refused(args, &printer, error),
    };
    let mut run = ScriptRun { session, names, ended: false, detached: false };
    printer.attached(&run.session.plan().clone(), &run.names, attached)?;
    run.tell_failed(&printer, args);
    let has_command = args.target.command().is_some();
    let until = Until { duration: args.duration, has_command };
    let target = run.follow(&mut printer, &signals, until);
    // Whatever ended it: from here on a signal ends the process at once.
    signals.end_at_next();
    let (finished, target) = run.end(&mut printer, target?)?;
    wait_for(&forwarded);
    run.session.discard();
    let detached = run.detached;
    Ok(exit_code(&finished, target, detached))
}

struct ScriptRun {
    session: ScriptSession<AgentLink>,
    names: ScriptNames,
    /// Whether the script asked to end.
    ended: bool,
    /// Whether the guard has ended it.
    detached: bool,
}

/// What ends a script from outside.
struct Until {
    duration: Option<Duration>,
    has_command: bool,
}

impl ScriptRun {
    /// Prints what the script says until it ends, its target ends, the time is over, or somebody has had enough.
    fn follow(
        &mut self,
        printer: &mut ScriptPrinter,
        signals: &Signals,
        Until { duration, has_command }: Until,
    ) -> Result<TargetState, Failure> {
        // With a command, what it prints and how it ends is waited for.
        let is_over = self.session.nothing_will_happen() && !has_command;
        let began = Instant::now();
        let mut looked: Option<Instant> = None;
        loop {
            self.remember_target(began.elapsed());
            let more = self.print_new(printer)?;
            if duration.is_some_and(|duration| began.elapsed() >= duration) {
                signals.stop();
            }
            if self.ended || !printer.is_read() {
                return Ok(TargetState::Running);
            }
            if signals.is_stopped() || (is_over && !more) {
                return Ok(TargetState::Running);
            }
            if looked.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
                looked = Some(Instant::now());
                let readings = self.session.readings().map_err(failed)?;
                let (target, guard) = (readings.target, readings.guard());
                if target != TargetState::Running {
                    return Ok(target);
                }
                if guard.is_detached() {
                    self.detached = true;
                    printer.note(&format!("ENDED: {}", guard_words(&guard)));
                    return Ok(TargetState::Running);
                }
            }
            let pause = match more {
                true => Duration::ZERO,
                false if began.elapsed() < YOUNG => PAUSE / 4,
                false => PAUSE,
            };
            for number in signals.wait(pause) {
                let _ran = self.session.signal(number).map_err(failed)?;
            }
        }
    }

    /// Looks at the target's memory while it lives, often at first: what it runs is mapped then, and it may be gone soon.
    fn remember_target(&self, age: Duration) {
        let Some(pid) = self.session.started().target_pid else { return };
        let fresh = if age < YOUNG { Duration::ZERO } else { LOOK_EVERY };
        if shows_user_addresses(self.session.plan()) {
            self.names.remember(pid, fresh);
        }
    }

    /// Prints what is in the ring; says whether there is more.
    fn print_new(&mut self, printer: &mut ScriptPrinter) -> Result<bool, Failure> {
        let mut events = Vec::new();
        let polled = self.session.poll(&mut |event| events.push(event)).map_err(failed)?;
        // After the records, so that all is known that happened before them.
        self.learn(false);
        self.print(printer, &events)?;
        Ok(polled.more)
    }

    /// Notes what happened to processes, for names of addresses in them.
    fn learn(&mut self, all: bool) {
        let names = &self.names;
        self.session.processes(all, &mut |event| names.learn(event));
    }

    fn print(&mut self, printer: &mut ScriptPrinter, events: &[ScriptEvent]) -> Result<(), Failure> {
        if events.is_empty() {
            return Ok(());
        }
        self.ended |= events.iter().any(|event| matches!(event, ScriptEvent::Exit { .. }));
        let plan = self.session.plan().clone();
        if plan.kernel_stacks || plan.user_stacks {
            let stacks: Vec<(bool, u64)> = events.iter().flat_map(|event| event.stacks(&plan)).collect();
            self.load(&stacks);
        }
        printer.events(&plan, &self.names, events)
    }

    fn load(&mut self, stacks: &[(bool, u64)]) {
        for user in [false, true] {
            let ids = stacks.iter().filter(|(of, _)| *of == user).map(|(_, id)| *id);
            self.session.load_stacks(user, ids);
        }
        let frames = |(user, id): &(bool, u64)| Some(((*user, *id), self.session.stack(*user, *id)?.to_vec()));
        self.names.set_stacks(stacks.iter().filter_map(frames));
    }

    /// Attach points that are missing, where the script runs without them.
    fn tell_failed(&self, printer: &ScriptPrinter, args: &ScriptArgs) {
        let plan = self.session.plan();
        for failure in self.session.failed() {
            let name = plan.probes.get(failure.probe as usize).map_or("a probe", |probe| probe.name.as_str());
            printer.note(&format!("not attached: {name}: {}", failure.error.why));
        }
        if args.verbose > 0 {
            let sum = |of: fn(&StartedSource) -> u64| self.session.started().sources.iter().map(of).sum();
            let stats = self.session.stats();
            let ms = |ns: u64| ns as f64 / 1e6;
            printer.note(&format!(
                "{} programs of {} instructions; compiled in {:.2} ms, loaded in {:.2} ms",
                stats.programs,
                stats.instructions,
                ms(sum(|source| source.compile_ns)),
                ms(sum(|source| source.load_ns))
            ));
            plan.probes.iter().for_each(|probe| printer.note(&probe.name));
        }
    }

    /// Detaches, runs `end` probes, prints what is left, the maps, and what was lost.
    fn end(&mut self, printer: &mut ScriptPrinter, target: TargetState) -> Result<(Finished, TargetState), Failure> {
        let end_command = target == TargetState::Running;
        let (mut events, mut maps): (Vec<ScriptEvent>, Vec<MapSnapshot>) = Default::default();
        let finished = self.session.finish(end_command, &mut |event| match event {
            ScriptEvent::Final(snapshot) => maps.push(snapshot),
            event => events.push(event),
        });
        let finished = finished.map_err(failed)?;
        self.learn(true);
        self.print(printer, &events)?;
        let plan = self.session.plan().clone();
        let stacks: Vec<(bool, u64)> = maps
            .iter()
            .filter_map(|snapshot| snapshot.read(&plan))
            .flat_map(|(map, snapshot)| snapshot.stacks(map))
            .collect();
        self.load(&stacks);
        printer.maps(&plan, &self.names, maps)?;
        let mut readings =
            finished.readings.iter().flat_map(|readings| &readings.sources).map(|source| source.probes.as_slice());
        let readings = readings.next().unwrap_or_default();
        printer.lost(&plan, &self.names, losses::events(readings))?;
        printer.error(losses::text(&plan, readings).as_bytes());
        printer.tell_dropped();
        if finished.undecodable > 0 {
            printer.note(&format!("LOST {} records: they could not be decoded", finished.undecodable));
        }
        let target = finished.readings.as_ref().map_or(target, |readings| match target {
            TargetState::Running => readings.target,
            known => known,
        });
        let target = if end_command { TargetState::Running } else { target };
        Ok((finished, target))
    }
}

fn failed(error: ScriptFailure) -> Failure {
    Failure::because("following the script", error)
}

/// What the script said, else the command's, as shells tell of it, else that the guard has ended it.
fn exit_code(finished: &Finished, target: TargetState, detached: bool) -> ExitCode {
    if let Some(code) = finished.exit_code {
        return ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1));
    }
    status_of(target, detached)
}
