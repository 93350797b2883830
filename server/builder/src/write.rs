//! Form → script.

use bathyscope_bpf::lang::attach_text;

use crate::{
    form::{AggregateFunction, FormAction, ProbeForm, RecordedValue},
    limits::{MAX_SITES, MAX_TEXT_BYTES, MAX_VALUES},
    names::is_name,
    read::read,
    script::script_of,
    texts::expression,
};

/// Why there is no script of a form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Nothing is probed.
    #[error("{part} has no probe site; choose one")]
    NoSite {
        /// Which place.
        part: &'static str,
    },
    /// A probe site that is none.
    #[error("`{site}` is no probe site: {why}")]
    Site {
        /// The text.
        site: String,
        /// Why not.
        why: String,
    },
    /// A text that is no expression.
    #[error("{part} `{text}` is no expression: {why}")]
    Expression {
        /// What it stands for.
        part: &'static str,
        /// The text.
        text: String,
        /// Why not.
        why: String,
    },
    /// A name that cannot be one.
    #[error("`{name}` is no name; write letters, digits and `_`, at most 64")]
    Name {
        /// The name.
        name: String,
    },
    /// Two things of one name.
    #[error("two maps would be called `@{name}`; give one of them another name")]
    Twice {
        /// The name.
        name: String,
    },
    /// Keys that cannot be compared.
    #[error("the key has {begin} parts where it begins and {end} where it ends; they are compared one by one")]
    Keys {
        /// Parts at the first place.
        begin: usize,
        /// Parts at the second.
        end: usize,
    },
    /// More than a form holds.
    #[error("{count} {what} are too many; a form has at most {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many at most.
        most: usize,
    },
    /// The script would not say what the form says.
    #[error("the script of this form would not read back as the form: {why}; write it in the editor instead")]
    Differs {
        /// What differs.
        why: String,
    },
}

/// The script that says what the form says.
///
/// # Errors
/// What of the form cannot be written.
pub fn write(form: &ProbeForm) -> Result<String, WriteError> {
    let form = form.clone().normal();
    check(&form)?;
    let script = script_of(&form);
    match read(&script) {
        Ok(reading) if reading.form == form => Ok(script),
        Ok(_) => Err(WriteError::Differs { why: "a text of it reads as something else".to_owned() }),
        Err(said) => {
            let why = said.into_iter().next().map(|it| it.message).unwrap_or_default();
            Err(WriteError::Differs { why })
        }
    }
}

fn check(form: &ProbeForm) -> Result<(), WriteError> {
    let text = |text: &String| text.len() <= MAX_TEXT_BYTES;
    if !text(&form.comment) || matches!(&form.action, FormAction::Print { format } if !text(format)) {
        return Err(WriteError::TooMany { what: "bytes of text", count: form.comment.len(), most: MAX_TEXT_BYTES });
    }
    sites(&form.sites, "the form")?;
    optional(&form.condition, "the condition")?;
    values(&form.values)?;
    if let Some(until) = &form.until {
        sites(&until.sites, "the place where it ends")?;
        optional(&until.condition, "the condition of a row")?;
        values(&until.values)?;
        let (begin, end) = (until.key.len(), until.end_key.len());
        if begin != end || begin == 0 {
            return Err(WriteError::Keys { begin, end });
        }
        until.key.iter().chain(&until.end_key).try_for_each(|key| one(key, "the key"))?;
    }
    match &form.action {
        FormAction::Record
        | FormAction::Print { .. }
        | FormAction::Aggregate { function: AggregateFunction::Count, .. } => {}
        FormAction::Aggregate { of, .. } | FormAction::LinearHistogram { of, .. } => one(of, "the number")?,
    }
    maps(form)
}

fn sites(sites: &[String], part: &'static str) -> Result<(), WriteError> {
    if sites.is_empty() {
        return Err(WriteError::NoSite { part });
    }
    if sites.len() > MAX_SITES {
        return Err(WriteError::TooMany { what: "probe sites", count: sites.len(), most: MAX_SITES });
    }
    for site in sites {
        let wrong = |why: String| WriteError::Site { site: site.clone(), why };
        let read = attach_text(site).map_err(|it| wrong(it.message))?;
        if read.text != *site {
            return Err(wrong("something stands around it".to_owned()));
        }
        if read.parts.first().is_some_and(|part| part.text == "end") {
            return Err(wrong("the form ends by itself".to_owned()));
        }
    }
    Ok(())
}

fn optional(text: &str, part: &'static str) -> Result<(), WriteError> {
    if text.is_empty() { Ok(()) } else { one(text, part) }
}

fn one(text: &str, part: &'static str) -> Result<(), WriteError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(WriteError::TooMany { what: "bytes of an expression", count: text.len(), most: MAX_TEXT_BYTES });
    }
    let wrong = |why| WriteError::Expression { part, text: text.to_owned(), why };
    expression(text).map(|_read| ()).map_err(wrong)
}

fn values(values: &[RecordedValue]) -> Result<(), WriteError> {
    if values.len() > MAX_VALUES {
        return Err(WriteError::TooMany { what: "values", count: values.len(), most: MAX_VALUES });
    }
    for value in values {
        one(&value.expr, "the value")?;
        if !is_name(&value.name) {
            return Err(WriteError::Name { name: value.name.clone() });
        }
    }
    Ok(())
}

/// Names of maps are names, and each is that of one map.
fn maps(form: &ProbeForm) -> Result<(), WriteError> {
    let own = match &form.action {
        FormAction::Aggregate { map, .. } | FormAction::LinearHistogram { map, .. } => Some(map),
        FormAction::Record | FormAction::Print { .. } => None,
    };
    let kept = form
        .until
        .iter()
        .flat_map(|until| std::iter::once(&until.started).chain(form.values.iter().map(|value| &value.name)));
    let mut taken: Vec<&String> = Vec::new();
    for name in kept.chain(own) {
        let anonymous = name.is_empty() && own == Some(name);
        if !anonymous && !is_name(name) {
            return Err(WriteError::Name { name: name.clone() });
        }
        if taken.contains(&name) {
            return Err(WriteError::Twice { name: name.clone() });
        }
        taken.push(name);
    }
    Ok(())
}
