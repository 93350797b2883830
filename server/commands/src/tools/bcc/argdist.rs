//! `argdist`: counts and histograms of arguments and returned values, as a script.

use super::{Arguments, interval, of_script_but, probes::Pattern, probes::pattern, seconds_of};
use crate::{
    answer::{Refusal, Result, SpanKind},
    call::{Call, Step},
    options::{Given, Rule, Takes},
    shell::Word,
};

/// Its options.
pub(super) const RULES: &[Rule] = &[
    Rule::taken(&["-H", "--histogram"], Takes::Value),
    Rule::taken(&["-C", "--count"], Takes::Value),
    Rule::taken(&["-p", "--pid"], Takes::Value),
    Rule::taken(&["--duration", "-d"], Takes::Value),
    Rule::taken(&["-i", "--interval"], Takes::Value),
    Rule::taken(&["-n", "--number"], Takes::Value),
    Rule::ignored(&["-z", "--string-size"], Takes::Value, "texts have the length that the script says"),
    Rule::ignored(&["-T", "--top"], Takes::Value, "tables are sorted and cut where they are shown"),
    Rule::ignored(&["-v", "--verbose", "-c", "--cumulative"], Takes::Nothing, "it is about how the tool prints"),
    Rule::refused(&["-I", "--include"], Takes::Value, "Types come from the kernel itself.", "Remove it."),
    Rule::refused(&["-t", "--tid"], Takes::Value, "One thread is not told apart.", "Write -p PID."),
    Rule::refused(&["-h", "--help"], Takes::Nothing, "It is about the tool itself.", "Remove it."),
];

/// What stands behind `-H` or `-C`.
struct Specifier {
    point: String,
    /// Where the function is entered, if its duration is wanted.
    entry: Option<String>,
    values: Vec<String>,
    condition: String,
}

/// Reads a command.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read(arguments: &Arguments, call: &mut Call<'_>) -> Result<Step> {
    let given: Vec<&Given> = arguments.given.iter().filter(|given| matches!(given.key, "-H" | "-C")).collect();
    if given.is_empty() {
        return Err(Refusal::new(
            call.source(),
            "argdist needs -H or -C",
            "Write one, such as -H 'r::vfs_read()' or -C 'p::kmalloc(size_t size):size_t:size'.",
        ));
    }
    let mut clauses = Vec::new();
    for (number, one) in given.iter().enumerate() {
        let word = one.word();
        call.marks.mark(&word.source, SpanKind::Event);
        let map = if given.len() == 1 { String::new() } else { (number + 1).to_string() };
        let made = clause(&specifier(&word)?, one.key == "-H", &map, &word)?;
        if made.contains("str(") && made.contains("kprobe:") {
            let note = "texts of functions of the kernel are read from its memory; a script reads those of a program with \
                        str(uptr(arg1))";
            call.marks.note(&word.source, note);
        }
        clauses.push(made);
    }
    let ends = ends(arguments, call)?;
    of_script_but(clauses.join("\n"), arguments, ends, "-n", call)
}

/// When it ends: after `-n` tables, one every `-i` seconds, or one.
fn ends(arguments: &Arguments, call: &mut Call<'_>) -> Result<Option<u64>> {
    let every = arguments.last("-i");
    let every_ms = every.map(|given| seconds_of(&given.word())).transpose()?;
    let Some(count) = arguments.last("-n") else {
        if let Some(given) = every {
            call.marks.ignore(&given.at, "the interval has no meaning here: values are shown while they change");
        }
        return interval(arguments, call);
    };
    let tables = count.text()?.parse::<u64>().ok();
    match tables.and_then(|tables| tables.checked_mul(every_ms.unwrap_or(1000))) {
        Some(total) if (1..=604_800_000).contains(&total) => Ok(Some(total)),
        _ => count.refuse("that is no number of tables", "Write a number."),
    }
}

fn clause(spec: &Specifier, is_histogram: bool, map: &str, word: &Word) -> Result<String> {
    let Specifier { point, entry, values, condition } = spec;
    let key = values.join(", ");
    let value = match (is_histogram, values.as_slice()) {
        (true, [one]) => format!("@values{map} = hist({one});"),
        (true, _) => {
            return Err(Refusal::new(word.source.clone(), "a histogram is of one value", "Name one behind the type."));
        }
        (false, []) => format!("@counts{map} = count();"),
        (false, _) => format!("@counts{map}[{key}] = count();"),
    };
    Ok(match entry {
        None => format!("{point}{condition} {{ {value} }}"),
        Some(entry) => {
            let begun = format!("@begun{map}");
            let inner = condition.trim().trim_matches('/');
            // How long it took is known only in the body.
            let value = if inner.is_empty() { value } else { format!("if ({inner}) {{ {value} }}") };
            format!(
                "{entry} {{ {begun}[tid] = nsecs; }}\n{point} /{begun}[tid]/ {{ $latency = nsecs - {begun}[tid]; {value} \
                 delete({begun}, tid); }}\nend {{ clear({begun}); }}"
            )
        }
    })
}

/// `{p|r|t|u}:[LIBRARY]:FUNCTION(SIGNATURE)[:TYPE[,TYPE]:EXPRESSION[,EXPRESSION][:CONDITION]][#LABEL]`
fn specifier(word: &Word) -> Result<Specifier> {
    let refuse = |why: &str, remedy: &str| Refusal::new(word.source.clone(), why, remedy);
    let text = word.pattern()?.split('#').next().unwrap_or_default().trim().to_owned();
    let (head, rest) = match text.split_once('(') {
        Some((head, rest)) => {
            let (signature, behind) = closing(rest)
                .ok_or_else(|| refuse("the list of parameters has no end", "Write the closing parenthesis."))?;
            (head.to_owned(), Some((signature.to_owned(), behind.to_owned())))
        }
        None => (text.clone(), None),
    };
    let mut parts = head.splitn(3, ':');
    let (kind, library, name) = match (parts.next(), parts.next(), parts.next()) {
        (Some(kind @ ("p" | "r" | "u")), Some(library), Some(name)) => (kind, library, name),
        (Some("t"), Some(system), Some(_)) => return of_tracepoint(&text, system, word),
        _ => {
            return Err(refuse(
                "that is no probe of argdist",
                "Write p::FUNCTION(), r::FUNCTION(), t:SYSTEM:EVENT or u:LIBRARY:PROBE.",
            ));
        }
    };
    let (signature, behind) = match (&rest, kind) {
        (Some((signature, behind)), _) => (signature.as_str(), behind.clone()),
        (None, "u") => ("", name.split_once(':').map_or_else(String::new, |(_, behind)| format!(":{behind}"))),
        (None, _) => return Err(refuse("the parameters of the function are missing", "Write FUNCTION().")),
    };
    let name = name.split(':').next().unwrap_or_default();
    let place = if library.is_empty() { name.to_owned() } else { format!("{library}:{name}") };
    let place = if kind == "u" { format!("u:{place}") } else { place };
    let (entry, returned) = match pattern(&Word::made(&place, word.source.clone()))? {
        Pattern::Kernel(function) => (format!("kprobe:{function}"), format!("kretprobe:{function}")),
        Pattern::File(file, function) => (format!("uprobe:{file}:{function}"), format!("uretprobe:{file}:{function}")),
        Pattern::Usdt(file, probe) => (format!("usdt:{file}:{probe}"), format!("usdt:{file}:{probe}")),
        Pattern::Tracepoint(system, event) => (format!("tracepoint:{system}:{event}"), String::new()),
    };
    let names = parameters(signature);
    let (values, condition) = asked(&behind, &names, kind == "u", word)?;
    let needs_entry = kind == "r" && values.iter().chain([&condition]).any(|text| text.contains("$latency"));
    let values = match (values.as_slice(), kind) {
        ([], "r") => vec!["retval".to_owned()],
        _ => values,
    };
    let point = if kind == "r" { returned } else { entry.clone() };
    Ok(Specifier { point, entry: needs_entry.then_some(entry), values, condition })
}

/// What is inside of a parenthesis that was opened, and what stands behind it.
fn closing(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    for (at, sign) in text.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
    }
    None
}

/// The names of the parameters of a signature, in their order.
fn parameters(signature: &str) -> Vec<String> {
    let name = |part: &str| {
        let end = part.trim().trim_end_matches("[]");
        end.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
    };
    signature.split(',').filter(|part| !part.trim().is_empty()).map(name).collect()
}

fn of_tracepoint(text: &str, system: &str, word: &Word) -> Result<Specifier> {
    let mut parts = text.splitn(4, ':').skip(2);
    let event = parts.next().unwrap_or_default().trim_end_matches("()");
    let place = format!("t:{system}:{event}");
    let Pattern::Tracepoint(system, event) = pattern(&Word::made(&place, word.source.clone()))? else {
        return Err(Refusal::new(word.source.clone(), "that is no tracepoint", "Write t:SYSTEM:EVENT."));
    };
    let behind = parts.next().map_or_else(String::new, |rest| format!(":{rest}"));
    let (values, condition) = asked(&behind, &[], false, word)?;
    Ok(Specifier { point: format!("tracepoint:{system}:{event}"), entry: None, values, condition })
}

/// `:TYPE[,TYPE]:EXPRESSION[,EXPRESSION][:CONDITION]`; types are known without being said.
fn asked(behind: &str, names: &[String], is_usdt: bool, word: &Word) -> Result<(Vec<String>, String)> {
    let Some(behind) = behind.trim().strip_prefix(':') else { return Ok((Vec::new(), String::new())) };
    let mut parts = behind.splitn(3, ':');
    let types: Vec<&str> = parts.next().unwrap_or_default().split(',').map(str::trim).collect();
    let expressions = parts.next().unwrap_or_default();
    let condition = parts.next().map(str::trim).filter(|text| !text.is_empty());
    let mut values = Vec::new();
    for (number, text) in expressions.split(',').map(str::trim).filter(|text| !text.is_empty()).enumerate() {
        let value = translated(text, names, is_usdt, word)?;
        let is_text =
            types.get(number).is_some_and(|ty| matches!(ty.replace(' ', "").as_str(), "char*" | "constchar*"));
        values.push(if is_text { format!("str({value})") } else { value });
    }
    let condition = condition.map(|text| translated(text, names, is_usdt, word)).transpose()?;
    Ok((values, condition.map(|text| format!(" /{text}/")).unwrap_or_default()))
}

/// An expression of argdist in the probe language.
fn translated(text: &str, names: &[String], is_usdt: bool, word: &Word) -> Result<String> {
    if let Some(bad) = ["$entry", "STRCMP", ";", "{", "}"].iter().find(|bad| text.contains(**bad)) {
        let why = format!("`{bad}` of argdist is not in the probe language");
        return Err(Refusal::new(word.source.clone(), why, "Write a script; `str(arg0) == \"text\"` compares texts."));
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(one) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$').unwrap_or(rest.len());
        if end == 0 {
            // Fields of a tracepoint.
            let is_field = out.ends_with("args") && rest.starts_with("->");
            out.push(if is_field { '.' } else { one });
            rest = rest.get(if is_field { 2 } else { one.len_utf8() }..).unwrap_or_default();
            continue;
        }
        let (name, behind) = rest.split_at(end);
        rest = behind;
        let number = names.iter().position(|known| known == name);
        let of_usdt = name.strip_prefix("arg").and_then(|text| text.parse::<usize>().ok()).filter(|_| is_usdt);
        let is_member = out.ends_with('.') || out.ends_with("->");
        match (name, number, of_usdt) {
            (name, ..) if is_member => out.push_str(name),
            ("$retval", ..) => out.push_str("retval"),
            ("$PID", ..) => out.push_str("pid"),
            ("$COMM", ..) => out.push_str("comm"),
            (_, Some(number), _) => out.push_str(&format!("arg{number}")),
            (_, None, Some(number)) if number > 0 => out.push_str(&format!("arg{}", number - 1)),
            (name, ..) => out.push_str(name),
        }
    }
    Ok(out)
}
