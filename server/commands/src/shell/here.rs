//! Here-documents that `cat` and `tee` pass on: `cat <<EOF | bpftrace -`, `cat > open.bt <<EOF`, `sudo tee kprobe_events <<EOF`.

use super::{Pipeline, Redirect, RedirectKind, Simple, Word};

/// The pipeline with the text where `cat` or `tee` would bring it: written into the file by `echo`, or read by the command behind;
/// none where no text is passed on.
pub(crate) fn passed_on(pipeline: &Pipeline) -> Option<Pipeline> {
    let (first, behind) = pipeline.commands.split_first()?;
    let is_before = |word: &&Word| matches!(word.text.as_str(), "sudo" | "doas" | "-E" | "-n");
    let before = first.words.iter().take_while(is_before).count();
    let (name, operands) = first.words.get(before..)?.split_first()?;
    let text = first.redirects.iter().find(|one| one.kind == RedirectKind::Text)?;
    let into = match name.text.as_str() {
        "cat" if operands.iter().all(|word| word.text == "-") => {
            let is_file =
                |one: &&Redirect| matches!(one.kind, RedirectKind::Out | RedirectKind::Append) && !one.is_error;
            first.redirects.iter().find(is_file).cloned()
        }
        "tee" => {
            let (options, files): (Vec<&Word>, Vec<&Word>) =
                operands.iter().partition(|word| word.text.starts_with('-'));
            let [file] = files.as_slice() else { return None };
            let appends = options.iter().any(|word| matches!(word.text.as_str(), "-a" | "--append"));
            let kind = if appends { RedirectKind::Append } else { RedirectKind::Out };
            Some(Redirect { kind, is_error: false, word: (*file).clone(), source: file.source.clone() })
        }
        _ => return None,
    };
    let commands = if let Some(into) = into {
        let mut words = first.words.get(..before)?.to_vec();
        let mut text = text.word.clone();
        text.text.truncate(text.text.trim_end().len());
        words.extend([Word::made("echo", name.source.clone()), text]);
        vec![Simple { words, redirects: vec![into] }]
    } else {
        let mut commands = behind.to_vec();
        commands.first_mut()?.redirects.push(text.clone());
        commands
    };
    Some(Pipeline { commands, is_background: pipeline.is_background })
}

/// A file that a text writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenFile {
    /// Its name as it was typed.
    name: String,
    /// What it has.
    pub(crate) text: Word,
}

impl WrittenFile {
    /// The file that a command of [`passed_on`] writes.
    pub(crate) fn of(command: &Simple) -> Option<Self> {
        let [into] = command.redirects.as_slice() else { return None };
        let text = command.words.last().filter(|_| into.kind != RedirectKind::Text)?;
        Some(Self { name: into.word.text.clone(), text: text.clone() })
    }

    /// Whether it is the one with this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        let bare = |name: &str| name.strip_prefix("./").unwrap_or(name).to_owned();
        bare(&self.name) == bare(name)
    }
}
