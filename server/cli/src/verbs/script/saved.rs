//! A script whose output is printed and kept: a capture like those that the browser makes, looked at from the terminal
//! while it is made.

use std::{
    process::ExitCode,
    sync::mpsc::{Receiver, sync_channel},
};

use bathyscope_capture::{CaptureId, CaptureSpec, Method, ScriptSpec, SourceSpec};
use bathyscope_link::{AgentLink, words};
use bathyscope_recorder::script::ScriptEvent;
use bathyscope_recorder::{Recorder, RecorderOptions, StartError};
use bathyscope_store::{Options, Store};

use super::{
    names::ScriptNames,
    printer::ScriptPrinter,
    run::{ScriptArgs, open_printer, refused},
    signals::Signals,
};
use crate::{
    Failure, Outcome,
    config::{DataArgs, LogArgs, LogFormat},
    launch::Workplace,
    signals::EndSignals,
    verbs::{
        facts::link,
        trace::{DETACHED, print_summary},
    },
};

/// Events that may wait to be printed; the capture waits for them beyond that.
const QUEUE: usize = 1;

/// Runs it and keeps it under this name.
///
/// # Errors
/// If it cannot be run or kept, or its output not be written.
pub(crate) fn run_saved(args: &ScriptArgs, name: &str, data: &DataArgs) -> Outcome {
    if args.dry_run {
        return super::run(args);
    }
    let log = LogArgs { log_format: LogFormat::Text, log: args.log.clone() };
    // What needs rights, or must happen before there are threads.
    let mut agent = args.start_agent(&log)?;
    let place = Workplace::make(Some(&data.directory()?))?;
    let printer = open_printer(args)?;
    let client = agent.client_at(&place)?;
    crate::logging::start(&log)?;
    let runtime = crate::verbs::runtime()?;
    let link = link(client)?;
    let options = Options { now: bathyscope_recorder::boot_time(), ..Options::default() };
    let store = runtime.block_on(Store::open(place.directory(), options));
    let store = store.map_err(|error| Failure::because("opening the database", error))?;
    let recorder = Recorder::new(
        store.clone(),
        link.clone(),
        RecorderOptions { idle_stop: None, ..RecorderOptions::new(place.directory()) },
    );
    let outcome = record(args, spec(args, name), (&runtime, &store, &recorder), printer, link);
    runtime.block_on(store.close());
    // Whoever holds the connection goes before the agent, which ends with it.
    drop((recorder, runtime));
    drop(agent);
    outcome
}

fn spec(args: &ScriptArgs, name: &str) -> CaptureSpec {
    let script = ScriptSpec {
        text: args.text.clone(),
        file: args.name.clone(),
        params: args.params.clone(),
        allow_unsafe: args.allow_unsafe,
    };
    let limits = args.budgets.limits_of_a_watched_one(args.duration);
    CaptureSpec {
        name: name.to_owned(),
        sources: vec![SourceSpec::of(Method::Script(script))],
        target: args.target.clone(),
        limits,
    }
}

fn record(
    args: &ScriptArgs,
    spec: CaptureSpec,
    (runtime, store, recorder): (&tokio::runtime::Runtime, &Store, &Recorder),
    mut printer: ScriptPrinter,
    link: AgentLink,
) -> Outcome {
    let (tap, events) = sync_channel(QUEUE);
    let id = match runtime.block_on(recorder.start_tapped(spec, "the command line", tap)) {
        Ok(id) => id,
        Err(StartError::Script(error)) => return refused(args, &printer, error),
        Err(error) => return Err(Failure::new(words(&error))),
    };
    let (stopper, signals) = (recorder.clone(), Signals::default());
    printer.stop_at(signals.clone());
    let mut end = runtime.block_on(async { EndSignals::watch() })?;
    runtime.spawn(async move {
        loop {
            let reason = end.next().await;
            signals.stop();
            stopper.stop(id, reason);
        }
    });
    let printed = print(args, recorder, id, &mut printer, (link, events));
    if printed.is_err() || !printer.is_read() {
        recorder.stop(id, "its reader, which went away");
    }
    runtime.block_on(recorder.ended(id));
    let detached = recorder.detached(id).is_some();
    let code = recorder.exit_code(id).unwrap_or(if detached { i64::from(DETACHED) } else { 0 });
    runtime.block_on(print_summary(store, id, detached))?;
    printer.tell_dropped();
    printed?;
    Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)))
}

/// Prints what the script says until it has ended.
fn print(
    args: &ScriptArgs,
    recorder: &Recorder,
    id: CaptureId,
    printer: &mut ScriptPrinter,
    (link, events): (AgentLink, Receiver<ScriptEvent>),
) -> Result<(), Failure> {
    let Some(plan) = recorder.script(id) else { return Ok(()) };
    if args.warnings {
        printer.diagnostics(&plan.warnings, args.verbose > 0);
    }
    let names = ScriptNames::new(link);
    printer.attached(&plan, &names, u32::try_from(plan.probes.len()).unwrap_or(u32::MAX))?;
    let mut maps = Vec::new();
    while let Ok(event) = events.recv() {
        match event {
            ScriptEvent::Stacks(stacks) => names.set_stacks(stacks),
            ScriptEvent::Final(snapshot) => maps.push(snapshot),
            event => printer.events(&plan, &names, &[event])?,
        }
        if !printer.is_read() {
            return Ok(());
        }
    }
    printer.maps(&plan, &names, maps)
}
