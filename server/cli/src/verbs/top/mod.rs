//! `top`: live samples by function and process, and what processes use, as `perf top` and `top` show them, with keys.
//!
//! Without a terminal it prints tables. Pure parts: what keys change ([`state`]), what rows there are ([`rows`]), what is drawn
//! ([`screen`]); around them what looks at the capture ([`look`]) and the terminal ([`terminal`]).

mod data;
mod keys;
mod look;
mod rows;
mod screen;
mod state;
mod tables;
mod terminal;
#[cfg(test)]
mod tests;

use std::{
    io::{Read as _, Write as _},
    process::ExitCode,
    time::Duration,
};

use bathyscope_capture::CaptureId;
use bathyscope_protocol::AgentClient;
use bathyscope_recorder::Recorder;
use clap::Args;
use ratatui_core::terminal::Terminal;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

use self::{
    data::TopData,
    keys::Key,
    look::Looks,
    state::{Action, Span, TopState},
    terminal::Screen,
};
use super::{
    capture_file::CaptureFile,
    profile::{self, ProfileArgs},
    range::duration,
    trace::{recorder_and_link, start_failure, summary, workplace},
};
use crate::{
    Failure, Outcome,
    config::{LogArgs, LogFormat, Scripts},
    launch::{OwnAgent, Workplace},
    signals::EndSignals,
};

const EXAMPLES: &str = "\
Examples:
  bathyscope top                                        time on CPUs, of everything
  bathyscope top -p 4711 -g                             one process
  bathyscope top -e page-faults -c 1
  bathyscope top --duration 10s --json > looks.ndjson

At a terminal keys choose tables, sort, filter, freeze and zoom into a process; `?` lists them. Without a terminal, or with \
--stdio, a table is printed at each look, with --json an object a line. Options are those of `bathyscope profile`.";

/// Keys that wait to be done.
const MAX_KEYS: usize = 64;

/// What `top` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    /// What is sampled, and of whom.
    #[command(flatten)]
    pub profile: ProfileArgs,
    /// Time between two looks, such as 500ms or 2s
    #[arg(long, value_name = "TIME", value_parser = every, default_value = "1s")]
    pub every: Duration,
    /// Print tables, at a terminal too
    #[arg(long)]
    pub stdio: bool,
}

fn every(text: &str) -> Result<Duration, String> {
    let fits = |time: &Duration| (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(time);
    Some(duration(text)?).filter(fits).ok_or_else(|| "write a time from 100ms to 1h".to_owned())
}

/// Samples, and shows what is found.
///
/// # Errors
/// If it cannot be started, or the terminal cannot be used.
pub fn run(args: TopArgs) -> Outcome {
    let has_screen = terminal::is_terminal() && !args.stdio && !args.profile.json;
    let spec = profile::spec(&args.profile)?;
    let of_several = spec.sources.iter().any(|source| source.method.profile().is_some_and(|it| !it.more.is_empty()));
    if of_several {
        let failure = Failure::new("several events are given, and one is shown");
        return Err(failure.remedy("`bathyscope profile` has a table for each event."));
    }
    if has_screen && !args.profile.words.is_empty() {
        let failure = Failure::new("a command would write over the table");
        return Err(failure.remedy("Start it elsewhere and write -p PID, or add --stdio."));
    }
    // Opened before rights are given up: it may be where only who started this can write.
    let file = args.profile.output.as_deref().map(CaptureFile::open).transpose()?;
    if file.as_ref().is_some_and(CaptureFile::is_stdout) {
        return Err(
            Failure::new("-o - and the table both write to standard output").remedy("Write the capture to a file.")
        );
    }
    // A log would be written over the table.
    let log = if has_screen { "off".to_owned() } else { args.profile.log_filter.clone() };
    let log = LogArgs { log_format: LogFormat::Text, log };
    let place = workplace(args.profile.save.is_some(), false, &args.profile.data)?;
    let mut agent = OwnAgent::start_at(&place, args.profile.simulate.as_ref(), Some(&log), Scripts::Off)?;
    let client = agent.client_at(&place)?;
    crate::logging::start(&log)?;
    let runtime = super::runtime()?;
    super::to_the_end(agent, runtime, watch(&args, spec, client, &place, file.as_ref(), has_screen))
}

async fn watch(
    args: &TopArgs,
    spec: bathyscope_capture::CaptureSpec,
    client: AgentClient,
    place: &Workplace,
    file: Option<&CaptureFile>,
    has_screen: bool,
) -> Outcome {
    let (store, recorder, link) = recorder_and_link(client, place).await?;
    let id = recorder.start(spec, "the command line").await.map_err(start_failure)?;
    let mut looks = Looks::new(store.clone(), recorder.clone(), id, link);
    let shown = match has_screen {
        true => show(args, &recorder, id, &mut looks).await,
        false => print(args, &recorder, id, &mut looks).await,
    };
    recorder.stop(id, "who looked at it");
    recorder.ended(id).await;
    drop(looks);
    if let Some(file) = file {
        file.write(&store, id, place.directory()).await?;
    }
    summary::print(&store, id, args.profile.save.as_deref(), recorder.detached(id).is_some()).await?;
    store.close().await;
    shown.map(|()| ExitCode::SUCCESS)
}

/// Prints a table at each look, until the capture ends.
async fn print(args: &TopArgs, recorder: &Recorder, id: CaptureId, looks: &mut Looks) -> Result<(), Failure> {
    let mut signals = EndSignals::watch()?;
    let mut next = tokio::time::interval(args.every);
    next.tick().await;
    let stored = recorder.wait(id);
    tokio::pin!(stored);
    let state = TopState { span: Span::All, ..TopState::default() };
    loop {
        let is_last = tokio::select! {
            _ = next.tick() => false,
            () = &mut stored => true,
            _ = signals.next() => true,
        };
        if is_last {
            recorder.stop(id, "the end");
            recorder.ended(id).await;
        }
        let data = looks.look(&state).await?;
        let text = match args.profile.json {
            true => serde_json::to_string(&data).map_err(|error| Failure::because("writing JSON", error))? + "\n",
            false => tables::tables(&data),
        };
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            // Whoever reads has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(Failure::because("printing the table", error)),
            Ok(()) if is_last => return Ok(()),
            Ok(()) => {}
        }
    }
}

/// Shows tables on the terminal until somebody has seen enough, or the capture ends.
async fn show(args: &TopArgs, recorder: &Recorder, id: CaptureId, looks: &mut Looks) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::because("using the terminal", error);
    let Some(screen) = Screen::open().map_err(failed)? else { return Ok(()) };
    let mut terminal = Terminal::new(screen).map_err(failed)?;
    let mut keys = read_keys()?;
    let mut resized = signal(SignalKind::window_change()).map_err(failed)?;
    let mut signals = EndSignals::watch()?;
    let mut next = tokio::time::interval(args.every);
    let stored = recorder.wait(id);
    tokio::pin!(stored);
    let (mut state, mut data) = (TopState::default(), TopData::default());
    loop {
        let rows = rows::rows(&state, &data);
        state.fit(rows.len());
        terminal.draw(|frame| screen::draw(frame, &mut state, &data, &rows)).map_err(failed)?;
        let mut wants_look = false;
        tokio::select! {
            _ = next.tick() => wants_look = !state.is_frozen,
            _ = resized.recv() => {}
            _ = signals.next() => return Ok(()),
            () = &mut stored => return Ok(()),
            pressed = keys.recv() => {
                // The terminal has gone.
                let Some(key) = pressed else { return Ok(()) };
                match state.key(key, &data, rows.len()) {
                    Some(Action::Quit) => return Ok(()),
                    Some(Action::Zero) => {
                        looks.count_from_now();
                        wants_look = true;
                    }
                    Some(Action::Look) => wants_look = true,
                    None => {}
                }
            }
        }
        if wants_look {
            data = looks.look(&state).await?;
        }
    }
}

/// Reads keys on a thread of its own, which ends with the process: a read of the terminal cannot be taken back.
fn read_keys() -> Result<mpsc::Receiver<Key>, Failure> {
    let (send, receive) = mpsc::channel(MAX_KEYS);
    let read = move || {
        let mut bytes = [0_u8; 256];
        loop {
            let Ok(count @ 1..) = std::io::stdin().lock().read(&mut bytes) else { return };
            for key in keys::keys(bytes.get(..count).unwrap_or_default()) {
                if send.blocking_send(key).is_err() {
                    return;
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("bathyscope-keys".to_owned()).spawn(read);
    thread.map(|_thread| receive).map_err(|error| Failure::because("starting a thread", error))
}
