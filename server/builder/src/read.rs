//! Script → forms.

use bathyscope_bpf::lang::{
    ast::{Block, Expr, ExprKind, Item, Probe, Script, Statement, StatementKind},
    parse,
};
use bathyscope_plan::{Diagnostic, Span};

use crate::{
    form::{AggregateFunction, DURATION, FormAction, Pairing, ProbeForm, RecordedValue, ValueFormat, normal_forms},
    limits::MAX_PROBES,
    script::{NO_VALUES, script_of},
    texts::{number, slice, text_of},
};

/// A script as forms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The forms, in the order of the script.
    pub forms: Vec<ProbeForm>,
    /// What of the script the forms do not hold and their script would not have: comments, each at its place.
    pub left_out: Vec<Diagnostic>,
}

type Held<T> = Result<T, Box<Diagnostic>>;

/// What is said of an `end` that the form does not write.
const END_MESSAGE: &str = "the form ends two places with `end`, which clears what is kept, and one with nothing";
const OTHER_WAY: &str = "the form would write this in another way; keep it as a script";

fn refuse<T>(span: Span, message: impl Into<String>, hint: &str) -> Held<T> {
    Err(Box::new(Diagnostic::error(span, message).hint(hint)))
}

/// The forms that say what a script says.
///
/// # Errors
/// What is wrong with the script, or the first place that no form can hold.
pub fn read(text: &str) -> Result<Reading, Vec<Diagnostic>> {
    let script = parse(text)?;
    held(&script, text).map_err(|it| vec![*it])
}

fn held(script: &Script, text: &str) -> Held<Reading> {
    whole(script)?;
    let probes: Vec<&Probe> = script.items.iter().filter_map(probe_of).collect();
    if probes.iter().all(|probe| is_end(probe)) {
        let span = probes.last().map_or(Span::default(), |probe| probe.span);
        return refuse(span, "there is no probe yet", "choose a probe site");
    }
    let (mut forms, mut left_out) = (Vec::new(), Vec::new());
    let comments = comment_spans(text);
    let (mut behind, mut rest) = (0, probes.as_slice());
    while let Some(first) = rest.first() {
        if forms.len() == MAX_PROBES {
            let message = format!("the builder holds at most {MAX_PROBES} probes");
            return refuse(first.span, message, "keep it as a script");
        }
        let (own, others) = rest.split_at(own_probes(rest));
        let mut form = one_form(own, text)?;
        let end = own.last().filter(|_| !others.is_empty()).map_or(u32::MAX, |last| last.span.end);
        let of_it = comments.iter().copied().filter(|span| (behind..end).contains(&span.start));
        let place = Above { behind, first: first.span.start };
        (form.comment, behind) = (place.comment(text, of_it, &mut left_out), end);
        forms.push(form);
        rest = others;
    }
    let forms = normal_forms(forms);
    let mut rest = probes.as_slice();
    for form in &forms {
        let (own, others) = rest.split_at(own_probes(rest));
        compare(form, own)?;
        rest = others;
    }
    Ok(Reading { forms, left_out })
}

/// How many of the probes that follow are of one form.
fn own_probes(probes: &[&Probe]) -> usize {
    match probes {
        [first, second, end, ..] if keeps_begin(first) && !is_end(second) && is_end(end) => 3,
        [first, second, ..] if keeps_begin(first) && !is_end(second) => 2,
        _ => 1.min(probes.len()),
    }
}

/// Whether a probe keeps when something began, as the first of two places does.
fn keeps_begin(probe: &Probe) -> bool {
    let kept = probe.body.statements.first().map(|it| &it.kind);
    let Some(StatementKind::Assign { place, op: None, value }) = kept else { return false };
    let is_kept = matches!(&place.kind, ExprKind::Map { keys, .. } if !keys.is_empty());
    is_kept && matches!(&value.kind, ExprKind::Identifier(name) if name == "nsecs")
}

/// The form of one probe, or of two places.
fn one_form(probes: &[&Probe], text: &str) -> Held<ProbeForm> {
    let reader = Reader { text };
    match probes {
        [first, second, ..] => reader.pair(first, second),
        [one] if is_end(one) => refuse(one.span, END_MESSAGE, OTHER_WAY),
        [one] => reader.single(one),
        [] => Ok(ProbeForm::default()),
    }
}

/// Refuses what no form has.
fn whole(script: &Script) -> Held<()> {
    const HINT: &str = "keep it as a script";
    let definition = script.definitions.iter().map(|span| (*span, "a C definition"));
    let defines = script.defines.iter().map(|it| (it.name.span, "a `#define`"));
    let config = script.config.iter().map(|it| (it.name.span, "a setting"));
    let imports = script.imports.iter().map(|it| (it.span, "an import"));
    let items = script.items.iter().filter_map(|item| match item {
        Item::Probe(_) => None,
        Item::Macro(it) => Some((it.span, "a macro")),
        Item::Map(it) => Some((it.span, "the declaration of a map")),
    });
    let skipped = script.skipped.iter().map(|span| (*span, "a line of the preprocessor"));
    match definition.chain(defines).chain(config).chain(imports).chain(items).chain(skipped).next() {
        Some((span, what)) => refuse(span, format!("the form has no place for {what}"), HINT),
        None => Ok(()),
    }
}

fn probe_of(item: &Item) -> Option<&Probe> {
    if let Item::Probe(probe) = item { Some(probe) } else { None }
}

fn is_end(probe: &Probe) -> bool {
    matches!(probe.points.as_slice(), [one] if one.parts.first().is_some_and(|part| part.text == "end"))
}

/// What a row is made of.
struct Row {
    action: FormAction,
    /// The expressions, with the names and conversions that a row's format gives them.
    values: Vec<RowValue>,
}

struct RowValue {
    expr: Expr,
    name: String,
    format: ValueFormat,
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn expr(&self, expr: &Expr) -> String {
        text_of(expr, self.text)
    }

    fn sites(probe: &Probe) -> Vec<String> {
        probe.points.iter().map(|point| point.text.clone()).collect()
    }

    fn single(&self, probe: &Probe) -> Held<ProbeForm> {
        let [statement] = probe.body.statements.as_slice() else {
            return self.one_row(probe.span, &probe.body);
        };
        let Row { action, mut values } = self.row(statement)?;
        let (kernel_stack, user_stack) = stacks(&mut values);
        Ok(ProbeForm {
            sites: Self::sites(probe),
            condition: probe.predicate.as_ref().map(|it| self.expr(it)).unwrap_or_default(),
            values: values.iter().map(|value| self.value(value)).collect(),
            kernel_stack,
            user_stack,
            action,
            ..ProbeForm::default()
        })
    }

    /// Says that a body is more than the form has.
    fn one_row<T>(&self, probe: Span, body: &Block) -> Held<T> {
        let hint = "the form has one `printf` or one aggregate for each hit";
        match body.statements.iter().find(|it| self.row(it).is_err()).or(body.statements.get(1)) {
            Some(more) => refuse(more.span, "the form has no place for this statement", hint),
            None => refuse(probe, "the probe does nothing", hint),
        }
    }

    fn pair(&self, first: &Probe, second: &Probe) -> Held<ProbeForm> {
        let (until, mut values) = self.begin(first)?;
        let mut statements = second.body.statements.as_slice();
        if let Some((one, rest)) = statements.split_first()
            && sets_duration(one)
        {
            statements = rest;
        }
        let Some((one, _deletes)) = statements.split_first() else {
            return refuse(second.span, "nothing is done where it ends", "add a `printf` or an aggregate");
        };
        let (condition, row) = match &one.kind {
            StatementKind::If { condition, comptime: false, then, otherwise: None } => {
                let [inner] = then.statements.as_slice() else { return self.one_row(one.span, then) };
                (self.expr(condition), self.row(inner)?)
            }
            _ => (String::new(), self.row(one)?),
        };
        let mut row_values = row.values;
        let (kernel_stack, user_stack) = stacks(&mut row_values);
        let duration = row_values.pop_if(|last| is_duration(&last.expr)).is_some();
        let mut end_values = Vec::new();
        for value in row_values {
            match Self::kept(&value.expr).and_then(|(name, _)| values.iter_mut().find(|it| it.name == name)) {
                Some(begun) => {
                    // What is kept as it is gets its function here.
                    let late = ValueFormat::of_call(&value.expr).map(|(format, _)| format);
                    begun.late = late.is_some();
                    if let Some(format) = late.or(Some(value.format).filter(is_base)) {
                        begun.format = format;
                    }
                }
                None => end_values.push(self.value(&value)),
            }
        }
        let until = Pairing {
            sites: Self::sites(second),
            end_key: self.end_key(second, &until),
            condition,
            values: end_values,
            duration,
            ..until
        };
        Ok(ProbeForm {
            sites: Self::sites(first),
            condition: first.predicate.as_ref().map(|it| self.expr(it)).unwrap_or_default(),
            values,
            until: Some(until),
            kernel_stack,
            user_stack,
            action: row.action,
            ..ProbeForm::default()
        })
    }

    /// The first place of two: when it began, and what is kept of it.
    fn begin(&self, probe: &Probe) -> Held<(Pairing, Vec<RecordedValue>)> {
        let hint = "where it begins, the form keeps `nsecs` and values in maps by a key: `@began[tid] = nsecs;`";
        let mut until: Option<Pairing> = None;
        let mut values = Vec::new();
        for statement in &probe.body.statements {
            let kept = match &statement.kind {
                StatementKind::Assign { place, op: None, value } => match &place.kind {
                    ExprKind::Map { name, keys } if !keys.is_empty() => Some((name, keys, value)),
                    _ => None,
                },
                _ => None,
            };
            let Some((name, keys, value)) = kept else {
                return refuse(statement.span, "the form has no place for this statement", hint);
            };
            if until.is_some() {
                let (format, of) = ValueFormat::of_call(value).unwrap_or((ValueFormat::Plain, value));
                values.push(RecordedValue { expr: self.expr(of), name: name.clone(), format, late: false });
            } else {
                let key: Vec<String> = keys.iter().map(|key| self.expr(key)).collect();
                until = Some(Pairing { key, started: name.clone(), ..Pairing::default() });
            }
        }
        let Some(until) = until else { return refuse(probe.span, "the first probe keeps nothing", hint) };
        Ok((until, values))
    }

    /// The key at the second place, which asks whether it began.
    fn end_key(&self, probe: &Probe, until: &Pairing) -> Vec<String> {
        match probe.predicate.as_ref().map(|it| &it.kind) {
            Some(ExprKind::Map { keys, .. }) => keys.iter().map(|key| self.expr(key)).collect(),
            _ => until.key.clone(),
        }
    }

    /// The element of a map that an expression is, or that its function shows: its name and keys.
    fn kept(expr: &Expr) -> Option<(&str, &[Expr])> {
        let expr = ValueFormat::of_call(expr).map_or(expr, |(_, of)| of);
        match &expr.kind {
            ExprKind::Map { name, keys } => Some((name, keys)),
            _ => None,
        }
    }

    fn value(&self, value: &RowValue) -> RecordedValue {
        let RowValue { expr, name, format } = value;
        let (format, expr) = ValueFormat::of_call(expr).unwrap_or((*format, expr));
        RecordedValue { expr: self.expr(expr), name: name.clone(), format, late: false }
    }

    fn row(&self, statement: &Statement) -> Held<Row> {
        let hint = "the form has `printf` and the aggregates count, sum, avg, min, max, stats, hist and lhist";
        let row = match &statement.kind {
            StatementKind::Expression(Expr { kind: ExprKind::Call { function, arguments }, .. })
                if function.text == "printf" =>
            {
                printed(arguments)
            }
            StatementKind::Assign { place, op: None, value } => self.aggregate(place, value),
            _ => None,
        };
        row.map_or_else(|| refuse(statement.span, "the form has no place for this statement", hint), Ok)
    }

    fn aggregate(&self, place: &Expr, value: &Expr) -> Option<Row> {
        let (ExprKind::Map { name, keys }, ExprKind::Call { function, arguments }) = (&place.kind, &value.kind) else {
            return None;
        };
        let map = name.clone();
        let action = match (function.text.as_str(), arguments.as_slice()) {
            ("lhist", [of, min, max, step]) => FormAction::LinearHistogram {
                map,
                of: self.expr(of),
                min: number(min)?,
                max: number(max)?,
                step: number(step)?,
            },
            (word, arguments) => {
                let function = AggregateFunction::ALL.into_iter().find(|it| it.word() == word)?;
                let of = match (function, arguments) {
                    (AggregateFunction::Count, []) => String::new(),
                    (AggregateFunction::Count, _) => return None,
                    (_, [of]) => self.expr(of),
                    _ => return None,
                };
                FormAction::Aggregate { map, function, of }
            }
        };
        let plain = |expr: &Expr| RowValue { expr: expr.clone(), name: String::new(), format: ValueFormat::Plain };
        Some(Row { action, values: keys.iter().map(plain).collect() })
    }
}

/// A `printf`: what the form records, if its format is as the form writes it, else one's own format.
fn printed(arguments: &[Expr]) -> Option<Row> {
    let (format, exprs) = arguments.split_first()?;
    let ExprKind::Text(format) = &format.kind else { return None };
    let format = String::from_utf8(format.clone()).ok()?;
    let labels = labels(&format, exprs);
    let action = if labels.is_some() { FormAction::Record } else { FormAction::Print { format } };
    let labels = labels.unwrap_or_default().into_iter().map(Some).chain(std::iter::repeat(None));
    let value = |(expr, label): (&Expr, Option<(String, ValueFormat)>)| {
        let (name, format) = label.unwrap_or_default();
        RowValue { expr: expr.clone(), name, format }
    };
    Some(Row { action, values: exprs.iter().zip(labels).map(value).collect() })
}

/// Names and formats of a row's values but for its stacks; none if the format is not as the form writes it.
fn labels(format: &str, exprs: &[Expr]) -> Option<Vec<(String, ValueFormat)>> {
    if exprs.is_empty() {
        return (format == NO_VALUES).then(Vec::new);
    }
    let is_stack =
        |expr: &&Expr| matches!(&expr.kind, ExprKind::Identifier(name) if name == "kstack" || name == "ustack");
    let stacks = exprs.iter().rev().take_while(is_stack).count();
    let mut body = format.strip_suffix('\n')?;
    for _stack in 0..stacks {
        body = body.strip_suffix("%s")?;
    }
    if body.is_empty() {
        return (stacks == exprs.len()).then(Vec::new);
    }
    let label = |part: &str| {
        let (name, conversion) = part.split_once('=')?;
        let format = match conversion {
            "%s" => ValueFormat::Plain,
            // `buf` says the rest.
            "%r" => ValueFormat::Bytes(0),
            other => ValueFormat::of_conversion(other)?,
        };
        Some((name.to_owned(), format))
    };
    let found: Vec<_> = body.split(' ').map(label).collect::<Option<_>>()?;
    (found.len() + stacks == exprs.len()).then_some(found)
}

/// Takes the stacks off the end of a row's values: the kernel's, the process's.
fn stacks(values: &mut Vec<RowValue>) -> (bool, bool) {
    let mut take = |name: &str| {
        let is_it = |value: &mut RowValue| matches!(&value.expr.kind, ExprKind::Identifier(word) if word == name);
        values.pop_if(is_it).is_some()
    };
    let user = take("ustack");
    (take("kstack"), user)
}

/// Whether a format only tells the base of a number.
fn is_base(format: &ValueFormat) -> bool {
    matches!(format, ValueFormat::Decimal | ValueFormat::Hex | ValueFormat::Octal)
}

fn is_duration(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Variable(name) if DURATION.strip_prefix('$') == Some(name))
}

fn sets_duration(statement: &Statement) -> bool {
    matches!(&statement.kind, StatementKind::Assign { place, op: None, .. } if is_duration(place))
}

/// Refuses the first place where the form's script is another one.
fn compare(form: &ProbeForm, probes: &[&Probe]) -> Held<()> {
    let hint = OTHER_WAY;
    let last = probes.last().map_or(Span::default(), |probe| probe.span);
    let written = match parse(&script_of(form)) {
        Ok(written) => written,
        Err(_) => return refuse(last, "the form cannot hold this script", hint),
    };
    let written: Vec<&Probe> = written.items.iter().filter_map(probe_of).collect();
    for (probe, wanted) in probes.iter().zip(&written) {
        if probe.to_string() == wanted.to_string() {
            continue;
        }
        if shown(probe.predicate.as_ref()) != shown(wanted.predicate.as_ref()) {
            let span = probe.predicate.as_ref().map_or(probe.span, |it| it.span);
            return refuse(span, condition_words(wanted), hint);
        }
        let (own, others) = (&probe.body.statements, &wanted.body.statements);
        let differs = own.iter().zip(others).find(|(own, other)| own.to_string() != other.to_string());
        return match (differs, own.get(others.len()), others.get(own.len())) {
            (Some((own, other)), ..) => refuse(own.span, format!("the form would write `{other}` here"), hint),
            (None, Some(more), _) => refuse(more.span, "the form has no place for this statement", hint),
            (None, None, Some(missing)) => refuse(probe.span, format!("the form would also write `{missing}`"), hint),
            (None, None, None) => refuse(probe.span, "the form cannot hold this probe", hint),
        };
    }
    if written.len() == probes.len() {
        return Ok(());
    }
    refuse(last, END_MESSAGE, hint)
}

fn shown(expr: Option<&Expr>) -> String {
    expr.map(ToString::to_string).unwrap_or_default()
}

fn condition_words(wanted: &Probe) -> String {
    match &wanted.predicate {
        Some(predicate) => format!("the form would write the condition `{predicate}` here"),
        None => "the form has no condition here".to_owned(),
    }
}

/// Where the comments of a form stand.
struct Above {
    /// Where the probes before it end.
    behind: u32,
    /// Where its own begin.
    first: u32,
}

impl Above {
    /// The lines of comment above a form's probes. Those that the form does not hold are left out.
    fn comment(&self, text: &str, spans: impl Iterator<Item = Span>, left_out: &mut Vec<Diagnostic>) -> String {
        let mut top = Vec::new();
        let mut above = true;
        for span in spans {
            let comment = slice(text, span);
            // Behind a probe on its line it is about that.
            let before = Span { start: self.behind, end: span.start };
            let is_behind = self.behind > 0 && top.is_empty() && !slice(text, before).contains('\n');
            if above && span.start < self.first && !is_behind && !comment.starts_with("/*") {
                top.push(comment.trim_start_matches('/').trim());
                continue;
            }
            above &= is_behind;
            let message = "the form does not keep this comment";
            left_out.push(Diagnostic::warning(span, message).hint("put it above the probe"));
        }
        top.join("\n")
    }
}

/// The comments of a script that can be read, without its texts and the paths of its probe sites.
fn comment_spans(text: &str) -> Vec<Span> {
    let bytes = text.as_bytes();
    let (mut found, mut at, mut depth) = (Vec::new(), 0, 0_u32);
    let mut word_before = false;
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => quoted_length(rest),
            // A path has no comments: `uprobe:/usr//bin/bash`.
            b'/' if depth == 0 && word_before => 1,
            b'/' if rest.starts_with(b"//") => rest.iter().position(|it| *it == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => {
                rest.windows(2).skip(2).position(|it| it == b"*/").map_or(rest.len(), |end| end + 4)
            }
            b'#' if rest.starts_with(b"#!") && at == 0 => rest.iter().position(|it| *it == b'\n').unwrap_or(rest.len()),
            _ => 1,
        };
        if length > 1 && *byte == b'/' {
            let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            found.push(Span { start: place(at), end: place(at + length) });
        }
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        word_before = !byte.is_ascii_whitespace() && !matches!(byte, b'}' | b'{' | b',');
        at += length;
    }
    found
}

/// Bytes of a text in quotes, with the quotes.
fn quoted_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}
