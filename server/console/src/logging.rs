//! Logs: to standard error, as text or JSON. Event text never goes in: only ids, counts and kinds.

use tracing_subscriber::EnvFilter;

use crate::{
    Failure,
    config::{LogArgs, LogFormat},
};

/// Starts logging for this process.
///
/// # Errors
/// If the filter cannot be read, or logging was started before.
pub fn start(args: &LogArgs) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&args.log).map_err(|error| {
        Failure::because(format!("reading the log filter `{}`", args.log), error)
            .remedy("Write a level (error, warn, info, debug, trace) or module=level, separated by commas.")
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match args.log_format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::because("starting the log", error))?;
    // The payload of a panic may hold text from events; its place does not.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a panic");
    }));
    Ok(())
}
