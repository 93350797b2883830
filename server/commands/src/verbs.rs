//! What verbs of Bathyscope that take the letters of a tool say of options that the tool has and the verb has not: out of the
//! tables by which pasted commands of these tools are read.

use crate::{
    options::{Meaning, Rule, Table, Takes},
    tools,
};

/// An option of a tool, as a verb answers it that does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerbAnswer {
    /// The option as it is typed: `-b`, `--seccomp-bpf`.
    pub option: &'static str,
    /// Whether it is refused; else what it asks for is so in any case, and it is left out.
    pub is_refused: bool,
    /// Whether the word behind it is its value.
    pub takes_value: bool,
    /// Whether it is said for the verb, and not of a pasted command too.
    pub for_verb: bool,
    /// Why: whole sentences where it is refused, else the end of one.
    pub why: String,
}

/// The tables of the tools whose letters a verb takes, the first of which counts more.
fn tables(verb: &str) -> &'static [Table] {
    match verb {
        "strace" => &[tools::STRACE],
        "record" => &[tools::TRACE_CMD_RECORD],
        "profile" | "top" => &[tools::PERF_RECORD],
        "stat" => &[tools::PERF_STAT],
        "trace" => &[tools::BPFTRACE],
        "report" => &[tools::TRACE_CMD_REPORT, tools::PERF_REPORT],
        "list" => &[tools::TRACE_CMD_LIST],
        "probe" => &[tools::PERF_PROBE],
        _ => &[],
    }
}

/// What a verb answers to the options of the tools whose letters it takes, each option once; that of options which it has itself
/// is of no use.
pub fn verb_answers(verb: &str) -> Vec<VerbAnswer> {
    let rules = || tables(verb).iter().flat_map(|table| table.rules);
    // What is said for the verb counts more than what is said of a pasted command of another tool.
    let own = rules().filter(|rule| rule.at_verb.is_some()).chain(rules().filter(|rule| rule.at_verb.is_none()));
    let mut answers: Vec<VerbAnswer> = Vec::new();
    for rule in own {
        // `-kk` is read letter by letter.
        for option in rule.names.iter().filter(|name| name.starts_with("--") || name.len() == 2) {
            if answers.iter().all(|known| known.option != *option) {
                answers.extend(answer(rule, option));
            }
        }
    }
    answers
}

fn answer(rule: &Rule, option: &'static str) -> Option<VerbAnswer> {
    let (is_refused, why) = match (rule.at_verb, rule.meaning) {
        (Some(says), _) => (true, says.to_owned()),
        (None, Meaning::Refused(why, "Remove it.")) => (true, why.to_owned()),
        (None, Meaning::Refused(why, nearest)) => (true, format!("{why} {nearest}")),
        (None, Meaning::Ignored(why)) => (false, why.to_owned()),
        (None, Meaning::Taken) => return None,
    };
    Some(VerbAnswer {
        option,
        is_refused,
        takes_value: rule.takes == Takes::Value,
        for_verb: rule.at_verb.is_some(),
        why,
    })
}
