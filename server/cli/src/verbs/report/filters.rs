//! Which events of a capture are shown, and under which conditions, in the grammar of `trace-cmd report -F`.
//!
//! `EVENT[,EVENT…]: CONDITION`, where an event is `NAME`, `SYSTEM:NAME`, `SYSTEM/NAME`, `SYSTEM` or a pattern with `*`, `.*`
//! or `?`. With `!` in front, or behind `-v`, what fits is left out.

use bathyscope_link::script::matches;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};

use crate::Failure;

/// The most events that are named where there is no such one.
const NAMED: usize = 12;
/// Words of trace-cmd's filters, and of conditions here.
const FIELDS: [(&str, &str); 3] = [("COMM", "comm"), ("CPU", "cpu"), ("common_pid", "tid")];

/// A filter, and whether what fits is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportFilter {
    pub(super) text: String,
    pub(super) except: bool,
}

/// Filters in their order, since `-v` turns those behind it around.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterArgs {
    pub(super) all: Vec<ReportFilter>,
}

impl FromArgMatches for FilterArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let turned = matches.get_flag("except").then(|| matches.index_of("except")).flatten();
        let texts = matches.get_many::<String>("filter").into_iter().flatten().cloned();
        let places = matches.indices_of("filter").into_iter().flatten();
        let filter = |(at, text): (usize, String)| ReportFilter { text, except: turned.is_some_and(|turn| turn < at) };
        Ok(Self { all: places.zip(texts).map(filter).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for FilterArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let filter = Arg::new("filter").short('F').long("filter").value_name("FILTER").action(ArgAction::Append);
        let except = Arg::new("except").short('v').long("except").action(ArgAction::SetTrue);
        command
            .arg(filter.help(
                "Only these events: EVENT[,EVENT…]: CONDITION, EVENT alone, or a condition for all; .* is every event, \
                 !EVENT all but this one, COMM and CPU are the thread's name and the CPU; repeatable",
            ))
            .arg(except.help("Filters behind it say what is left out").requires("filter"))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FilterArgs {
    /// One condition on calls or samples, where there are no events to choose from: any of them is enough.
    pub(super) fn condition(&self) -> String {
        let one = |filter: &ReportFilter| {
            let text = with_own_fields(filter.text.trim());
            if filter.except { format!("!({text})") } else { text }
        };
        match self.all.as_slice() {
            [filter] => one(filter),
            several => several.iter().map(|filter| format!("({})", one(filter))).collect::<Vec<_>>().join(" || "),
        }
    }

    /// The streams that are shown, each with its condition, which may be empty.
    pub(super) fn chosen(&self, names: &[&str]) -> Result<Vec<(u16, String)>, Failure> {
        let streams = (0_u16..).zip(names);
        let mut read = Vec::new();
        for ReportFilter { text, except } in &self.all {
            let (events, condition) = split(names, text)?;
            read.push((events, with_own_fields(&condition), *except));
        }
        let takes =
            read.iter().any(|(events, _, except)| !except && !events.as_ref().is_some_and(Events::only_excepts));
        let mut chosen: Vec<(u16, String)> =
            if takes { Vec::new() } else { streams.clone().map(|(stream, _)| (stream, String::new())).collect() };
        for (events, condition, except) in &read {
            for (stream, name) in streams.clone() {
                let (fits, refused) = events.as_ref().map_or((true, false), |events| events.fits(name));
                match (fits && !except, refused || fits && *except) {
                    (_, true) => except_from(&mut chosen, stream, condition),
                    (true, false) if takes => add(&mut chosen, stream, condition),
                    _ => {}
                }
            }
        }
        chosen.sort_by_key(|(stream, _)| *stream);
        Ok(chosen)
    }
}

/// Several conditions for one event: any of them is enough, as with trace-cmd.
fn add(chosen: &mut Vec<(u16, String)>, stream: u16, condition: &str) {
    match chosen.iter_mut().find(|(known, _)| *known == stream) {
        Some((_, known)) if known.is_empty() || condition.is_empty() => known.clear(),
        Some((_, known)) => *known = format!("({known}) || ({condition})"),
        None => chosen.push((stream, condition.to_owned())),
    }
}

fn except_from(chosen: &mut Vec<(u16, String)>, stream: u16, condition: &str) {
    if condition.is_empty() {
        chosen.retain(|(known, _)| *known != stream);
    }
    for (_, known) in chosen.iter_mut().filter(|(known, _)| *known == stream) {
        *known = if known.is_empty() { format!("!({condition})") } else { format!("({known}) && !({condition})") };
    }
}

/// The events of a filter.
#[derive(Debug)]
struct Events<'a>(Vec<(&'a str, bool)>);

impl Events<'_> {
    fn only_excepts(&self) -> bool {
        self.0.iter().all(|(_, except)| *except)
    }

    /// Whether an event is among those that are meant, and among those that are left out.
    fn fits(&self, stream: &str) -> (bool, bool) {
        let of = |wanted: bool| self.0.iter().any(|(event, except)| *except == wanted && is_called(stream, event));
        (of(false), of(true))
    }
}

fn is_called(stream: &str, event: &str) -> bool {
    // `.*` of a regular expression is what `*` is here.
    let pattern = event.replace(".*", "*").replace('/', ":");
    if matches(&pattern, stream) {
        return true;
    }
    stream.split_once(':').is_some_and(|(system, name)| matches(&pattern, name) || matches(&pattern, system))
}

/// The events before the `:` that belongs to none of their names, and the condition behind it. Without events the condition
/// is for all.
fn split<'a>(names: &[&str], filter: &'a str) -> Result<(Option<Events<'a>>, String), Failure> {
    let ends = filter.match_indices(':').map(|(at, _)| at).chain([filter.len()]);
    let events = |end: usize| -> Option<Vec<(&str, bool)>> {
        let words = filter.get(..end)?.split(',').map(str::trim);
        let one = |word: &'a str| match word.strip_prefix('!') {
            Some(event) => (event.trim(), true),
            None => (word, false),
        };
        let all: Vec<_> = words.map(one).collect();
        let sign = |c: char| c.is_ascii_alphanumeric() || "_-.*?/:".contains(c);
        all.iter().all(|(event, _)| !event.is_empty() && event.chars().all(sign)).then_some(all)
    };
    let known = |event: &str| names.iter().any(|name| is_called(name, event));
    // The longest list: a name may have a colon itself.
    let Some((end, events)) = ends.filter_map(|end| Some((end, events(end)?))).next_back() else {
        return Ok((None, filter.trim().to_owned()));
    };
    if let Some((event, _)) = events.iter().find(|(event, _)| !known(event)) {
        return Err(no_event(names, event));
    }
    let condition = filter.get(end..).unwrap_or_default().trim_start_matches(':').trim();
    Ok((Some(Events(events)), condition.to_owned()))
}

fn no_event(names: &[&str], event: &str) -> Failure {
    let shown = bathyscope_capture::visible(event.as_bytes());
    let mut has: Vec<&str> = names.iter().copied().take(NAMED).collect();
    if names.len() > NAMED {
        has.push("…");
    }
    let has = if has.is_empty() { "no events".to_owned() } else { has.join(", ") };
    Failure::new(format!("this capture has no rows of `{shown}`: that event was not recorded"))
        .remedy(format!("It has {has}. A condition alone, such as 'cpu == 1', is for all of them."))
}

/// With the words for the fields of every event that conditions have here; nothing is changed within quotes.
fn with_own_fields(condition: &str) -> String {
    let mut text = String::with_capacity(condition.len());
    let (mut quote, mut word) = (None, String::new());
    let put = |word: &mut String, text: &mut String| {
        let own = FIELDS.iter().find(|(theirs, _)| theirs == word);
        text.push_str(own.map_or(word.as_str(), |(_, own)| own));
        word.clear();
    };
    for one in condition.chars() {
        let in_word = one.is_alphanumeric() || matches!(one, '_' | '.');
        if quote.is_none() && in_word {
            word.push(one);
            continue;
        }
        put(&mut word, &mut text);
        match quote {
            None if matches!(one, '"' | '\'') => quote = Some(one),
            Some(open) if open == one => quote = None,
            _ => {}
        }
        text.push(one);
    }
    put(&mut word, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(words: &[&str]) -> FilterArgs {
        let command = FilterArgs::augment_args(clap::Command::new("report"));
        let matches = command.try_get_matches_from([&["report"], words].concat()).unwrap();
        FilterArgs::from_arg_matches(&matches).unwrap()
    }

    fn chosen(words: &[&str]) -> Result<String, String> {
        let names = ["kmem:kmalloc", "sched:sched_switch", "sched:sched_wakeup", "function"];
        let found = filters(words).chosen(&names).map_err(|failure| failure.to_string())?;
        Ok(found.iter().map(|(stream, text)| format!("{stream}[{text}]")).collect())
    }

    #[test]
    fn filters_are_for_events_or_for_all() {
        let cases: [(&[&str], &str); 19] = [
            (&[], "0[]1[]2[]3[]"),
            (&["-F", "kmalloc: bytes_req > 1000"], "0[bytes_req > 1000]"),
            (&["-F", "kmem:kmalloc:bytes_req > 1000"], "0[bytes_req > 1000]"),
            (&["-F", "kmem/kmalloc:bytes_req > 1000"], "0[bytes_req > 1000]"),
            (&["-F", "kmalloc,sched_switch: cpu == 1"], "0[cpu == 1]1[cpu == 1]"),
            (&["-F", "function"], "3[]"),
            (&["-F", "sched"], "1[]2[]"),
            (&["-F", "sched_.*: CPU == 1"], "1[cpu == 1]2[cpu == 1]"),
            (
                &["-F", ".*: COMM == \"CPU\""],
                "0[comm == \"CPU\"]1[comm == \"CPU\"]2[comm == \"CPU\"]3[comm == \"CPU\"]",
            ),
            (&["-F", "cpu == 1"], "0[cpu == 1]1[cpu == 1]2[cpu == 1]3[cpu == 1]"),
            (&["-F", "kmalloc: a > 1", "-F", "kmalloc: b > 1"], "0[(a > 1) || (b > 1)]"),
            (&["-F", "kmalloc: a > 1", "-F", "kmalloc", "-F", "function"], "0[]3[]"),
            (&["-F", "!sched_switch"], "0[]2[]3[]"),
            (&["-F", "!sched_switch: cpu == 1"], "0[]1[!(cpu == 1)]2[]3[]"),
            (&["-F", "sched,!sched_switch"], "2[]"),
            (&["-v", "-F", "sched"], "0[]3[]"),
            (
                &["-F", "sched: cpu == 1", "-v", "-F", "sched_switch: common_pid == 0"],
                "1[(cpu == 1) && !(tid == 0)]2[cpu == 1]",
            ),
            (&["-v", "-F", "cpu == 1"], "0[!(cpu == 1)]1[!(cpu == 1)]2[!(cpu == 1)]3[!(cpu == 1)]"),
            (&["-F", "comm == \"a:b\""], "0[comm == \"a:b\"]1[comm == \"a:b\"]2[comm == \"a:b\"]3[comm == \"a:b\"]"),
        ];
        for (words, expected) in cases {
            assert_eq!(chosen(words).unwrap(), expected, "{words:?}");
        }
    }

    #[test]
    fn events_that_were_not_recorded_are_told() {
        for filter in
            ["kfree: bytes_req > 1000", "kfree", "kmalloc,kfree", "!kfree", "kmem/kfree: a == 1", "kmem:kfree: a == 1"]
        {
            let told = chosen(&["-F", filter]).unwrap_err();
            assert!(told.contains("kfree`: that event was not recorded"), "{filter}: {told}");
        }
    }

    #[test]
    fn conditions_on_calls_have_no_events() {
        assert_eq!(
            filters(&["-F", "CPU == 1", "-F", "duration_ns > 5"]).condition(),
            "(cpu == 1) || (duration_ns > 5)"
        );
        assert_eq!(filters(&["-v", "-F", "COMM == \"ls\""]).condition(), "!(comm == \"ls\")");
        assert_eq!(filters(&[]).condition(), "");
    }
}
