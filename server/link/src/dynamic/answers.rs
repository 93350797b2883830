//! Answers to what `perf probe` can be asked, for those who paste such a question among their probes.

use bathyscope_catalog::dynamic::{Asked, ProbeVariable, Question};
use bathyscope_plan::Diagnostic;

use super::{Checked, KernelFacts, functions_of, one, span, variables_in_program, variables_of};
use crate::{ScriptAgent, script::matches};

/// The most lines of an answer.
const MOST_LINES: usize = 200;

/// What was asked, and the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventAnswer {
    /// The command.
    pub asked: String,
    /// Bytes before what it asks about.
    pub at: usize,
    /// The answer.
    pub lines: Vec<String>,
}

/// Answers a question, or tells why that cannot be done.
pub(super) fn answer(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    asked: &Asked,
    pid: Option<u32>,
    checked: &mut Checked,
) {
    let lines = match &asked.question {
        Question::Variables { function, file: Some(file) } => {
            variables_in_program(agent, pid, file, function).map(|found| told(&found))
        }
        Question::Variables { function, file: None } => variables_at(agent, facts, function),
        Question::Functions { pattern, file } => {
            functions(agent, facts, pid, pattern.as_deref().unwrap_or("*"), file.as_deref())
        }
        Question::List { .. } => Ok(vec![
            "The probes that there are, and who made them, are listed under Host, and by `bathyscope probe --list`."
                .to_owned(),
        ]),
        Question::Definition(typed) => match one(agent, facts, typed, pid) {
            Ok(resolved) => Ok([resolved.definition.to_string()].into_iter().chain(resolved.notes).collect()),
            Err(trouble) => {
                checked.troubles.push(trouble);
                return;
            }
        },
    };
    match lines {
        Ok(lines) => checked.answers.push(EventAnswer { asked: asked.text.clone(), at: asked.at, lines }),
        Err(why) => {
            let end = match &asked.question {
                Question::Variables { function, .. } => asked.at + function.len(),
                _ => asked.at + asked.text.len(),
            };
            checked.troubles.push(Diagnostic::error(span(asked.at, end), why));
        }
    }
}

/// As `perf probe -V` prints them.
fn variables_at(agent: &mut impl ScriptAgent, facts: &mut KernelFacts, function: &str) -> Result<Vec<String>, String> {
    let name = function.split(['%', '+']).next().unwrap_or(function);
    let (module, name) = name.split_once(':').map_or((None, name), |(module, name)| (Some(module), name));
    variables_of(agent, facts, module, name).map(|found| told(&found))
}

/// Variables with how each is recorded, a line each, then what is to be known of them.
fn told((found, notes): &(Vec<ProbeVariable>, Vec<String>)) -> Vec<String> {
    let one = |variable: &ProbeVariable| match &variable.argument {
        Some(argument) => format!("{variable}    {argument}"),
        None => variable.to_string(),
    };
    found.iter().map(one).chain(notes.iter().cloned()).collect()
}

fn functions(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    pid: Option<u32>,
    pattern: &str,
    file: Option<&str>,
) -> Result<Vec<String>, String> {
    let names = match file {
        Some(file) => functions_of(agent, pid, file)?.1,
        None => facts.functions(agent).beginning_with("").map(str::to_owned).collect(),
    };
    let mut found: Vec<String> = names.into_iter().filter(|name| matches(pattern, name)).collect();
    if found.is_empty() {
        return Err(format!("no function of {} matches `{pattern}`", file.unwrap_or("the kernel")));
    }
    let more = found.len().saturating_sub(MOST_LINES);
    found.truncate(MOST_LINES);
    if more > 0 {
        found.push(format!("and {more} more; `bathyscope probe --funcs PATTERN` lists all"));
    }
    Ok(found)
}
