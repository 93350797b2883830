//! What the form holds.

use bathyscope_bpf::lang::ast::{Expr, ExprKind};
use bathyscope_catalog::syscalls::NameSet;
use serde::{Deserialize, Serialize};

use crate::{
    names::{default_name, unused},
    texts::{bare, expression, number},
};

/// The variable that holds how long it took from the first place to the second, in nanoseconds.
pub const DURATION: &str = "$duration_ns";
/// A probe, or two places with the time between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeForm {
    /// Lines above the script, without the marks of a comment.
    pub comment: String,
    /// Probe sites as the language writes them; where there is a second place, those at which it begins.
    pub sites: Vec<String>,
    /// Hits count where this expression holds; empty for all.
    pub condition: String,
    /// What is recorded of each hit. Where there is a second place it is kept until that is hit.
    pub values: Vec<RecordedValue>,
    /// The second place; a row is made there.
    pub until: Option<Pairing>,
    /// Whether the kernel's stack is recorded where the row is made.
    pub kernel_stack: bool,
    /// Whether the process's stack is.
    pub user_stack: bool,
    /// What is done with it.
    pub action: FormAction,
}

/// A second place, and how its hits are told to belong to those of the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pairing {
    /// Its probe sites.
    pub sites: Vec<String>,
    /// What is the same at both, as expressions at the first place.
    pub key: Vec<String>,
    /// The same at the second place.
    pub end_key: Vec<String>,
    /// The map that keeps when it began, without `@`.
    pub started: String,
    /// A row is made where this expression holds at the second place; it may ask for [`DURATION`]. Empty for all.
    pub condition: String,
    /// What is recorded there.
    pub values: Vec<RecordedValue>,
    /// Whether the duration is recorded.
    pub duration: bool,
}

impl Default for Pairing {
    fn default() -> Self {
        Self {
            sites: Vec::new(),
            key: vec!["tid".to_owned()],
            end_key: vec!["tid".to_owned()],
            started: "began".to_owned(),
            condition: String::new(),
            values: Vec::new(),
            duration: false,
        }
    }
}

/// A value that is recorded, or that an aggregate counts by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordedValue {
    /// The expression.
    pub expr: String,
    /// What it is called where it is kept and shown.
    pub name: String,
    /// How it is shown.
    pub format: ValueFormat,
    /// Whether it is kept as an address or number and only looked at when the second place is hit: a text of the process
    /// may not be in memory when a system call begins.
    pub late: bool,
}

/// How a value is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueFormat {
    /// As its type says: a number in decimal, an enum by name, an array of characters as text.
    #[default]
    Plain,
    /// A number in decimal, also of an enum.
    Decimal,
    /// In hexadecimal.
    Hex,
    /// In octal.
    Octal,
    /// The text at an address, up to its NUL.
    Text,
    /// So many bytes at an address.
    Bytes(u32),
    /// An IP address.
    Ip,
    /// A hardware address.
    Mac,
    /// The kernel's function at an address.
    KernelSymbol,
    /// The process's function at an address.
    UserSymbol,
    /// The path of a `struct path`.
    Path,
    /// The name of a user id.
    UserName,
    /// The name of a signal's number.
    SignalName,
    /// The name of a system call's number.
    SyscallName,
    /// What an error number means.
    ErrorName,
    /// The names of a number's bits, or of the number, by a set of them.
    Names(NameSet),
}

/// What is done with each hit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FormAction {
    /// A row with all values.
    #[default]
    Record,
    /// A row by a format of `printf`, which has a conversion for each value.
    Print {
        /// The format.
        format: String,
    },
    /// An aggregate by all values.
    Aggregate {
        /// Its name without `@`; may be empty.
        map: String,
        /// What it keeps.
        function: AggregateFunction,
        /// Of which number; empty for a count.
        #[serde(default)]
        of: String,
    },
    /// A histogram with buckets of one width, by all values.
    LinearHistogram {
        /// Its name without `@`; may be empty.
        map: String,
        /// Of which number.
        of: String,
        /// Where the first bucket begins.
        min: u32,
        /// Where the last ends.
        max: u32,
        /// How wide each is.
        step: u32,
    },
}

/// What an aggregate keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AggregateFunction {
    /// How many hits.
    Count,
    /// The total.
    Sum,
    /// The average.
    Average,
    /// The smallest.
    Minimum,
    /// The largest.
    Maximum,
    /// Count, average and total.
    Statistics,
    /// A histogram with a bucket for each power of two.
    Histogram,
}

impl AggregateFunction {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Count, Self::Sum, Self::Average, Self::Minimum, Self::Maximum, Self::Statistics, Self::Histogram];

    /// As the language calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Average => "avg",
            Self::Minimum => "min",
            Self::Maximum => "max",
            Self::Statistics => "stats",
            Self::Histogram => "hist",
        }
    }
}

impl ValueFormat {
    /// The formats that are a function of the language.
    const CALLS: [(Self, &'static str); 10] = [
        (Self::Text, "str"),
        (Self::Ip, "ntop"),
        (Self::Mac, "macaddr"),
        (Self::KernelSymbol, "ksym"),
        (Self::UserSymbol, "usym"),
        (Self::Path, "path"),
        (Self::UserName, "username"),
        (Self::SignalName, "signal_name"),
        (Self::SyscallName, "syscall_name"),
        (Self::ErrorName, "strerror"),
    ];

    /// The function of the language that makes it; none for numbers.
    pub fn function(self) -> Option<&'static str> {
        match self {
            Self::Bytes(_) => return Some("buf"),
            Self::Names(_) => return Some("flag_names"),
            _ => {}
        }
        Self::CALLS.iter().find(|(format, _)| *format == self).map(|(_, function)| *function)
    }

    /// The format that a function of the language makes of one value.
    pub(crate) fn of_function(function: &str) -> Option<Self> {
        Self::CALLS.iter().find(|(_, word)| *word == function).map(|(format, _)| *format)
    }

    /// The conversion of `printf`.
    pub(crate) fn conversion(self) -> &'static str {
        match self {
            Self::Decimal => "%ld",
            Self::Hex => "0x%lx",
            Self::Octal => "0%lo",
            Self::Bytes(_) => "%r",
            _ => "%s",
        }
    }

    /// The format that a function of the language makes, and of what.
    pub(crate) fn of_call(expr: &Expr) -> Option<(Self, &Expr)> {
        let ExprKind::Call { function, arguments } = &expr.kind else { return None };
        match (function.text.as_str(), arguments.as_slice()) {
            ("buf", [of, count]) => Some((Self::Bytes(number(count)?), of)),
            ("flag_names", [set, of]) => {
                let ExprKind::Text(name) = &set.kind else { return None };
                let set = NameSet::find(std::str::from_utf8(name).ok()?)?;
                Some((Self::Names(set), of))
            }
            (word, [of]) => Some((Self::of_function(word)?, of)),
            _ => None,
        }
    }

    /// The format of a number that a conversion shows; none if it is another one.
    pub(crate) fn of_conversion(conversion: &str) -> Option<Self> {
        [Self::Decimal, Self::Hex, Self::Octal].into_iter().find(|it| it.conversion() == conversion)
    }
}

impl ProbeForm {
    /// The form without what has no meaning in it: blanks around texts, when a value is looked at where nothing is kept,
    /// and names and formats of numbers that its script does not have.
    #[must_use]
    pub fn normal(self) -> Self {
        normal_forms(vec![self]).pop().unwrap_or_default()
    }

    /// The same among the forms of a script, whose maps have the names `taken`.
    pub(crate) fn normal_among(mut self, taken: &mut Vec<String>) -> Self {
        self.sites.iter_mut().for_each(trim);
        let exprs = self.values.iter_mut().map(|value| &mut value.expr);
        exprs.chain([&mut self.condition]).for_each(strip);
        self.comment = self.comment.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned();
        let until = self.until.iter_mut().flat_map(|until| &mut until.values);
        self.values.iter_mut().chain(until).for_each(formatted);
        let paired = self.until.is_some();
        let records = matches!(self.action, FormAction::Record);
        for value in &mut self.values {
            value.late &= paired && value.format.function().is_some();
        }
        if let Some(until) = &mut self.until {
            let Pairing { sites, key, end_key, condition, values, .. } = until;
            sites.iter_mut().for_each(trim);
            let exprs = key.iter_mut().chain(end_key).chain([condition]);
            exprs.chain(values.iter_mut().map(|value| &mut value.expr)).for_each(strip);
            values.iter_mut().for_each(|value| value.late = false);
            named(values, records, &mut Vec::new());
        }
        if paired {
            named(&mut self.values, true, taken);
        } else {
            named(&mut self.values, records, &mut Vec::new());
        }
        let until = self.until.iter_mut().flat_map(|until| &mut until.values);
        if !records {
            self.values.iter_mut().chain(until).for_each(plain);
        }
        match &mut self.action {
            FormAction::Aggregate { function: AggregateFunction::Count, of, .. } => of.clear(),
            FormAction::Aggregate { of, .. } | FormAction::LinearHistogram { of, .. } => strip(of),
            FormAction::Record | FormAction::Print { .. } => {}
        }
        self
    }
}

fn trim(text: &mut String) {
    *text = text.trim().to_owned();
}

/// What is typed with a function that makes a format of it, such as `str(arg1)`, is the value in that format.
fn formatted(value: &mut RecordedValue) {
    if value.format != ValueFormat::Plain {
        return;
    }
    let Ok(typed) = expression(&value.expr) else { return };
    if let Some((format, of)) = ValueFormat::of_call(&typed) {
        (value.expr, value.format) = (of.to_string(), format);
    }
}

/// Leaves the expression that an expression's text is.
fn strip(text: &mut String) {
    *text = bare(text).to_owned();
}

/// Gives values the names that their expressions have, and none of those that are `taken`; names that are chosen stay if
/// `keep`.
fn named(values: &mut [RecordedValue], keep: bool, taken: &mut Vec<String>) {
    for value in values {
        if !keep || value.name.is_empty() {
            value.name = unused(&default_name(&value.expr), taken);
        }
        taken.push(value.name.clone());
    }
}

/// The base of a number is told by a format of one's own, and a key has none.
fn plain(value: &mut RecordedValue) {
    if matches!(value.format, ValueFormat::Decimal | ValueFormat::Hex | ValueFormat::Octal) {
        value.format = ValueFormat::Plain;
    }
}

/// The forms of one script without what has no meaning in them, as [`ProbeForm::normal`]. Maps in which places keep what
/// the place that ends it needs have a name each.
pub(crate) fn normal_forms(forms: Vec<ProbeForm>) -> Vec<ProbeForm> {
    let mut taken: Vec<String> = forms.iter().flat_map(|form| kept_maps(form).chain(own_map(form))).cloned().collect();
    forms.into_iter().map(|form| form.normal_among(&mut taken)).collect()
}

/// The names of the maps that a form keeps something in from one place to the other, as far as they are chosen.
pub(crate) fn kept_maps(form: &ProbeForm) -> impl Iterator<Item = &String> {
    let until = form.until.iter();
    until.flat_map(|until| std::iter::once(&until.started).chain(form.values.iter().map(|value| &value.name)))
}

/// The name of the map that a form counts in.
pub(crate) fn own_map(form: &ProbeForm) -> Option<&String> {
    match &form.action {
        FormAction::Aggregate { map, .. } | FormAction::LinearHistogram { map, .. } => Some(map),
        FormAction::Record | FormAction::Print { .. } => None,
    }
}
