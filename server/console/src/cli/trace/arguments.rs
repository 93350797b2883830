//! The command line → a capture's spec, the same that the browser's form ends in.

use std::time::Duration;

use bathyscope_capture::{CaptureSpec, EventProbe, Limits, Method, Predicate, Target, TracepointName, visible};

use super::TraceArgs;
use crate::Failure;

/// Reads `500ms`, `5s`, `2m`, `1h`, or seconds without a unit.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and ms, s, m or h, such as 500ms or 5s".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_number| wrong())?;
    let factor = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).filter(|ms| *ms > 0).map(Duration::from_millis).ok_or_else(wrong)
}

/// The spec that the arguments describe. `all_fields` gives the fields of a tracepoint that can be recorded.
pub(super) fn spec(
    args: &TraceArgs,
    mut all_fields: impl FnMut(&TracepointName) -> Result<Vec<String>, Failure>,
) -> Result<CaptureSpec, Failure> {
    let predicate = args.filter.as_deref().map(Predicate::parse).transpose().map_err(|error| {
        let text = visible(args.filter.as_deref().unwrap_or_default().as_bytes());
        Failure::because(format!("reading the filter `{text}`"), error)
    })?;
    let method = match args.profile {
        Some(frequency_hz) => Method::Profile { frequency_hz, kernel_stacks: true, user_stacks: true },
        None => {
            let mut probes = Vec::new();
            for tracepoint in &args.events {
                let fields = match &args.fields {
                    Some(fields) => fields.clone(),
                    None => all_fields(tracepoint)?,
                };
                probes.push(EventProbe { tracepoint: tracepoint.clone(), fields, predicate: predicate.clone() });
            }
            Method::Events { probes }
        }
    };
    let children = !args.no_children;
    let target = match args.pid {
        Some(pid) => Target::Process { pid, children },
        None if args.command.is_empty() => Target::System,
        None => Target::Command { argv: args.command.clone(), user: args.user.clone(), children },
    };
    let duration_ms = args.duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    let limits = Limits { duration_ms, max_bytes: None, ..Limits::default() };
    let spec = CaptureSpec { name: args.save.clone().unwrap_or_default(), method, target, limits };
    spec.validate().map_err(|error| Failure::because("checking what to record", error))?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn args(words: &[&str]) -> TraceArgs {
        let cli = Cli::try_parse_from(["bathyscope", "trace"].iter().chain(words)).unwrap();
        let Some(Verb::Trace(args)) = cli.verb else { panic!() };
        args
    }

    #[test]
    fn times_have_units() {
        let cases = [("500ms", 500), ("5s", 5000), ("5", 5000), ("2m", 120_000), ("1h", 3_600_000)];
        for (text, ms) in cases {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "s", "-1s", "0s", "1d", "1.5s", "99999999999999999999s", "9999999999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn arguments_become_a_spec() {
        let all = |_: &TracepointName| Ok(vec!["a".to_owned(), "b".to_owned()]);
        let made = spec(&args(&["-e", "sched:sched_switch", "-e", "sched:sched_wakeup", "-d", "5s"]), all).unwrap();
        let Method::Events { probes } = &made.method else { panic!() };
        assert_eq!(probes.iter().map(|probe| probe.fields.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((made.target, made.limits.duration_ms), (Target::System, Some(5000)));
        let words = ["-e", "a:b", "--fields", "x,y", "--filter", "x > 1", "--no-children", "--", "ls", "-l", "--json"];
        let made = spec(&args(&words), all).unwrap();
        let Method::Events { probes } = &made.method else { panic!() };
        assert_eq!(
            (probes[0].fields.as_slice(), probes[0].predicate.is_some()),
            (["x", "y"].map(String::from).as_slice(), true)
        );
        let argv = ["ls", "-l", "--json"].map(String::from).to_vec();
        assert_eq!(made.target, Target::Command { argv, user: None, children: false });
        let made = spec(&args(&["--profile", "--pid", "7"]), all).unwrap();
        assert!(matches!(made.method, Method::Profile { frequency_hz: 99, .. }));
        assert_eq!(made.target, Target::Process { pid: 7, children: true });
        let made = spec(&args(&["--profile=999", "--save", "x"]), all).unwrap();
        assert!(matches!(made.method, Method::Profile { frequency_hz: 999, .. }));
        assert_eq!(made.name, "x");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let parse = |words: &[&str]| Cli::try_parse_from(["bathyscope", "trace"].iter().chain(words));
        for words in [
            &[][..],
            &["--profile", "-e", "a:b"],
            &["-e", "nonsense"],
            &["-e", "a:b", "--user", "root"],
            &["-e", "a:b", "--pid", "7", "--", "ls"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
        let error = spec(&args(&["-e", "a:b", "--fields", "x", "--filter", "x >"]), |_| Ok(Vec::new())).unwrap_err();
        assert!(error.report().contains("reading the filter `x >`"), "{}", error.report());
    }
}
