//! How large a value may be that is stored.

use crate::StoreError;

/// Limits on what is stored, here and from files.
pub(crate) mod limit {
    pub(crate) const TITLE_BYTES: usize = 256;
    pub(crate) const USER_BYTES: usize = 64;
    pub(crate) const REASON_BYTES: usize = 1 << 10;
    pub(crate) const JSON_BYTES: usize = 4 << 20;
    pub(crate) const STREAMS: usize = 256;
    pub(crate) const STRING_BYTES: usize = 64 << 10;
    pub(crate) const NAME_BYTES: usize = 64 << 10;
    pub(crate) const BUILD_ID_BYTES: usize = 64;
    pub(crate) const STACK_FRAMES: usize = 4096;
    pub(crate) const SYMBOL_BYTES: usize = 256 << 10;
    pub(crate) const CODE_LINES_BYTES: usize = 1 << 20;
    pub(crate) const OUTPUT_BYTES: usize = 64 << 10;
    pub(crate) const TAG_BYTES: usize = 48;
    /// Tags of one capture: every line of the list has all of them.
    pub(crate) const TAGS: usize = 16;
    pub(crate) const DESCRIPTION_BYTES: usize = 4096;
    pub(crate) const LOSSES: usize = 100_000;
    pub(crate) const LIBRARY_NAME_BYTES: usize = 64;
    pub(crate) const LIBRARY_DESCRIPTION_BYTES: usize = 500;
    pub(crate) const LIBRARY_TAGS_BYTES: usize = 500;
    pub(crate) const LIBRARY_TEXT_BYTES: usize = 64 << 10;
    /// Notes of one capture: every view that shows time has all of them.
    pub(crate) const NOTES: usize = 1000;
    /// Texts that one note had: its history has all of them.
    pub(crate) const NOTE_VERSIONS: usize = 100;
    /// Investigations: the list has all of them.
    pub(crate) const INVESTIGATIONS: i64 = 2000;
    /// Blocks of one investigation: its page has all of them.
    pub(crate) const BLOCKS: i64 = 500;
    /// Key numbers of one run, as JSON.
    pub(crate) const KEY_NUMBERS_BYTES: usize = 256 << 10;
    /// Marked moments: a chart has all of its time.
    pub(crate) const MARKS: i64 = 10_000;
    pub(crate) const MARK_TEXT_BYTES: usize = 256;
    pub(crate) const MARK_HOST_BYTES: usize = 256;
    pub(crate) const MARK_LINK_BYTES: usize = 1 << 10;
    pub(crate) const BLOCK_BYTES: usize = 96 << 10;
    pub(crate) const CONCLUSION_BYTES: usize = 64 << 10;
    /// What all people together keep of a kind: every list has all of it.
    pub(crate) const LIBRARY_OF_KIND: i64 = 500;
    pub(crate) const LIBRARY_OF_OWNER: i64 = 100;
    /// What can be brought back.
    pub(crate) const LIBRARY_DELETED: i64 = 500;
    /// What searches look into of one capture: all of it is read again when it is changed.
    pub(crate) const SEARCHED_SPEC_BYTES: usize = 16 << 10;
    /// As large as a script can be.
    pub(crate) const SEARCHED_SCRIPT_BYTES: usize = 64 << 10;
    pub(crate) const SEARCHED_PROCESSES_BYTES: usize = 16 << 10;
    pub(crate) const SEARCHED_TEXTS_BYTES: usize = 64 << 10;
    pub(crate) const SEARCHED_OUTPUT_BYTES: usize = 16 << 10;
    pub(crate) const SHARE_SCOPE_BYTES: usize = 64 << 10;
    pub(crate) const SHARE_PREVIEW_BYTES: usize = 64 << 10;
    /// Links of one person: a list has all of them.
    pub(crate) const SHARES_OF_OWNER: i64 = 200;
    /// Lines of one list of who may read.
    pub(crate) const RIGHTS: usize = 64;
    /// Tags with such a list: every statement about captures that somebody sees has those that they do not.
    pub(crate) const TAG_LISTS: i64 = 100;
    pub(crate) const GROUPS: usize = 200;
    /// Groups elsewhere that count for one login, and the longest name of one.
    pub(crate) const LOGIN_GROUPS: usize = 256;
    pub(crate) const LOGIN_GROUP_BYTES: usize = 256;
    pub(crate) const GROUP_MEMBERS: usize = 500;
    /// Accounts: the list has all of them.
    pub(crate) const ACCOUNTS: i64 = 1000;
    /// Tokens of one person, likewise.
    pub(crate) const TOKENS_OF_OWNER: i64 = 50;
    /// Webhooks: the list has all of them.
    pub(crate) const WEBHOOKS: i64 = 50;
    pub(crate) const WEBHOOK_URL_BYTES: usize = 1 << 10;
    /// Messages to one webhook that wait, and those that do not wait any more and are shown.
    pub(crate) const WAITING_DELIVERIES: i64 = 1000;
    pub(crate) const KEPT_DELIVERIES: i64 = 50;
    /// Who somebody is at a provider.
    pub(crate) const ISSUER_BYTES: usize = 1 << 10;
    pub(crate) const SUBJECT_BYTES: usize = 256;
    /// What is kept of a password.
    pub(crate) const PASSWORD_BYTES: usize = 256;
    /// Texts that one thing had.
    pub(crate) const LIBRARY_VERSIONS: i64 = 100;
}

/// Fails for a value that has more than `most` bytes.
pub(crate) fn at_most(what: &'static str, bytes: usize, most: usize) -> Result<(), StoreError> {
    if bytes <= most {
        return Ok(());
    }
    Err(StoreError::Refused { what, why: format!("it has {bytes} bytes; at most {most} are stored") })
}

/// Fails for a list that has more than `most` entries.
pub(crate) fn few_enough(what: &'static str, entries: usize, most: usize) -> Result<(), StoreError> {
    if entries <= most {
        return Ok(());
    }
    Err(StoreError::Refused { what, why: format!("it has {entries} entries; at most {most} are stored") })
}

/// The longest beginning of `text` of at most `most` bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}
