//! How long captures of a tag or an owner are kept, where that is not as long as others.

use std::{collections::BTreeSet, fmt, str::FromStr};

/// The most days that a rule can say.
const MAX_DAYS: u32 = 36_500;

/// Whose captures a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSubject {
    /// Those that have this tag.
    Tag(String),
    /// Those that this user started or imported.
    Owner(String),
}

impl RuleSubject {
    fn is_of(&self, owner: &str, tags: &BTreeSet<String>) -> bool {
        match self {
            Self::Tag(tag) => tags.contains(tag),
            Self::Owner(name) => name == owner,
        }
    }
}

impl fmt::Display for RuleSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "tag:{tag}"),
            Self::Owner(owner) => write!(f, "by:{owner}"),
        }
    }
}

/// How long captures of a tag or an owner are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRule {
    /// Whose.
    pub subject: RuleSubject,
    /// The most days since they ended or were imported; none for ever: neither age nor size deletes them.
    pub max_days: Option<u32>,
}

/// A text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write tag:NAME=90d, by:USER=3d, or =forever")]
pub struct ParseLabelRuleError;

impl FromStr for LabelRule {
    type Err = ParseLabelRuleError;

    fn from_str(text: &str) -> Result<Self, ParseLabelRuleError> {
        let (subject, days) = text.rsplit_once('=').ok_or(ParseLabelRuleError)?;
        let (kind, name) = subject.split_once(':').filter(|(_, name)| !name.is_empty()).ok_or(ParseLabelRuleError)?;
        let subject = match kind {
            "tag" => RuleSubject::Tag(name.to_lowercase()),
            "by" | "owner" => RuleSubject::Owner(name.to_owned()),
            _ => return Err(ParseLabelRuleError),
        };
        let max_days = match days {
            "forever" => None,
            days => {
                let number = days.strip_suffix('d').unwrap_or(days).parse().map_err(|_digits| ParseLabelRuleError)?;
                Some(number).filter(|days| (1..=MAX_DAYS).contains(days)).ok_or(ParseLabelRuleError)?.into()
            }
        };
        Ok(Self { subject, max_days })
    }
}

impl fmt::Display for LabelRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max_days {
            Some(days) => write!(f, "{}={days}d", self.subject),
            None => write!(f, "{}=forever", self.subject),
        }
    }
}

/// How long one capture is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term<'r> {
    /// Neither age nor size deletes it.
    Forever,
    /// Its age deletes it after so many days; by which rule, if it is not the one for all.
    Days(u32, Option<&'r RuleSubject>),
    /// Only size deletes it.
    AnyAge,
}

/// How long a capture is kept: of rules that are for it, the one that keeps it longest says so, else the one for all.
pub(super) fn term<'r>(
    rules: &'r [LabelRule],
    max_days: Option<u32>,
    (owner, tags): (&str, &BTreeSet<String>),
) -> Term<'r> {
    let own = rules.iter().filter(|rule| rule.subject.is_of(owner, tags));
    match own.max_by_key(|rule| rule.max_days.unwrap_or(u32::MAX)) {
        Some(LabelRule { max_days: None, .. }) => Term::Forever,
        Some(LabelRule { max_days: Some(days), subject }) => Term::Days(*days, Some(subject)),
        None => max_days.map_or(Term::AnyAge, |days| Term::Days(days, None)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn rules_are_written_and_read() {
        for (text, written) in [
            ("tag:Release=forever", "tag:release=forever"),
            ("by:ci=3d", "by:ci=3d"),
            ("owner:ada=90", "by:ada=90d"),
            ("tag:a=b=1d", "tag:a=b=1d"),
        ] {
            let rule: LabelRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), written);
            assert_eq!(written.parse::<LabelRule>().unwrap(), rule);
        }
        for text in ["", "tag:x", "tag:=3d", "host:x=3d", "tag:x=0d", "tag:x=soon", "tag:x=-1d", "tag:x=36501d"] {
            assert!(text.parse::<LabelRule>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_longest_of_the_rules_for_a_capture_holds() {
        let rules: Vec<LabelRule> =
            ["tag:slow=90d", "by:ci=3d", "tag:release=forever"].iter().map(|text| text.parse().unwrap()).collect();
        let of = |owner: &str, tags: &[&str]| {
            let tags = tags.iter().map(|&tag| tag.to_owned()).collect();
            match term(&rules, Some(30), (owner, &tags)) {
                Term::Forever => "forever".to_owned(),
                Term::Days(days, subject) => format!("{days} {}", subject.map_or(String::new(), ToString::to_string)),
                Term::AnyAge => "any".to_owned(),
            }
        };
        for (owner, tags, expected) in [
            ("ada", &[][..], "30 "),
            ("ci", &[], "3 by:ci"),
            ("ada", &["slow"], "90 tag:slow"),
            ("ci", &["slow"], "90 tag:slow"),
            ("ci", &["slow", "release"], "forever"),
            ("CI", &["slower"], "30 "),
        ] {
            assert_eq!(of(owner, tags), expected, "{owner} {tags:?}");
        }
        assert_eq!(term(&rules, None, ("ada", &BTreeSet::new())), Term::AnyAge);
    }
}
