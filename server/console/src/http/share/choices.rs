//! What the maker of a share chose that it does not tell, and whether it has a preview.

use std::{fmt::Write as _, sync::Arc};

use bathyscope_reader::{CaptureView, REMOVAL_KEY_BYTES, Removal, RemovedKind, ViewQuery};
use bathyscope_store::ShareRecord;
use bathyscope_views::{Cancel, ViewError};
use serde::{Deserialize, Serialize};

use super::{AskedShare, ShareError, ShareId, SharedPart};
use crate::previews::{empty_preview, preview_picture};

/// Stands for the filter of a part.
const A_FILTER: &str = "a filter that is not told";

/// What is kept of the choices with what a share shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct KeptChoices {
    /// Notes are shown though something is removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    notes: bool,
    /// Results of queries are shown though something is removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    results: bool,
    /// Views on the investigation can be opened.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    views: bool,
    /// The key by which placeholders are made, in base sixteen; empty where nothing is removed.
    #[serde(skip_serializing_if = "String::is_empty")]
    key: String,
}

/// What is drawn for a share that is to be made: its name, and the key of its placeholders.
#[derive(Clone, Copy)]
pub struct DrawnShare {
    pub(super) id: ShareId,
    key: [u8; REMOVAL_KEY_BYTES],
}

impl std::fmt::Debug for DrawnShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DrawnShare").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A name and a key for a link that is to be made.
///
/// # Errors
/// If the kernel gives no randomness.
pub fn draw_share() -> Result<DrawnShare, getrandom::Error> {
    let mut key = [0; REMOVAL_KEY_BYTES];
    getrandom::fill(&mut key)?;
    Ok(DrawnShare { id: ShareId(getrandom::u64()?), key })
}

/// What a share does not tell.
#[derive(Clone, Debug)]
pub struct ShareChoices {
    removal: Option<Arc<Removal>>,
    removes: Vec<RemovedKind>,
    notes: bool,
    results: bool,
    views: bool,
}

impl ShareChoices {
    /// As the store keeps them; none if this program does not know all of it.
    pub(super) fn of(record: &ShareRecord, kept: &KeptChoices) -> Option<Self> {
        let words = record.removes.split(' ').filter(|word| !word.is_empty());
        let removes: Vec<RemovedKind> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        if removes.is_empty() {
            return Some(Self { removal: None, removes, notes: true, results: true, views: kept.views });
        }
        let removal = Removal::new(&removes, key_of(&kept.key)?, record.title.clone()).map(Arc::new);
        Some(Self { removal, removes, notes: kept.notes, results: kept.results, views: kept.views })
    }

    /// What is removed from captures; none if nothing is.
    pub fn removal(&self) -> Option<&Arc<Removal>> {
        self.removal.as_ref()
    }

    /// The same as a list.
    pub fn removes(&self) -> &[RemovedKind] {
        &self.removes
    }

    /// Whether notes are shown.
    pub fn has_notes(&self) -> bool {
        self.notes
    }

    /// Whether results of queries are shown.
    pub fn has_results(&self) -> bool {
        self.results
    }

    /// Whether views that stand on the investigation can be opened.
    pub fn opens_views(&self) -> bool {
        self.views
    }

    /// What such a view shows: the notes on its capture do not stand on the investigation.
    pub(super) fn for_view(&self) -> Self {
        Self { notes: false, results: false, views: false, ..self.clone() }
    }

    /// The part that a share shows, as it is told to whoever sees it: a filter has values that are removed.
    pub(in crate::http) fn told_part(&self, part: SharedPart) -> SharedPart {
        if self.removal.is_none() || part.filter.is_empty() {
            part
        } else {
            SharedPart { filter: A_FILTER.to_owned(), ..part }
        }
    }

    /// Who made it, as that is told likewise; empty if names are removed.
    pub(in crate::http) fn told_owner(&self, owner: &str) -> String {
        if self.removes.contains(&RemovedKind::Names) { String::new() } else { bathyscope_capture::shown(owner) }
    }
}

fn key_of(text: &str) -> Option<[u8; REMOVAL_KEY_BYTES]> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|one| u8::try_from(one).ok())).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * REMOVAL_KEY_BYTES)?;
    let (pairs, _) = digits.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    bytes.try_into().ok()
}

/// A moment of a capture, exactly: `1.5 s`.
pub(super) fn seconds(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    let (whole, part) = (ns / 1_000_000_000, ns % 1_000_000_000);
    if part == 0 {
        return format!("{sign}{whole} s");
    }
    let part = format!("{part:09}");
    format!("{sign}{whole}.{} s", part.trim_end_matches('0'))
}

impl SharedPart {
    /// For the audit log.
    pub(super) fn words(&self) -> String {
        let range = match (self.start, self.end) {
            (None, None) => "all of its time".to_owned(),
            (Some(start), None) => format!("from {} on", seconds(start)),
            (None, Some(end)) => format!("until {}", seconds(end)),
            (Some(start), Some(end)) => format!("from {} to {}", seconds(start), seconds(end)),
        };
        if self.filter.is_empty() { range } else { format!("{range}, rows with `{}`", self.filter) }
    }

    /// Fails if nothing of a capture that lasted so long is in its range.
    pub(super) fn check_within(&self, lasted_ns: u64) -> Result<(), ShareError> {
        let last = i64::try_from(lasted_ns).unwrap_or(i64::MAX);
        // What happened at its very end is in it.
        if self.start.is_some_and(|start| start > last) || self.end.is_some_and(|end| end <= 0) {
            let why = format!("the part, {}, is outside of the capture, which lasted {}", self.words(), seconds(last));
            return Err(ShareError::Refused(why));
        }
        Ok(())
    }
}

impl AskedShare {
    /// Whether something is removed.
    pub(super) fn removes_something(&self) -> bool {
        !self.remove.is_empty()
    }

    /// What is called so if nobody says how: not what people have called it among themselves, where that is not to be told.
    pub(super) fn title_or(&self, usual: String) -> String {
        match (self.title.trim(), self.removes_something() || self.preview, self.investigation) {
            ("", false, _) => usual,
            ("", true, None) => "A capture".to_owned(),
            ("", true, Some(_)) => "An investigation".to_owned(),
            (title, ..) => title.to_owned(),
        }
    }

    /// The words of what is removed, as the store keeps them.
    pub(super) fn removed_words(&self) -> String {
        let words = RemovedKind::ALL.into_iter().filter(|kind| self.remove.contains(kind));
        words.map(RemovedKind::word).collect::<Vec<_>>().join(" ")
    }

    /// What is kept of its choices.
    pub(super) fn kept_choices(&self, drawn: &DrawnShare) -> KeptChoices {
        let mut key = String::new();
        if self.removes_something() {
            for byte in drawn.key {
                // Writing to a String cannot fail.
                let _infallible = write!(key, "{byte:02x}");
            }
        }
        KeptChoices { notes: self.notes, results: self.results, views: self.views, key }
    }

    /// What is wrong with its choices.
    pub(super) fn check_choices(&self) -> Result<(), ShareError> {
        let refused = |why: &str| Err(ShareError::Refused(why.to_owned()));
        if !self.removes_something() && (self.notes || self.results) {
            return refused(
                "nothing is removed, so notes and results are shown anyway: `notes` and `results` belong to `remove`",
            );
        }
        if self.results && self.investigation.is_none() {
            return refused("a share of a capture has no results of queries: `results` belongs to an `investigation`");
        }
        if self.views && self.investigation.is_none() {
            return refused("a share of a capture is its view: `views` belongs to an `investigation`");
        }
        Ok(())
    }

    /// Whether a capture has to be looked at before a link to it is made.
    pub(crate) fn needs_look(&self) -> bool {
        self.part.is_some() || self.removes_something() || self.preview
    }

    /// Looks whether the capture has such a part, and can be shown without what is removed; gives the picture of the preview, if one is
    /// wanted. It reads the rows of the part, so it must run where it may wait.
    ///
    /// # Errors
    /// Why it cannot be shown so.
    pub(crate) fn look(
        &self,
        drawn: &DrawnShare,
        view: &CaptureView,
        cancel: &Cancel,
    ) -> Result<Option<Vec<u8>>, ViewError> {
        let part = match &self.part {
            Some(part) => view.narrowed(drawn.id.bits(), &part.scope(view)?, cancel)?,
            None => view.clone(),
        };
        let left = match Removal::new(&self.remove, drawn.key, "") {
            Some(removal) => part.without(&Arc::new(removal), None, cancel)?,
            None => part,
        };
        let range =
            self.part.as_ref().map(|part| ViewQuery { start: part.start, end: part.end, ..ViewQuery::default() });
        self.preview.then(|| preview_picture(&left, &range.unwrap_or_default(), cancel)).transpose()
    }

    /// The picture of the preview of what has no capture of its own.
    pub(crate) fn usual_picture(&self) -> Option<Vec<u8>> {
        self.preview.then(empty_preview)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn record(removes: &str) -> ShareRecord {
        ShareRecord {
            id: 1,
            kind: "capture".to_owned(),
            object: "00000000000000ff".to_owned(),
            scope: String::new(),
            title: "t".to_owned(),
            owner: "ada".to_owned(),
            created_unix_ns: 0,
            expires_unix_ns: 0,
            last_used_unix_ns: None,
            uses: 0,
            removes: removes.to_owned(),
            has_preview: false,
        }
    }

    #[test]
    fn a_part_is_told_in_words_and_is_within_its_capture() {
        let part = |start, end, filter: &str| SharedPart { start, end, filter: filter.to_owned() };
        for (part, words, is_within) in [
            (part(None, None, "pid == 4"), "all of its time, rows with `pid == 4`", true),
            (part(Some(0), None, ""), "from 0 s on", true),
            (part(Some(2_000_000_000), None, ""), "from 2 s on", true),
            (part(Some(2_000_000_001), None, ""), "from 2.000000001 s on", false),
            (part(None, Some(0), ""), "until 0 s", false),
            (part(None, Some(-250_000_000), ""), "until -0.25 s", false),
            (part(Some(-5), Some(1), ""), "from -0.000000005 s to 0.000000001 s", true),
            (part(Some(500_000_000), Some(9_000_000_000), "x"), "from 0.5 s to 9 s, rows with `x`", true),
        ] {
            assert_eq!((part.words().as_str(), part.check_within(2_000_000_000).is_ok()), (words, is_within));
        }
    }

    #[test]
    fn choices_that_are_not_known_show_nothing() {
        let with = |key: &str| KeptChoices { key: key.to_owned(), ..KeptChoices::default() };
        let key = "0123456789abcdef0123456789abcdef";
        for (removes, key, known) in [
            ("", "", true),
            ("paths", key, true),
            ("paths names", key, true),
            ("paths wishes", key, false),
            ("paths", "", false),
            ("paths", &key[1..], false),
            ("paths", "xx23456789abcdef0123456789abcdef", false),
        ] {
            assert_eq!(ShareChoices::of(&record(removes), &with(key)).is_some(), known, "{removes} {key}");
        }
        let all = ShareChoices::of(&record(""), &with("")).unwrap();
        assert!(all.has_notes() && all.has_results() && all.removal().is_none());
        let some = ShareChoices::of(&record("names"), &with(key)).unwrap();
        assert!(!some.has_notes() && !some.has_results() && some.removal().unwrap().removes(RemovedKind::Names));
        let part = SharedPart { filter: "comm == \"secret\"".to_owned(), ..SharedPart::default() };
        assert_eq!((some.told_part(part.clone()).filter.as_str(), some.told_owner("ada").as_str()), (A_FILTER, ""));
        assert_eq!((all.told_part(part.clone()), all.told_owner("ada").as_str()), (part, "ada"));
    }

    #[test]
    fn the_title_of_what_it_shows_is_not_told_where_something_is_removed_or_shown_to_anybody() {
        let asked = |remove: &[RemovedKind], preview, title: &str| AskedShare {
            remove: remove.to_vec(),
            preview,
            title: title.to_owned(),
            ..serde_json::from_str(r#"{"capture":"00000000000000ff"}"#).unwrap()
        };
        let usual = || "ls /secret".to_owned();
        assert_eq!(asked(&[], false, "").title_or(usual()), "ls /secret");
        assert_eq!(asked(&[RemovedKind::Paths], false, " ").title_or(usual()), "A capture");
        assert_eq!(asked(&[], true, "").title_or(usual()), "A capture");
        assert_eq!(asked(&[], true, " mine ").title_or(usual()), "mine");
        let both = asked(&[RemovedKind::Names, RemovedKind::Arguments, RemovedKind::Names], false, "");
        assert_eq!(both.removed_words(), "arguments names");
    }
}
