//! Flight recorders: the options of `record` that make one, and `flight`, which shows and fires those of the running console.

use std::{fmt::Write as _, time::Duration};

use bathyscope_capture::{CaptureId, FlightSpec, FlightTrigger, Limits, mebibytes, visible};
use bathyscope_console::control;
use bathyscope_recorder::Recorder;
use bathyscope_store::Store;
use clap::{Args, Subcommand};

use super::{print_all, range::duration, text};
use crate::{Failure, Outcome, config::DataArgs};

/// The most captures of one flight recorder that are listed.
const MOST_LISTED: u32 = 1000;

/// What is stored only when something happens.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Flight recorder")]
pub struct FlightArgs {
    /// Keep rows in memory, the last of this time, and store nothing until something fires; SIGUSR2 fires it too. Each firing makes a capture of its own
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["live", "output"])]
    pub flight: Option<Duration>,
    /// Fire at this: a condition on rows such as `duration_ns > 100ms`, `on STREAM if CONDITION`, `exit NAME`, `pressure memory some > 20% for 10s`, `at 0 3 * * mon Europe/Berlin`; repeatable
    #[arg(long, value_name = "TRIGGER", requires = "flight")]
    pub when: Vec<FlightTrigger>,
    /// Store so much more after a firing [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "flight")]
    pub flight_after: Option<Duration>,
    /// Memory for rows: MiB, or a size such as 1GiB [default: 64]
    #[arg(long, value_name = "SIZE", value_parser = mebibytes, requires = "flight")]
    pub flight_memory: Option<u32>,
    /// The least time between two firings [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "flight")]
    pub pause: Option<Duration>,
    /// The most firings in 24 hours [default: 24]
    #[arg(long, value_name = "N", requires = "flight")]
    pub per_day: Option<u32>,
}

impl FlightArgs {
    /// `limits` with what is asked for.
    ///
    /// # Errors
    /// If a time is not of whole seconds.
    pub(crate) fn apply(&self, limits: Limits) -> Result<Limits, Failure> {
        let Some(before) = self.flight else { return Ok(limits) };
        let usual = FlightSpec::default();
        let whole = |option: &str, time: Duration| match u32::try_from(time.as_secs()) {
            Ok(seconds) if time.subsec_nanos() == 0 => Ok(seconds),
            _ => Err(Failure::new(format!("{option} is of whole seconds, such as 30s or 2m"))),
        };
        let or = |option: &str, time: Option<Duration>, usual: u32| time.map_or(Ok(usual), |time| whole(option, time));
        let flight = FlightSpec {
            before_s: whole("--flight", before)?,
            after_s: or("--flight-after", self.flight_after, usual.after_s)?,
            memory_mib: self.flight_memory.unwrap_or(usual.memory_mib),
            pause_s: or("--pause", self.pause, usual.pause_s)?,
            per_day: self.per_day.unwrap_or(usual.per_day),
            triggers: self.when.clone(),
            announce: Vec::new(),
        };
        Ok(Limits { flight: Some(Box::new(flight)), ..limits })
    }
}

/// Fires a flight recorder whenever the process gets SIGUSR2, as `perf record` writes its snapshot then; for ever. For other captures
/// it waits for ever.
///
/// # Errors
/// If the kernel refuses to tell of signals.
pub(super) async fn fire_by_signal(recorder: &Recorder, id: CaptureId) -> Result<(), Failure> {
    if recorder.flight(id).is_none() {
        return std::future::pending().await;
    }
    let kind = tokio::signal::unix::SignalKind::user_defined2();
    let signal = tokio::signal::unix::signal(kind);
    let mut signal = signal.map_err(|error| Failure::because("watching for signals", error))?;
    while signal.recv().await.is_some() {
        let cause = bathyscope_recorder::FireCause::now(bathyscope_capture::FiringKind::Hand, "by SIGUSR2", "");
        match recorder.fire(id, cause).await {
            Ok(stored) => eprintln_words(&format!("what just happened is being stored as {stored}")),
            Err(error) => eprintln_words(&error.to_string()),
        }
    }
    std::future::pending().await
}

#[expect(clippy::print_stderr, reason = "what happens meanwhile is for whoever sits there")]
fn eprintln_words(words: &str) {
    eprintln!("bathyscope: {}", visible(words.as_bytes()));
}

/// The captures that a flight recorder has stored, a line each; empty for a capture that is none.
///
/// # Errors
/// Those of the store.
pub(super) async fn stored_lines(store: &Store, id: CaptureId) -> Result<String, Failure> {
    let failed = |error| Failure::because("reading what was stored", error);
    let mut out = String::new();
    for stored in store.stored_by(id, MOST_LISTED).await.map_err(failed)?.into_iter().rev() {
        let record = store.capture(stored).await.map_err(failed)?;
        let Some(firing) = &record.firing else { continue };
        let rows: u64 = record.streams.iter().map(|stream| stream.rows).sum();
        let (fired, value) = (visible(firing.trigger.as_bytes()), visible(firing.value.as_bytes()));
        let value = if value.is_empty() { value } else { format!(" ({value})") };
        let at = text::wall_time(firing.fired_unix_ns);
        let _infallible = writeln!(out, "stored   {stored}  {at}  {rows} rows  {fired}{value}");
    }
    Ok(out)
}

/// What `flight` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A flight recorder keeps the last rows in memory and stores them when something happens; it is started on the page New capture, or \
with `record --flight`. A console must run on the data directory, and only its user and root may ask.")]
pub struct FlightVerbArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: FlightVerb,
}

/// What can be done with flight recorders.
#[derive(Clone, Debug, Subcommand)]
pub enum FlightVerb {
    /// List the flight recorders of the running console, with what they hold
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Keep what just happened: store what a flight recorder has in memory, and what comes in the seconds after
    Keep {
        /// Which, as `list` names it [default: the only one that runs]
        #[arg(value_name = "ID")]
        id: Option<CaptureId>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Make a token with which a monitoring system fires a flight recorder, and print it: POST /api/fire/ID with `Authorization: Bearer TOKEN`
    Token {
        /// Which, as `list` names it
        #[arg(value_name = "ID")]
        id: CaptureId,
        /// Revoke the token that there is
        #[arg(long)]
        revoke: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
}

/// Shows or fires flight recorders of the running console.
///
/// # Errors
/// If no console runs there, it refuses, or it is not clear which is meant.
pub fn run(args: FlightVerbArgs) -> Outcome {
    match args.verb {
        FlightVerb::List { json, data } => {
            let running = control::flights(&data.directory()?)?;
            print_all(&if json { json_of(&running) } else { listed(&running) })
        }
        FlightVerb::Keep { id, json, data } => {
            let directory = data.directory()?;
            let id = match id {
                Some(id) => id,
                None => only(&control::flights(&directory)?)?,
            };
            let stored = control::fire(&directory, id)?;
            print_all(&if json {
                format!("{}\n", serde_json::json!({ "recorder": id, "stored": stored }))
            } else {
                format!("{stored}\n")
            })
        }
        FlightVerb::Token { id, revoke, json, data } => {
            let token = control::fire_token(&data.directory()?, id, revoke)?;
            print_all(&token_text(id, (!revoke).then_some(&token), json))
        }
    }
}

/// What is printed of a token that was made, or of one that was revoked.
fn token_text(id: CaptureId, token: Option<&String>, json: bool) -> String {
    match token {
        _ if json => {
            format!("{}\n", serde_json::json!({ "recorder": id, "token": token, "path": format!("/api/fire/{id}") }))
        }
        Some(token) => format!("{token}\n"),
        None => format!("The token of {id} is revoked.\n"),
    }
}

fn only(running: &[RunningFlight]) -> Result<CaptureId, Failure> {
    match running {
        [one] => Ok(one.id),
        [] => Err(Failure::new("no flight recorder runs").remedy("Start one on the page New capture.")),
        several => {
            let ids: Vec<String> = several.iter().map(|one| one.id.to_string()).collect();
            Err(Failure::new(format!("{} flight recorders run: {}", several.len(), ids.join(", ")))
                .remedy("Name the one that is meant."))
        }
    }
}

/// A flight recorder that runs, as the control socket tells it.
pub(super) type RunningFlight = control::KnownFlight;

fn json_of(running: &[RunningFlight]) -> String {
    format!("{}\n", serde_json::json!({ "items": running }))
}

fn listed(running: &[RunningFlight]) -> String {
    let mut out = String::new();
    for one in running {
        let held = Duration::from_nanos(one.held_ns).as_secs_f64();
        let _infallible = writeln!(
            out,
            "{}  holds {held:.0} s of {} s, {} rows, {}; {} stored  {}",
            one.id,
            one.before_s,
            one.held_rows,
            text::bytes(one.held_bytes),
            one.captures,
            visible(one.title.as_bytes())
        );
    }
    if running.is_empty() {
        out.push_str("no flight recorder runs\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_make_a_flight_recorder() {
        let none = FlightArgs::default();
        assert_eq!(none.apply(Limits::default()).unwrap().flight, None);
        let second = Duration::from_secs(1);
        let args = FlightArgs {
            flight: Some(20 * second),
            when: vec!["a == 1".parse().unwrap()],
            pause: Some(5 * second),
            ..FlightArgs::default()
        };
        let flight = args.apply(Limits::default()).unwrap().flight.unwrap();
        assert_eq!((flight.before_s, flight.after_s, flight.pause_s, flight.triggers.len()), (20, 10, 5, 1));
        let part = FlightArgs { flight: Some(Duration::from_millis(1500)), ..FlightArgs::default() };
        assert!(part.apply(Limits::default()).is_err());
    }

    #[test]
    fn a_token_is_printed_by_itself_or_with_where_it_is_sent() {
        let (id, token) = (CaptureId::from_bits(255), "abc".to_owned());
        for (token, json, expected) in [
            (Some(&token), false, "abc\n"),
            (None, false, "The token of 00000000000000ff is revoked.\n"),
            (
                Some(&token),
                true,
                "{\"path\":\"/api/fire/00000000000000ff\",\"recorder\":\"00000000000000ff\",\"token\":\"abc\"}\n",
            ),
            (
                None,
                true,
                "{\"path\":\"/api/fire/00000000000000ff\",\"recorder\":\"00000000000000ff\",\"token\":null}\n",
            ),
        ] {
            assert_eq!(token_text(id, token, json), expected);
        }
    }

    #[test]
    fn the_only_one_needs_no_name() {
        let one = |bits| RunningFlight {
            id: CaptureId::from_bits(bits),
            title: String::new(),
            before_s: 30,
            held_ns: 0,
            held_rows: 0,
            held_bytes: 0,
            is_storing: false,
            captures: 0,
            last: None,
            trouble: String::new(),
        };
        assert_eq!(only(&[one(7)]).unwrap(), CaptureId::from_bits(7));
        assert!(only(&[]).is_err() && only(&[one(1), one(2)]).is_err());
        assert!(listed(&[]).contains("no flight recorder"));
    }
}
