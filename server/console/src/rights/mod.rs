//! Who may read and change captures, where that is not as roles say: lists of captures and of tags, and groups of people, as people
//! write them at a terminal and as they stand in the audit log.

mod terminal;

use bathyscope_capture::shown;
use bathyscope_store::{CaptureRight, GivenRight, RightHolder};

pub use terminal::{DoneRights, RightsError, TerminalRights, TerminalRightsAnswer, rights_at_terminal};

/// What stands before the name of a group.
const GROUP: &str = "group:";
/// What stands before the name of a group of the proxy in front.
const PROXY_GROUP: &str = "proxy-group:";
/// What stands before the name of a group of the provider.
const OIDC_GROUP: &str = "oidc-group:";
/// What stands before the name of a person who is called as something else here.
const PERSON: &str = "person:";
const EVERYBODY: &str = "everybody";

/// What a name is.
type Named = fn(String) -> RightHolder;
/// Texts before names, with what such a name is.
const PREFIXES: [(&str, Named); 4] = [
    (GROUP, RightHolder::Group),
    (PERSON, RightHolder::Person),
    (PROXY_GROUP, RightHolder::ProxyGroup),
    (OIDC_GROUP, RightHolder::OidcGroup),
];

/// To whom a text gives something: `everybody`, `group:NAME`, `proxy-group:NAME`, `oidc-group:NAME`, `person:NAME` or `NAME`.
pub fn right_holder(text: &str) -> RightHolder {
    let text = text.trim();
    let found = PREFIXES.iter().find_map(|(prefix, of)| Some(of(text.strip_prefix(prefix)?.trim().to_owned())));
    found.unwrap_or_else(|| match text {
        EVERYBODY => RightHolder::Everybody,
        name => RightHolder::Person(name.to_owned()),
    })
}

/// Somebody as [`right_holder`] reads them.
fn holder_text(holder: &RightHolder) -> String {
    match holder {
        RightHolder::Everybody => EVERYBODY.to_owned(),
        RightHolder::Group(name) => format!("{GROUP}{}", shown(name)),
        RightHolder::ProxyGroup(name) => format!("{PROXY_GROUP}{}", shown(name)),
        RightHolder::OidcGroup(name) => format!("{OIDC_GROUP}{}", shown(name)),
        RightHolder::Person(name)
            if name == EVERYBODY || PREFIXES.iter().any(|(prefix, _)| name.starts_with(prefix)) =>
        {
            format!("{PERSON}{}", shown(name))
        }
        RightHolder::Person(name) => shown(name),
    }
}

/// A list in one line: who reads, and who changes.
pub fn rights_words(list: Option<&[GivenRight]>) -> String {
    let Some(list) = list else { return "everybody reads, as roles say".to_owned() };
    let of = |may: CaptureRight| {
        let holders = list.iter().filter(move |given| given.may == may).map(|given| holder_text(&given.to));
        holders.collect::<Vec<_>>().join(", ")
    };
    let (read, change) = (of(CaptureRight::Read), of(CaptureRight::Change));
    match (read.is_empty(), change.is_empty()) {
        (true, true) => "only the owner and admins".to_owned(),
        (false, true) => format!("read: {read}"),
        (true, false) => format!("change: {change}"),
        (false, false) => format!("read: {read}; change: {change}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn holders_are_read_as_they_are_written() {
        for (text, holder) in [
            ("everybody", RightHolder::Everybody),
            ("group:ops", RightHolder::Group("ops".to_owned())),
            ("ada", RightHolder::Person("ada".to_owned())),
            ("person:everybody", RightHolder::Person("everybody".to_owned())),
            ("person:group:ops", RightHolder::Person("group:ops".to_owned())),
            ("person:person:x", RightHolder::Person("person:x".to_owned())),
            ("proxy-group:ops", RightHolder::ProxyGroup("ops".to_owned())),
            ("oidc-group:cn=ops,dc=x", RightHolder::OidcGroup("cn=ops,dc=x".to_owned())),
            ("group:oidc-group:ops", RightHolder::Group("oidc-group:ops".to_owned())),
            ("person:oidc-group:ops", RightHolder::Person("oidc-group:ops".to_owned())),
            ("oidc-group:group:ops", RightHolder::OidcGroup("group:ops".to_owned())),
        ] {
            assert_eq!((right_holder(text), holder_text(&holder)), (holder, text.to_owned()));
        }
    }

    #[test]
    fn a_list_is_told_in_one_line() {
        let given = |text: &str, may| GivenRight { to: right_holder(text), may };
        let (read, change) = (given("bob", CaptureRight::Read), given("group:ops", CaptureRight::Change));
        for (list, words) in [
            (None, "everybody reads, as roles say"),
            (Some(vec![]), "only the owner and admins"),
            (Some(vec![read.clone(), given("eve", CaptureRight::Read)]), "read: bob, eve"),
            (Some(vec![change.clone()]), "change: group:ops"),
            (Some(vec![read, change]), "read: bob; change: group:ops"),
        ] {
            assert_eq!(rights_words(list.as_deref()), words);
        }
    }
}
