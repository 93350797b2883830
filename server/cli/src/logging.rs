//! Logs: to standard error, as text or JSON. Event text never goes in: only ids, counts and kinds.

use tracing_subscriber::{
    Layer as _, filter::Targets, fmt, layer::SubscriberExt as _, registry, util::SubscriberInitExt as _,
};

use crate::{
    Failure,
    config::{LogArgs, LogFormat},
};

/// Starts logging for this process.
///
/// # Errors
/// If the filter cannot be read, or logging was started before.
pub fn start(args: &LogArgs) -> Result<(), Failure> {
    let filter: Targets = args.log.parse().map_err(|error| {
        Failure::because(format!("reading the log filter `{}`", args.log), error)
            .remedy("Write a level (error, warn, info, debug, trace) or module=level, separated by commas.")
    })?;
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let started = match args.log_format {
        LogFormat::Text => registry().with(lines.with_filter(filter)).try_init(),
        LogFormat::Json => registry().with(lines.json().flatten_event(true).with_filter(filter)).try_init(),
    };
    started.map_err(|error| Failure::because("starting the log", error))?;
    // The payload of a panic may hold text from events; its place does not.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a panic");
    }));
    Ok(())
}
