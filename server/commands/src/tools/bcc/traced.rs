//! `trace`: a probe with a condition and a format, as a script.

use super::{
    of_script,
    probes::{Pattern, pattern},
};
use crate::{
    answer::{Refusal, Result, SpanKind},
    call::{Call, Step},
    options::Arguments,
    shell::Word,
};

/// A probe of `trace`.
struct Traced {
    /// Where it is, and whether it is where the function returns.
    point: Pattern,
    returns: bool,
    condition: Option<String>,
    /// A format, and the expressions behind it.
    format: Option<String>,
    values: Vec<String>,
}

/// Reads a command.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read(arguments: &Arguments, call: &mut Call<'_>) -> Result<Step> {
    if arguments.operands.is_empty() {
        return Err(Refusal::new(
            call.source(),
            "trace needs a probe",
            "Write one, such as 'do_sys_openat2 \"%s\", arg2@user'.",
        ));
    }
    let mut clauses = Vec::new();
    for word in &arguments.operands {
        call.marks.mark(&word.source, SpanKind::Event);
        clauses.push(clause(word, arguments, call)?);
    }
    of_script(clauses.join("\n"), arguments, None, call)
}

fn clause(word: &Word, arguments: &Arguments, call: &mut Call<'_>) -> Result<String> {
    let traced = probe(word)?;
    let point = match (&traced.point, traced.returns) {
        (Pattern::Kernel(function), false) => format!("kprobe:{function}"),
        (Pattern::Kernel(function), true) => format!("kretprobe:{function}"),
        (Pattern::File(file, function), false) => format!("uprobe:{file}:{function}"),
        (Pattern::File(file, function), true) => format!("uretprobe:{file}:{function}"),
        (Pattern::Tracepoint(system, event), _) => format!("tracepoint:{system}:{event}"),
        (Pattern::Usdt(file, probe), _) => format!("usdt:{file}:{probe}"),
    };
    let condition = traced.condition.map(|text| expression(&text, word)).transpose()?;
    let condition = condition.map(|text| format!(" /{text}/")).unwrap_or_default();
    let of_kernel = matches!(traced.point, Pattern::Kernel(_));
    let mut values = vec!["pid".to_owned(), "tid".to_owned(), "comm".to_owned()];
    let format = traced.format.unwrap_or_default();
    let marks = conversions(&format);
    if marks.len() != traced.values.len() {
        let why = format!("values for the format: {} are needed, {} given", marks.len(), traced.values.len());
        return Err(Refusal::new(word.source.clone(), why, "Write one value for each % of the format."));
    }
    let mut written = String::new();
    let mut rest = format.as_str();
    for (mark, text) in marks.iter().zip(&traced.values) {
        let (before, behind) = rest.split_once(mark.as_str()).unwrap_or((rest, ""));
        written.push_str(before);
        rest = behind;
        let in_user = text.trim().ends_with("@user");
        let bare = expression(text.trim().trim_end_matches("@user"), word)?;
        let (shown, value) = match mark.chars().last() {
            Some('s') if bare == "comm" => ("%s".to_owned(), bare),
            Some('s') if in_user && of_kernel => ("%s".to_owned(), format!("str(uptr({bare}))")),
            Some('s') => {
                if of_kernel {
                    let note = format!(
                        "the text of {text} is read from the kernel's memory; write {text}@user if it is the program's"
                    );
                    call.marks.note(&word.source, note);
                }
                ("%s".to_owned(), format!("str({bare})"))
            }
            Some('K') => ("%s".to_owned(), format!("ksym({bare})")),
            Some('U') => ("%s".to_owned(), format!("usym({bare})")),
            _ => (mark.clone(), bare),
        };
        written.push_str(&shown);
        values.push(value);
    }
    written.push_str(rest);
    let stacks: String = [("-K", "kstack"), ("-U", "ustack")]
        .iter()
        .filter(|(key, _)| arguments.has(key))
        .map(|(_, stack)| format!(" print({stack});"))
        .collect();
    let gap = if written.is_empty() { "" } else { " " };
    Ok(format!("{point}{condition} {{ printf(\"%-7d %-7d %-16s{gap}{written}\\n\", {});{stacks} }}", values.join(", ")))
}

/// `[p|r|t|u:[LIBRARY]:]FUNCTION[(SIGNATURE)] [(CONDITION)] ["FORMAT"[, VALUE…]]`
fn probe(word: &Word) -> Result<Traced> {
    let text = word.pattern()?.trim().to_owned();
    let refuse = |why: &str, remedy: &str| Refusal::new(word.source.clone(), why, remedy);
    let (head, format, values) = match text.find('"') {
        None => (text.as_str(), None, Vec::new()),
        Some(begin) => {
            let inner = text.get(begin + 1..).unwrap_or_default();
            let end = inner.find('"').ok_or_else(|| refuse("the format has no end", "Write the second quote."))?;
            let rest = inner.get(end + 1..).unwrap_or_default().trim();
            let values = rest.strip_prefix(',').map_or_else(Vec::new, split_values);
            let format = inner.get(..end).unwrap_or_default().to_owned();
            (text.get(..begin).unwrap_or_default(), Some(format), values)
        }
    };
    let head = head.trim();
    let (place, condition) = match head.split_once(char::is_whitespace) {
        None => (head, None),
        Some((place, condition)) => (place, Some(condition.trim())),
    };
    if place.contains('(') {
        return Err(refuse("names of parameters are not taken", "Write arg1, arg2 and so on."));
    }
    let condition = match condition.filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => {
            let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
            Some(
                inner
                    .ok_or_else(|| {
                        refuse("what stands behind the function is no condition", "Write it in parentheses.")
                    })?
                    .to_owned(),
            )
        }
    };
    let (returns, place) = match place.strip_prefix("r:") {
        Some(rest) => (true, rest.strip_prefix(':').unwrap_or(rest)),
        None => (false, place),
    };
    let point = pattern(&Word::made(place, word.source.clone()))?;
    Ok(Traced { point, returns, condition, format, values })
}

/// Values with commas, none of which is inside of parentheses.
fn split_values(text: &str) -> Vec<String> {
    let (mut depth, mut values, mut value) = (0_usize, Vec::new(), String::new());
    for one in text.chars() {
        match one {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                values.push(std::mem::take(&mut value).trim().to_owned());
                continue;
            }
            _ => {}
        }
        value.push(one);
    }
    values.push(value.trim().to_owned());
    values
}

/// The conversions of a format, such as `%s` and `%llx`.
fn conversions(format: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let inner = rest.get(at + 1..).unwrap_or_default();
        if let Some(behind) = inner.strip_prefix('%') {
            rest = behind;
            continue;
        }
        let end =
            inner.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'l' | 'h')).map_or(inner.len(), |end| end + 1);
        found.push(format!("%{}", inner.get(..end).unwrap_or_default()));
        rest = inner.get(end..).unwrap_or_default();
    }
    found
}

/// An expression of the probe language: arguments are counted from 0 there, from 1 with BCC.
fn expression(text: &str, word: &Word) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(one) = rest.chars().next() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if end == 0 {
            out.push(one);
            rest = rest.get(one.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (name, behind) = rest.split_at(end);
        rest = behind;
        match name {
            "$pid" | "$tgid" => out.push_str("pid"),
            "$tid" => out.push_str("tid"),
            "$comm" => out.push_str("comm"),
            "$uid" => out.push_str("uid"),
            "$gid" => out.push_str("gid"),
            "$cpu" => out.push_str("cpu"),
            "$task" => out.push_str("curtask"),
            "$ktime" => out.push_str("nsecs"),
            "STRCMP" | "$random" | "$kstack" => {
                let why = format!("`{name}` of trace is not in the probe language");
                return Err(Refusal::new(
                    word.source.clone(),
                    why,
                    "Write a script; `str(arg0) == \"text\"` compares texts.",
                ));
            }
            name => match name.strip_prefix("arg").map(str::parse::<u32>) {
                Some(Ok(number @ 1..=6)) => out.push_str(&format!("arg{}", number - 1)),
                _ => out.push_str(name),
            },
        }
    }
    Ok(out)
}
