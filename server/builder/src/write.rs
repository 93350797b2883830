//! Forms → script.

use bathyscope_bpf::lang::attach_text;

use crate::{
    form::{AggregateFunction, FormAction, ProbeForm, RecordedValue, kept_maps, normal_forms, own_map},
    limits::{MAX_PROBES, MAX_SITES, MAX_TEXT_BYTES, MAX_VALUES},
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

/// Why there is no script of several forms, and which of them is the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FormError {
    /// The number of the form, from 0.
    pub form: usize,
    /// Why.
    #[source]
    pub error: WriteError,
}

/// The script that says what the forms say: the probes of one after those of the other.
///
/// # Errors
/// What of a form cannot be written.
pub fn write(forms: &[ProbeForm]) -> Result<String, FormError> {
    if forms.is_empty() {
        return Err(FormError { form: 0, error: WriteError::NoSite { part: "the form" } });
    }
    if forms.len() > MAX_PROBES {
        let error = WriteError::TooMany { what: "probes", count: forms.len(), most: MAX_PROBES };
        return Err(FormError { form: MAX_PROBES, error });
    }
    let forms = normal_forms(forms.to_vec());
    let numbered = || forms.iter().enumerate();
    numbered().try_for_each(|(number, form)| check(form).map_err(|error| FormError { form: number, error }))?;
    maps(&forms)?;
    let script = forms.iter().map(script_of).collect::<Vec<_>>().join("\n");
    let (form, why) = match read(&script) {
        Ok(reading) if reading.forms == forms => return Ok(script),
        Ok(reading) => {
            let differs = numbered().find(|(number, form)| reading.forms.get(*number) != Some(form));
            (differs.map_or(0, |(number, _)| number), "a text of it reads as something else".to_owned())
        }
        Err(said) => (0, said.into_iter().next().map(|it| it.message).unwrap_or_default()),
    };
    Err(FormError { form, error: WriteError::Differs { why } })
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
    Ok(())
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

/// Names of maps are names, and one in which something is kept is that of no other map. Several forms may count in one.
fn maps(forms: &[ProbeForm]) -> Result<(), FormError> {
    let numbered = || forms.iter().enumerate();
    let kept: Vec<(usize, &String)> =
        numbered().flat_map(|(form, it)| kept_maps(it).map(move |name| (form, name))).collect();
    let own = numbered().filter_map(|(form, it)| own_map(it).map(|name| (form, name)));
    let own = own.filter(|(_, name)| !name.is_empty());
    for (number, (form, name)) in kept.iter().copied().chain(own).enumerate() {
        let before = kept.iter().take(number.min(kept.len()));
        let error = match name {
            name if !is_name(name) => WriteError::Name { name: name.clone() },
            name if before.clone().any(|(_, known)| *known == name) => WriteError::Twice { name: name.clone() },
            _ => continue,
        };
        return Err(FormError { form, error });
    }
    Ok(())
}
