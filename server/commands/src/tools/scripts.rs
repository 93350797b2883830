//! dtrace(1) and stap(1): their scripts are found in their commands. They are in languages of their own.

use crate::{
    answer::{Page, Refusal, Result, ScriptLanguage, SpanKind},
    call::{Call, Step},
    options::{Given, Order, Rule, Table, Takes},
};

const DTRACE: Table = Table {
    tool: "dtrace",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-n"], Takes::Value),
        Rule::taken(&["-s"], Takes::Value),
        Rule::taken(&["-l"], Takes::Nothing),
        Rule::taken(&["-P", "-m", "-f"], Takes::Value),
        Rule::taken(&["-p"], Takes::Value),
        Rule::taken(&["-c"], Takes::Value),
        Rule::ignored(&["-q", "-v", "-w", "-C", "-Z", "-F", "-H"], Takes::Nothing, "it is about dtrace itself"),
        Rule::ignored(&["-o", "-x", "-b", "-D", "-I", "-L", "-X"], Takes::Value, "it is about dtrace itself"),
    ],
};

const STAP: Table = Table {
    tool: "stap",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-e"], Takes::Value),
        Rule::taken(&["-l", "-L"], Takes::Value),
        Rule::taken(&["-x"], Takes::Value),
        Rule::taken(&["-c"], Takes::Value),
        Rule::ignored(&["-v", "-g", "-u", "-w", "-t", "-k", "-q"], Takes::Nothing, "it is about stap itself"),
        Rule::ignored(
            &["-o", "-s", "-d", "-m", "-p", "-I", "-D", "-B", "-G", "-S"],
            Takes::Value,
            "it is about stap itself",
        ),
    ],
};

/// Reads a command of dtrace.
///
/// # Errors
/// What is not understood.
pub(crate) fn read_dtrace(call: &mut Call<'_>) -> Result<Step> {
    let arguments = DTRACE.read(call.words, call.marks)?;
    if arguments.has("-l") {
        let text = arguments.last("-n").map(Given::text).transpose()?.unwrap_or_default();
        return Ok(Step::Page(Page::new("/catalog", &[("q", &text)]), "Shows what can be probed here.".to_owned()));
    }
    let mut clauses = Vec::new();
    for given in arguments.all("-n") {
        call.marks.mark(&given.word().source, SpanKind::Script);
        clauses.push(given.word().plain()?.to_owned());
    }
    of_script(ScriptLanguage::DTrace, clauses, arguments.last("-s"), &arguments.operands, call)
}

/// Reads a command of stap.
///
/// # Errors
/// What is not understood.
pub(crate) fn read_stap(call: &mut Call<'_>) -> Result<Step> {
    let arguments = STAP.read(call.words, call.marks)?;
    if let Some(given) = arguments.last("-l") {
        let text = given.text()?;
        let words = format!("Searches the catalogue for `{text}`.");
        return Ok(Step::Page(Page::new("/catalog", &[("q", &text)]), words));
    }
    let mut scripts = Vec::new();
    for given in arguments.all("-e") {
        call.marks.mark(&given.word().source, SpanKind::Script);
        scripts.push(given.word().plain()?.to_owned());
    }
    of_script(ScriptLanguage::SystemTap, scripts, None, &arguments.operands, call)
}

fn of_script(
    language: ScriptLanguage,
    mut texts: Vec<String>,
    file: Option<&Given>,
    operands: &[crate::shell::Word],
    call: &Call<'_>,
) -> Result<Step> {
    if let (true, Some(word)) = (texts.is_empty(), call.here_text()) {
        texts.push(word.plain()?.to_owned());
    }
    if texts.is_empty() {
        let at = file.map(|given| given.word().source).or_else(|| operands.first().map(|word| word.source.clone()));
        return Err(match at {
            Some(at) => {
                Refusal::new(at, "what the file has is not known here", "Paste the script itself, behind -n or -e.")
            }
            None => Refusal::new(
                call.source(),
                format!("{} needs a script", call.tool),
                "Write it behind the option -n or -e.",
            ),
        });
    }
    let parameters = operands.iter().map(|word| word.plain().map(str::to_owned)).collect::<Result<Vec<_>>>()?;
    Ok(Step::Translation(language, texts.join("\n"), parameters))
}
