//! Text → tree: the lexer, the conditions of the small preprocessor, and the parser.

use super::{
    ast::{AttachText, Script, Span},
    diagnostic::Diagnostic,
};

/// A kind of attach point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its present name.
    pub name: &'static str,
    /// Its short name; empty if it has none.
    pub short: &'static str,
    /// Names it had.
    pub former: &'static [&'static str],
    /// How its attach points are written.
    pub form: &'static str,
}

/// Every kind of attach point.
pub const PROVIDERS: &[Provider] = &[];

/// The kind of attach point that `word` names in any spelling.
pub fn provider(word: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|it| it.name == word || it.short == word || it.former.contains(&word))
}

/// The tree of a script.
///
/// # Errors
/// Everything that is wrong with it, at most [`super::limits::MAX_DIAGNOSTICS`], in the order of the text.
pub fn parse(text: &str) -> Result<Script, Vec<Diagnostic>> {
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    Err(vec![Diagnostic::error(Span { start: 0, end }, "scripts are not parsed yet")])
}

/// One attach point alone, as `bathyscope trace -l` takes it.
///
/// # Errors
/// If it is none.
pub fn attach_text(text: &str) -> Result<AttachText, Diagnostic> {
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    Err(Diagnostic::error(Span { start: 0, end }, "attach points are not parsed yet"))
}

/// A script's text again; `text` is the one it was parsed from, for the C definitions in it.
pub fn print(script: &Script, text: &str) -> String {
    script.definitions.iter().map(|span| definition_text(script, text, *span)).collect()
}

/// The text of a C definition of a script, ready for `catalog`'s `Types::define`; as long as its span, so that places in it are
/// places in the script.
pub fn definition_text(_script: &Script, text: &str, span: Span) -> String {
    text.get(span.start as usize..span.end as usize).unwrap_or_default().to_owned()
}

/// The attach points in user space (`uprobe`, `uretprobe`, `usdt`), which whoever knows the files must resolve before the
/// script is checked. Of an expanded script, so that positional parameters are in place.
pub fn user_points(script: &Script) -> Vec<AttachText> {
    let probes = script.items.iter().filter_map(|item| match item {
        super::ast::Item::Probe(probe) => Some(probe),
        _ => None,
    });
    let user = |point: &&AttachText| {
        point.parts.first().is_some_and(|it| matches!(it.text.as_str(), "uprobe" | "uretprobe" | "usdt"))
    };
    probes.flat_map(|probe| probe.points.iter().filter(user).cloned()).collect()
}
